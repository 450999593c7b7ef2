"""Doubts that could have ended without anybody, and calls that could have been made once more than allowed."""

import sys
import threading
from typing import Any

import pytest
from django.db import connection

from operations.core.contract import KEY_MARGIN
from operations.core.outcomes import Answer, Phase
from operations.models import Attempt, Evidence, Operation
from operations.models.evidence import Source
from operations.providers import registry
from operations.services import execute as steps
from operations.services.prepare import NotReplaceable
from operations.services.withdraw import withdraw
from opsconsole.engine.drain import carry_on
from opsconsole.engine.resume import resume
from opsconsole.engine.timetable import is_due
from reconciliation.models import Resolution
from reconciliation.services.settle import MayNotSettle, Word, settle
from tests.crash.jobs import until_quiet
from tests.operations.scenario import cases, execute, guards_off, moves, outcomes, patch_limits, second_connection
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.waiting import wait_until


@pytest.fixture
def prompt(database: None, simulator: Simulator, settings: Any) -> World:
    """A bank with nothing on its way after a call is over, and short leases."""
    patch_limits(settings, lease=1.2)
    return make_world(provider="prompt")


def absent(world: World, operation_id: str) -> steps.Claim:
    """A first worker fell asleep between claim and call; absence was proved. Returns the sleeper's claim."""
    sleeper = steps.claim(operation_id=operation_id, worker="a sleeper")
    assert sleeper is not None

    def returned() -> bool:
        if world.state(operation_id) != "not_started" and is_due(operation_id):
            resume(operation_id, worker="worker")
        return world.state(operation_id) == "not_started"

    wait_until(returned, 10)
    return sleeper


def late_payment(operation_id: str, payment: str = "pay_late") -> Answer:
    """What the sleeper's request led to, as the bank tells it."""
    body = {"id": payment, "object": "payment", "status": "succeeded", "reference": operation_id, "amount": 1250000}
    body |= {"currency": "KZT", "recipient": "vendor_77", "direction": "out"}
    return Answer(phase=Phase.ANSWERED, status=201, body=body)


def say(world: World, operation_id: str, verdict: str, provider: str = "prompt") -> None:
    settle(
        operation_id=operation_id,
        tenant_id=world.tenant.pk,
        person=world.oscar,
        word=Word(verdict=Resolution.Verdict(verdict), reason="The bank says so.", evidence_reference="ticket 7"),
        contract=registry.contract_for(provider, "payments.create").contract,
    )


def test_not_found_at_another_address_is_not_absent(prompt: World, simulator: Simulator, settings: Any) -> None:
    """The payment was made; then the deployment points elsewhere. Nobody may take the silence there for absence."""
    simulator.fault("lose_answer_after_acting")
    operation_id = prompt.approved()
    resume(operation_id, worker="worker")
    with Simulator() as elsewhere:
        settings.PROVIDER_TARGETS = {"bank-main": elsewhere.url, "crm-main": elsewhere.url}
        wait_until(lambda: asked_credibly(operation_id) >= 3, 15)
        assert (prompt.state(operation_id), cases(operation_id)) == ("unknown", ["configuration"])
        assert not Evidence.objects.filter(operation_id=operation_id, verdict="absent").exists()
        assert elsewhere.posts() == []
    settings.PROVIDER_TARGETS = {"bank-main": simulator.url, "crm-main": simulator.url}
    with guards_off("operations_operation"):
        execute("UPDATE operations_operation SET next_step_at = clock_timestamp() WHERE intent_id = %s", operation_id)
    carry_on(operation_id)
    assert prompt.state(operation_id) == "succeeded"


def asked_credibly(operation_id: str) -> int:
    """How often it was looked up when an absence would have counted."""
    carry_on(operation_id)
    credible_at = Attempt.objects.get(operation_id=operation_id).absence_credible_at
    return Evidence.objects.filter(operation_id=operation_id, source="look_up", asked_at__gte=credible_at).count()


def test_an_open_case_keeps_nobody_in_progress(
    prompt: World, monkeypatch: pytest.MonkeyPatch, simulator: Simulator
) -> None:
    """A case was open when the worker died, and the provider cannot be asked: a person must be able to settle it."""
    operation_id = prompt.approved()
    with monkeypatch.context() as missing:
        missing.delenv("BANK_MAIN_TOKEN")
        resume(operation_id, worker="worker")
    assert cases(operation_id) == ["configuration"]
    assert steps.claim(operation_id=operation_id, worker="dies here") is not None
    known = {key: value for key, value in registry.contracts().items() if key[0] != "prompt"}
    monkeypatch.setattr(registry, "contracts", lambda: known)
    until_quiet(seconds=10)
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.waits_for) == ("unknown", "operator")


def test_a_second_object_that_came_to_light_during_the_next_call(prompt: World, simulator: Simulator) -> None:
    operation_id = prompt.approved()
    sleeper = absent(prompt, operation_id)
    second = steps.claim(operation_id=operation_id, worker="second")
    assert second is not None
    answer = steps.call(second)
    steps.record(sleeper, late_payment(operation_id))
    resume(operation_id, worker="a third one finds it in progress and rests")
    steps.record(second, answer)
    assert prompt.state(operation_id) == "succeeded"
    assert is_due(operation_id), "the sweep alone must find it"
    carry_on(operation_id)
    assert cases(operation_id) == ["contradiction"]
    assert not is_due(operation_id)


def test_a_late_answer_before_a_withdrawal_is_not_slept_through(prompt: World, simulator: Simulator) -> None:
    operation_id = prompt.approved()
    sleeper = absent(prompt, operation_id)
    steps.record(sleeper, late_payment(operation_id))
    withdraw(
        operation_id=operation_id,
        tenant_id=prompt.tenant.pk,
        actor="engine",
        source=Source.ENGINE,
        reason="policy_moved",
        words="Decided before the late answer came.",
    )
    assert is_due(operation_id)
    carry_on(operation_id)
    assert (prompt.state(operation_id), cases(operation_id)) == ("cancelled", ["contradiction"])


def test_a_claim_does_not_slip_in_beside_a_late_answer(
    prompt: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sleeper's evidence is written and not committed when another worker claims."""
    operation_id = prompt.approved()
    sleeper = absent(prompt, operation_id)
    written, over = threading.Event(), threading.Event()
    module = sys.modules["operations.services.execute.record"]
    write = module._evidence

    def slow(*arguments: Any) -> int:
        row: int = write(*arguments)
        if threading.current_thread() is not threading.main_thread() and arguments[-1] == "late_response":
            written.set()
            wait_until(lambda: over.is_set() or somebody_waits(), 10)
        return row

    def wake_up() -> None:
        try:
            steps.record(sleeper, late_payment(operation_id))
        finally:
            connection.close()

    monkeypatch.setattr(module, "_evidence", slow)
    thread = threading.Thread(target=wake_up)
    thread.start()
    assert written.wait(10)
    try:
        with pytest.raises(steps.ClaimRefused, match="claim_against_evidence"):
            steps.claim(operation_id=operation_id, worker="second")
    finally:
        over.set()
        thread.join(10)
    carry_on(operation_id)
    assert cases(operation_id) == ["contradiction"]
    assert simulator.posts(operation_id) == []


def somebody_waits() -> bool:
    """Whether a statement waits for somebody's lock."""
    with second_connection() as other:
        row = other.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
    return row is not None and row[0] > 0


def test_what_may_have_been_sent_is_not_replaced(prompt: World, simulator: Simulator) -> None:
    operation_id = prompt.approved(prompt.wish(payload={"invoice": "inv_1"}))
    absent(prompt, operation_id)
    with pytest.raises(NotReplaceable):
        prompt.prepare(prompt.wish(replaces=operation_id))
    assert prompt.state(operation_id) == "not_started"


def test_what_was_cancelled_and_shows_up_is_a_possible_duplicate(prompt: World, simulator: Simulator) -> None:
    wish = prompt.wish(payload={"invoice": "inv_1"})
    operation_id = prompt.approved(wish)
    sleeper = absent(prompt, operation_id)
    withdraw(
        operation_id=operation_id,
        tenant_id=prompt.tenant.pk,
        actor="engine",
        source=Source.ENGINE,
        reason="policy_moved",
        words="The policy moved.",
    )
    again = prompt.prepare(prompt.wish(payload={"invoice": "inv_1"}))
    steps.record(sleeper, late_payment(operation_id))
    with pytest.raises(Exception, match="same business act"):
        prompt.decide(again)


def age_first_send(operation_id: str, seconds: float) -> None:
    with guards_off("operations_operation"):
        execute(
            "UPDATE operations_operation SET first_sent_at = first_sent_at - make_interval(secs => %s) "
            "WHERE intent_id = %s",
            seconds,
            operation_id,
        )


def test_a_word_does_not_outlive_the_key(prompt: World, simulator: Simulator) -> None:
    """A person allowed another call while the key was good; when its turn comes, the key is over."""
    simulator.fault("lose_answer_before_acting")
    operation_id = prompt.approved()
    resume(operation_id, worker="worker")
    with guards_off("operations_operation"):
        execute("UPDATE operations_operation SET deadline_at = clock_timestamp() WHERE intent_id = %s", operation_id)
    resume(operation_id, worker="worker")
    wait_until(lambda: allowed(prompt, operation_id), 10)
    age_first_send(operation_id, 86400 * (1 - KEY_MARGIN))
    until_quiet(seconds=5)
    assert (prompt.state(operation_id), cases(operation_id)) == ("not_started", ["resend"])
    assert len(simulator.posts(operation_id)) == 1


def allowed(world: World, operation_id: str) -> bool:
    """Whether a person's permission was taken; it is not while the request may still be on its way."""
    resume(operation_id, worker="worker")
    try:
        say(world, operation_id, "may_retry")
    except MayNotSettle as refusal:
        assert "still be on its way" in str(refusal) or "Look it up first" in str(refusal), str(refusal)
        return False
    return True


def test_a_worker_that_decided_long_ago_does_not_use_a_dead_key(prompt: World, simulator: Simulator) -> None:
    operation_id = prompt.approved()
    sleeper = absent(prompt, operation_id)
    assert sleeper.number == 1
    age_first_send(operation_id, 86400)
    slow = steps.claim(operation_id=operation_id, worker="decided when the key was good")
    assert slow is not None
    steps.record(slow, steps.call(slow))
    assert (outcomes(operation_id), simulator.posts(operation_id)) == (["lost", "not_sent"], [])


def test_another_call_is_not_allowed_while_the_first_may_be_on_its_way(prompt: World, simulator: Simulator) -> None:
    simulator.fault("lose_answer_before_acting")
    operation_id = prompt.approved()
    resume(operation_id, worker="worker")
    resume(operation_id, worker="worker")
    credible_at = Attempt.objects.get(operation_id=operation_id).absence_credible_at
    with pytest.raises(MayNotSettle, match=f"on its way until {credible_at:%H:%M:%S} UTC"):
        say(prompt, operation_id, "may_retry")
    assert prompt.state(operation_id) == "unknown"


def test_while_the_key_is_said_to_be_used_otherwise_nothing_is_sent_again(prompt: World, simulator: Simulator) -> None:
    error = {"error": {"type": "idempotency_error"}}
    simulator.fault("raw", method="POST", status=400, body=error)
    operation_id = prompt.approved()
    until_quiet(seconds=15)
    assert (prompt.state(operation_id), cases(operation_id)) == ("not_started", ["integrity"]), moves(operation_id)
    assert len(simulator.posts(operation_id)) == 1
    assert Operation.objects.get(pk=operation_id).waits_for == "operator"


def test_an_object_with_an_unexplained_status_is_there(prompt: World, simulator: Simulator) -> None:
    """The bank named its object and a status nobody documented; later its list shows nothing."""
    answer = late_payment("").body | {"id": "pay_on_hold", "status": "on_hold"}
    operation_id = prompt.prepare()
    simulator.fault("raw", method="POST", status=201, body=answer | {"reference": operation_id})
    prompt.decide(operation_id)
    wait_until(lambda: settled_down(operation_id) and cases(operation_id), 15)
    assert (prompt.state(operation_id), cases(operation_id)) == ("not_started", ["contradiction"])
    assert len(simulator.posts(operation_id)) == 1


def settled_down(operation_id: str) -> bool:
    """Whether nothing is due any more after carrying on with it."""
    carry_on(operation_id)
    return Operation.objects.get(pk=operation_id).next_step_at is None
