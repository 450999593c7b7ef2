"""The idempotency layer: what a used key is answered, according to the settings."""

import base64
import hashlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from operations.providers.simulated.lines import DurableLines
from operations.providers.simulated.messages import Answer, BadField, Json, Request, error
from operations.providers.simulated.settings import Settings, SettingsStore

LONGEST_KEY = 255
DUPLICATE_MODES = ("bare_duplicate", "duplicate_with_id")


@dataclass(frozen=True)
class Ticket:
    """The right to run a request; to be given back with ``finish`` or ``release``."""

    key: str | None
    fingerprint: str


class Keys:
    """Used keys with their answers. Answers survive a restart; keys in use do not, as the work did not either."""

    def __init__(self, path: Path, settings: SettingsStore) -> None:
        self._lines = DurableLines(path)
        self._settings = settings
        self._lock = threading.Lock()
        self._done: dict[str, Json] = {row["key"]: row for row in self._lines.loaded}
        self._running: dict[str, str] = {}

    def claim(self, request: Request) -> Ticket | Answer:
        """A ticket when the request is to run, else the answer that stands in its way."""
        settings = self._settings.now
        key, fingerprint = request.key, fingerprint_of(request)
        if key is None or settings.keys == "ignore" or request.method not in ("POST", "PATCH"):
            return Ticket(None, fingerprint)
        if not 0 < len(key) <= LONGEST_KEY:
            raise BadField("Idempotency-Key", f"Idempotency-Key must have 1 to {LONGEST_KEY} characters.")
        with self._lock:
            done = self._kept(key, settings)
            if done or key in self._running:
                return self._used(key, fingerprint, done, settings)
            self._running[key] = fingerprint
        return Ticket(key, fingerprint)

    def finish(self, ticket: Ticket, answer: Answer) -> None:
        """The request ran and this is its answer; keeps it when the settings say so."""
        if ticket.key is None:
            return
        with self._lock:
            self._running.pop(ticket.key, None)
            if keeps(self._settings.now, answer.status):
                row = {
                    "key": ticket.key,
                    "fingerprint": ticket.fingerprint,
                    "at": time.time(),
                    "status": answer.status,
                    "headers": dict(answer.headers),
                    "body": base64.b64encode(answer.body).decode(),
                }
                self._lines.append(row)
                self._done[ticket.key] = row

    def release(self, ticket: Ticket) -> None:
        """The request did not run; the key is free again."""
        with self._lock:
            if ticket.key is not None:
                self._running.pop(ticket.key, None)

    def _kept(self, key: str, settings: Settings) -> Json | None:
        row = self._done.get(key)
        limit = settings.key_retention_seconds
        return None if row is None or (limit and time.time() - row["at"] >= limit) else row

    def _used(self, key: str, fingerprint: str, done: Json | None, settings: Settings) -> Answer:
        kept = stored_answer(done) if done else None
        if settings.keys in DUPLICATE_MODES:
            return duplicate(kept, with_id=settings.keys == "duplicate_with_id")
        if (done["fingerprint"] if done else self._running[key]) != fingerprint:
            return error(400, "idempotency_error", "key_reused", "The key was used with another request.")
        if kept is None:
            return error(409, "idempotency_error", "key_in_use", "A request with this key is still running.")
        return Answer(kept.status, kept.body, {**kept.headers, "Idempotent-Replayed": "true"})


def keeps(settings: Settings, status: int) -> bool:
    """Whether an answer is kept under its key. Complaints before execution (400, 401, 404, 412, 429) never are."""
    if settings.keys in DUPLICATE_MODES:
        return True
    return status < 300 or (settings.store_errors == "all" and (status == 402 or status >= 500))


def duplicate(kept: Answer | None, *, with_id: bool) -> Answer:
    """Says that the request came before; names the object only where asked to and where there is one."""
    value = kept.json() if kept else None
    found = value.get("id") if isinstance(value, dict) else None
    extra = {"resource_id": found} if with_id and found else {}
    return error(409, "duplicate", "duplicate_request", "This request was received before.", **extra)


def stored_answer(row: Json) -> Answer:
    """The answer kept in a row."""
    return Answer(row["status"], base64.b64decode(row["body"]), row["headers"])


def fingerprint_of(request: Request) -> str:
    """Equal for the same method, path and body."""
    digest = hashlib.sha256(f"{request.method} {request.path}\n".encode())
    digest.update(request.body)
    return digest.hexdigest()
