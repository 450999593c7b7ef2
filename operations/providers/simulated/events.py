"""Webhooks: telling the other side, signed after the Standard Webhooks scheme when a secret is set."""

import base64
import hashlib
import hmac
import http.client
import json
import secrets
import threading
import time
from datetime import UTC, datetime
from urllib.parse import urlsplit

from operations.providers.simulated.ledger import Ledger, Payment
from operations.providers.simulated.messages import Json
from operations.providers.simulated.settings import SettingsStore

PATIENCE_SECONDS = 5


class Events:
    """Sends each event once, to the address in the settings, and remembers what it was answered."""

    def __init__(self, settings: SettingsStore) -> None:
        self._settings = settings
        self._sent: list[Json] = []
        self._changed = threading.Condition()

    def send(self, payment: Json, *, kind: str | None = None, event_id: str | None = None) -> Json | None:
        """Send an event about a payment and wait for the receiver. None when nobody wants events."""
        settings = self._settings.now
        if not settings.webhook_url:
            return None
        event_id = event_id or "evt_" + secrets.token_hex(10)
        event = {
            "id": event_id,
            "type": kind or f"payment.{payment['status']}",
            "created_at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "data": payment,
        }
        body = json.dumps(event, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", **signature(event_id, body, settings.webhook_secret)}
        row = {"event": event, "status": post(settings.webhook_url, body, headers)}
        with self._changed:
            self._sent.append(row)
            self._changed.notify_all()
        return row

    def sent(self, at_least: int = 0, wait: float = 0) -> list[Json]:
        """Events with the receiver's status (None: not received); waits up to ``wait`` seconds for ``at_least``."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._sent) >= at_least, timeout=wait)
            return list(self._sent)


class Settler:
    """Makes processing payments final when their time has come, after a restart too."""

    def __init__(self, ledger: Ledger, events: Events) -> None:
        self._ledger = ledger
        self._events = events
        for payment in ledger.processing():
            self.arm(payment)

    def arm(self, payment: Payment) -> None:
        """See to it that the payment becomes final."""
        if payment.settlement is None:
            return
        timer = threading.Timer(max(0, payment.settlement.at - time.time()), self._settle, [payment.data["id"]])
        timer.daemon = True
        timer.start()

    def _settle(self, payment_id: str) -> None:
        before = self._ledger.settle(payment_id)
        after = self._ledger.payment(payment_id)
        if before and before.settlement and before.settlement.webhook and after:
            self._events.send(after.data)


def signature(event_id: str, body: bytes, secret: str) -> dict[str, str]:
    """The three headers of Standard Webhooks; without a secret there is no signature."""
    stamp = str(int(time.time()))
    headers = {"webhook-id": event_id, "webhook-timestamp": stamp}
    if not secret:
        return headers
    digest = hmac.new(signing_key(secret), f"{event_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {**headers, "webhook-signature": "v1," + base64.b64encode(digest).decode()}


def signing_key(secret: str) -> bytes:
    """The bytes behind ``whsec_`` and base64; any other secret is used as it is."""
    if not secret.startswith("whsec_"):
        return secret.encode()
    return base64.b64decode(secret.removeprefix("whsec_"), validate=True)


def post(url: str, body: bytes, headers: dict[str, str]) -> int | None:
    """POST to an address on this machine. The status, or None when there was no answer. Redirects are not followed."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body, headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
