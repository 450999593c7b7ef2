"""The objects of this provider: payments and deals, on the disk before anybody is told of them."""

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from operations.providers.simulated.lines import DurableLines
from operations.providers.simulated.messages import Json

PAYMENT_FIELDS = ("amount", "currency", "recipient", "reference", "description", "invoice")
DEAL_FIELDS = ("stage", "amount", "owner")


@dataclass(frozen=True)
class Settlement:
    """What becomes of a payment that is still being processed, and when."""

    at: float
    to: str
    webhook: bool


@dataclass(frozen=True)
class Payment:
    """A payment with what the outside does not see: when it was stored, shown, and will be final."""

    data: Json
    stored_at: float
    visible_at: float = 0
    settlement: Settlement | None = None


class StaleVersion(Exception):
    """The deal has another version than the caller expected."""

    def __init__(self, current: int) -> None:
        super().__init__(f"The deal has version {current} by now.")
        self.current = current


class Ledger:
    """All objects. Every change is one row in the file; the last row of an object counts."""

    def __init__(self, path: Path) -> None:
        self._lines = DurableLines(path)
        self._changed = threading.Condition(threading.RLock())
        self._payments: dict[str, Payment] = {}
        self._deals: dict[str, Json] = {}
        for row in self._lines.loaded:
            if row["kind"] == "deal":
                self._deals[row["data"]["id"]] = row["data"]
            else:
                settlement = Settlement(**row["settlement"]) if row["settlement"] else None
                payment = Payment(row["data"], row["stored_at"], row["visible_at"], settlement)
                self._payments[payment.data["id"]] = payment

    def add_payment(self, payment: Payment) -> Json:
        """Store a new payment and return what the outside sees of it."""
        with self._changed:
            self._keep_payment(payment)
        return payment.data

    def payment(self, payment_id: str) -> Payment | None:
        """A payment, hidden or not."""
        with self._changed:
            return self._payments.get(payment_id)

    def visible(self, *, reference: str | None = None, stored_before: float | None = None) -> list[Json]:
        """Payments that reads may see, newest first."""
        now = time.time()
        with self._changed:
            shown = [item for item in self._payments.values() if item.visible_at <= now]
        if stored_before is not None:
            shown = [item for item in shown if item.stored_at <= stored_before]
        return [item.data for item in reversed(shown) if reference in (None, item.data["reference"])]

    def processing(self) -> list[Payment]:
        """Payments whose final state is still to come."""
        with self._changed:
            return [item for item in self._payments.values() if item.settlement]

    def change_payment(self, payment_id: str, changes: Mapping[str, Any], visible_at: float | None = None) -> Json:
        """Change a payment by hand or by settlement. KeyError when there is none."""
        with self._changed:
            old = self._payments[payment_id]
            settlement = None if "status" in changes else old.settlement
            shown = old.visible_at if visible_at is None else visible_at
            new = replace(old, data={**old.data, **changes}, settlement=settlement, visible_at=shown)
            self._keep_payment(new)
            return new.data

    def settle(self, payment_id: str) -> Payment | None:
        """Make a processing payment final. Returns it as it was before, or None when it is final already."""
        with self._changed:
            old = self._payments[payment_id]
            if old.settlement is None:
                return None
            self.change_payment(payment_id, {"status": old.settlement.to})
            return old

    def deal(self, deal_id: str) -> Json | None:
        """A deal, or None."""
        with self._changed:
            return self._deals.get(deal_id)

    def put_deal(self, deal: Json) -> Json:
        """Store a deal under its id, replacing what was there."""
        with self._changed:
            self._keep_deal(deal)
        return deal

    def edit_deal(self, deal_id: str, changes: Mapping[str, Any], *, by: str, expected: int | None) -> Json:
        """Change a deal and raise its version. KeyError when there is none, StaleVersion when it moved on."""
        with self._changed:
            deal = self.edited_deal(deal_id, changes, by=by, expected=expected)
            self._keep_deal(deal)
            return deal

    def edited_deal(self, deal_id: str, changes: Mapping[str, Any], *, by: str, expected: int | None) -> Json:
        """What ``edit_deal`` would store, without storing it."""
        with self._changed:
            deal = self._deals[deal_id]
        if expected is not None and deal["version"] != expected:
            raise StaleVersion(deal["version"])
        return {**deal, **changes, "version": deal["version"] + 1, "updated_by": by}

    def objects(self, reference: str | None = None, at_least: int = 0, wait: float = 0) -> dict[str, list[Json]]:
        """Everything, hidden payments too; waits up to ``wait`` seconds for ``at_least`` payments."""

        def payments() -> list[Json]:
            return [p.data for p in self._payments.values() if reference in (None, p.data["reference"])]

        with self._changed:
            self._changed.wait_for(lambda: len(payments()) >= at_least, timeout=wait)
            return {"payments": payments(), "deals": list(self._deals.values())}

    def _keep_payment(self, payment: Payment) -> None:
        self._lines.append({"kind": "payment", **asdict(payment)})
        self._payments[payment.data["id"]] = payment
        self._changed.notify_all()

    def _keep_deal(self, deal: Json) -> None:
        self._lines.append({"kind": "deal", "data": deal})
        self._deals[deal["id"]] = deal
        self._changed.notify_all()


def new_payment(fields: Mapping[str, Any], *, status: str = "succeeded") -> Json:
    """A payment as the outside sees it, with a fresh id unless one is given."""
    return {
        "id": fields.get("id") or "pay_" + secrets.token_hex(10),
        "object": "payment",
        "status": fields.get("status", status),
        **{name: fields.get(name) for name in PAYMENT_FIELDS},
        "direction": "out",
        "created_at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def new_deal(fields: Mapping[str, Any]) -> Json:
    """A deal as the outside sees it."""
    return {
        "id": fields.get("id") or "deal_" + secrets.token_hex(6),
        "object": "deal",
        "version": fields.get("version", 1),
        **{name: fields.get(name) for name in DEAL_FIELDS},
        "updated_by": fields.get("updated_by", "colleague"),
    }
