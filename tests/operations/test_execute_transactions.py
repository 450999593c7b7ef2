"""Case P14: a rollback must not erase the memory of a real payment."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from operations.models import Attempt, Operation
from operations.services import evidence, execute
from opsconsole.engine.drain import carry_on
from opsconsole.engine.tasks import resume as deliver
from tests.operations.scenario import check_invariants, committed, moves, outcomes, patch_limits
from tests.support.simulator import Simulator
from tests.support.tenant import World
from tests.support.waiting import wait_past

recording = import_module("operations.services.execute.record")  # the package's own `record` is the function


class Broken(Exception):
    """Something of ours fails after the provider has answered 200."""


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    patch_limits(settings, lease=1.5)


def take(operation_id: str) -> execute.Claim:
    claim = execute.claim(operation_id=operation_id, worker="test")
    assert claim is not None
    return claim


def test_nothing_is_claimed_inside_a_transaction(world: World, simulator: Simulator) -> None:
    operation_id = world.approved()
    with pytest.raises(execute.InsideTransaction), transaction.atomic():
        execute.claim(operation_id=operation_id, worker="test")
    with pytest.raises(execute.InsideTransaction), transaction.atomic():
        carry_on(operation_id)
    assert committed("SELECT count(*) FROM operations_attempt") == [(0,)]
    assert world.state(operation_id) == "not_started"
    assert simulator.posts(operation_id) == []


def test_nothing_is_sent_or_recorded_inside_a_transaction(world: World, simulator: Simulator) -> None:
    operation_id = world.approved()
    claim = take(operation_id)
    with pytest.raises(execute.InsideTransaction), transaction.atomic():
        execute.call(claim)
    assert simulator.posts(operation_id) == []

    answer = execute.call(claim)
    with pytest.raises(execute.InsideTransaction), transaction.atomic():
        execute.record(claim, answer)
    assert world.state(operation_id) == "in_progress"

    execute.record(claim, answer)
    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == 1


def test_a_connection_that_does_not_commit_by_itself_is_refused_too(world: World, simulator: Simulator) -> None:
    operation_id = world.approved()
    connection.set_autocommit(False)
    try:
        with pytest.raises(execute.InsideTransaction):
            execute.claim(operation_id=operation_id, worker="test")
    finally:
        connection.rollback()
        connection.set_autocommit(True)
    assert simulator.posts(operation_id) == []


def by_worker(operation_id: str) -> None:
    deliver(operation_id)


def by_command(operation_id: str) -> None:
    call_command("sweep", "--once")


def saving_fails(patch: pytest.MonkeyPatch) -> None:
    def record(**_: Any) -> int:
        raise Broken

    patch.setattr(evidence, "record", record)


def hook_fails(patch: pytest.MonkeyPatch) -> None:
    """Something that runs with the move, in its transaction, and raises when everything seemed done."""
    move = recording.move

    def move_and_tell(**what: Any) -> bool:
        assert move(**what)
        raise Broken

    patch.setattr(recording, "move", move_and_tell)


@pytest.mark.parametrize("run", [by_worker, by_command])
@pytest.mark.parametrize("fails", [saving_fails, hook_fails])
def test_p14ab_what_fails_after_the_answer_leaves_the_attempt_on_record(
    world: World,
    simulator: Simulator,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[str], None],
    fails: Callable[[pytest.MonkeyPatch], None],
) -> None:
    operation_id = world.approved()
    with monkeypatch.context() as patch:
        fails(patch)
        run(operation_id)

    (payment,) = simulator.payments(operation_id)
    query = (
        "SELECT o.state, o.attempts_made, a.outcome, a.external_id FROM operations_operation o "
        "JOIN operations_attempt a ON a.operation_id = o.intent_id WHERE o.intent_id = %s"
    )
    assert committed(query, operation_id) == [("in_progress", 1, "", payment["id"])]
    assert len(simulator.posts(operation_id)) == 1

    lease_until = Operation.objects.get(pk=operation_id).lease_until
    assert lease_until is not None
    wait_past(lease_until)
    simulator.fault("error_without_effect", method="GET", status=503, times=0)
    carry_on(operation_id)
    assert committed(query, operation_id) == [("unknown", 1, "lost", payment["id"])]

    simulator.reset()
    Operation.objects.filter(pk=operation_id).update(next_step_at="2000-01-01T00:00:00Z")
    carry_on(operation_id)
    assert committed("SELECT state, external_id FROM operations_operation") == [("succeeded", payment["id"])]
    assert len(simulator.posts(operation_id)) == 1
    assert moves(operation_id)[-2:] == ["in_progress lost unknown", "unknown found succeeded"]
    check_invariants(simulator, operation_id)


def test_p14b_a_hook_that_fails_after_the_commit_changes_nothing(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation_id = world.approved()
    move = recording.move

    def tell() -> None:
        raise Broken

    def move_and_tell_later(**what: Any) -> bool:
        transaction.on_commit(tell)
        return bool(move(**what))

    with monkeypatch.context() as patch:
        patch.setattr(recording, "move", move_and_tell_later)
        deliver(operation_id)
    assert committed("SELECT state FROM operations_operation") == [("succeeded",)]
    deliver(operation_id)
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


@pytest.mark.parametrize("times", [1, 2])
def test_p14c_an_unrelated_integrity_error_is_a_doubt(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Once: the answer is put on record as lost. Twice, and nothing can be recorded: the lease speaks."""
    operation_id = world.approved()
    left, record = [times], evidence.record

    def collide(**what: Any) -> int:
        if left[0]:
            left[0] -= 1
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO operations_tenant (slug, name) SELECT slug, name FROM operations_tenant")
        return record(**what)

    monkeypatch.setattr(evidence, "record", collide)
    if times == 1:
        claim = take(operation_id)
        finding = execute.record(claim, execute.call(claim))
        assert (finding.verdict, finding.reason) == ("says_nothing", "not_recorded")
    else:
        claim = take(operation_id)
        with pytest.raises(IntegrityError):
            execute.record(claim, execute.call(claim))
        assert committed("SELECT state FROM operations_operation") == [("in_progress",)]
        lease_until = Operation.objects.get(pk=operation_id).lease_until
        assert lease_until is not None
        wait_past(lease_until)

    (payment,) = simulator.payments(operation_id)
    assert committed("SELECT external_id FROM operations_attempt") == [(payment["id"],)]
    carry_on(operation_id)

    assert world.state(operation_id) == "succeeded"
    assert outcomes(operation_id) == ["lost"]
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


def test_a_note_that_cannot_be_written_does_not_lose_the_answer(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation_id = world.approved()
    claim = take(operation_id)
    with monkeypatch.context() as patch:
        calling = import_module("operations.services.execute.call")
        patch.setattr(calling, "NOTE", "SELECT 1 / 0, %s, %s, %s, %s, %s, %s")
        answer = execute.call(claim)
    execute.record(claim, answer)
    assert world.state(operation_id) == "succeeded"
    assert Attempt.objects.get(operation_id=operation_id).outcome == "happened"
    check_invariants(simulator, operation_id)


def test_an_object_of_another_operation_is_never_taken_for_ours(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One provider object belongs to one operation; the database refuses the second, and a person decides."""
    first = world.approved()
    carry_on(first)
    taken = Operation.objects.get(pk=first).external_id
    second = world.approved(world.wish(payload={"recipient": "vendor_78"}))
    claim = take(second)
    answer = execute.call(claim)
    answer.body["id"] = taken
    finding = execute.record(claim, answer)
    assert (finding.verdict, finding.reason) == ("different", "object_of_another_operation")
    assert world.state(second) == "unknown"
    assert Operation.objects.get(pk=second).external_id == ""
