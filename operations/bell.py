"""The one message: "operation X may have something to do". Losing it costs time and nothing else."""

import logging

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)
TASK = "opsconsole.resume"


def ring(operation_id: str) -> None:
    """Ring once the current transaction is committed. Never raises: the sweep finds what no bell announced."""
    transaction.on_commit(lambda: _send(operation_id))


def _send(operation_id: str) -> None:
    try:
        current_app.send_task(TASK, args=[operation_id], ignore_result=True)
    except Exception as error:  # noqa: BLE001  # whatever the broker's client raises, the work is safe in the database
        logger.warning(
            "The bell for %s could not be rung (%s); the sweep will find it.", operation_id, type(error).__name__
        )
