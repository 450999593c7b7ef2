"""Cases P01 and P02: an answer that is lost is looked up, never repeated; what never left may be tried again."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from operations.models import Attempt, Intent, Operation
from operations.providers import bounded, http
from opsconsole.engine.drain import carry_on
from opsconsole.engine.tasks import resume as deliver
from tests.operations.scenario import check_invariants, moves, outcomes, patch_limits, reads, send_once
from tests.support.simulator import Simulator
from tests.support.sockets import CERTIFICATE, Relay, SocketServer, free_port
from tests.support.tenant import World
from tests.support.waiting import database_now, wait_past, wait_until


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    patch_limits(settings)


@pytest.fixture
def fresh_client(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No warm connection and no trust from before, and none left behind."""

    def forget() -> None:
        http.close()
        bounded._trust.cache_clear()

    forget()
    yield
    monkeypatch.undo()
    forget()


def test_p01_a_read_time_out_is_looked_up_and_not_repeated(world: World, simulator: Simulator) -> None:
    simulator.fault("hold_answer")
    operation_id = world.approved()

    send_once(operation_id)

    assert world.state(operation_id) == "unknown"
    assert outcomes(operation_id) == ["lost"]
    assert len(simulator.posts(operation_id)) == 1

    for _ in range(3):  # the broker delivers the message again, and again
        assert deliver(operation_id) is None

    assert world.state(operation_id) == "succeeded"
    (payment,) = simulator.payments(operation_id)
    before = Operation.objects.values().get(pk=operation_id)
    assert before["external_id"] == payment["id"]

    simulator.release()  # the late answer to a worker that has long given up
    assert deliver(operation_id) is None

    assert Operation.objects.values().get(pk=operation_id) == before
    assert len(simulator.posts(operation_id)) == 1
    assert outcomes(operation_id) == ["lost"]
    assert len(reads(simulator, operation_id)) >= 1
    assert moves(operation_id) == [
        "not_started claimed in_progress",
        "in_progress lost unknown",
        "unknown found succeeded",
    ]
    check_invariants(simulator, operation_id)


def test_p01_the_queue_neither_repeats_nor_keeps_results(settings: Any) -> None:
    assert settings.CELERY_TASK_ACKS_LATE is False
    assert deliver.max_retries == 0
    assert deliver.ignore_result is True


def assert_not_sent(world: World, simulator: Simulator, operation_id: str) -> None:
    """Provably no byte left: executable again under the same approval, at a time that is written down."""
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.last_event) == ("not_started", "not_sent")
    assert operation.next_step_at is not None and operation.next_step_at > database_now()
    assert outcomes(operation_id) == ["not_sent"]
    assert simulator.posts(operation_id) == []


def assert_recovered(world: World, simulator: Simulator, operation_id: str) -> None:
    """A ring does not shorten the pause after a failed try; then the same approval, one more attempt, one request."""
    carry_on(operation_id)
    assert outcomes(operation_id) == ["not_sent"]
    due_at = Operation.objects.get(pk=operation_id).next_step_at
    assert due_at is not None
    wait_past(due_at)
    carry_on(operation_id)
    assert world.state(operation_id) == "succeeded"
    assert outcomes(operation_id) == ["not_sent", "happened"]
    (row,) = simulator.posts(operation_id)
    assert row["key"] == Intent.objects.get(pk=operation_id).idempotency_key
    first, second = Attempt.objects.filter(operation_id=operation_id).order_by("number")
    assert (first.permit_id, first.request_digest) == (second.permit_id, second.request_digest)
    check_invariants(simulator, operation_id)


def test_p02a_an_unknown_host_is_not_sent(
    world: World, simulator: Simulator, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROVIDER_TARGETS = {"bank-main": f"http://bank.invalid:{simulator.port}"}
    answers: list[str] = []
    look_up_name = socket.getaddrinfo

    def names(host: Any, *rest: Any, **more: Any) -> Any:
        if host != "bank.invalid":
            return look_up_name(host, *rest, **more)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up_name(answers[0], *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", names)
    operation_id = world.approved()
    carry_on(operation_id)
    assert_not_sent(world, simulator, operation_id)

    answers.append("127.0.0.1")
    assert_recovered(world, simulator, operation_id)


def test_p02b_a_refused_connection_is_not_sent(world: World, simulator: Simulator, settings: Any) -> None:
    port = free_port()
    settings.PROVIDER_TARGETS = {"bank-main": f"http://127.0.0.1:{port}"}
    operation_id = world.approved()
    carry_on(operation_id)
    assert_not_sent(world, simulator, operation_id)

    with Relay(simulator.port, port=port):
        assert_recovered(world, simulator, operation_id)


def test_p02c_a_failed_handshake_is_not_sent(
    world: World, simulator: Simulator, settings: Any, monkeypatch: pytest.MonkeyPatch, fresh_client: None
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    port = free_port()
    settings.PROVIDER_TARGETS = {"bank-main": f"https://127.0.0.1:{port}"}
    operation_id = world.approved()
    with SocketServer(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad\r\n\r\n"), port=port):
        carry_on(operation_id)
    assert_not_sent(world, simulator, operation_id)

    with Relay(simulator.port, port=port, tls=True):
        assert_recovered(world, simulator, operation_id)


def test_p02c_a_stranger_s_certificate_is_not_sent(
    world: World, simulator: Simulator, settings: Any, fresh_client: None
) -> None:
    with Relay(simulator.port, tls=True) as relay:
        settings.PROVIDER_TARGETS = {"bank-main": relay.url}
        operation_id = world.approved()
        carry_on(operation_id)
        assert_not_sent(world, simulator, operation_id)


def test_p02d_half_a_body_may_have_been_enough(world: World, simulator: Simulator, settings: Any) -> None:
    with Relay(simulator.port) as relay:
        settings.PROVIDER_TARGETS = {"bank-main": relay.url}
        relay.cut_bodies = 1
        operation_id = world.approved()
        carry_on(operation_id)
        (row,) = simulator.wait_for_requests(1, method="POST", key=operation_id)
        for _ in range(3):
            carry_on(operation_id)

    assert row["complete"] is False
    assert world.state(operation_id) == "unknown"
    assert outcomes(operation_id) == ["lost"]
    assert len(simulator.requests(method="POST", key=operation_id)) == 1
    assert simulator.payments(operation_id) == []
    check_invariants(simulator, operation_id)


@pytest.mark.parametrize(("fault", "acts"), [("lose_answer_after_acting", True), ("lose_answer_before_acting", False)])
def test_p02e_a_whole_body_without_an_answer(world: World, simulator: Simulator, fault: str, acts: bool) -> None:
    simulator.fault(fault)
    operation_id = world.approved()
    send_once(operation_id)
    assert world.state(operation_id) == "unknown"

    for _ in range(3):
        carry_on(operation_id)

    assert world.state(operation_id) == ("succeeded" if acts else "unknown")
    assert outcomes(operation_id) == ["lost"]
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


class NobodyExpectedThis(Exception):
    """A type that no list of network errors holds."""


@pytest.mark.parametrize("unexpected", [NobodyExpectedThis, ValueError, RuntimeError, MemoryError, AssertionError])
def test_p02_an_unlisted_exception_after_the_first_byte_is_a_lost_answer(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, unexpected: type[Exception]
) -> None:
    def read(*_: object, **__: object) -> bytes:
        raise unexpected("in the middle of the call")

    operation_id = world.approved()
    with monkeypatch.context() as patch:
        patch.setattr(bounded._Stream, "read", read)
        send_once(operation_id)
    assert world.state(operation_id) == "unknown"
    simulator.wait_for_payments(1, operation_id)

    carry_on(operation_id)

    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)


@pytest.mark.parametrize("unexpected", [NobodyExpectedThis, ValueError, MemoryError])
def test_p02_an_unlisted_exception_before_the_first_byte_is_not_sent(
    world: World,
    simulator: Simulator,
    monkeypatch: pytest.MonkeyPatch,
    fresh_client: None,
    unexpected: type[Exception],
) -> None:
    def connect(*_: object, **__: object) -> None:
        raise unexpected("before anything was sent")

    operation_id = world.approved()
    with monkeypatch.context() as patch:
        patch.setattr(bounded._Backend, "connect_tcp", connect)
        carry_on(operation_id)
    assert_not_sent(world, simulator, operation_id)
    assert_recovered(world, simulator, operation_id)


def test_p02_the_end_of_the_process_is_left_to_the_lease(
    world: World, simulator: Simulator, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_limits(settings, lease=1.2)

    def read(*_: object, **__: object) -> bytes:
        raise KeyboardInterrupt

    operation_id = world.approved()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(bounded._Stream, "read", read)
        carry_on(operation_id)
    operation = Operation.objects.get(pk=operation_id)
    assert operation.state == "in_progress"
    assert operation.lease_until is not None
    carry_on(operation_id)
    assert world.state(operation_id) == "in_progress"
    simulator.wait_for_payments(1, operation_id)

    wait_past(operation.lease_until)
    wait_until(lambda: world.drain() and world.state(operation_id) == "succeeded")

    assert "in_progress lost unknown" in moves(operation_id)
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)
