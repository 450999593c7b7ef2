"""What is written about an operation belongs to its tenant (invariant 9, as far as the database holds it)."""

from typing import Any

import pytest

from tests.guards.attack import EVIDENCE, assert_refused, one, run, unknown
from tests.support.tenant import World, make_world


@pytest.fixture
def stranger(world: World) -> Any:
    return make_world().tenant.pk


def test_evidence_of_another_tenant_is_refused(world: World, stranger: int) -> None:
    values = [unknown(world), stranger, 1, "look_up", "absent", None]
    assert_refused("evidence_same_tenant", EVIDENCE, values)


def test_a_case_of_another_tenant_is_refused(world: World, stranger: int) -> None:
    assert_refused(
        "case_same_tenant",
        "INSERT INTO reconciliation_case (operation_id, tenant_id, kind, why, closed_because) "
        "VALUES (%s, %s, 'unknown', 'Nobody knows.', '')",
        [unknown(world), stranger],
    )


def test_a_look_up_of_another_tenant_is_refused(world: World, stranger: int) -> None:
    operation_id = unknown(world)
    evidence = run(EVIDENCE, [operation_id, world.tenant.pk, 1, "look_up", "absent", None])[0][0]
    assert_refused(
        "lookup_same_tenant",
        "INSERT INTO reconciliation_lookup (operation_id, tenant_id, evidence_id, way, asked_by, credible, counted) "
        "VALUES (%s, %s, %s, 'by_id', 'worker', true, true)",
        [operation_id, stranger, evidence],
    )


def test_a_look_up_shows_evidence_of_its_own_operation(world: World) -> None:
    operation_id, other = unknown(world), unknown(world)
    evidence = run(EVIDENCE, [other, world.tenant.pk, 1, "look_up", "absent", None])[0][0]
    assert_refused(
        "lookup_same_tenant",
        "INSERT INTO reconciliation_lookup (operation_id, tenant_id, evidence_id, way, asked_by, credible, counted) "
        "VALUES (%s, %s, %s, 'by_id', 'worker', true, true)",
        [operation_id, world.tenant.pk, evidence],
    )


@pytest.mark.parametrize("reference", ["sk" + "_live_in_the_open", "env:lower", "file:relative", "env:", "vault:x", ""])
def test_a_connection_names_its_secret_and_never_holds_it(world: World, reference: str) -> None:
    assert_refused(
        "connection_secret_by_reference",
        "INSERT INTO operations_connection (tenant_id, name, provider, mode, credential_reference) "
        "VALUES (%s, 'another', 'simulated', 'automatic', %s)",
        [world.tenant.pk, reference],
    )
    assert one("SELECT count(*) FROM operations_connection WHERE credential_reference LIKE 'env:%%'") >= 2


@pytest.mark.parametrize("column", ["name", "provider", "credential_reference"])
def test_a_connection_stays_one_account_at_one_provider(world: World, column: str) -> None:
    """What was sent through one account cannot be looked up through another, so absence there would prove nothing."""
    assert_refused("connection_is_one_account", f"UPDATE operations_connection SET {column} = 'env:ANOTHER'")
    run("UPDATE operations_connection SET mode = 'manual'")
