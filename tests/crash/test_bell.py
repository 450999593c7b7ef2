"""The bell may be lost, rung twice or rung for nothing: the truth and the claim are in the database."""

import socket

import pytest

from operations.core.decide import Command
from operations.models import Operation
from opsconsole.engine import drain as drain_module
from opsconsole.engine.resume import resume as real_resume
from tests.operations.scenario import check_invariants, run_manage
from tests.support.simulator import Simulator
from tests.support.sockets import free_port
from tests.support.tenant import World, make_world
from tests.support.workers import Workers

PATIENCE_OF_A_PERSON = 3.0  # seconds; the time-outs of the broker's client are two


@pytest.mark.parametrize("silent", [False, True], ids=["nobody listens", "somebody listens and never answers"])
def test_approved_while_the_broker_is_dead(workers: Workers, simulator: Simulator, silent: bool) -> None:
    """The approval is taken without delay, and the sweep finds what no bell announced."""
    world = make_world(provider="prompt")
    operation_id = world.prepare()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1] if silent else free_port()
        broker = f"redis://127.0.0.1:{port}/0"
        worker = workers.hire("approve", operation_id=operation_id, person=world.alice.pk, broker_url=broker)
        said = worker.result()
    assert said["error"] == ""
    assert said["took"] < (PATIENCE_OF_A_PERSON if silent else 1.5)
    assert (world.state(operation_id), simulator.posts(operation_id)) == ("not_started", [])
    assert "1 operations carried on" in sweep_once(simulator)
    assert world.state(operation_id) == "succeeded"
    check_invariants(simulator, operation_id)


def test_one_poisoned_operation_blocks_no_other(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is raised about it goes to the log and it is put off; the others of the same sweep are carried on."""
    poisoned, sound = world.approved(), [world.approved() for _ in range(3)]

    def resume(operation_id: str, *, worker: str) -> Command | None:
        if operation_id == poisoned:
            raise ZeroDivisionError("nobody thought of this")
        return real_resume(operation_id, worker=worker)

    monkeypatch.setattr(drain_module, "resume", resume)
    assert world.drain() == 4
    assert {world.state(each) for each in sound} == {"succeeded"}
    assert poisoned in caplog.text and "ZeroDivisionError" in caplog.text
    assert world.drain() == 0, "it does not come back at once"
    assert Operation.objects.get(pk=poisoned).next_step_at is not None, "and is not forgotten"


def sweep_once(simulator: Simulator) -> str:
    """One sweep in a process of its own."""
    return run_manage("sweep", "--once", PROVIDER_TARGETS=f"bank-main={simulator.url},crm-main={simulator.url}")
