"""A worker that was stopped past its lease and comes back (case P12). Ownership is the claim token, nothing else.

Variant (iv) of the case, a heartbeat whose update fails, does not exist here: no worker ever prolongs a lease. A call
is bounded by its time-outs, the lease covers the longest one, and sending may begin only while a whole call still fits.
"""

from typing import Any

import pytest

from operations.models import Attempt, Evidence, Operation, Permit
from tests.crash.jobs import until_quiet
from tests.operations.scenario import cases, check_invariants, committed, execute, guards_off, moves, outcomes, reads
from tests.support.between import Between
from tests.support.simulator import Simulator
from tests.support.tenant import make_world
from tests.support.waiting import wait_past
from tests.support.workers import Worker, Workers

SAME_NAME = "worker container:1:1"
OWNED = """
SELECT state, last_event, reason, claim_token, lease_until, attempts_made, external_id, fact_id, changed_at
FROM operations_operation WHERE intent_id = %s
"""
TRIED = """
SELECT number, phase, http_status, provider_request_id, external_id, outcome, finished_at
FROM operations_attempt WHERE operation_id = %s ORDER BY number
"""


def wait_for_the_lease(operation_id: str) -> None:
    """Return once the lease of the claim in force is over."""
    lease_until = Operation.objects.values_list("lease_until", flat=True).get(pk=operation_id)
    assert lease_until is not None
    wait_past(lease_until)


def comes_back(worker: Worker, operation_id: str, *, go: bool) -> None:
    """SIGCONT, wait for its end, and see that it changed nothing that it no longer owned."""
    before = committed(OWNED, operation_id), committed(TRIED, operation_id)
    worker.cont()
    if go:
        worker.go()
    assert worker.result()["error"] == ""
    assert committed(OWNED, operation_id) == before[0], "release and result"
    assert committed(TRIED, operation_id) == before[1], "the note on the attempt"


@pytest.mark.parametrize("gate", ["before_call", "before_send"])
def test_stopped_just_before_its_request(workers: Workers, simulator: Simulator, short: None, gate: str) -> None:
    """Another worker of the same name looked up, claimed anew and called. The first one sends nothing."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    first = workers.hire("carry_on", gate=gate, operation_id=operation_id, worker=SAME_NAME)
    first.wait_for(gate)
    first.stop()
    wait_for_the_lease(operation_id)
    workers.hire("until_quiet", seconds=20, worker=SAME_NAME).result()
    assert world.state(operation_id) == "succeeded"
    assert set(Attempt.objects.filter(operation_id=operation_id).values_list("worker", flat=True)) == {SAME_NAME}
    comes_back(first, operation_id, go=True)
    assert len(simulator.posts(operation_id)) == 1
    assert outcomes(operation_id) == ["lost", "happened"]
    late = Evidence.objects.get(operation_id=operation_id, source="late_response")
    assert (late.attempt_number, late.verdict) == (1, "not_sent")
    assert cases(operation_id) == []
    check_invariants(simulator, operation_id)


def test_stopped_until_its_lease_is_over_and_nobody_came(workers: Workers, simulator: Simulator, short: None) -> None:
    """Its claim is still its own, but too little of its lease is left: nothing leaves, the claim goes back."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    worker = workers.hire("carry_on", gate="before_call", operation_id=operation_id)
    worker.wait_for("before_call")
    worker.stop()
    wait_for_the_lease(operation_id)
    worker.cont()
    worker.go()
    worker.result()
    assert (outcomes(operation_id), simulator.posts(operation_id)) == (["not_sent"], [])
    until_quiet(seconds=10)
    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


def test_stopped_after_its_request(workers: Workers, simulator: Simulator, between: Between, short: None) -> None:
    """The answer waits for it in its socket. It reads it, finds its claim gone and leaves it as evidence only."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    simulator.fault("hold_answer")
    first = workers.hire("carry_on", operation_id=operation_id, worker=SAME_NAME)
    simulator.wait_until_held()
    first.stop()
    wait_for_the_lease(operation_id)
    workers.hire("until_quiet", seconds=20, worker=SAME_NAME).result()
    assert moves(operation_id)[-1] == "unknown found succeeded"
    simulator.release()
    between.wait_for_answers(1)
    comes_back(first, operation_id, go=False)
    late = Evidence.objects.get(operation_id=operation_id, source="late_response")
    assert (late.attempt_number, late.verdict) == (1, "happened")
    assert late.external_id == Operation.objects.get(pk=operation_id).external_id
    until_quiet(seconds=10)
    assert cases(operation_id) == [], "it agrees with what is on record"
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


@pytest.mark.parametrize("offset", [-600, 600])
def test_clock_of_the_node_is_wrong(
    workers: Workers, simulator: Simulator, short: None, settings: Any, offset: int
) -> None:
    """Ten minutes behind or ahead: lease and expiry are read from the database's clock, whatever the node believes."""
    world = make_world(provider="prompt")
    operation_id, expired = world.approved(), world.approved()
    let_approval_expire(expired)
    workers.hire("carry_on", operation_id=expired, clock_offset=offset).result()
    assert (world.state(expired), simulator.posts(expired)) == ("cancelled", [])
    simulator.fault("hold_answer")
    worker = workers.hire("carry_on", operation_id=operation_id, clock_offset=offset)
    simulator.wait_until_held()
    attempt, operation = Attempt.objects.get(operation_id=operation_id), Operation.objects.get(pk=operation_id)
    assert operation.lease_until is not None
    assert abs((operation.lease_until - attempt.claimed_at).total_seconds() - settings.LEASE_SECONDS) < 0.5
    other = workers.hire("carry_on", operation_id=operation_id, clock_offset=-offset)
    other.result()
    assert reads(simulator, operation_id) == [], "the lease holds, so nobody else may even look"
    simulator.release()
    worker.result()
    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


def let_approval_expire(operation_id: str) -> None:
    """Let the approval be over by the database's clock, seconds ago; only the owner of the tables can do this."""
    with guards_off("operations_permit", "approvals_approvalround"):
        for table in ("operations_permit", "approvals_approvalround"):
            ended = f"UPDATE {table} SET expires_at = clock_timestamp() - interval '5 s' WHERE operation_id = %s"
            assert execute(ended, operation_id) == 1
    assert Permit.objects.filter(operation_id=operation_id, revoked_at=None).exists()
