"""What the core's tests start from: the shipped contracts, changed contracts, and one intent of each action."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from operations.core.contract import Contract, Dedupe
from operations.core.intent import Json
from operations.providers.contract_files import load

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "operations" / "providers" / "simulated"
NOW = datetime(2027, 3, 4, 12, 0, tzinfo=UTC)
OPERATION_ID = "op_01JNGR0000ABCDEFGHJKMNPQRS"


@cache
def payments() -> Contract:
    """The simulated bank's promises for a payment."""
    return load(SHIPPED / "payments_create.toml").contract


@cache
def deals() -> Contract:
    """The simulated CRM's promises for a deal."""
    return load(SHIPPED / "crm_update_deal.toml").contract


@cache
def stateless() -> Contract:
    """A bank whose payments have no status word: the object itself is the fact."""
    return replace(payments(), object=replace(payments().object, status=""))


def with_dedupe(**promises: Any) -> Contract:
    """The bank, recognising repeats as said."""
    return replace(payments(), dedupe=Dedupe(**promises))


def payment_values() -> dict[str, Json]:
    """What a payment's request is rendered from."""
    return {
        "operation_id": OPERATION_ID,
        "idempotency_key": OPERATION_ID,
        "external_id": "pay_1",
        "payload": {
            "amount_minor": 1250000,
            "currency": "KZT",
            "recipient": "vendor_77",
            "recipient_name": "Vendor 77 LLP",
            "invoice": "INV-1",
        },
    }


def deal_values() -> dict[str, Json]:
    """What a deal's request is rendered from."""
    return {
        "operation_id": OPERATION_ID,
        "idempotency_key": OPERATION_ID,
        "external_id": "deal_442",
        "payload": {"deal_id": "deal_442", "expected_version": 19, "stage": "contract"},
    }


def payment_object(**changes: Any) -> dict[str, Any]:
    """The bank's object for that payment, as approved."""
    return {
        "id": "pay_1",
        "object": "payment",
        "status": "succeeded",
        "reference": OPERATION_ID,
        "amount": 1250000,
        "currency": "KZT",
        "recipient": "vendor_77",
        "direction": "out",
        **changes,
    }


def deal_object(**changes: Any) -> dict[str, Any]:
    """The CRM's record after that change."""
    return {"id": "deal_442", "object": "deal", "stage": "contract", "version": 20, **changes}
