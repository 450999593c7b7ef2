"""No final state without the fact that says just that, and nothing settled without a resolution (invariant 7)."""

import pytest
from django.db import IntegrityError

from operations.core.outcomes import Verdict
from tests.guards.attack import MOVE, assert_refused, claimed, force, learn, move, one, run, unknown
from tests.support.tenant import World

# From the state before, by the event, to the final state, with the one verdict that justifies it.
ENDS = [
    ("in_progress", "confirmed", "succeeded", "happened"),
    ("in_progress", "found", "succeeded", "happened"),
    ("unknown", "found", "succeeded", "happened"),
    ("in_progress", "refused", "failed", "refused"),
    ("unknown", "found_refused", "failed", "refused"),
    ("not_started", "withdrawn", "cancelled", "withdrawn"),
]
SETTLED = [
    ("settled_happened", "succeeded", "happened"),
    ("settled_did_not", "failed", "did_not_happen"),
    ("settled_may_retry", "not_started", "may_retry"),
]


def stage(world: World, state: str) -> str:
    """An operation that came honestly into that state."""
    if state == "not_started":
        return world.approved()
    return claimed(world) if state == "in_progress" else unknown(world)


@pytest.mark.parametrize(("before", "event", "after", "verdict"), ENDS)
def test_a_fact_that_says_so_ends_it(world: World, before: str, event: str, after: str, verdict: str) -> None:
    operation_id = stage(world, before)
    move(operation_id, after, event, learn(operation_id, verdict))
    assert world.state(operation_id) == after


@pytest.mark.parametrize(("before", "event", "after", "verdict"), ENDS)
def test_without_a_fact_nothing_ends(world: World, before: str, event: str, after: str, verdict: str) -> None:
    operation_id = stage(world, before)
    learn(operation_id, verdict)
    assert_refused("final_needs_fact", MOVE, [after, event, None, operation_id])


@pytest.mark.parametrize(("before", "event", "after", "verdict"), ENDS)
def test_a_fact_that_says_something_else_ends_nothing(
    world: World, before: str, event: str, after: str, verdict: str
) -> None:
    operation_id = stage(world, before)
    for other in Verdict:
        if other.value != verdict:
            assert_refused("final_needs_fact", MOVE, [after, event, learn(operation_id, other.value), operation_id])


@pytest.mark.parametrize(("before", "event", "after", "verdict"), ENDS)
def test_a_fact_of_another_operation_ends_nothing(
    world: World, before: str, event: str, after: str, verdict: str
) -> None:
    operation_id, other = stage(world, before), world.prepare()
    assert_refused("final_needs_fact", MOVE, [after, event, learn(other, verdict), operation_id])


def test_the_table_itself_has_no_final_row_without_a_fact(world: World) -> None:
    world.prepare()
    for state in ("succeeded", "failed", "cancelled"):
        with pytest.raises(IntegrityError, match="operation_final_needs_fact"):
            force("operations_operation", "UPDATE operations_operation SET state = %s, fact_id = NULL", [state])


def open_case(world: World, operation_id: str, kind: str = "unknown") -> int:
    return int(
        one(
            "INSERT INTO reconciliation_case (operation_id, tenant_id, kind, why, closed_because) "
            "VALUES (%s, %s, %s, 'Nobody knows.', '') RETURNING id",
            [operation_id, world.tenant.pk, kind],
        )
    )


RESOLVE = (
    "INSERT INTO reconciliation_resolution (case_id, operation_id, tenant_id, verdict, reason, evidence_reference, "
    "external_id, by_id) VALUES (%s, %s, %s, %s, %s, %s, '', %s)"
)


def resolve(world: World, operation_id: str, verdict: str) -> None:
    case = open_case(world, operation_id)
    run(RESOLVE, [case, operation_id, world.tenant.pk, verdict, "Seen.", "line 7", world.oscar.pk])


@pytest.mark.parametrize(("event", "after", "verdict"), SETTLED)
def test_a_resolution_that_says_so_settles_it(world: World, event: str, after: str, verdict: str) -> None:
    operation_id = unknown(world)
    resolve(world, operation_id, verdict)
    move(operation_id, after, event, learn(operation_id, verdict, source="operator"))
    assert world.state(operation_id) == after


@pytest.mark.parametrize(("event", "after", "verdict"), SETTLED)
def test_without_a_resolution_nothing_is_settled(world: World, event: str, after: str, verdict: str) -> None:
    operation_id = unknown(world)
    fact = learn(operation_id, verdict, source="operator")
    assert_refused("settlement_needs_resolution", MOVE, [after, event, fact, operation_id])


@pytest.mark.parametrize(("event", "after", "verdict"), SETTLED)
def test_a_resolution_that_says_something_else_settles_nothing(
    world: World, event: str, after: str, verdict: str
) -> None:
    operation_id = unknown(world)
    resolve(world, operation_id, "noted")
    for kind, other in zip(
        ("disputed", "resend"), {"happened", "did_not_happen", "may_retry"} - {verdict}, strict=True
    ):
        case = open_case(world, operation_id, kind)
        run(RESOLVE, [case, operation_id, world.tenant.pk, other, "Seen.", "line 7", world.oscar.pk])
    fact = learn(operation_id, verdict, source="operator")
    assert_refused("settlement_needs_resolution", MOVE, [after, event, fact, operation_id])


@pytest.mark.parametrize(("event", "after", "verdict"), SETTLED)
def test_a_resolution_from_before_the_last_attempt_settles_nothing(
    world: World, event: str, after: str, verdict: str
) -> None:
    operation_id = unknown(world)
    resolve(world, operation_id, verdict)
    force(
        "reconciliation_resolution",
        "UPDATE reconciliation_resolution SET resolved_at = (SELECT max(claimed_at) FROM operations_attempt)",
    )
    fact = learn(operation_id, verdict, source="operator")
    assert_refused("settlement_needs_resolution", MOVE, [after, event, fact, operation_id])


@pytest.mark.parametrize("source", ["look_up", "response", "engine"])
def test_settled_by_a_person_means_a_persons_evidence(world: World, source: str) -> None:
    operation_id = unknown(world)
    resolve(world, operation_id, "happened")
    fact = learn(operation_id, "happened", source=source)
    assert_refused("final_needs_fact", MOVE, ["succeeded", "settled_happened", fact, operation_id])


@pytest.mark.parametrize("person", ["alice", "audrey", "otto", "admin"])
def test_a_resolution_by_somebody_who_is_no_operator_is_refused(world: World, person: str) -> None:
    operation_id = unknown(world)
    who = getattr(world, person).pk
    values = [open_case(world, operation_id), operation_id, world.tenant.pk, "happened", "Seen.", "line 7", who]
    assert_refused("resolution_by_right", RESOLVE, values)


def test_an_operator_who_left_settles_nothing(world: World) -> None:
    operation_id = unknown(world)
    values = [open_case(world, operation_id), operation_id, world.tenant.pk, "happened", "Seen.", "l", world.oscar.pk]
    run("UPDATE operations_user SET is_active = false WHERE id = %s", [world.oscar.pk])
    assert_refused("resolution_by_right", RESOLVE, values)
    run("UPDATE operations_user SET is_active = true WHERE id = %s", [world.oscar.pk])
    run("DELETE FROM operations_membership WHERE user_id = %s", [world.oscar.pk])
    assert_refused("resolution_by_right", RESOLVE, values)


def test_a_resolution_needs_an_open_case_of_the_same_operation(world: World) -> None:
    operation_id, other = unknown(world), unknown(world)
    case = open_case(world, other)
    rest = [world.tenant.pk, "happened", "Seen.", "line 7", world.oscar.pk]
    assert_refused("resolution_of_open_case", RESOLVE, [case, operation_id, *rest])
    run("UPDATE reconciliation_case SET closed_at = clock_timestamp() WHERE id = %s", [case])
    assert_refused("resolution_of_open_case", RESOLVE, [case, other, *rest])


@pytest.mark.parametrize(("reason", "reference"), [("", "line 7"), ("Seen.", ""), ("", "")])
def test_a_resolution_says_why_and_what_backs_it(world: World, reason: str, reference: str) -> None:
    operation_id = unknown(world)
    values = [open_case(world, operation_id), operation_id, world.tenant.pk, "happened", reason, reference]
    assert_refused("resolution_says_why", RESOLVE, [*values, world.oscar.pk])


@pytest.mark.parametrize("change", ["kind = 'manual'", "why = 'other'", "opened_at = now()", "closed_at = NULL"])
def test_a_case_only_closes_once(world: World, change: str) -> None:
    open_case(world, unknown(world))
    run("UPDATE reconciliation_case SET closed_at = clock_timestamp(), closed_because = 'Found.'")
    assert_refused("case_only_closes", f"UPDATE reconciliation_case SET {change}")


def test_one_open_case_per_operation_and_kind(world: World) -> None:
    operation_id = unknown(world)
    open_case(world, operation_id)
    assert_refused(
        "case_one_open_per_kind",
        "INSERT INTO reconciliation_case (operation_id, tenant_id, kind, why, closed_because) "
        "VALUES (%s, %s, 'unknown', 'Again.', '')",
        [operation_id, world.tenant.pk],
    )


@pytest.mark.parametrize(("event", "after", "verdict"), SETTLED[1:])
def test_while_the_request_may_be_on_its_way_nobody_can_say_it_did_not_happen(
    world: World, event: str, after: str, verdict: str
) -> None:
    operation_id = unknown(world, credible=False)
    resolve(world, operation_id, verdict)
    fact = learn(operation_id, verdict, source="operator")
    assert_refused("absence_said_too_early", MOVE, [after, event, fact, operation_id])
