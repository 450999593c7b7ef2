"""The smallest hand-written version of the same four commits: what the guarded life cycle is measured against.

Ordinary transactions on plain tables with psycopg: the intent, the approval, the claim with its attempt, the result
with its evidence. No guards, no journal, no chain, no policy; one connection per thread.
"""

import hashlib
import json
import threading
import uuid
from typing import Any

import psycopg

TABLES = """
DROP SCHEMA IF EXISTS yardstick CASCADE;
CREATE SCHEMA yardstick;
CREATE TABLE yardstick.operation (
    id text PRIMARY KEY, payload bytea NOT NULL, payload_hash text NOT NULL, state text NOT NULL,
    approved_by text, approved_hash text, claim_token uuid, lease_until timestamptz, external_id text,
    created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE yardstick.attempt (
    id bigserial PRIMARY KEY, operation_id text NOT NULL REFERENCES yardstick.operation, token uuid NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE yardstick.evidence (
    id bigserial PRIMARY KEY, operation_id text NOT NULL REFERENCES yardstick.operation, verdict text NOT NULL,
    result jsonb NOT NULL, recorded_at timestamptz NOT NULL DEFAULT now());
"""

_local = threading.local()


class Yardstick:
    """One operation from intent to result, four commits."""

    name = "hand-written psycopg"

    def __init__(self, url: str) -> None:
        self._url = url

    def set_up(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(TABLES)

    def run_one(self) -> None:
        connection = self._connection()
        operation_id, token = f"op_{uuid.uuid4().hex}", uuid.uuid4()
        payload = json.dumps(
            {"operation_id": operation_id, "amount_minor": 1250000, "currency": "KZT", "recipient": "vendor_77"},
            sort_keys=True,
        ).encode()
        digest = hashlib.sha256(payload).hexdigest()
        with connection.transaction():
            connection.execute(
                "INSERT INTO yardstick.operation (id, payload, payload_hash, state) VALUES (%s, %s, %s, 'waiting')",
                (operation_id, payload, digest),
            )
        with connection.transaction():
            connection.execute(
                "UPDATE yardstick.operation SET state = 'approved', approved_by = 'alice', approved_hash = %s "
                "WHERE id = %s AND state = 'waiting' AND payload_hash = %s",
                (digest, operation_id, digest),
            )
        with connection.transaction():
            connection.execute(
                "UPDATE yardstick.operation SET state = 'in_progress', claim_token = %s, "
                "lease_until = now() + interval '90 seconds' WHERE id = %s AND state = 'approved'",
                (token, operation_id),
            )
            connection.execute(
                "INSERT INTO yardstick.attempt (operation_id, token) VALUES (%s, %s)", (operation_id, token)
            )
        with connection.transaction():
            connection.execute(
                "INSERT INTO yardstick.evidence (operation_id, verdict, result) VALUES (%s, 'happened', %s)",
                (operation_id, json.dumps({"id": "pay_1", "status": "succeeded"})),
            )
            connection.execute(
                "UPDATE yardstick.operation SET state = 'succeeded', external_id = 'pay_1' "
                "WHERE id = %s AND state = 'in_progress' AND claim_token = %s",
                (operation_id, token),
            )

    def _connection(self) -> "psycopg.Connection[Any]":
        connection: psycopg.Connection[Any] | None = getattr(_local, "connection", None)
        if connection is None:
            connection = psycopg.connect(self._url, autocommit=True)
            _local.connection = connection
        return connection
