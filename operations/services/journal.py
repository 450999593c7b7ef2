"""Entries in the one log that are not changes of state; those the database writes itself."""

from operations.core.intent import Json, canonical
from operations.services import sql

ENTRY = """
INSERT INTO operations_journalentry
    (operation_id, tenant_id, actor, verb, before, after, reason, data, sequence, at, previous_hash, hash)
VALUES (%s, %s, %s, %s, '', '', %s, %s, 0, now(), '', '')
"""


def write(
    *, operation_id: str, tenant_id: int, actor: str, verb: str, reason: str = "", data: dict[str, Json] | None = None
) -> None:
    """Append one entry inside the caller's transaction; the database numbers, stamps and chains it."""
    more = canonical(data or {}).decode("utf-8")
    sql.execute(ENTRY, [operation_id, tenant_id, actor[:120], verb, reason[:400], more])
