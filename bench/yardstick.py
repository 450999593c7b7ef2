"""The smallest hand-written version of the same four commits: what the guarded life cycle is measured against.

Ordinary transactions with psycopg on plain tables that can do the same job: refuse a repeated reference, keep who
approved which hash, find due work, keep each attempt and what it proved. No guards, no journal, no chain, no policy, no
rights; one connection per thread, no ORM.
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
    id text PRIMARY KEY, reference text NOT NULL UNIQUE, payload bytea NOT NULL, payload_hash text NOT NULL,
    state text NOT NULL, claim_token uuid, lease_until timestamptz, next_step_at timestamptz, external_id text,
    created_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX due ON yardstick.operation (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE INDEX by_state ON yardstick.operation (state, id);
CREATE TABLE yardstick.approval (
    id bigserial PRIMARY KEY, operation_id text NOT NULL REFERENCES yardstick.operation, person text NOT NULL,
    payload_hash text NOT NULL, decided_at timestamptz NOT NULL DEFAULT now(), UNIQUE (operation_id, person));
CREATE TABLE yardstick.attempt (
    id bigserial PRIMARY KEY, operation_id text NOT NULL REFERENCES yardstick.operation, token uuid NOT NULL UNIQUE,
    request_digest text NOT NULL, started_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE yardstick.evidence (
    id bigserial PRIMARY KEY, operation_id text NOT NULL REFERENCES yardstick.operation, verdict text NOT NULL,
    result jsonb NOT NULL, recorded_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX evidence_of ON yardstick.evidence (operation_id);
CREATE INDEX attempt_of ON yardstick.attempt (operation_id);
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
                "INSERT INTO yardstick.operation (id, reference, payload, payload_hash, state) "
                "VALUES (%s, %s, %s, %s, 'waiting')",
                (operation_id, uuid.uuid4().hex, payload, digest),
            )
        with connection.transaction():
            connection.execute(
                "INSERT INTO yardstick.approval (operation_id, person, payload_hash) VALUES (%s, 'alice', %s)",
                (operation_id, digest),
            )
            connection.execute(
                "UPDATE yardstick.operation SET state = 'approved', next_step_at = now() "
                "WHERE id = %s AND state = 'waiting' AND payload_hash = %s",
                (operation_id, digest),
            )
        with connection.transaction():
            connection.execute(
                "UPDATE yardstick.operation SET state = 'in_progress', claim_token = %s, "
                "lease_until = now() + interval '90 seconds', next_step_at = now() + interval '90 seconds' "
                "WHERE id = %s AND state = 'approved'",
                (token, operation_id),
            )
            connection.execute(
                "INSERT INTO yardstick.attempt (operation_id, token, request_digest) VALUES (%s, %s, %s)",
                (operation_id, token, digest),
            )
        with connection.transaction():
            connection.execute(
                "INSERT INTO yardstick.evidence (operation_id, verdict, result) VALUES (%s, 'happened', %s)",
                (operation_id, json.dumps({"id": "pay_1", "status": "succeeded"})),
            )
            connection.execute(
                "UPDATE yardstick.operation SET state = 'succeeded', external_id = 'pay_1', next_step_at = NULL "
                "WHERE id = %s AND state = 'in_progress' AND claim_token = %s",
                (operation_id, token),
            )

    def _connection(self) -> "psycopg.Connection[Any]":
        connection: psycopg.Connection[Any] | None = getattr(_local, "connection", None)
        if connection is None:
            connection = psycopg.connect(self._url, autocommit=True)
            _local.connection = connection
        return connection
