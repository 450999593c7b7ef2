"""The clock of the engine: every few seconds it rings for what is due, so that no lost message is ever missed."""

import logging
import signal
import threading
from typing import Any

from celery import current_app
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, close_old_connections

from opsconsole.checks import refuse_unsafe
from opsconsole.engine.drain import drain
from opsconsole.engine.timetable import due

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Ring for due operations every SWEEP_SECONDS; with --once, carry them on here and stop."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="carry on what is due now, in this process, and stop")

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_unsafe()
        if options["once"]:
            self.stdout.write(f"{drain()} operations carried on")
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while not stop.wait(settings.SWEEP_SECONDS):
            self._ring()

    def _ring(self) -> None:
        try:
            close_old_connections()
            for operation_id in due(limit=100):
                current_app.send_task("opsconsole.resume", args=[operation_id], ignore_result=True)
        except OperationalError:
            logger.warning("The database does not answer; the sweep tries again.")
        except Exception as error:  # noqa: BLE001  # whatever the broker's client raises: the next round tries again
            logger.warning("The bell cannot be rung (%s); the sweep tries again.", type(error).__name__)
