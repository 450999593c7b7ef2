"""The database goes away under a worker. What it did not hear back about it does not know, and so it does not call."""

import pytest
from django.db import OperationalError, connection

from opsconsole.engine import tasks
from tests.crash.jobs import until_quiet
from tests.operations.scenario import check_invariants, committed, outcomes
from tests.support.simulator import Simulator
from tests.support.tenant import make_world
from tests.support.workers import Workers


def cut(backend: int) -> None:
    """Terminate one connection of another process, from a second one."""
    assert committed("SELECT pg_terminate_backend(%s, 5000)", backend) == [(True,)]


def test_lost_between_answer_and_record(workers: Workers, simulator: Simulator, short: None) -> None:
    """The answer is in hand and cannot be written down: it is looked up like any other lost answer."""
    world = make_world(provider="keyless")
    simulator.settings(keys="ignore")
    operation_id = world.approved()
    worker = workers.hire("carry_on", gate="before_record", operation_id=operation_id)
    cut(worker.wait_for("before_record")["backend"])
    worker.go()
    assert worker.result()["error"] == "OperationalError"
    assert (world.state(operation_id), outcomes(operation_id)) == ("in_progress", [""])
    until_quiet(seconds=15)
    assert (world.state(operation_id), outcomes(operation_id)) == ("succeeded", ["lost"])
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


def test_claim_that_was_not_committed(workers: Workers, simulator: Simulator, short: None) -> None:
    """Cut at the claim's COMMIT: nothing is claimed and nothing sent, and the next worker calls once."""
    world = make_world(provider="keyless")
    operation_id = world.approved()
    worker = workers.hire("carry_on", gate="at_commit", operation_id=operation_id)
    cut(worker.wait_for("at_commit")["backend"])
    worker.go()
    assert worker.result()["error"] == "OperationalError"
    assert (world.state(operation_id), outcomes(operation_id), simulator.posts(operation_id)) == ("not_started", [], [])
    until_quiet(seconds=15)
    assert (world.state(operation_id), outcomes(operation_id)) == ("succeeded", ["happened"])
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


def test_claim_that_was_committed_unheard(workers: Workers, simulator: Simulator, short: None) -> None:
    """The COMMIT went through and its confirmation did not: the worker may not call, and does not."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    worker = workers.hire("carry_on", gate="after_commit", operation_id=operation_id)
    cut(worker.wait_for("at_commit")["backend"])
    worker.go()
    assert worker.result()["error"] == "OperationalError"
    assert (world.state(operation_id), outcomes(operation_id)) == ("in_progress", [""])
    assert simulator.posts(operation_id) == []
    until_quiet(seconds=15)
    assert (world.state(operation_id), outcomes(operation_id)) == ("succeeded", ["lost", "happened"])
    assert [row["method"] for row in simulator.requests(reference=operation_id)] == ["GET", "GET", "POST"]
    check_invariants(simulator, operation_id)


def test_a_worker_outlives_a_lost_connection(workers: Workers, simulator: Simulator) -> None:
    """The task that meets a broken connection fails; the next one of the same process has a new connection."""
    world = make_world(provider="prompt")
    first, second = world.approved(), world.approved()
    cut(own_backend())
    with pytest.raises(OperationalError):
        world.state(first)  # the process has met the loss, as an earlier task would
    tasks.resume(first)
    tasks.resume(second)
    assert {world.state(first), world.state(second)} == {"succeeded"}


def own_backend() -> int:
    """The backend of this process's own connection."""
    assert connection.connection is not None
    return int(connection.connection.info.backend_pid)
