"""The hot path's statements: prepared once per connection, then only parameters travel.

They run on Django's own connection, inside its transactions, and raise Django's own errors. The ORM serves everything
that is not in the way of every single operation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from django.db import IntegrityError, connection

type Parameters = Sequence[Any] | Mapping[str, Any] | None


def fetch_one(statement: str, parameters: Parameters = None) -> tuple[Any, ...] | None:
    """The first row, or None."""
    with connection.wrap_database_errors, _cursor() as cursor:
        row: tuple[Any, ...] | None = cursor.execute(statement, parameters, prepare=True).fetchone()
        return row


def execute(statement: str, parameters: Parameters = None) -> int:
    """Run it; how many rows it touched."""
    with connection.wrap_database_errors, _cursor() as cursor:
        return cursor.execute(statement, parameters, prepare=True).rowcount


def _cursor() -> psycopg.Cursor[Any]:
    connection.ensure_connection()
    assert connection.connection is not None
    return psycopg.Cursor(connection.connection)


def constraint_of(error: IntegrityError) -> str:
    """The name of the database rule that refused, for logs."""
    name = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
    return str(name or "a guard of the database refused")
