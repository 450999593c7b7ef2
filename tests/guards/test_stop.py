"""An emergency stop holds in the database: no claim while it stands, and it takes two people to lift it."""

from operations.models import Stop, User
from tests.guards.attack import CLAIM, assert_refused, claim, one, run
from tests.support.tenant import World

SET = (
    "INSERT INTO operations_stop (tenant_id, scope, subject, reason, set_by_id, lift_reason) "
    "VALUES (%s, %s, %s, 'Odd invoices.', %s, '')"
)
ASK = (
    "UPDATE operations_stop SET lift_asked_by_id = %s, lift_asked_at = clock_timestamp(), lift_reason = 'Checked.' "
    "WHERE id = %s"
)
LIFT = "UPDATE operations_stop SET lifted_by_id = %s, lifted_at = clock_timestamp() WHERE id = %s"


def stop(world: World, person: User | None = None, scope: str = "tenant", subject: str = "") -> int:
    run(SET, [world.tenant.pk, scope, subject, (person or world.oscar).pk])
    return int(one("SELECT max(id) FROM operations_stop"))


def test_no_claim_is_made_while_everything_is_stopped(world: World) -> None:
    operation_id = world.approved()
    stop(world)
    assert_refused("claim_while_stopped", CLAIM, claim(operation_id))


def test_a_stop_of_something_else_holds_nothing_here(world: World) -> None:
    operation_id = world.approved()
    stop(world, scope="action", subject="crm.update_deal")
    stop(world, scope="agent", subject="another-agent")
    stop(world, scope="provider", subject="another-provider")
    assert one("SELECT opsconsole_is_stopped(%s)", [operation_id]) is False


def test_each_scope_holds_what_it_names(world: World) -> None:
    operation_id = world.approved()
    for scope, subject in (("action", "payments.create"), ("agent", world.agent.name), ("provider", "simulated")):
        number = stop(world, scope=scope, subject=subject)
        assert one("SELECT opsconsole_is_stopped(%s)", [operation_id]) is True
        run(ASK, [world.oscar.pk, number])
        run(LIFT, [world.olga.pk, number])
        assert one("SELECT opsconsole_is_stopped(%s)", [operation_id]) is False


def test_an_auditor_or_a_stranger_can_neither_set_nor_lift(world: World) -> None:
    assert_refused("stop_by_right", SET, [world.tenant.pk, "tenant", "", world.audrey.pk])
    number = stop(world)
    assert_refused("stop_by_right", ASK, [world.audrey.pk, number])


def test_one_person_cannot_lift_alone(world: World) -> None:
    number = stop(world)
    assert_refused("stop_only_lifted", LIFT, [world.olga.pk, number])
    run(ASK, [world.oscar.pk, number])
    assert_refused("stop_lifted_by_two", LIFT, [world.oscar.pk, number])
    run(LIFT, [world.olga.pk, number])
    assert Stop.objects.get(pk=number).lifted_at is not None


def test_a_stop_is_neither_changed_nor_deleted_nor_born_lifted(world: World) -> None:
    number = stop(world)
    assert_refused("stop_only_lifted", "UPDATE operations_stop SET reason = 'Never mind.' WHERE id = %s", [number])
    assert_refused("append-only", "DELETE FROM operations_stop")
    assert_refused(
        "stop_begins_holding",
        "INSERT INTO operations_stop (tenant_id, scope, subject, reason, set_by_id, lift_reason, lift_asked_by_id, "
        "lift_asked_at) VALUES (%s, 'action', 'x', 'Odd.', %s, 'Fine.', %s, clock_timestamp())",
        [world.tenant.pk, world.oscar.pk, world.olga.pk],
    )


def test_a_stop_says_why_and_what_and_holds_once(world: World) -> None:
    stop(world)
    assert_refused("stop_once_at_a_time", SET, [world.tenant.pk, "tenant", "", world.alice.pk])
    assert_refused("stop_scope_known", SET, [world.tenant.pk, "tenant", "payments", world.alice.pk])
    assert_refused("stop_scope_known", SET, [world.tenant.pk, "moon", "x", world.alice.pk])
    assert_refused(
        "stop_says_why",
        "INSERT INTO operations_stop (tenant_id, scope, subject, reason, set_by_id, lift_reason) "
        "VALUES (%s, 'action', 'x', '', %s, '')",
        [world.tenant.pk, world.oscar.pk],
    )
