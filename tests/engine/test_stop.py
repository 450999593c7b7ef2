"""The emergency stop: fifty queued and one in flight, nothing new is sent until two people lift it."""

from typing import Any

import pytest
from django.db import connection

from operations.models import Operation, Stop
from operations.services import execute
from operations.services.stops import MayNotStop, ask_to_lift, lift, set_stop
from opsconsole.engine.drain import carry_on, drain
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world

EVERYTHING = Stop.Scope.TENANT


def stop(world: World, scope: Stop.Scope = EVERYTHING, subject: str = "") -> Stop:
    return set_stop(tenant_id=world.tenant.pk, person=world.oscar, scope=scope, subject=subject, reason="Odd invoices.")


def go_on(world: World, held: Stop) -> None:
    ask_to_lift(tenant_id=world.tenant.pk, person=world.oscar, stop_id=held.pk, reason="Checked with the vendor.")
    lift(tenant_id=world.tenant.pk, person=world.alice, stop_id=held.pk)


def test_fifty_queued_are_held_and_go_out_once_each_when_it_is_lifted(world: World, simulator: Simulator) -> None:
    queued = [world.approved() for _ in range(50)]
    held = stop(world)
    drain()
    assert [simulator.posts(reference=operation_id) for operation_id in queued] == [[]] * 50
    rows = Operation.objects.filter(pk__in=queued)
    assert set(rows.values_list("state", "waits_for")) == {("not_started", "stop")}
    assert drain() == 0, "what is held is not looked at over and over"

    go_on(world, held)
    drain()
    assert [len(simulator.posts(reference=operation_id)) for operation_id in queued] == [1] * 50
    assert set(rows.values_list("state", flat=True)) == {"succeeded"}


def test_a_stop_between_the_claim_and_the_call_is_seen_by_the_last_look(world: World, simulator: Simulator) -> None:
    operation_id = world.approved()
    claim = execute.claim(operation_id=operation_id, worker="worker")
    assert claim is not None
    stop(world, Stop.Scope.ACTION, "payments.create")
    execute.record(claim, execute.call(claim))
    assert simulator.posts(reference=operation_id) == []
    assert world.state(operation_id) == "not_started"


def test_a_stop_does_not_hold_look_ups(world: World, simulator: Simulator) -> None:
    simulator.fault("lose_answer_after_acting")
    operation_id = world.approved()
    claim = execute.claim(operation_id=operation_id, worker="worker")
    assert claim is not None
    execute.record(claim, execute.call(claim))
    assert world.state(operation_id) == "unknown"
    stop(world)
    carry_on(operation_id)
    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(reference=operation_id)) == 1


def test_another_tenant_s_stop_holds_nothing_here(world: World, simulator: Simulator) -> None:
    stop(make_world())
    operation_id = world.approved()
    carry_on(operation_id)
    assert world.state(operation_id) == "succeeded"


def test_what_is_held_past_its_approval_expires_unsent(database: None, simulator: Simulator) -> None:
    world = make_world(approval_seconds=2)
    operation_id = world.approved()
    stop(world)
    carry_on(operation_id)
    until = Operation.objects.get(pk=operation_id).next_step_at
    assert until is not None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(greatest(extract(epoch FROM %s - clock_timestamp()), 0) + 0.01)", [until])
    carry_on(operation_id)
    row = Operation.objects.get(pk=operation_id)
    assert (row.state, row.reason) == ("cancelled", "approval_expired")
    assert simulator.posts(reference=operation_id) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"reason": " "}, "Say why; everybody here will read it."),
        ({"scope": Stop.Scope.AGENT}, "Name what is to be stopped."),
    ],
)
def test_a_stop_needs_a_reason_and_a_subject(world: World, change: dict[str, Any], sentence: str) -> None:
    asked = {"scope": EVERYTHING, "subject": "", "reason": "Odd.", **change}
    with pytest.raises(MayNotStop, match=sentence):
        set_stop(tenant_id=world.tenant.pk, person=world.oscar, **asked)
    assert not Stop.objects.exists()


def test_lifting_takes_two_and_every_refusal_is_a_sentence(world: World) -> None:
    held = stop(world)
    tenant, oscar, alice = world.tenant.pk, world.oscar, world.alice
    with pytest.raises(MayNotStop, match="stopped already"):
        stop(world)
    with pytest.raises(MayNotStop, match="Two people lift a stop"):
        lift(tenant_id=tenant, person=alice, stop_id=held.pk)
    with pytest.raises(MayNotStop, match="Say why"):
        ask_to_lift(tenant_id=tenant, person=oscar, stop_id=held.pk, reason="")
    ask_to_lift(tenant_id=tenant, person=oscar, stop_id=held.pk, reason="Checked.")
    with pytest.raises(MayNotStop, match="already asked"):
        ask_to_lift(tenant_id=tenant, person=alice, stop_id=held.pk, reason="Checked too.")
    with pytest.raises(MayNotStop, match="somebody else must agree"):
        lift(tenant_id=tenant, person=oscar, stop_id=held.pk)
    with pytest.raises(MayNotStop, match="Only approvers"):
        lift(tenant_id=tenant, person=world.audrey, stop_id=held.pk)
    lift(tenant_id=tenant, person=alice, stop_id=held.pk)
    with pytest.raises(MayNotStop, match="does not hold any more"):
        lift(tenant_id=tenant, person=world.ana, stop_id=held.pk)
