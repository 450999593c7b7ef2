"""How the guards are attacked: one statement, the rule that must refuse it, and a picture of all rows around it."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from operations.services import execute
from tests.support.tenant import World

GUARDED = ("operations_", "approvals_", "reconciliation_")
OTHER_HASH = "sha256:" + "0" * 64

CLAIM = """
UPDATE operations_operation SET state = 'in_progress', last_event = 'claimed', last_actor = 'attacker', reason = '',
    waits_for = '', claim_token = %(token)s, attempts_made = attempts_made + 1,
    lease_until = clock_timestamp() + interval '90 s', next_step_at = clock_timestamp() + interval '90 s',
    first_sent_at = coalesce(first_sent_at, clock_timestamp())
WHERE intent_id = %(id)s
"""
ATTEMPT = """
INSERT INTO operations_attempt (operation_id, tenant_id, number, claim_token, worker, permit_id, request_digest,
    absence_credible_at, absences_needed, phase, provider_request_id, external_id, outcome)
SELECT o.intent_id, o.tenant_id, o.attempts_made, o.claim_token, 'attacker', p.id, '', o.lease_until, 2, '', '', '', ''
FROM operations_operation o JOIN operations_permit p ON p.operation_id = o.intent_id
WHERE o.intent_id = %(id)s ORDER BY p.id DESC LIMIT 1
"""
MOVE = """
UPDATE operations_operation SET state = %s, last_event = %s, fact_id = %s, reason = '', waits_for = 'operator'
WHERE intent_id = %s
"""
EVIDENCE = """
INSERT INTO operations_evidence (operation_id, tenant_id, attempt_number, source, verdict, reason, words, result,
    external_id, provider_request_id, raw_digest, asked_at)
VALUES (%s, %s, %s, %s, %s, 'test', 'Learned in a test.', '[]', '', '', '', coalesce(%s, clock_timestamp()))
RETURNING id
"""


def run(statement: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
    """One raw statement; its rows, if it has any."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


def one(statement: str, parameters: Sequence[Any] = ()) -> Any:
    """The single value a statement answers."""
    ((value,),) = run(statement, parameters)
    return value


def everything() -> dict[str, str]:
    """A digest of every row of every guarded table."""
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name.startswith(GUARDED)]
    return {
        name: one(f"SELECT coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM {name} t")
        for name in tables
    }


def assert_refused(
    by: str, statement: str, parameters: Sequence[Any] | dict[str, Any] = (), *, then: Sequence[str] = ()
) -> None:
    """The database refuses with the rule named `by` (or a message that says so), at the latest at commit, and no row
    differs afterwards. `then` are further statements of the same transaction with the same parameters."""
    before = everything()
    with pytest.raises(DatabaseError) as refused, transaction.atomic():
        for step in (statement, *then):
            run(step, parameters)
    diagnosis = refused.value.__cause__.diag  # type: ignore[union-attr]
    told = f"{diagnosis.constraint_name} {diagnosis.message_primary}"
    assert by in told, told
    assert everything() == before


def force(table: str, statement: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> None:
    """Set a stage that no honest way leads to: the owner switches one table's guards off, and on again."""
    with transaction.atomic():
        run(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        run(statement, parameters)
        run("SET CONSTRAINTS ALL IMMEDIATE")
        run(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def learn(
    operation_id: str,
    verdict: str,
    *,
    source: str = "look_up",
    attempt: int | None = 1,
    asked_at: datetime | None = None,
) -> int:
    """Append one evidence row, as raw SQL; its id."""
    tenant = one("SELECT tenant_id FROM operations_operation WHERE intent_id = %s", [operation_id])
    return int(one(EVIDENCE, [operation_id, tenant, attempt, source, verdict, asked_at]))


def move(operation_id: str, state: str, event: str, fact: int | None = None) -> None:
    """Move the row by raw SQL, past all Python."""
    run(MOVE, [state, event, fact, operation_id])


def claimed(world: World) -> str:
    """An approved operation that a worker holds, its call not made."""
    operation_id = world.approved()
    assert execute.claim(operation_id=operation_id, worker="honest") is not None
    return operation_id


def unknown(world: World, *, credible: bool = True) -> str:
    """An operation whose worker went away during the call; `credible`: long enough ago for an absence to count."""
    operation_id = claimed(world)
    run("UPDATE operations_attempt SET outcome = 'lost', finished_at = clock_timestamp() WHERE operation_id = %s",
        [operation_id])  # fmt: skip
    move(operation_id, "unknown", "lost")
    if credible:
        force(
            "operations_attempt",
            "UPDATE operations_attempt SET absence_credible_at = clock_timestamp() - interval '1 s' "
            "WHERE operation_id = %s",
            [operation_id],
        )
    return operation_id


def token() -> uuid.UUID:
    """A new claim token."""
    return uuid.uuid4()


def claim(operation_id: str, claim_token: uuid.UUID | None = None) -> dict[str, Any]:
    """The parameters of CLAIM and ATTEMPT."""
    return {"id": operation_id, "token": claim_token or token()}
