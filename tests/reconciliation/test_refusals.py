"""Every sentence a person's word is refused with; nothing of a refused word is on record."""

from datetime import timedelta

import pytest
from django.db import connection

from operations.models import Membership
from opsconsole.engine.look_up_now import MayNotLookUp
from opsconsole.engine.resume import resume
from reconciliation import core
from reconciliation.models import Case, Resolution
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import (
    WAITING,
    WORKER,
    await_credible_absence,
    fail_look_ups,
    look,
    lost,
    open_cases,
    operation,
    refused,
    say,
    word,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World


@pytest.mark.parametrize(
    ("said", "sentence", "field"),
    [
        ({"reason": "  "}, core.SAY_HOW, "reason"),
        ({"evidence_reference": " "}, core.NAME_WHAT, "evidence_reference"),
        ({"verdict": "happened", "external_id": " "}, core.GIVE_REFERENCE, "external_id"),
        ({"verdict": "noted"}, "This one is still open, so it needs an answer.", "verdict"),
    ],
)
def test_a_word_that_lacks_something(
    prompt: World, doubt: str, said: dict[str, str], sentence: str, field: str
) -> None:
    refusal = refused(prompt, doubt, **said)
    assert (str(refusal), refusal.field, refusal.late) == (sentence, field, False)
    assert not Case.objects.exists(), "the case that was opened for the word goes with it"


def test_only_operators(prompt: World, doubt: str) -> None:
    for person in (prompt.alice, prompt.audrey, prompt.admin):
        assert str(refused(prompt, doubt, person=person)) == core.NOT_AN_OPERATOR
    assert not Resolution.objects.exists()


def test_a_right_that_was_taken_away_meanwhile_is_gone(prompt: World, doubt: str) -> None:
    Membership.objects.filter(user=prompt.oscar).delete()
    assert str(refused(prompt, doubt)) == core.NOT_AN_OPERATOR
    with pytest.raises(MayNotLookUp, match="not an operator"):
        look(prompt, doubt)


def test_without_a_look_up_of_the_last_minutes(
    prompt: World, simulator: Simulator, promise: Promise, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    asking = "Look it up first: there is no look-up from the last five minutes."
    assert str(refused(prompt, operation_id)) == asking
    look(prompt, operation_id)
    monkeypatch.setattr(core, "FRESH", timedelta(0))
    assert str(refused(prompt, operation_id)) == asking


def test_a_look_up_of_an_earlier_attempt_does_not_count(prompt: World, doubt: str, simulator: Simulator) -> None:
    await_credible_absence(doubt)
    say(prompt, doubt, word("may_retry"))
    simulator.fault("lose_answer_before_acting")
    resume(doubt, worker=WORKER)
    assert prompt.state(doubt) == "unknown"
    assert "Look it up first" in str(refused(prompt, doubt))


def test_not_again_when_the_key_is_over(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(**WAITING, dedupe={"retention": 1})
    operation_id = lost(prompt, simulator)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1)")
    look(prompt, operation_id)
    refusal = refused(prompt, operation_id, verdict="may_retry")
    assert str(refusal).startswith("The time in which the provider recognises this key is over")
    assert refusal.field == "verdict"
    say(prompt, operation_id, word("did_not_happen"))


@pytest.mark.parametrize("then", ["", "and the next look-up fails"])
def test_not_again_while_the_provider_shows_something(
    then: str, prompt: World, simulator: Simulator, promise: Promise
) -> None:
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    simulator.plant_payment(reference=operation_id, amount=1, currency="KZT", recipient="vendor_77", status="succeeded")
    look(prompt, operation_id)
    assert prompt.state(operation_id) == "disputed"
    if then:
        fail_look_ups(simulator)
        look(prompt, operation_id)
    refusal = refused(prompt, operation_id, verdict="may_retry")
    assert str(refusal) == "Not while the provider shows something of it."
    prompt.drain()
    assert len(simulator.posts(reference=operation_id)) == 1


def test_not_again_where_a_person_acts(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(dedupe={"carrier": "none"})
    prompt_connection = prompt.tenant.connections.get(name="bank-main")
    prompt_connection.mode = "manual"
    prompt_connection.save()
    operation_id = prompt.approved()
    prompt.drain()
    assert open_cases(operation_id) == ["manual"]
    sentence = "We do not send this ourselves; a person does it at the provider."
    assert str(refused(prompt, operation_id, verdict="may_retry")) == sentence
    say(prompt, operation_id, word("happened", external_id="by-hand-1"))
    assert prompt.state(operation_id) == "succeeded"
    assert not simulator.posts(reference=operation_id)


def test_a_reference_of_another_operation(prompt: World, doubt: str, simulator: Simulator) -> None:
    other = prompt.approved()
    prompt.drain()
    refusal = refused(prompt, doubt, verdict="happened", external_id=operation(other).external_id)
    assert (str(refusal), refusal.field) == ("This reference belongs to another operation already.", "external_id")
    assert prompt.state(doubt) == "unknown" and not Resolution.objects.exists()


def test_what_is_not_in_doubt_cannot_be_settled(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(**WAITING)
    waiting = prompt.prepare()
    assert str(refused(prompt, waiting)) == "It is not in doubt: nothing of it is under way."
    simulator.fault("accept_later", seconds=600)
    pending = prompt.approved()
    resume(pending, worker=WORKER)
    assert str(refused(prompt, pending)) == "The provider accepted it and still has time to decide."
    done = prompt.approved()
    prompt.drain()
    assert str(refused(prompt, done)) == "What is on record is final; it can only be noted."
    assert str(refused(prompt, done, verdict="noted")) == "There is nothing to resolve here."


@pytest.mark.parametrize("verdict", ["did_not_happen", "may_retry"])
def test_nobody_says_it_did_not_happen_while_it_may_still_arrive(prompt: World, doubt: str, verdict: str) -> None:
    refusal = refused(prompt, doubt, verdict=verdict)
    assert str(refusal).startswith("The request may still be on its way until")
    assert prompt.state(doubt) == "unknown"
    say(prompt, doubt, word(verdict))
    assert prompt.state(doubt) != "unknown"
