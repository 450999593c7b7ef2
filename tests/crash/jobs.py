"""What a forked worker can be hired for, and the gates at which it can be told to stand still.

The jobs call the product's engine as a Celery task does. A gate wraps one function of the product, here in the forked
process; what runs on both sides of it is the product's own code.
"""

import datetime
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from approvals.models import Decision
from approvals.services import decide
from operations.display import display_of
from operations.models import Intent, User
from operations.providers.generic.adapter import HttpWriter
from operations.providers.registry import contracts
from operations.services import execute
from opsconsole.engine import drain as drain_module
from opsconsole.engine.drain import carry_on, drain
from tests.support.workers import Desk, Json

FAR = 20.0  # seconds: whoever is looked at again later than this is at rest


def warm_up() -> None:
    """Read once what every worker needs and nobody writes to; no connection is opened."""
    contracts()
    connection.close()


def run(order: Json) -> None:
    """Do one job and report; ends quietly when nobody listens any more."""
    desk = Desk(order)
    for name, value in order["settings"].items():
        setattr(settings, name, value)
    if offset := order.get("clock_offset"):
        _set_clock(offset)
    if name := order.get("worker"):
        drain_module.worker_name = lambda: name
    if order["gate"]:
        GATES[order["gate"]](desk)
    try:
        found = JOBS[order["job"]](desk, order)
    except Exception as error:
        traceback.print_exc()
        desk.say("done", error=type(error).__name__)
    else:
        desk.say("done", error="", **found)


def _carry_on(desk: Desk, order: Json) -> Json:
    carry_on(order["operation_id"])
    return {}


def _drain(desk: Desk, order: Json) -> Json:
    return {"touched": drain()}


def _until_quiet(desk: Desk, order: Json) -> Json:
    until_quiet(seconds=order["seconds"])
    return {}


def _rounds(desk: Desk, order: Json) -> Json:
    """One operation after the other, each at the word of the test, so that two workers begin together."""
    errors = []
    for operation_id in order["operation_ids"]:
        desk.stand_at("ready")
        try:
            carry_on(operation_id)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
    return {"errors": errors}


def _approve(desk: Desk, order: Json) -> Json:
    """Approve as a web process does, with a broker that is not there."""
    os.environ["CELERY_BROKER_URL"] = order["broker_url"]  # Celery reads it when it first needs the broker
    intent = Intent.objects.get(operation_id=order["operation_id"])
    began = time.monotonic()
    decide(
        operation_id=intent.operation_id,
        tenant_id=intent.tenant_id,
        person=User.objects.get(pk=order["person"]),
        verdict=Decision.Verdict.APPROVE,
        shown_hash=intent.payload_hash,
        shown_display=display_of(intent).digest,
    )
    return {"took": time.monotonic() - began}


def until_quiet(*, seconds: float) -> None:
    """Carry on whatever is due, as the sweep does, until nothing will be due soon."""
    over_at, pause = time.monotonic() + seconds, threading.Event()
    while time.monotonic() < over_at:
        drain()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT extract(epoch FROM min(next_step_at) - clock_timestamp())::float8 FROM operations_operation"
            )
            row = cursor.fetchone()
        left = row[0] if row else None
        if left is None or left > FAR:
            return
        pause.wait(max(left, 0.0) + 0.005)
    raise AssertionError(f"something was still due soon after {seconds} seconds")


JOBS: dict[str, Callable[[Desk, Json], Json]] = {
    "carry_on": _carry_on,
    "drain": _drain,
    "until_quiet": _until_quiet,
    "rounds": _rounds,
    "approve": _approve,
}


def _before_start(desk: Desk) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    desk.stand_at("before_start")


def _before_call(desk: Desk) -> None:
    """The claim is committed; nothing has been looked at or sent since."""
    real = execute.call

    def call(claim: execute.Claim) -> Any:
        desk.stand_at("before_call")
        return real(claim)

    execute.call = call


def _before_send(desk: Desk) -> None:
    """The last look has been taken; the connection is not yet opened."""
    real = HttpWriter.submit

    def submit(self: HttpWriter, *arguments: Any, **more: Any) -> Any:
        desk.stand_at("before_send")
        return real(self, *arguments, **more)

    HttpWriter.submit = submit  # type: ignore[method-assign]


def _before_record(desk: Desk) -> None:
    """The answer is here and its first note is saved; what it proves is not."""
    real = execute.record

    def record(claim: execute.Claim, answer: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            row = cursor.fetchone()
        desk.stand_at("before_record", backend=row[0] if row else 0)
        return real(claim, answer)

    execute.record = record


def _at_commit(desk: Desk, *, stored: bool) -> None:
    """Inside the claim's transaction, at its COMMIT. `stored`: the database commits, and only the answer is lost."""
    claim_module: Any = sys.modules["operations.services.execute.claim"]  # the package has a function of that name
    database: Any = connection
    real_claim_row, real_commit = claim_module.claim_row, database._commit
    claiming = threading.Event()

    def claim_row(**arguments: Any) -> Any:
        claiming.set()
        return real_claim_row(**arguments)

    def commit() -> None:
        if claiming.is_set():
            claiming.clear()
            assert connection.connection is not None
            backend = connection.connection.info.backend_pid
            if stored:
                real_commit()
            desk.stand_at("at_commit", backend=backend)
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")  # fails: its connection was cut meanwhile
        real_commit()

    claim_module.claim_row = claim_row
    database._commit = commit


GATES: dict[str, Callable[[Desk], None]] = {
    "before_start": _before_start,
    "before_call": _before_call,
    "before_send": _before_send,
    "before_record": _before_record,
    "at_commit": lambda desk: _at_commit(desk, stored=False),
    "after_commit": lambda desk: _at_commit(desk, stored=True),
}


def _set_clock(offset: float) -> None:
    """This node's clock is wrong by so many seconds, wherever Python asks it."""
    real_time, real_now = time.time, timezone.now

    def now() -> datetime.datetime:
        return real_now() + datetime.timedelta(seconds=offset)

    time.time = lambda: real_time() + offset
    timezone.now = now
