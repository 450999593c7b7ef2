"""Killed after the request and before saving: twenty real workers at each moment, a provider that knows no keys.

The whole problem in one page. Counts are the provider's own, from the log that it writes before it acts.
"""

from datetime import UTC, datetime, timedelta
from itertools import batched

from operations.models import Evidence
from tests.operations.scenario import cases, check_invariants, moves, outcomes, reads
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.waiting import wait_past, wait_until
from tests.support.workers import Workers

KILLS, AT_ONCE = 20, 5  # with more at once on a small machine, some would be too late to send at all
THREE_SECONDS = timedelta(seconds=3)


def keyless(simulator: Simulator) -> World:
    """A tenant whose bank takes a repeated request for a second payment."""
    simulator.settings(keys="ignore")
    return make_world(provider="keyless")


def nothing_saved(operation_ids: list[str]) -> None:
    """No worker got as far as writing anything about its call."""
    assert [outcomes(each) for each in operation_ids] == [[""]] * len(operation_ids)


def sees_nothing(operation_ids: list[str]) -> set[str]:
    """Those about which the provider was asked already, without a trace."""
    asked = Evidence.objects.filter(operation_id__in=operation_ids, source="look_up", verdict="says_nothing")
    return set(asked.values_list("operation_id", flat=True))


def found_once(world: World, simulator: Simulator, operation_id: str) -> None:
    """Finished by a look-up: one request to write in the provider's log, one payment in its ledger, one attempt."""
    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == len(simulator.payments(operation_id)) == 1
    assert outcomes(operation_id) == ["lost"]
    assert moves(operation_id)[-1] == "unknown found succeeded"
    check_invariants(simulator, operation_id)


def test_killed_between_the_claim_and_the_call(workers: Workers, simulator: Simulator, short: None) -> None:
    """Nothing was sent, and nobody can know that: without keys a person decides, and the engine sends nothing."""
    world = keyless(simulator)
    operation_ids = [world.approved() for _ in range(KILLS)]
    crew = [workers.hire("carry_on", gate="before_call", operation_id=each) for each in operation_ids]
    for worker in crew:
        worker.wait_for("before_call")
        worker.kill()
    nothing_saved(operation_ids)
    workers.hire("until_quiet", seconds=25).result()
    for each in operation_ids:
        assert (world.state(each), cases(each)) == ("unknown", ["resend"])
        assert Evidence.objects.filter(operation_id=each, verdict="absent").count() == 2
        assert simulator.posts(each) == []
        assert reads(simulator, each)
        check_invariants(simulator, each)


def test_killed_between_the_claim_and_the_call_with_keys(workers: Workers, simulator: Simulator, short: None) -> None:
    """The same with a provider that honours keys: proved absent, then called once under the same approval."""
    world = make_world(provider="prompt")
    operation_ids = [world.approved() for _ in range(KILLS)]
    crew = [workers.hire("carry_on", gate="before_call", operation_id=each) for each in operation_ids]
    for worker in crew:
        worker.wait_for("before_call")
        worker.kill()
    nothing_saved(operation_ids)
    workers.hire("until_quiet", seconds=25).result()
    for each in operation_ids:
        assert world.state(each) == "succeeded"
        assert outcomes(each) == ["lost", "happened"]
        assert len(simulator.posts(each)) == len(simulator.payments(each)) == 1
        assert [row["method"] for row in simulator.requests(reference=each)][:3] == ["GET", "GET", "POST"]
        check_invariants(simulator, each)


def test_killed_after_the_provider_acted(workers: Workers, simulator: Simulator, short: None) -> None:
    """The effect is there, the answer was never read: looked up, found, finished, sent once."""
    world = keyless(simulator)
    simulator.fault("hold_answer", times=KILLS)
    operation_ids = [world.approved() for _ in range(KILLS)]
    for few in batched(operation_ids, AT_ONCE):
        for each, worker in [(each, workers.hire("carry_on", operation_id=each)) for each in few]:
            simulator.wait_for_payments(1, each)
            worker.kill()
    nothing_saved(operation_ids)
    simulator.release(KILLS)
    workers.hire("until_quiet", seconds=25).result()
    for each in operation_ids:
        found_once(world, simulator, each)
        assert len(reads(simulator, each)) == 1


def test_killed_while_the_request_was_on_its_way(workers: Workers, simulator: Simulator, short: None) -> None:
    """The provider acts three seconds later. A look-up straight after the crash sees nothing, and that is no proof."""
    world = keyless(simulator)
    simulator.fault("hold_acting", times=KILLS)
    operation_ids = [world.approved() for _ in range(KILLS)]
    for few in batched(operation_ids, AT_ONCE):
        for each, worker in [(each, workers.hire("carry_on", operation_id=each)) for each in few]:
            simulator.wait_for_requests(1, reference=each, method="POST")
            worker.kill()
    nothing_saved(operation_ids)
    last_sent_at = max(datetime.fromtimestamp(row["at"], UTC) for row in simulator.posts())
    recovery = workers.hire("until_quiet", seconds=25)
    wait_until(lambda: len(sees_nothing(operation_ids)) == KILLS, 10, what="all look-ups straight after the crash")
    wait_past(last_sent_at + THREE_SECONDS)
    assert not any(simulator.payments(each) for each in operation_ids)
    simulator.release(KILLS)
    recovery.result()
    for each in operation_ids:
        found_once(world, simulator, each)
        assert moves(each) == [
            "not_started claimed in_progress",
            "in_progress lost unknown",
            "unknown found succeeded",
        ]
