"""Due work, carried on one operation after another."""

import logging
import os
import socket
import threading

from django.db import connection

from opsconsole.engine.resume import resume, settled
from opsconsole.engine.timetable import due, is_due, postpone

logger = logging.getLogger(__name__)
BATCH = 20
STEPS = 12  # one operation gets at most so many steps in a row; then others have their turn
PAUSE = 30.0  # seconds until an operation that could not be carried on is tried again


def worker_name() -> str:
    """For people who read the journal; ownership rests on claim tokens, never on this name (case P12)."""
    return f"worker {socket.gethostname()}:{os.getpid()}:{threading.get_native_id()}"


def carry_on(operation_id: str) -> None:
    """Resume one operation until nothing about it is due, or somebody else has it."""
    worker = worker_name()
    for _ in range(STEPS):
        if settled(resume(operation_id, worker=worker)) or not is_due(operation_id):
            return
    logger.warning("%s is still due after %s steps; others come first.", operation_id, STEPS)
    postpone(operation_id, seconds=PAUSE)


def carry_on_safely(operation_id: str) -> None:
    """The same, and one operation that cannot be carried on keeps no others waiting; its claim, if any, runs out."""
    try:
        carry_on(operation_id)
    except Exception:
        logger.exception("Carrying on %s failed; it is looked at again later.", operation_id)
        connection.close_if_unusable_or_obsolete()
        postpone(operation_id, seconds=PAUSE)


def drain(*, limit: int = 1000) -> int:
    """Carry on everything that is due, up to `limit`; returns how many operations were touched."""
    touched: set[str] = set()
    while len(touched) < limit:
        batch = due(min(BATCH, limit - len(touched)), but=touched)
        if not batch:
            break
        for operation_id in batch:
            touched.add(operation_id)
            carry_on_safely(operation_id)
    return len(touched)
