"""Each command of `decide` is carried out as it says."""

import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from approvals.models import ApprovalRound
from operations.core.decide import AskApproval, Call, Command, Investigate, LookUp, Rest, Withdraw
from operations.core.facts import Facts
from operations.core.intent import sha256_of
from operations.core.states import State
from operations.models import Connection, Intent, JournalEntry, Operation, Policy
from operations.providers import registry
from operations.services import execute as execute_steps
from operations.services.prepare import prepare
from opsconsole.engine import gather as gather_module
from opsconsole.engine import resume as resume_module
from opsconsole.engine.drain import carry_on
from opsconsole.engine.resume import resume
from opsconsole.engine.timetable import is_due, postpone, rest
from reconciliation.models import Case
from tests.crash.jobs import until_quiet
from tests.operations.scenario import cases, execute, guards_off, moves, outcomes, patch_limits, reads
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world

CONTRACTS = Path(__file__).resolve().parents[1] / "contracts"


def rounds(operation_id: str) -> list[str]:
    """The status of its approval rounds, oldest first."""
    found = ApprovalRound.objects.filter(operation_id=operation_id).order_by("number")
    return list(found.values_list("status", flat=True))


def let_approval_expire(operation_id: str) -> None:
    """Round and permit are over by the database's clock; only the owner of the tables can do this."""
    with guards_off("operations_permit", "approvals_approvalround", "operations_operation"):
        for table in ("operations_permit", "approvals_approvalround"):
            execute(f"UPDATE {table} SET expires_at = clock_timestamp() WHERE operation_id = %s", operation_id)
        execute("UPDATE operations_operation SET next_step_at = clock_timestamp() WHERE intent_id = %s", operation_id)


def test_rest_is_written_down(world: World, simulator: Simulator) -> None:
    operation_id = world.prepare()
    with guards_off("operations_operation"):
        execute("UPDATE operations_operation SET next_step_at = clock_timestamp() WHERE intent_id = %s", operation_id)
    assert isinstance(resume(operation_id, worker="worker"), Rest)
    operation = Operation.objects.get(pk=operation_id)
    ends = ApprovalRound.objects.get(operation_id=operation_id).expires_at
    assert operation.next_step_at is not None and operation.waits_for == "approver"
    assert abs(operation.next_step_at - ends) < timedelta(seconds=1)


@pytest.mark.parametrize("command", [Rest("It waits for a decision."), Investigate("Somebody should look.", "manual")])
def test_an_approval_given_meanwhile_is_not_slept_through(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """Between reading the facts and writing the rest, somebody approves. The broker is dead; only the sweep is left."""
    operation_id = world.prepare()

    def decide_too_late(facts: Facts, now: object) -> Command:
        world.decide(operation_id)
        return command

    with monkeypatch.context() as slow:
        slow.setattr(resume_module, "decide", decide_too_late)
        resume(operation_id, worker="a slow worker")
    assert is_due(operation_id)


def test_ask_approval_opens_one_round(world: World, simulator: Simulator) -> None:
    """Even for an intent that was stored without anybody being asked."""
    operation_id = prepare(preparer=world.preparer, wish=world.wish()).operation_id
    assert isinstance(resume(operation_id, worker="worker"), AskApproval)
    carry_on(operation_id)
    assert rounds(operation_id) == ["open"]
    assert JournalEntry.objects.filter(operation_id=operation_id, verb="approval_asked").count() == 1
    assert not is_due(operation_id)


@pytest.mark.parametrize("decided", [True, False])
def test_withdrawn_when_its_time_ran_out(world: World, simulator: Simulator, decided: bool) -> None:
    operation_id = world.approved() if decided else world.prepare()
    let_approval_expire(operation_id)
    assert isinstance(resume(operation_id, worker="worker"), Withdraw)
    assert (world.state(operation_id), Operation.objects.get(pk=operation_id).reason) == (
        "cancelled",
        "approval_expired",
    )
    assert rounds(operation_id) == ["approved" if decided else "expired"]
    assert simulator.posts(operation_id) == []


def test_withdrawn_when_the_policy_moved(world: World, simulator: Simulator) -> None:
    approved, waiting = world.approved(), world.prepare()
    Policy.objects.create(tenant=world.tenant, action="payments.create", version=2, quorum=2, approval_seconds=60)
    for operation_id, status in ((approved, "approved"), (waiting, "withdrawn")):
        carry_on(operation_id)
        operation = Operation.objects.get(pk=operation_id)
        assert (operation.state, operation.reason, rounds(operation_id)) == ("cancelled", "policy_moved", [status])
        assert simulator.posts(operation_id) == []


def test_withdrawn_when_the_connection_points_elsewhere(world: World, simulator: Simulator, settings: Any) -> None:
    operation_id = world.approved()
    settings.PROVIDER_TARGETS = {"bank-main": "http://127.0.0.1:1", "crm-main": simulator.url}
    carry_on(operation_id)
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.reason) == ("cancelled", "connection_moved")


def test_call_then_nothing(world: World, simulator: Simulator) -> None:
    operation_id = world.approved()
    assert isinstance(resume(operation_id, worker="worker"), Call)
    assert (world.state(operation_id), is_due(operation_id)) == ("succeeded", False)
    assert isinstance(resume(operation_id, worker="worker"), Rest)
    assert resume("op_unknown", worker="worker") is None
    assert len(simulator.posts(operation_id)) == 1


def test_look_up_reads_once(world: World, simulator: Simulator) -> None:
    simulator.fault("lose_answer_after_acting")
    operation_id = world.approved()
    resume(operation_id, worker="worker")
    assert (world.state(operation_id), reads(simulator, operation_id)) == ("unknown", [])
    assert isinstance(resume(operation_id, worker="worker"), LookUp)
    assert (world.state(operation_id), len(reads(simulator, operation_id))) == ("succeeded", 1)


def test_investigate_opens_one_case(world: World, simulator: Simulator) -> None:
    Connection.objects.filter(tenant=world.tenant, name="bank-main").update(mode="manual")
    operation_id = world.approved()
    assert isinstance(resume(operation_id, worker="worker"), Investigate)
    assert isinstance(resume(operation_id, worker="worker"), Rest)
    assert cases(operation_id) == ["manual"]
    assert Case.objects.filter(operation_id=operation_id).count() == 1
    assert Operation.objects.get(pk=operation_id).waits_for == "operator"
    assert simulator.posts(operation_id) == []


def test_asked_again_after_a_round_that_nobody_answered(database: None, simulator: Simulator, settings: Any) -> None:
    """Proved absent, the approval long over: people are asked anew as often as it takes, and then it is called once."""
    patch_limits(settings, lease=1.5)
    world = make_world(provider="prompt")
    simulator.fault("lose_answer_before_acting")
    operation_id = world.approved()
    resume(operation_id, worker="worker")
    let_approval_expire(operation_id)
    until_quiet(seconds=15)
    assert (world.state(operation_id), rounds(operation_id)) == ("not_started", ["approved", "open"])
    for number in range(2):
        let_approval_expire(operation_id)
        carry_on(operation_id)
        assert rounds(operation_id) == ["approved", *["expired"] * (number + 1), "open"]
        assert not is_due(operation_id)
    world.decide(operation_id)
    until_quiet(seconds=10)
    assert (world.state(operation_id), outcomes(operation_id)) == ("succeeded", ["lost", "happened"])
    assert len(simulator.payments(operation_id)) == 1


def test_a_call_that_did_not_get_through_is_tried_again_later(
    database: None, simulator: Simulator, settings: Any
) -> None:
    """One attempt per time: no byte left, so it comes back after its pause, and not in the same breath."""
    settings.PROVIDER_TARGETS = {"bank-main": "http://127.0.0.1:1", "crm-main": simulator.url}
    world = make_world(provider="prompt")
    operation_id = world.approved()
    assert world.drain() == 1
    assert (world.state(operation_id), outcomes(operation_id)) == ("not_started", ["not_sent"])
    assert not is_due(operation_id)


def test_contract_is_gone_during_a_call(
    database: None, simulator: Simulator, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody stays in progress for ever: it becomes unknown, and a person is asked."""
    patch_limits(settings, lease=1.2)
    world = make_world(provider="prompt")
    operation_id = world.approved()
    monkeypatch.setattr(execute_steps, "call", lambda claim: None)
    monkeypatch.setattr(execute_steps, "record", lambda claim, answer: None)
    resume(operation_id, worker="a worker that dies here")
    monkeypatch.setattr(gather_module, "_contract", lambda provider, action: None)
    until_quiet(seconds=10)
    assert (world.state(operation_id), cases(operation_id)) == ("unknown", ["unknown"])
    assert moves(operation_id)[-1] == "in_progress lost unknown"


@pytest.fixture
def by_id_only(tmp_path: Path, settings: Any) -> Iterator[str]:
    """A bank that can be asked about a payment only by the id it gave it."""
    text = (CONTRACTS / "prompt_payments.toml").read_text()
    head, look_up, _ = text.partition('[[look_ups]]\nway = "by_reference"')
    outcomes_of = text[text.index("[[outcomes]]") :]
    text = (head + "[schedule]\ndelays = [0, 1]\n\n" + outcomes_of).replace('"prompt', '"numbered')
    assert look_up and tomllib.loads(text)["look_ups"][0]["way"] == "by_id"
    (tmp_path / "numbered.toml").write_text(text)
    settings.PROVIDER_CONTRACT_DIRS = [CONTRACTS, tmp_path]
    registry.contracts.cache_clear()
    yield "numbered"
    registry.contracts.cache_clear()


def test_no_way_to_ask_because_no_id_is_known(database: None, simulator: Simulator, by_id_only: str) -> None:
    """The contract has a way, and it cannot be used: that is for a person, and no reason to try without pause."""
    world = make_world(provider=by_id_only)
    simulator.fault("lose_answer_after_acting")
    operation_id = world.approved()
    carry_on(operation_id)
    assert (world.state(operation_id), cases(operation_id)) == ("unknown", ["unknown"])
    assert not is_due(operation_id)
    assert len(simulator.posts(operation_id)) == 1


def test_stored_bytes_that_are_no_json_any_more(world: World, simulator: Simulator) -> None:
    """Tampered with beyond reading, the hash as well: nothing is raised and nothing is sent."""
    operation_id, raw = world.approved(), b"\xff{"
    with guards_off("operations_intent"):
        Intent.objects.filter(operation_id=operation_id).update(canonical=raw, payload_hash=sha256_of(raw))
    carry_on(operation_id)
    assert world.state(operation_id) == "cancelled"
    assert simulator.posts(operation_id) == []


def test_times_are_written_over_what_was_read_only(world: World, simulator: Simulator) -> None:
    operation_id = world.prepare()
    operation = Operation.objects.get(pk=operation_id)
    assert operation.next_step_at is not None
    stale = operation.next_step_at - timedelta(seconds=1)
    state = State(operation.state)
    assert not rest(operation_id, state=state, planned=stale, seconds=None, waits_for="approver")
    assert not rest(operation_id, state=State.UNKNOWN, planned=operation.next_step_at, seconds=5)
    postpone(operation_id, seconds=1)
    assert Operation.objects.get(pk=operation_id).next_step_at == operation.next_step_at, "it lies ahead anyway"
    assert rest(operation_id, state=state, planned=operation.next_step_at, seconds=None, waits_for="approver")
    assert Operation.objects.get(pk=operation_id).next_step_at is None
