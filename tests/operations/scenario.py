"""What every scenario ends with: promises that hold after any fault, counted in the provider's own log and ledger."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from operations.core.intent import sha256_of
from operations.models import Attempt, Evidence, Intent, JournalEntry, Operation
from operations.services import execute as services
from reconciliation.models import Case
from tests.support.simulator import Json, Simulator

ROOT = Path(__file__).resolve().parents[2]
FINAL = ("succeeded", "failed", "cancelled")


def second_connection() -> psycopg.Connection[tuple[Any, ...]]:
    """A connection of its own: it sees what is committed and nothing else."""
    parameters = connection.get_connection_params()
    wanted = ("host", "port", "user", "password", "dbname")
    return psycopg.connect(**{name: parameters[name] for name in wanted if parameters.get(name)}, autocommit=True)


def committed(statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows as a second connection sees them."""
    with second_connection() as other:
        return other.execute(statement.encode(), values).fetchall()


def database_url() -> str:
    """The test database, for a process of its own."""
    p = connection.get_connection_params()
    return f"postgres://{p.get('user', '')}:{p.get('password', '')}@{p['host']}:{p['port']}/{p['dbname']}"


def run_manage(*arguments: str, **environment: str) -> str:
    """One management command in a fresh process on the same database; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url(), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def outcomes(operation_id: str) -> list[str]:
    """The outcomes of its attempts, in order."""
    return list(Attempt.objects.filter(operation_id=operation_id).order_by("number").values_list("outcome", flat=True))


def moves(operation_id: str) -> list[str]:
    """Its changes of state by the journal: "before event after"."""
    entries = JournalEntry.objects.filter(operation_id=operation_id).exclude(after="").order_by("sequence")
    return [f"{entry.before} {entry.verb} {entry.after}" for entry in entries if entry.before]


def cases(operation_id: str) -> list[str]:
    """The kinds of its open cases."""
    return sorted(Case.objects.filter(operation_id=operation_id, closed_at=None).values_list("kind", flat=True))


def reads(simulator: Simulator, operation_id: str) -> list[Json]:
    """The look-ups that reached the provider."""
    return [row for row in simulator.requests(reference=operation_id) if row["method"] == "GET"]


def send_once(operation_id: str) -> None:
    """One claim, one call, its record; nothing after it."""
    claim = services.claim(operation_id=operation_id, worker="test")
    assert claim is not None
    services.record(claim, services.call(claim))


def check_invariants(simulator: Simulator, operation_id: str, *, stranger_s: int = 0) -> None:
    """The five promises of every scenario. `stranger_s`: so many first requests under its key were not ours."""
    posts = simulator.posts(operation_id)[stranger_s:]
    intent = Intent.objects.get(operation_id=operation_id)
    operation = Operation.objects.get(pk=operation_id)
    attempts = list(Attempt.objects.filter(operation_id=operation_id).order_by("number"))
    assert len(simulator.payments(operation_id)) <= 1
    assert {row["key"] for row in posts} <= {intent.idempotency_key}
    assert sha256_of(bytes(intent.canonical)) == intent.payload_hash
    approved = committed("SELECT payload_hash FROM approvals_decision WHERE operation_id = %s", operation_id)
    assert {row[0] for row in approved} <= {intent.payload_hash}
    assert len(posts) <= len(attempts)
    for row, attempt in zip(posts, [a for a in attempts if a.outcome != "not_sent"], strict=False):
        assert attempt.claimed_at.timestamp() <= row["at"]
    for first, second in pairwise(posts):
        absences = Evidence.objects.filter(operation_id=operation_id, source="look_up", verdict="absent")
        assert any(first["at"] < evidence.recorded_at.timestamp() < second["at"] for evidence in absences)
    if operation.state in FINAL:
        assert operation.fact_id is not None


def control_body(operation_id: str) -> Json:
    """The approved bytes as the simulated bank must receive them, written out field by field."""
    document = json.loads(bytes(Intent.objects.get(operation_id=operation_id).canonical))
    payload = document["payload"]
    return {
        "amount": payload["amount_minor"],
        "currency": payload["currency"],
        "recipient": payload["recipient"],
        "reference": operation_id,
    }


@contextmanager
def guards_off(*tables: str) -> Iterator[None]:
    """What only the owner of the tables can do: switch their triggers off for a moment."""
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
        try:
            yield
        finally:
            for table in tables:
                cursor.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')


def execute(statement: str, *values: Any) -> int:
    """Raw SQL on the test's connection; how many rows it met."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def patch_limits(
    settings: Any, *, read: float = 0.4, total: float = 0.9, margin: float = 0.1, lease: float = 30
) -> None:
    """Short time-outs; a long lease unless it is to run out."""
    settings.PROVIDER_CONNECT_SECONDS = 1.0
    settings.PROVIDER_READ_SECONDS = read
    settings.PROVIDER_TOTAL_SECONDS = total
    settings.LEASE_MARGIN_SECONDS = margin
    settings.LEASE_SECONDS = lease
