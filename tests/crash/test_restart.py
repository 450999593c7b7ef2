"""A restart repairs nothing by itself (case P13): the first thing it does about a call under way is to read."""

from typing import Any

from operations.models import JournalEntry, Operation
from tests.crash.jobs import until_quiet
from tests.operations.scenario import check_invariants, moves, outcomes, run_manage
from tests.support.celery_worker import bell, celery_worker
from tests.support.simulator import Simulator
from tests.support.tenant import make_world
from tests.support.waiting import wait_past
from tests.support.workers import Workers

THE_SAME_CONTAINER = "worker container:1:1"


def after_the_crash(simulator: Simulator, operation_id: str) -> list[str]:
    """The methods of what the provider logged after the first request to write."""
    methods = [row["method"] for row in simulator.requests(reference=operation_id)]
    return methods[methods.index("POST") + 1 :]


def test_killed_and_started_again_under_the_same_name(workers: Workers, simulator: Simulator, short: None) -> None:
    world = make_world(provider="keyless")
    simulator.settings(keys="ignore")
    operation_id = world.approved()
    simulator.fault("hold_answer")
    worker = workers.hire("carry_on", operation_id=operation_id, worker=THE_SAME_CONTAINER)
    simulator.wait_until_held()
    worker.kill()
    workers.hire("until_quiet", seconds=15, worker=THE_SAME_CONTAINER).result()
    assert world.state(operation_id) == "succeeded"
    assert after_the_crash(simulator, operation_id) == ["GET"]
    assert outcomes(operation_id) == ["lost"]
    check_invariants(simulator, operation_id)


def test_asked_to_stop_during_a_call(workers: Workers, simulator: Simulator, settings: Any, short: None) -> None:
    """SIGTERM, half a second of grace, SIGKILL: the shutdown writes nothing about a call that it cannot know about."""
    world = make_world(provider="keyless")
    simulator.settings(keys="ignore")
    operation_id = world.approved()
    simulator.fault("hold_answer")
    with bell() as rung, celery_worker(rung) as worker:
        rung.ring(operation_id)
        simulator.wait_until_held()
        entries = JournalEntry.objects.filter(operation_id=operation_id).count()
        worker.terminate(grace=0.5)
        assert JournalEntry.objects.filter(operation_id=operation_id).count() == entries
        assert (world.state(operation_id), outcomes(operation_id)) == ("in_progress", [""])
        with celery_worker(rung):
            rung.ring(operation_id)
            rung.wait_until_taken()
    wait_for_the_lease(operation_id)
    assert "1 operations carried on" in run_manage("sweep", "--once", **targets(settings))
    assert moves(operation_id)[1:] == ["in_progress lost unknown", "unknown found succeeded"]
    assert after_the_crash(simulator, operation_id) == ["GET"]
    check_invariants(simulator, operation_id)


def test_stopped_gently_with_time_enough(workers: Workers, simulator: Simulator, short: None) -> None:
    """With grace enough the answer is awaited and recorded: a call under way is worth more than a quick exit."""
    world = make_world(provider="keyless")
    operation_id = world.approved()
    simulator.fault("delay_answer", seconds=0.5)
    with bell() as rung, celery_worker(rung) as worker:
        rung.ring(operation_id)
        simulator.wait_for_payments(1, operation_id)
        worker.terminate(grace=15)
    assert (world.state(operation_id), outcomes(operation_id)) == ("succeeded", ["happened"])
    check_invariants(simulator, operation_id)


def test_killed_between_claim_and_call(workers: Workers, simulator: Simulator, short: None) -> None:
    """Nobody knows that nothing was sent: unknown, read, proved absent, and only then the one call."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    worker = workers.hire("carry_on", gate="before_call", operation_id=operation_id)
    worker.wait_for("before_call")
    worker.kill()
    until_quiet(seconds=15)
    assert moves(operation_id) == [
        "not_started claimed in_progress",
        "in_progress lost unknown",
        "unknown proved_absent not_started",
        "not_started claimed in_progress",
        "in_progress confirmed succeeded",
    ]
    assert [row["method"] for row in simulator.requests(reference=operation_id)] == ["GET", "GET", "POST"]
    check_invariants(simulator, operation_id)


def wait_for_the_lease(operation_id: str) -> None:
    """Return once the lease of the claim in force is over."""
    lease_until = Operation.objects.values_list("lease_until", flat=True).get(pk=operation_id)
    assert lease_until is not None
    wait_past(lease_until)


def targets(settings: Any) -> dict[str, str]:
    """Where the providers are, for a process of its own."""
    chosen = settings.PROVIDER_TARGETS
    return {"PROVIDER_TARGETS": ",".join(f"{name}={url}" for name, url in chosen.items())}
