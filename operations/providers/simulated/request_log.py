"""The log of what arrived: each API request, on the disk before anything is done about it."""

import hashlib
import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qs

from operations.providers.simulated.lines import DurableLines
from operations.providers.simulated.messages import Json, Request, decode


class RequestLog:
    """Numbers and stores requests. Counting is done here and nowhere else."""

    def __init__(self, path: Path) -> None:
        self._lines = DurableLines(path)
        self._rows: list[Json] = self._lines.loaded
        self._changed = threading.Condition()
        self._running: Counter[str] = Counter()

    def append(
        self, *, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes, complete: bool
    ) -> Request:
        """Store one request and return it with its number. It is on the disk when this returns.

        ``concurrent`` in the row says how many other requests with the same key had not ended yet.
        """
        key = headers.get("idempotency-key")
        with self._changed:
            request = Request(
                n=self._rows[-1]["n"] + 1 if self._rows else 1,
                at=time.time(),
                method=method,
                path=path,
                query=query,
                headers=headers,
                body=body,
                complete=complete,
                request_id="req_" + secrets.token_hex(10),
                concurrent=self._running[key] if key else 0,
            )
            row = as_row(request)
            self._lines.append(row)
            self._rows.append(row)
            if key:
                self._running[key] += 1
            self._changed.notify_all()
        return request

    def ended(self, request: Request) -> None:
        """The request has been answered or dropped."""
        with self._changed:
            if request.key:
                self._running[request.key] -= 1

    def find(self, filters: Mapping[str, str], at_least: int = 0, wait: float = 0) -> list[Json]:
        """Rows that match all filters; waits up to ``wait`` seconds until there are ``at_least`` of them."""

        def found() -> list[Json]:
            return [row for row in self._rows if matches(row, filters)]

        with self._changed:
            self._changed.wait_for(lambda: len(found()) >= at_least, timeout=wait)
            return found()

    def count(self) -> int:
        """How many requests the log holds."""
        with self._changed:
            return len(self._rows)


def as_row(request: Request) -> Json:
    """One request as a row of the file."""
    return {
        "n": request.n,
        "at": request.at,
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": dict(request.headers),
        "body": decode(request.body),
        "body_sha256": hashlib.sha256(request.body).hexdigest(),
        "key": request.key,
        "complete": request.complete,
        "request_id": request.request_id,
        "concurrent": request.concurrent,
    }


def matches(row: Json, filters: Mapping[str, str]) -> bool:
    """Whether a row passes: method and key exactly, path by prefix, since by number, reference as below."""
    tests: dict[str, Callable[[str], bool]] = {
        "method": lambda value: bool(row["method"] == value),
        "path": lambda value: str(row["path"]).startswith(value),
        "key": lambda value: bool(row["key"] == value),
        "since": lambda value: int(row["n"]) > int(value),
        "reference": lambda value: has_reference(row, value),
    }
    return all(tests[name](value) for name, value in filters.items())


def has_reference(row: Json, reference: str) -> bool:
    """Exactly the reference in the query or in the JSON body; in a body that cannot be read, anywhere in its text."""
    if reference in parse_qs(row["query"]).get("reference", []):
        return True
    try:
        body = json.loads(row["body"] or "{}")
    except ValueError:
        return reference in row["body"]
    return isinstance(body, dict) and body.get("reference") == reference
