"""The case page as an operator uses it: signed in, against a real provider process."""

import re

import pytest
from django.conf import settings

from operations.services import execute
from reconciliation import core
from reconciliation.models import Resolution
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import (
    WORKER,
    fail_look_ups,
    field,
    look,
    lost,
    open_cases,
    operation,
    say,
    signed_in,
    text,
    word,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World

QUERIES = 12
MESSAGE = re.compile(r'<p class="message .*?<span>(.*?)</span></p>')
SAID = {"verdict": "did_not_happen", "external_id": "", "evidence_reference": "mail", "reason": "The bank wrote so."}


def test_the_case_page_says_what_is_not_known(prompt: World, doubt: str) -> None:
    answer = signed_in(prompt.audrey).get(f"/investigations/{doubt}/")
    page = text(answer)
    for words in (
        "Outcome unknown",
        "We sent this and lost the answer: Pay KZT 12 500.00 to Vendor 77 LLP",
        "It may have happened. Do not repeat it.",
        "the one so far says nothing clear.",
        "What we found at bank-main",
        "our reference",
        "none found",
        "The request may still be on its way",
        "Key is still safe for 21 h",
        'After that "may be sent again" is gone.',
        "The answer was lost by worker of the test",
        "Look up now You are not an operator here.",
        "Record resolution You are not an operator here.",
    ):
        assert words in page, words
    assert 'id="settle"' not in answer.content.decode(), "a button that is off sends nothing"


def test_looking_up_says_what_it_proves(prompt: World, doubt: str, simulator: Simulator) -> None:
    simulator.plant_payment(reference=doubt, amount=1250000, currency="KZT", recipient="vendor_77", status="succeeded")
    answer = signed_in(prompt.oscar).post(f"/investigations/{doubt}/look-up", follow=True)
    page = text(answer)
    assert MESSAGE.findall(answer.content.decode()) == ["It happened once, with the approved values."]
    assert "Done at provider" in page and "Looked up at the provider by Oscar (operator)" in page
    assert 'id="resolve"' not in answer.content.decode(), "nothing is left to resolve"


def test_looking_up_at_a_provider_that_is_down_is_an_answer_too(
    prompt: World, doubt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "PROVIDER_TARGETS", {"bank-main": "http://127.0.0.1:1", "crm-main": ""})
    answer = signed_in(prompt.oscar).post(f"/investigations/{doubt}/look-up", follow=True)
    assert answer.status_code == 200
    assert MESSAGE.findall(answer.content.decode())[0].startswith("The look-up got no answer")
    assert prompt.state(doubt) == "unknown"


def test_looking_up_during_a_call_is_refused_in_words(prompt: World, simulator: Simulator) -> None:
    operation_id = prompt.approved()
    assert execute.claim(operation_id=operation_id, worker=WORKER) is not None
    client = signed_in(prompt.oscar)
    assert "Look up now A worker is making the call." in text(client.get(f"/investigations/{operation_id}/"))
    answer = client.post(f"/investigations/{operation_id}/look-up", follow=True)
    assert "A worker is making the call. Ask again after" in text(answer)
    assert not simulator.requests(reference=operation_id)


def test_several_stand_side_by_side_and_sending_again_is_off(prompt: World, doubt: str, simulator: Simulator) -> None:
    ids = [
        simulator.plant_payment(reference=doubt, amount=amount, currency="KZT", recipient="vendor_77")["id"]
        for amount in (1250000, 1250001)
    ]
    look(prompt, doubt)
    prompt.drain()
    page = text(signed_in(prompt.oscar).get(f"/investigations/{doubt}/"))
    assert "Several found" in page and "More than one. A person decides; never the newest." in page
    assert all(item in page for item in ids) and "amount 1250001 (approved: 1250000)" in page
    assert "Not while the provider shows something of it." in page


def test_a_changed_record_shows_three_facts(prompt: World, simulator: Simulator) -> None:
    simulator.plant_deal(id="deal_442", stage="offer", version=21)
    operation_id = prompt.approved(prompt.deal(version=19))
    prompt.drain()
    client = signed_in(prompt.oscar)
    assert "What the provider says not asked yet: look it up" in text(client.get(f"/investigations/{operation_id}/"))
    answer = client.post(f"/investigations/{operation_id}/look-up", follow=True)
    page = text(answer)
    for words in (
        "What the agent saw version 19",
        "What the provider says version 21",
        "What was proposed stage contract",
        "Seen \u2013 what is on record stands",
        "ask the agent to prepare a new one",
    ):
        assert words in page, words
    assert "may be sent again" not in page and 'name="external_id"' not in answer.content.decode()
    done = client.post(
        f"/investigations/{operation_id}/settle",
        {**SAID, "verdict": "noted", "seen": field(answer, "seen"), "case": field(answer, "case")},
        follow=True,
    )
    assert "Recorded as seen. What is on record stands." in text(done) and not open_cases(operation_id)


def test_settling_from_the_page(prompt: World, doubt: str) -> None:
    client = signed_in(prompt.oscar)
    seen = field(client.get(f"/investigations/{doubt}/"), "seen")
    said = {**SAID, "verdict": "happened", "external_id": "pay_9", "seen": seen, "case": ""}
    page = text(client.post(f"/investigations/{doubt}/settle", said, follow=True))
    assert "Recorded: it happened." in page and "Said by Oscar" in page and "pay_9" in page
    assert operation(doubt).external_id == "pay_9"


def test_errors_stand_beside_their_field_and_nothing_typed_is_lost(prompt: World, doubt: str) -> None:
    said = {"verdict": "happened", "evidence_reference": " ", "reason": "Typed <b>once</b>", "seen": "0"}
    answer = signed_in(prompt.oscar).post(f"/investigations/{doubt}/settle", said)
    assert answer.status_code == 422
    page = text(answer)
    assert core.NAME_WHAT in page and core.GIVE_REFERENCE in page and core.SAY_HOW not in page
    assert "Typed &lt;b&gt;once&lt;/b&gt;" in answer.content.decode()
    assert re.search(r'value="happened" checked', answer.content.decode())
    assert not Resolution.objects.exists()


def test_a_choice_that_is_off_refuses_with_its_own_sentence(
    prompt: World, simulator: Simulator, promise: Promise
) -> None:
    promise(schedule={"delays": (0, 3600)})
    operation_id = lost(prompt, simulator)
    client = signed_in(prompt.oscar)
    page = client.get(f"/investigations/{operation_id}/")
    sentence = "Look it up first: there is no look-up from the last five minutes."
    assert text(page).count(sentence) == 3
    answer = client.post(f"/investigations/{operation_id}/settle", {**SAID, "seen": field(page, "seen")})
    assert answer.status_code == 422 and text(answer).count(sentence) == 4


def test_a_page_from_before_another_word_is_answered_409(prompt: World, doubt: str) -> None:
    client = signed_in(prompt.oscar)
    seen = field(client.get(f"/investigations/{doubt}/"), "seen")
    say(prompt, doubt, word("did_not_happen"), prompt.olga)
    said = {**SAID, "verdict": "may_retry", "reason": "Typed once", "seen": seen, "case": ""}
    answer = client.post(f"/investigations/{doubt}/settle", said)
    assert answer.status_code == 409
    assert "Olga has already resolved this: It did not happen. Your word was not recorded." in text(answer)
    assert Resolution.objects.count() == 1


def test_a_contradiction_is_shown_and_the_word_stands(prompt: World, doubt: str, simulator: Simulator) -> None:
    say(prompt, doubt, word("did_not_happen"))
    simulator.plant_payment(reference=doubt, amount=1250000, currency="KZT", recipient="vendor_77", status="succeeded")
    page = text(signed_in(prompt.oscar).post(f"/investigations/{doubt}/look-up", follow=True))
    assert "Contradicts the record" in page and "The provider contradicts our record of this:" in page
    assert "An operator says it did not happen." in page and "It did not happen The bank wrote so." in page


def test_taking_it_shows_on_both_pages(prompt: World, doubt: str) -> None:
    client = signed_in(prompt.oscar)
    assert "yours until" in text(client.post(f"/investigations/{doubt}/take", follow=True))
    assert "Oscar is at it until" in text(signed_in(prompt.olga).get(f"/investigations/{doubt}/"))
    assert "Oscar is at it." in text(signed_in(prompt.olga).post(f"/investigations/{doubt}/take", follow=True))


def test_a_failing_provider_reads_as_that(prompt: World, doubt: str, simulator: Simulator) -> None:
    fail_look_ups(simulator)
    page = text(signed_in(prompt.oscar).post(f"/investigations/{doubt}/look-up", follow=True))
    assert (
        "error 503" in page and "The look-up itself failed with 503." in page and "2 so far say nothing clear." in page
    )
