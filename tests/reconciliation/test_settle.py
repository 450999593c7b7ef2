"""A person's word that is taken: what follows from it, that it stays, and who was first."""

import threading
from typing import Any

import pytest
from django.db import connection

from opsconsole.engine.resume import resume
from reconciliation.models import Case, Resolution
from reconciliation.services import cases
from reconciliation.services.settle import MayNotSettle
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import (
    WAITING,
    WORKER,
    await_credible_absence,
    fail_look_ups,
    look,
    look_ups,
    lost,
    open_case_of,
    open_cases,
    operation,
    refused,
    said_so_far,
    say,
    word,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World


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
    await_credible_absence(doubt)
    say(prompt, doubt, word("may_retry"))
    assert prompt.state(doubt) == "not_started"
    prompt.drain()
    assert prompt.state(doubt) == "succeeded"
    first, second = simulator.posts(reference=doubt)
    assert first["key"] == second["key"] == doubt and first["body_sha256"] == second["body_sha256"]


def test_a_person_may_allow_it_where_repeats_are_not_recognised(
    keyless: World, simulator: Simulator, promise: Promise
) -> None:
    promise("keyless", **WAITING, absence={"processing_delay": 0})
    operation_id = lost(keyless, simulator)
    look(keyless, operation_id)
    assert "still be on its way" in str(refused(keyless, operation_id, verdict="may_retry"))
    await_credible_absence(operation_id)
    say(keyless, operation_id, word("may_retry"))
    keyless.drain()
    assert keyless.state(operation_id) == "succeeded"
    assert len(simulator.posts(reference=operation_id)) == 2


def test_a_provider_that_is_down_was_asked_all_the_same(prompt: World, simulator: Simulator, promise: Promise) -> None:
    """Otherwise nobody could ever say what the bank wrote in a letter."""
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    fail_look_ups(simulator)
    assert look(prompt, operation_id).verdict == "unreadable"
    say(prompt, operation_id, word("did_not_happen"))
    assert prompt.state(operation_id) == "failed"


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


def test_a_very_long_name_is_cut_and_the_word_is_kept(prompt: World, doubt: str) -> None:
    prompt.oscar.name = "O" * 120
    prompt.oscar.save()
    look(prompt, doubt)
    kept = say(prompt, doubt, word("did_not_happen"))
    assert kept.by == prompt.oscar and prompt.state(doubt) == "failed"
