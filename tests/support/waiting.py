"""Waiting for something to become true, in small steps and never for ever."""

import threading
import time
from collections.abc import Callable
from datetime import datetime

from django.db import connection

STEP = 0.02


class NeverHappened(AssertionError):
    """What was waited for did not come."""


def wait_until(predicate: Callable[[], object], seconds: float = 10, *, what: str = "") -> None:
    """Return as soon as the predicate holds; raises `NeverHappened` after that many seconds."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not predicate():
        if time.monotonic() > end:
            raise NeverHappened(what or f"{predicate} did not hold within {seconds} s")
        pause.wait(STEP)


def database_now() -> datetime:
    """The only clock that decides anything."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment


def wait_past(moment: datetime, seconds: float = 10) -> None:
    """Return once the database's clock shows a later time."""
    wait_until(lambda: database_now() > moment, seconds, what=f"the database's clock did not pass {moment}")
