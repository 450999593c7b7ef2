"""A person's word: when it is taken, what follows, every sentence it is refused with, and that it stays."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from operations.models import Membership
from operations.services import execute
from opsconsole.engine.look_up_now import MayNotLookUp
from opsconsole.engine.resume import resume
from reconciliation import core
from reconciliation.models import Case, Resolution
from reconciliation.services import cases
from reconciliation.services.settle import MayNotSettle
from reconciliation.services.standing import standing_of
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import (
    WORKER,
    contract,
    fail_look_ups,
    look,
    look_ups,
    lost,
    open_cases,
    operation,
    say,
    word,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world

WAITING = {"schedule": {"delays": (0, 3600)}}  # the engine does not look by itself while a person does


@pytest.fixture
def doubt(prompt: World, simulator: Simulator, promise: Promise) -> str:
    """An operation in doubt that was looked up just now, without a clear answer."""
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    look(prompt, operation_id)
    assert prompt.state(operation_id) == "unknown"
    return operation_id


def refused(world: World, operation_id: str, **said: Any) -> MayNotSettle:
    """The refusal of a word; nothing of it may be on record."""
    page = {name: said.pop(name) for name in ("case_id", "seen") if name in said}
    person = said.pop("person", None)
    with pytest.raises(MayNotSettle) as refusal:
        say(world, operation_id, word(**said), person, **page)
    return refusal.value


def test_it_happened(prompt: World, doubt: str, simulator: Simulator) -> None:
    say(prompt, doubt, word("happened", external_id="pay_77"))
    row = operation(doubt)
    assert (row.state, row.external_id) == ("succeeded", "pay_77")
    assert not open_cases(doubt)
    prompt.drain()
    assert len(simulator.posts(reference=doubt)) == 1


def test_it_did_not_happen(prompt: World, doubt: str, simulator: Simulator) -> None:
    kept = say(prompt, doubt, word("did_not_happen"))
    assert (kept.by, kept.evidence_reference, kept.case.kind) == (prompt.oscar, "mail of 1 December", "unknown")
    assert prompt.state(doubt) == "failed"
    prompt.drain()
    assert len(simulator.posts(reference=doubt)) == 1


def test_it_may_be_sent_again_once_as_the_same_request(prompt: World, doubt: str, simulator: Simulator) -> None:
    say(prompt, doubt, word("may_retry"))
    assert prompt.state(doubt) == "not_started"
    prompt.drain()
    assert prompt.state(doubt) == "succeeded"
    first, second = simulator.posts(reference=doubt)
    assert first["key"] == second["key"] == doubt and first["body_sha256"] == second["body_sha256"]


def test_a_person_may_allow_it_where_repeats_are_not_recognised(
    keyless: World, simulator: Simulator, promise: Promise
) -> None:
    promise("keyless", **WAITING)
    operation_id = lost(keyless, simulator)
    look(keyless, operation_id)
    say(keyless, operation_id, word("may_retry"))
    keyless.drain()
    assert keyless.state(operation_id) == "succeeded"
    assert len(simulator.posts(reference=operation_id)) == 2


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
    say(prompt, doubt, word("may_retry"))
    simulator.fault("lose_answer_before_acting")
    resume(doubt, worker=WORKER)
    assert prompt.state(doubt) == "unknown"
    assert "Look it up first" in str(refused(prompt, doubt))


def test_a_provider_that_is_down_was_asked_all_the_same(prompt: World, simulator: Simulator, promise: Promise) -> None:
    """Otherwise nobody could ever say what the bank wrote in a letter."""
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    fail_look_ups(simulator)
    assert look(prompt, operation_id).verdict == "unreadable"
    say(prompt, operation_id, word("did_not_happen"))
    assert prompt.state(operation_id) == "failed"


def test_a_connection_that_is_not_set_up_is_a_failed_look_up(
    prompt: World, simulator: Simulator, promise: Promise, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    monkeypatch.delenv("BANK_MAIN_TOKEN")
    assert look(prompt, operation_id).verdict == "unreadable"
    assert "BANK_MAIN_TOKEN is not there" in look_ups(operation_id)[0].words


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


def test_accepted_and_never_decided_can_be_settled_after_its_time(
    prompt: World, simulator: Simulator, promise: Promise
) -> None:
    promise(schedule={"delays": (0, 3600), "deadline": 0})
    simulator.fault("accept_later", seconds=600)
    operation_id = prompt.approved()
    prompt.drain()
    assert (prompt.state(operation_id), open_cases(operation_id)) == ("pending", ["unknown"])
    look(prompt, operation_id)
    assert str(refused(prompt, operation_id, verdict="may_retry")) == "Not while the provider shows something of it."
    say(prompt, operation_id, word("did_not_happen"))
    assert prompt.state(operation_id) == "failed"


def test_late_success_after_a_word_is_shown_and_the_word_stands(
    prompt: World, simulator: Simulator, promise: Promise
) -> None:
    """No webhook tells us; a look-up does, after an operator said that it did not happen."""
    promise(**WAITING)
    simulator.fault("hold_acting")
    operation_id = prompt.approved()
    resume(operation_id, worker=WORKER)
    look(prompt, operation_id)
    say(prompt, operation_id, word("did_not_happen"))
    prompt.drain()
    simulator.release()
    (paid,) = simulator.wait_for_payments(1, operation_id)
    look(prompt, operation_id)
    prompt.drain()
    assert prompt.state(operation_id) == "failed", "the resolution stands"
    assert Resolution.objects.filter(operation_id=operation_id, verdict="did_not_happen").count() == 1
    assert open_cases(operation_id) == ["contradiction"]
    assert look_ups(operation_id)[-1].external_id == paid["id"]
    say(prompt, operation_id, word("noted"))
    prompt.drain()
    assert not open_cases(operation_id), "what was noted is not asked again"
    assert prompt.state(operation_id) == "failed"
    assert len(simulator.posts(reference=operation_id)) == 1


def test_a_word_from_a_page_before_another_word(prompt: World, doubt: str) -> None:
    case = open_case_of(prompt, doubt)
    seen = said_so_far(doubt)
    say(prompt, doubt, word("did_not_happen"), prompt.olga, case_id=case, seen=seen)
    refusal = refused(prompt, doubt, verdict="may_retry", case_id=case, seen=seen)
    assert refusal.late
    assert str(refusal) == "Olga has already resolved this: It did not happen. Your word was not recorded."
    assert Resolution.objects.count() == 1


def test_a_word_from_a_page_before_something_was_found(prompt: World, doubt: str, simulator: Simulator) -> None:
    seen = said_so_far(doubt)
    simulator.plant_payment(reference=doubt, amount=1, currency="KZT", recipient="vendor_77", status="succeeded")
    look(prompt, doubt)
    refusal = refused(prompt, doubt, seen=seen)
    assert refusal.late and str(refusal).startswith("Something new was found since you opened this page.")


def test_a_failed_look_up_meanwhile_does_not_matter(prompt: World, doubt: str, simulator: Simulator) -> None:
    seen = said_so_far(doubt)
    fail_look_ups(simulator)
    look(prompt, doubt)
    say(prompt, doubt, word("did_not_happen"), seen=seen)


def test_two_operators_at_once(prompt: World, doubt: str) -> None:
    """Case P19 c: one word is kept, and the other operator reads whose."""
    case, seen = open_case_of(prompt, doubt), said_so_far(doubt)
    start, losers = threading.Barrier(2), []

    def settle(person: Any, verdict: str) -> None:
        try:
            start.wait(10)
            say(prompt, doubt, word(verdict), person, case_id=case, seen=seen)
        except MayNotSettle as refusal:
            losers.append(refusal)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=settle, args=(prompt.oscar, "happened")),
        threading.Thread(target=settle, args=(prompt.olga, "did_not_happen")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    (kept,) = Resolution.objects.select_related("by")
    (refusal,) = losers
    assert refusal.late and str(refusal).startswith(f"{kept.by.name} has already resolved this: ")
    assert prompt.state(doubt) == ("succeeded" if kept.verdict == "happened" else "failed")


def test_taking_a_case_shows_who_is_at_it(prompt: World, doubt: str) -> None:
    cases.take(operation_id=doubt, tenant_id=prompt.tenant.pk, person=prompt.oscar)
    cases.take(operation_id=doubt, tenant_id=prompt.tenant.pk, person=prompt.oscar)
    case = Case.objects.get(operation_id=doubt)
    assert (case.claimed_by, case.kind) == (prompt.oscar, "unknown")
    with pytest.raises(cases.NotTaken, match="Oscar is at it"):
        cases.take(operation_id=doubt, tenant_id=prompt.tenant.pk, person=prompt.olga)
    with pytest.raises(cases.NotTaken, match="not an operator"):
        cases.take(operation_id=doubt, tenant_id=prompt.tenant.pk, person=prompt.audrey)
    say(prompt, doubt, word(), prompt.olga)
    with pytest.raises(cases.NotTaken, match="no open case"):
        cases.take(operation_id=doubt, tenant_id=prompt.tenant.pk, person=prompt.oscar)


def test_a_changed_record_is_only_noted(prompt: World, simulator: Simulator) -> None:
    before = len(simulator.requests(method="PATCH"))
    simulator.plant_deal(id="deal_442", stage="offer", version=21)
    operation_id = prompt.approved(prompt.deal(version=19))
    prompt.drain()
    assert (prompt.state(operation_id), open_cases(operation_id)) == ("failed", ["version_conflict"])
    assert look(prompt, operation_id).verdict == "different"
    assert open_cases(operation_id) == ["version_conflict"], "other values there are no contradiction: others change it"
    assert str(refused(prompt, operation_id)) == "What is on record is final; it can only be noted."
    say(prompt, operation_id, word("noted"))
    assert not open_cases(operation_id)
    assert len(simulator.requests(method="PATCH")) == before + 1


def test_a_live_call_is_not_looked_up_and_a_dead_one_is_closed_first(
    prompt: World, simulator: Simulator, promise: Promise
) -> None:
    promise(**WAITING)
    operation_id = prompt.approved()
    claim = execute.claim(operation_id=operation_id, worker=WORKER)
    assert claim is not None
    with pytest.raises(MayNotLookUp, match="A worker is making the call"):
        look(prompt, operation_id)
    assert not simulator.requests(reference=operation_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1.05)")
    look(prompt, operation_id)
    assert prompt.state(operation_id) == "unknown"
    assert operation(operation_id).attempts.get().outcome == "lost"


def test_nothing_sent_is_nothing_to_ask_about(prompt: World) -> None:
    with pytest.raises(MayNotLookUp, match="Nothing was sent"):
        look(prompt, prompt.prepare())


def test_another_organisation_has_no_such_operation(prompt: World, doubt: str, database: None) -> None:
    other = make_world()
    with pytest.raises(MayNotLookUp, match="no such operation here"):
        look(other, doubt, other.oscar)
    with pytest.raises(MayNotSettle, match="no such operation here"):
        say(other, doubt, word())


def test_a_finished_operation_can_be_looked_up(prompt: World, simulator: Simulator) -> None:
    operation_id = prompt.approved()
    prompt.drain()
    assert look(prompt, operation_id).verdict == "happened"
    assert (prompt.state(operation_id), open_cases(operation_id)) == ("succeeded", [])


def open_case_of(world: World, operation_id: str) -> int:
    """The page's case, opened by taking it."""
    cases.take(operation_id=operation_id, tenant_id=world.tenant.pk, person=world.olga)
    return Case.objects.get(operation_id=operation_id, closed_at=None).pk


def said_so_far(operation_id: str) -> int:
    """What the page carries as seen."""
    return standing_of(operation(operation_id), contract(operation_id), case_kind="").said
