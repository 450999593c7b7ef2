"""What the tests of the simulated provider say again and again."""

import itertools
from datetime import datetime
from typing import Any

from tests.support.plain_http import Reply, call
from tests.support.simulator import Simulator

NUMBERS = itertools.count(1)


def fresh_reference() -> str:
    """A reference that no other test uses and that is no part of another one."""
    return f"ref-{next(NUMBERS)}-"


def pay(sim: Simulator, reference: str, *, timeout: float = 10, key: str | None = None, **fields: Any) -> Reply:
    """Create a payment; a field given as None is left out."""
    body = {"amount": 1000, "currency": "KZT", "recipient": "Aigul", "reference": reference, **fields}
    sent = {name: value for name, value in body.items() if value is not None}
    return call(sim.url, "POST", "/v1/payments", sent, timeout=timeout, idempotency_key=key)


def found(sim: Simulator, reference: str, path: str = "/v1/payments") -> list[Any]:
    """The payments that a read by reference shows."""
    return list(call(sim.url, "GET", f"{path}?reference={reference}").json()["data"])


def acted_after(sim: Simulator, payment: Any) -> float:
    """Seconds from the arrival of the request to the payment, to the millisecond above."""
    [row] = sim.posts(payment["reference"])
    return datetime.fromisoformat(payment["created_at"]).timestamp() + 0.001 - float(row["at"])


def assert_counts(sim: Simulator, reference: str, *, posts: int, objects: int) -> None:
    """So many writes arrived, and so many objects are in the ledger."""
    assert (len(sim.posts(reference)), len(sim.payments(reference))) == (posts, objects)
