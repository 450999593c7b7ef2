"""When an operation is looked at again. Found by a partial index, however long the history is.

A worker writes a later time only over the time that it had read: whoever rang meanwhile (an approval, a late answer, a
person) wrote a new one, and that must not be lost.
"""

from collections.abc import Collection
from datetime import datetime

from django.db import connection

from operations.core.states import State

DUE = """
SELECT intent_id FROM operations_operation
WHERE next_step_at <= clock_timestamp() AND NOT intent_id = ANY(%s) ORDER BY next_step_at LIMIT %s
"""

IS_DUE = "SELECT FROM operations_operation WHERE intent_id = %s AND next_step_at <= clock_timestamp()"

REST = """
UPDATE operations_operation SET
    next_step_at = clock_timestamp() + make_interval(secs => %s), waits_for = %s
WHERE intent_id = %s AND state = %s AND next_step_at IS NOT DISTINCT FROM %s
"""

POSTPONE = """
UPDATE operations_operation SET next_step_at = clock_timestamp() + make_interval(secs => %s)
WHERE intent_id = %s AND next_step_at <= clock_timestamp()
"""


def due(limit: int, *, but: Collection[str] = ()) -> list[str]:
    """The operations whose next step is due, longest first, without those in `but`."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, [list(but), limit])
        return [row[0] for row in cursor.fetchall()]


def is_due(operation_id: str) -> bool:
    """Whether there is something to do about it right now."""
    with connection.cursor() as cursor:
        cursor.execute(IS_DUE, [operation_id])
        return cursor.fetchone() is not None


def rest(
    operation_id: str, *, state: State, planned: datetime | None, seconds: float | None, waits_for: str = ""
) -> bool:
    """Look again after `seconds` (None: when somebody rings). False: it moved, or somebody rang since `planned` was
    read."""
    with connection.cursor() as cursor:
        cursor.execute(REST, [seconds, waits_for, operation_id, state.value, planned])
        changed: bool = cursor.rowcount == 1
    return changed


def postpone(operation_id: str, *, seconds: float) -> None:
    """What is due and could not be carried on must not come back at once; a time that lies ahead stays as it is."""
    with connection.cursor() as cursor:
        cursor.execute(POSTPONE, [seconds, operation_id])
