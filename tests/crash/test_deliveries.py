"""One message, delivered six times (case P11), and two workers told to resume one operation."""

from contextlib import ExitStack

from operations.models import Attempt
from tests.crash.jobs import until_quiet
from tests.operations.scenario import cases, check_invariants, outcomes
from tests.support.celery_worker import bell, celery_worker
from tests.support.simulator import Simulator
from tests.support.tenant import make_world
from tests.support.waiting import wait_until
from tests.support.workers import Workers

ROUNDS = 200


def test_delivered_six_times(workers: Workers, simulator: Simulator, short: None) -> None:
    """Three at once, one while the first call waits, one while the outcome is unknown, one after success."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    simulator.fault("hold_answer")
    simulator.fault("error_without_effect", method="GET", status=500)
    at_once = [workers.hire("carry_on", gate="before_start", operation_id=operation_id) for _ in range(3)]
    for worker in at_once:
        worker.wait_for("before_start")
    for worker in at_once:
        worker.go()
    simulator.wait_until_held()
    workers.hire("carry_on", operation_id=operation_id).result()
    assert [worker.result()["error"] for worker in at_once] == [""] * 3, "the call timed out and its answer was lost"
    assert world.state(operation_id) == "unknown", "the first look-up failed"
    simulator.release()
    workers.hire("carry_on", operation_id=operation_id).result()
    until_quiet(seconds=10)
    assert world.state(operation_id) == "succeeded"
    workers.hire("carry_on", operation_id=operation_id).result()
    posts = simulator.posts(operation_id)
    assert (len(posts), outcomes(operation_id), cases(operation_id)) == (1, ["lost"], [])
    assert {row["concurrent"] for row in posts} == {0}
    check_invariants(simulator, operation_id)


def test_delivered_six_times_to_real_celery_workers(workers: Workers, simulator: Simulator, short: None) -> None:
    """The same through the broker, to three worker processes; and messages about nothing in between."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    simulator.fault("hold_answer")
    with bell() as rung, ExitStack() as crew:
        for _ in range(3):
            crew.enter_context(celery_worker(rung))
        rung.ring("op_that_nobody_knows", times=3)
        rung.ring(operation_id, times=3)
        simulator.wait_until_held()
        rung.ring(operation_id)
        rung.wait_until_taken()
        simulator.release()
        wait_until(lambda: world.state(operation_id) == "succeeded", 10)
        rung.ring(operation_id, times=2)
        other = world.approved()
        rung.ring(other)
        wait_until(lambda: world.state(other) == "succeeded", 10, what="the workers still work")
    posts = simulator.posts(operation_id)
    assert (len(posts), outcomes(operation_id)) == (1, ["happened"])
    assert {row["concurrent"] for row in posts} == {0}
    check_invariants(simulator, operation_id)
    check_invariants(simulator, other)


def test_two_workers_one_resume(workers: Workers, simulator: Simulator, short: None) -> None:
    """Two hundred rounds, both let go at the same moment: one call each, and no deadlock."""
    world = make_world(provider="prompt")
    operation_ids = [world.approved() for _ in range(ROUNDS)]
    pair = [workers.hire("rounds", operation_ids=operation_ids) for _ in range(2)]
    for _ in operation_ids:
        for worker in pair:
            worker.wait_for("ready")
        for worker in pair:
            worker.go()
    assert [worker.result()["errors"] for worker in pair] == [[], []]
    assert {world.state(each) for each in operation_ids} == {"succeeded"}
    keys = [row["key"] for row in simulator.posts() if row["key"] in operation_ids]
    assert sorted(keys) == sorted(operation_ids)
    attempts = Attempt.objects.filter(operation_id__in=operation_ids)
    assert attempts.count() == ROUNDS
    assert attempts.values("worker").distinct().count() == 2, "both took part"
