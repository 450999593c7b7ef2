"""Case P28: the agent asks again. Whatever it calls, in whatever state, its call reaches no provider by itself."""

from collections.abc import Callable

import pytest

from approvals.services import MayNotDecide
from operations.models import Intent, Operation
from operations.services import execute
from opsconsole.engine.drain import carry_on
from tests.operations.agent import OPERATIONS, AgentClient, assert_problem, at_once
from tests.support.simulator import Simulator
from tests.support.tenant import World


def send_once(operation_id: str) -> None:
    """What a worker does after a ring, once: claim, call, record."""
    claim = execute.claim(operation_id=operation_id, worker="test")
    assert claim is not None
    execute.record(claim, execute.call(claim))


def waiting(world: World, simulator: Simulator, agent: AgentClient) -> str:
    return agent.prepared()


def approved(world: World, simulator: Simulator, agent: AgentClient) -> str:
    operation_id = agent.prepared()
    world.decide(operation_id)
    return operation_id


def in_progress(world: World, simulator: Simulator, agent: AgentClient) -> str:
    operation_id = approved(world, simulator, agent)
    assert execute.claim(operation_id=operation_id, worker="test") is not None
    return operation_id


def sent_under(fault: str, **order: object) -> Callable[[World, Simulator, AgentClient], str]:
    def build(world: World, simulator: Simulator, agent: AgentClient) -> str:
        if fault:
            simulator.fault(fault, **order)
        operation_id = approved(world, simulator, agent)
        send_once(operation_id)
        return operation_id

    return build


def disputed(world: World, simulator: Simulator, agent: AgentClient) -> str:
    operation_id = sent_under("lose_answer_before_acting")(world, simulator, agent)
    simulator.plant_payment(reference=operation_id, amount=1, currency="KZT", recipient="vendor_77")
    carry_on(operation_id)
    return operation_id


def cancelled(world: World, simulator: Simulator, agent: AgentClient) -> str:
    operation_id = agent.prepared()
    assert agent.cancel(operation_id).status_code == 200
    return operation_id


STATES = {
    "not_started": waiting,
    "not_started, approved": approved,
    "in_progress": in_progress,
    "pending": sent_under("accept_later", seconds=600),
    "unknown": sent_under("lose_answer_after_acting"),
    "disputed": disputed,
    "succeeded": sent_under(""),
    "failed": sent_under("decline"),
    "cancelled": cancelled,
}


@pytest.mark.parametrize(("name", "build"), STATES.items(), ids=STATES.keys())
def test_p28f_no_call_of_an_agent_sends_anything(
    world: World,
    simulator: Simulator,
    agent: AgentClient,
    name: str,
    build: Callable[[World, Simulator, AgentClient], str],
) -> None:
    operation_id = build(world, simulator, agent)
    assert world.state(operation_id) == name.partition(",")[0]
    before = len(simulator.requests())

    assert agent.resume(operation_id).status_code == 202
    assert_problem(agent.resume(operation_id, b'{"execute": true}'), 422, "unexpected_field", "execute")
    assert agent.prepare().json()["operation_id"] == operation_id
    assert agent.read(operation_id).status_code == agent.get().status_code == 200
    assert_problem(agent.post(f"{OPERATIONS}/{operation_id}/execute"), 404, "not_found")
    assert_problem(agent.post(f"{OPERATIONS}/{operation_id}"), 405, "method_not_allowed")
    gone = agent.cancel(operation_id)

    assert len(simulator.requests()) == before
    if name in ("not_started", "not_started, approved", "cancelled"):
        assert (gone.status_code, world.state(operation_id)) == (200, "cancelled")
    else:
        assert_problem(gone, 409, "not_withdrawable")
        assert world.state(operation_id) == name


def test_p28a_five_prepares_are_one_operation_and_one_post(
    world: World, simulator: Simulator, agent: AgentClient
) -> None:
    operation_id = agent.prepared()
    world.decide(operation_id)
    for _ in range(2):
        assert agent.prepared() == operation_id
    world.drain()
    for _ in range(2):
        assert agent.prepared() == operation_id
    world.drain()
    assert Intent.objects.count() == 1
    assert len(simulator.posts(operation_id)) == len(simulator.payments(operation_id)) == 1


def test_p28b_other_content_under_the_reference_of_a_finished_one_is_refused(
    world: World, simulator: Simulator, agent: AgentClient
) -> None:
    operation_id = sent_under("")(world, simulator, agent)
    refused = assert_problem(agent.prepare(payload={"amount_minor": 5}), 409, "reference_taken", "client_reference")
    world.drain()
    assert refused["operation_id"] == operation_id
    assert Intent.objects.count() == len(simulator.posts(operation_id)) == 1


def test_p28e_twenty_resumes_at_once_are_one_post(world: World, simulator: Simulator, agent: AgentClient) -> None:
    operation_id = approved(world, simulator, agent)

    def ring_and_answer() -> int:
        status: int = agent.resume(operation_id).status_code
        carry_on(operation_id)
        return status

    assert at_once(20, ring_and_answer) == [202] * 20
    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == len(simulator.payments(operation_id)) == 1


def test_p28e_a_rejection_after_the_approval_changes_nothing(
    world: World, simulator: Simulator, agent: AgentClient
) -> None:
    operation_id = approved(world, simulator, agent)
    assert_problem(agent.resume(operation_id, b'{"decision": "reject"}'), 422, "unexpected_field", "decision")
    with pytest.raises(MayNotDecide):
        world.decide(operation_id, world.ana, verdict="reject", reason="Too late.")
    world.drain()
    assert world.state(operation_id) == "succeeded"
    assert [item["verdict"] for item in agent.read(operation_id).json()["approval"]["decisions"]] == ["approve"]
    assert len(simulator.posts(operation_id)) == 1


def test_what_was_cancelled_stays_cancelled_and_is_never_sent(
    world: World, simulator: Simulator, agent: AgentClient
) -> None:
    operation_id = approved(world, simulator, agent)
    first, again = agent.cancel(operation_id), agent.cancel(operation_id)
    world.drain()
    assert (first.status_code, again.status_code) == (200, 200)
    assert (again.json()["execution_status"], again.json()["reason"]) == ("cancelled", "cancelled_by_agent")
    assert again.json()["message"].startswith("Nothing has been sent: the agent took it back")
    assert simulator.requests(reference=operation_id) == []


def test_what_was_rejected_cannot_be_cancelled_as_well(world: World, agent: AgentClient) -> None:
    operation_id = agent.prepared()
    world.decide(operation_id, verdict="reject", reason="No.")
    assert_problem(agent.cancel(operation_id), 409, "not_withdrawable")


def test_what_may_have_been_sent_cannot_be_replaced(world: World, simulator: Simulator, agent: AgentClient) -> None:
    operation_id = sent_under("lose_answer_after_acting")(world, simulator, agent)
    response = agent.prepare(client_reference="second", replaces=operation_id)
    assert_problem(response, 409, "not_replaceable", "replaces")
    assert Operation.objects.count() == 1


def test_cancel_and_claim_at_once_have_one_winner(world: World, simulator: Simulator, agent: AgentClient) -> None:
    operation_id = approved(world, simulator, agent)
    turns = iter(range(8))

    def one() -> None:
        if next(turns) % 2:
            carry_on(operation_id)
        else:
            agent.cancel(operation_id)

    at_once(8, one)
    posts = len(simulator.posts(operation_id))
    assert (world.state(operation_id), posts) in [("cancelled", 0), ("succeeded", 1)]
