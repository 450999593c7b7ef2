"""Nothing that is due stays due: whatever state an operation is brought into, one ring brings it to rest.

And from there, further rings neither write to the provider nor leave anything to do: no busy loop anywhere.
"""

from collections.abc import Callable
from typing import Any

import pytest

from operations.core.intent import sha256_of
from operations.models import Connection, Intent, Operation, Policy
from opsconsole.engine.drain import carry_on, drain
from opsconsole.engine.timetable import is_due
from tests.operations.scenario import cases, execute, guards_off, patch_limits
from tests.support.between import Between
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world

RINGS = 3

type Scene = Callable[[World, Simulator], str]


def waiting(world: World, simulator: Simulator) -> str:
    return world.prepare()


def approved(world: World, simulator: Simulator) -> str:
    return world.approved()


def rejected(world: World, simulator: Simulator) -> str:
    operation_id = world.prepare()
    world.decide(operation_id, verdict="reject", reason="Not ours.")
    return operation_id


def expired(world: World, simulator: Simulator) -> str:
    operation_id = world.approved()
    with guards_off("operations_permit", "approvals_approvalround"):
        for table in ("operations_permit", "approvals_approvalround"):
            execute(f"UPDATE {table} SET expires_at = clock_timestamp() WHERE operation_id = %s", operation_id)
    return operation_id


def policy_moved(world: World, simulator: Simulator) -> str:
    operation_id = world.approved()
    Policy.objects.create(tenant=world.tenant, action="payments.create", version=2, quorum=1, approval_seconds=60)
    return operation_id


def manual(world: World, simulator: Simulator) -> str:
    Connection.objects.filter(tenant=world.tenant).update(mode="manual")
    return world.approved()


def tampered(world: World, simulator: Simulator) -> str:
    operation_id = world.approved()
    changed = bytes(Intent.objects.get(operation_id=operation_id).canonical).replace(b"vendor_77", b"vendor_78")
    with guards_off("operations_intent"):
        Intent.objects.filter(operation_id=operation_id).update(canonical=changed, payload_hash=sha256_of(changed))
    return operation_id


def faulty(*faults: dict[str, Any]) -> Scene:
    """An approved payment whose provider misbehaves like this."""

    def scene(world: World, simulator: Simulator) -> str:
        for fault in faults:
            simulator.fault(**fault)
        return world.approved()

    return scene


def version_conflict(world: World, simulator: Simulator) -> str:
    simulator.plant_deal(id="deal_442", version=20, stage="offer")
    return world.approved(world.deal(version=19))


LOST = {"name": "lose_answer_after_acting"}
NEVER_THERE = {"name": "lose_answer_before_acting"}
NO_LOOK_UP = {"name": "error_without_effect", "method": "GET", "status": 500, "times": 0}
NOTHING_LISTED = {"name": "raw", "method": "GET", "status": 200, "body": {"data": []}, "times": 0}

SCENES: dict[str, Scene] = {
    "waiting": waiting,
    "approved": approved,
    "rejected": rejected,
    "expired": expired,
    "policy moved": policy_moved,
    "manual": manual,
    "tampered": tampered,
    "lost and found": faulty(LOST),
    "lost and not there": faulty(NEVER_THERE),
    "lost and no answer to look-ups": faulty(LOST, NO_LOOK_UP),
    "lost and an incomplete list": faulty(LOST, NOTHING_LISTED),
    "pending": faulty({"name": "accept_later", "seconds": 600}),
    "several": faulty({"name": "duplicate_objects"}, LOST),
    "declined": faulty({"name": "decline"}),
    "500 with effect": faulty({"name": "error_with_effect"}),
    "redirected": faulty({"name": "redirect", "location": "http://127.0.0.1:1/"}),
    "credential refused": faulty(
        {"name": "error_without_effect", "status": 401, "body": {"error": {"type": "authentication_error"}}}
    ),
    "key used": faulty(
        {"name": "error_without_effect", "status": 400, "body": {"error": {"type": "idempotency_error"}}}
    ),
    "not JSON": faulty({"name": "bad_body", "kind": "html"}),
    "version conflict": version_conflict,
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
@pytest.mark.parametrize("provider", ["simulated", "keyless"])
def test_one_ring_brings_it_to_rest(
    database: None, simulator: Simulator, settings: Any, scene: Scene, provider: str
) -> None:
    patch_limits(settings)
    world = make_world(provider=provider)
    simulator.settings(keys="ignore" if provider == "keyless" else "honour")
    operation_id = scene(world, simulator)
    carry_on(operation_id)
    assert not is_due(operation_id)
    before, written = Operation.objects.get(pk=operation_id), len(simulator.posts(operation_id))
    for _ in range(RINGS):
        carry_on(operation_id)
        assert not is_due(operation_id)
    assert drain() == 0
    after = Operation.objects.get(pk=operation_id)
    assert (after.state, after.reason, after.attempts_made) == (before.state, before.reason, before.attempts_made)
    assert len(simulator.posts(operation_id)) == written <= 1


@pytest.mark.parametrize("broken", ["no secret", "nobody listens"])
def test_a_connection_that_cannot_be_used(
    database: None, simulator: Simulator, settings: Any, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Approved while all was well, and unusable when the one is to be sent and the other to be looked up."""
    patch_limits(settings)
    with Between(simulator.port) as between:
        settings.PROVIDER_TARGETS = {"bank-main": between.url}
        world = make_world(provider="prompt")
        operation_id, lost = world.approved(), world.approved()
        simulator.fault("error_without_effect", method="GET", status=500)
        between.lose_answer()
        carry_on(lost)
    if broken == "no secret":
        monkeypatch.delenv("BANK_MAIN_TOKEN")
    with guards_off("operations_operation"):
        execute("UPDATE operations_operation SET next_step_at = clock_timestamp()")
    assert drain() == 2
    assert (world.state(operation_id), world.state(lost)) == ("not_started", "unknown")
    assert cases(operation_id) == cases(lost) == (["configuration"] if broken == "no secret" else [])
    assert drain() == 0
