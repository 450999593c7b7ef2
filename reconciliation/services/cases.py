"""Doubts in front of a person. One open case per operation and kind, however often its cause shows up."""

from django.db import connection, transaction

from operations.services import journal
from reconciliation.models import Case

OPEN = """
INSERT INTO reconciliation_case (operation_id, tenant_id, kind, why, closed_because)
VALUES (%s, %s, %s, %s, '') ON CONFLICT DO NOTHING
"""

CLOSE = """
UPDATE reconciliation_case SET closed_at = clock_timestamp(), closed_because = %s
WHERE operation_id = %s AND closed_at IS NULL AND (%s::text[] IS NULL OR kind = ANY(%s::text[]))
"""


@transaction.atomic
def open_case(*, operation_id: str, tenant_id: int, kind: Case.Kind, why: str, actor: str) -> bool:
    """Put it in front of a person; False when such a case is open already."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN, [operation_id, tenant_id, kind.value, why[:400]])
        if cursor.rowcount == 0:
            return False
    journal.write(
        operation_id=operation_id,
        tenant_id=tenant_id,
        actor=actor,
        verb="case_opened",
        reason=why,
        data={"kind": kind.value},
    )
    return True


def close_cases(*, operation_id: str, because: str, kinds: list[Case.Kind] | None = None) -> None:
    """Close open cases inside the caller's transaction, because a fact or a person answered them."""
    names = None if kinds is None else [kind.value for kind in kinds]
    with connection.cursor() as cursor:
        cursor.execute(CLOSE, [because[:400], operation_id, names, names])
