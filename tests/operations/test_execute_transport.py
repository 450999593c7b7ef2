"""Case P10: the transport does nothing on its own. No retry, no redirect, no credential to another host."""

from typing import Any

import pytest

from operations.models import Operation
from opsconsole.engine.drain import carry_on
from tests.operations.scenario import cases, check_invariants, outcomes, patch_limits, send_once
from tests.support.simulator import Simulator
from tests.support.sockets import Relay, SocketServer, answer, read_request
from tests.support.tenant import World


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    patch_limits(settings)


@pytest.mark.parametrize("fault", ["lose_answer_before_acting", "lose_answer_after_acting", "reset"])
def test_p10a_a_warm_connection_that_closes_is_not_sent_again(
    world: World, simulator: Simulator, settings: Any, fault: str
) -> None:
    with Relay(simulator.port) as relay:
        settings.PROVIDER_TARGETS = {"bank-main": relay.url}
        carry_on(world.approved())
        operation_id = world.approved()
        simulator.fault(fault)
        send_once(operation_id)
        assert relay.connections == 1  # the second request went over the first one's connection

        assert world.state(operation_id) == "unknown"
        assert outcomes(operation_id) == ["lost"]
        carry_on(operation_id)
        assert len(simulator.posts(operation_id)) == 1
        assert world.state(operation_id) == ("succeeded" if fault == "lose_answer_after_acting" else "unknown")
        check_invariants(simulator, operation_id)


def test_p10b_an_answer_that_asks_to_come_again_is_not_obeyed(world: World, simulator: Simulator) -> None:
    simulator.fault("error_without_effect", status=503, headers={"Retry-After": "0"})
    operation_id = world.approved()
    send_once(operation_id)
    assert world.state(operation_id) == "unknown"
    for _ in range(3):
        carry_on(operation_id)
    assert len(simulator.posts(operation_id)) == 1
    assert outcomes(operation_id) == ["lost"]
    check_invariants(simulator, operation_id)


def assert_refused_as_misconfigured(world: World, simulator: Simulator, operation_id: str) -> None:
    for _ in range(3):
        carry_on(operation_id)
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.reason, operation.waits_for) == ("failed", "redirected", "operator")
    assert outcomes(operation_id) == ["refused"]
    assert cases(operation_id) == ["configuration"]
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


@pytest.mark.parametrize("status", [301, 308])
def test_p10c_a_moved_path_is_not_followed(world: World, simulator: Simulator, status: int) -> None:
    before = len(simulator.requests(path="/v1/payments", method="GET"))
    simulator.fault("redirect", status=status, location="/v1/payments")
    operation_id = world.approved()
    assert_refused_as_misconfigured(world, simulator, operation_id)
    assert len(simulator.requests(path="/v1/payments", method="GET")) == before


def test_p10d_another_host_gets_neither_request_nor_credential(
    world: World, simulator: Simulator, settings: Any
) -> None:
    with Simulator() as other:
        simulator.fault("redirect", status=307, location=f"{other.url}/v1/payments")
        operation_id = world.approved()
        assert_refused_as_misconfigured(world, simulator, operation_id)
        assert other.requests() == []


@pytest.mark.parametrize("status", [302, 303])
def test_p10e_see_other_proves_nothing(world: World, simulator: Simulator, status: int) -> None:
    """An effect may hide behind it; whoever follows it would read a page and take it for the answer."""
    followed: list[bytes] = []

    def other(connection: Any) -> None:
        followed.append(read_request(connection))
        connection.sendall(answer(200, b"[]"))

    with SocketServer(other) as server:
        simulator.fault("redirect", status=status, location=f"{server.url}/v1/payments")
        operation_id = world.approved()
        send_once(operation_id)
        assert world.state(operation_id) == "unknown"
        for _ in range(3):
            carry_on(operation_id)
    assert followed == []
    assert world.state(operation_id) == "unknown"
    assert len(simulator.posts(operation_id)) == 1
    assert outcomes(operation_id) == ["lost"]
    check_invariants(simulator, operation_id)
