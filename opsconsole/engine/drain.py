"""Due work, found by a partial index however long the history is, and carried on one operation after another."""

import logging
import os
import socket
import threading

from django.db import connection

from opsconsole.engine.resume import resume, settled

logger = logging.getLogger(__name__)
BATCH = 20
STEPS = 12  # one operation gets at most so many steps in a row; then others have their turn

DUE = """
SELECT intent_id FROM operations_operation
WHERE next_step_at <= clock_timestamp() ORDER BY next_step_at LIMIT %s
"""


def worker_name() -> str:
    """For people who read the journal; ownership rests on claim tokens, never on this name (case P12)."""
    return f"worker {socket.gethostname()}:{os.getpid()}:{threading.get_native_id()}"


def carry_on(operation_id: str) -> None:
    """Resume one operation until it rests, or somebody else has it."""
    worker = worker_name()
    previous = None
    for _ in range(STEPS):
        command = resume(operation_id, worker=worker)
        if settled(command) or command == previous:
            return
        previous = command


def due(limit: int = BATCH) -> list[str]:
    """The operations whose next step is due, longest first."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, [limit])
        return [row[0] for row in cursor.fetchall()]


def drain(*, limit: int = 1000) -> int:
    """Carry on everything that is due, up to `limit`; returns how many operations were touched."""
    touched: set[str] = set()
    while len(touched) < limit:
        batch = [operation_id for operation_id in due() if operation_id not in touched]
        if not batch:
            break
        for operation_id in batch:
            touched.add(operation_id)
            _safely(operation_id)
    return len(touched)


def _safely(operation_id: str) -> None:
    """One operation that cannot be carried on must not keep the others waiting; its claim, if any, runs out."""
    try:
        carry_on(operation_id)
    except Exception:
        logger.exception("Carrying on %s failed; it is looked at again later.", operation_id)
        _postpone(operation_id)


def _postpone(operation_id: str) -> None:
    """Never sooner than its lease: an exception after the call began means unknown, and reads come first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE operations_operation SET next_step_at = "
            "greatest(next_step_at, clock_timestamp() + interval '30 seconds') WHERE intent_id = %s "
            "AND next_step_at IS NOT NULL",
            [operation_id],
        )
