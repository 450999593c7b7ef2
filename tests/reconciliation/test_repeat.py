"""A versioned change that is repeated: a conflict may be our own first request, arriving after all."""

from typing import Any

import pytest

from operations.models import Evidence
from opsconsole.engine.resume import resume
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import WORKER, await_credible_absence, look, open_cases
from tests.support.simulator import Simulator
from tests.support.tenant import World


def proved_absent(world: World, simulator: Simulator, promise: Promise) -> str:
    """A deal change whose one request seems not to have arrived, about to be sent again with the same precondition."""
    promise(
        "simulated",
        "crm.update_deal",
        absence={"processing_delay": 0, "spacing": 0},
        schedule={"delays": (3600,)},
    )
    simulator.plant_deal(id="deal_442", stage="offer", version=19)
    simulator.fault("lose_answer_before_acting", method="PATCH")
    operation_id = world.approved(world.deal(version=19))
    resume(operation_id, worker=WORKER)
    await_credible_absence(operation_id)
    for _ in range(2):
        look(world, operation_id)
    assert world.state(operation_id) == "not_started"
    return operation_id


@pytest.mark.parametrize(
    ("meanwhile", "state", "cases"),
    [({"stage": "contract"}, "succeeded", []), ({"stage": "lost"}, "disputed", ["disputed"])],
    ids=["our own first request arrived", "a colleague changed it"],
)
def test_a_conflict_on_a_repeat_is_looked_up_and_never_just_failed(
    prompt: World,
    simulator: Simulator,
    promise: Promise,
    meanwhile: dict[str, Any],
    state: str,
    cases: list[str],
) -> None:
    operation_id = proved_absent(prompt, simulator, promise)
    simulator.edit_deal("deal_442", **meanwhile)
    resume(operation_id, worker=WORKER)
    assert prompt.state(operation_id) == "unknown"
    assert Evidence.objects.filter(operation_id=operation_id, reason="conflict_on_repeat").count() == 1
    look(prompt, operation_id)
    prompt.drain()
    assert (prompt.state(operation_id), open_cases(operation_id)) == (state, cases)
    assert len(simulator.requests(method="PATCH", path="/v1/deals/deal_442")) >= 2


def test_a_conflict_on_the_first_request_is_the_provider_s_no(prompt: World, simulator: Simulator) -> None:
    simulator.plant_deal(id="deal_442", stage="offer", version=21)
    operation_id = prompt.approved(prompt.deal(version=19))
    prompt.drain()
    assert (prompt.state(operation_id), open_cases(operation_id)) == ("failed", ["version_conflict"])
