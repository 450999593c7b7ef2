"""What a worker that lost its claim brings to light later. It changes no state; what speaks against it gets a case."""

import pytest

from operations.core.states import State
from operations.models import Evidence
from operations.providers.registry import contract_for
from operations.services import execute
from reconciliation.models import Case, Resolution
from reconciliation.services.settle import Word, settle
from tests.crash.jobs import until_quiet
from tests.operations.scenario import cases, check_invariants, moves
from tests.support.between import Between
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.waiting import wait_until
from tests.support.workers import Worker, Workers


def stopped_on_its_way(workers: Workers, simulator: Simulator, operation_id: str) -> Worker:
    """A worker stopped while its request is at the provider, which has not acted yet."""
    simulator.fault("hold_acting")
    worker = workers.hire("carry_on", operation_id=operation_id)
    simulator.wait_until_held()
    worker.stop()
    return worker


def arrives(worker: Worker, simulator: Simulator, between: Between) -> None:
    """The provider acts and answers now; the answer lies in the worker's socket when it wakes up."""
    simulator.release()
    between.wait_for_answers(1)
    worker.cont()
    assert worker.result()["error"] == ""


def settled(world: World, operation_id: str, verdict: Resolution.Verdict) -> None:
    """A person's word, with the contract the page would use."""
    settle(
        operation_id=operation_id,
        tenant_id=world.tenant.pk,
        person=world.oscar,
        word=Word(verdict=verdict, reason="The bank says so.", evidence_reference="ticket 7"),
        contract=contract_for("keyless", "payments.create").contract,
    )


def test_it_happened_although_a_person_said_it_did_not(
    workers: Workers, simulator: Simulator, between: Between, short: None
) -> None:
    simulator.settings(keys="ignore")
    world = make_world(provider="keyless")
    operation_id = world.approved()
    worker = stopped_on_its_way(workers, simulator, operation_id)
    until_quiet(seconds=20)
    assert cases(operation_id) == ["resend"]
    settled(world, operation_id, Resolution.Verdict.DID_NOT_HAPPEN)
    until_quiet(seconds=5)
    assert (world.state(operation_id), cases(operation_id)) == ("failed", [])
    arrives(worker, simulator, between)
    until_quiet(seconds=5)
    assert (world.state(operation_id), cases(operation_id)) == ("failed", ["contradiction"])
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


def test_a_second_payment_comes_to_light(workers: Workers, simulator: Simulator, between: Between, short: None) -> None:
    """A person allowed another call, and the first request arrived after all. Two payments, and it is said so."""
    simulator.settings(keys="ignore")
    world = make_world(provider="keyless")
    operation_id = world.approved()
    worker = stopped_on_its_way(workers, simulator, operation_id)
    until_quiet(seconds=20)
    settled(world, operation_id, Resolution.Verdict.MAY_RETRY)
    simulator.fault("hold_answer")
    second = workers.hire("carry_on", operation_id=operation_id)
    simulator.wait_until_held(2)
    simulator.release(2)
    between.wait_for_answers(2)
    worker.cont()
    worker.result()
    second.result()
    until_quiet(seconds=5)
    assert len(simulator.payments(operation_id)) == 2, "the person's word was wrong, and the bank knows no keys"
    assert (world.state(operation_id), cases(operation_id)) == ("succeeded", ["contradiction"])
    assert len(simulator.posts(operation_id)) == 2, "and nothing is sent a third time"


def test_the_same_key_protects_when_the_provider_was_slower_than_promised(
    workers: Workers, simulator: Simulator, between: Between, short: None
) -> None:
    """Absence was proved by the contract's rule and the call repeated under its key: one payment all the same."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    worker = stopped_on_its_way(workers, simulator, operation_id)
    second = workers.hire("until_quiet", seconds=20)
    simulator.wait_for_requests(2, reference=operation_id, method="POST")
    arrives(worker, simulator, between)
    second.result()
    until_quiet(seconds=10)
    assert world.state(operation_id) == "succeeded"
    posts = simulator.posts(operation_id)
    assert len(posts) == 2 and len({row["body"] for row in posts}) == 1
    assert len(simulator.payments(operation_id)) == 1
    assert cases(operation_id) == []
    check_invariants(simulator, operation_id)


def test_no_call_against_evidence(workers: Workers, simulator: Simulator, between: Between, short: None) -> None:
    """The provider's list hides the payment, so absence is proved; but a late answer says that it is there."""
    world = make_world(provider="prompt")
    operation_id = world.approved()
    worker = hidden_and_stopped(workers, simulator, operation_id)
    looking = workers.hire("until_quiet", seconds=20)
    wait_until(lambda: absences(operation_id) == 1, 15, what="the first look-up that finds nothing")
    arrives(worker, simulator, between)
    looking.result()
    assert moves(operation_id)[-1] == "unknown proved_absent not_started"
    assert (world.state(operation_id), cases(operation_id)) == (State.NOT_STARTED, ["contradiction"])
    with pytest.raises(execute.ClaimRefused, match="claim_against_evidence"):
        execute.claim(operation_id=operation_id, worker="an impatient worker")
    until_quiet(seconds=5)
    assert len(simulator.posts(operation_id)) == len(simulator.payments(operation_id)) == 1
    assert Case.objects.filter(operation_id=operation_id).count() == 1
    check_invariants(simulator, operation_id)


def absences(operation_id: str) -> int:
    """How many look-ups have found that it is not there."""
    return Evidence.objects.filter(operation_id=operation_id, source="look_up", verdict="absent").count()


def hidden_and_stopped(workers: Workers, simulator: Simulator, operation_id: str) -> Worker:
    """A worker stopped before it reads the answer about a payment that the provider does not list yet."""
    simulator.fault("hold_answer")
    worker = workers.hire("carry_on", operation_id=operation_id)
    simulator.wait_until_held()
    worker.stop()
    simulator.edit_payment(simulator.payments(operation_id)[0]["id"], hidden=True)
    return worker
