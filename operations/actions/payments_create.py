"""`payments.create`: pay an amount to a recipient."""

from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints

from operations.actions.base import Action, Fact, Identifier, Line, Money, Payload, SearchColumns, Segment
from operations.actions.money import amount_in_words, exponent

MAX_MINOR = 10**15


class PaymentPayload(Payload):
    amount_minor: Annotated[int, Field(gt=0, le=MAX_MINOR)]
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    recipient: Identifier
    recipient_name: Line
    invoice: Identifier | None = None
    description: Line | None = None


class PaymentsCreate(Action):
    name: ClassVar[str] = "payments.create"
    label: ClassVar[str] = "Payment"
    template_version: ClassVar[str] = "payments.create/1"
    payload: ClassVar[type[Payload]] = PaymentPayload

    def sentence(self, payload: dict[str, Any], *, tenant: str, money: Money | None) -> list[Segment]:
        parts = [
            Segment(text="Pay "),
            Segment(text=_amount(payload, money), strong=True),
            Segment(text=" to "),
            Segment(text=payload["recipient_name"], strong=True),
        ]
        if payload.get("invoice"):
            parts += [Segment(text=" for invoice "), Segment(text=payload["invoice"], strong=True)]
        return [*parts, Segment(text=", from "), Segment(text=tenant, strong=True), Segment(text=".")]

    def facts(self, payload: dict[str, Any], *, money: Money | None) -> list[Fact]:
        rows = [
            *_amount_facts(payload, money),
            Fact(label="Currency", value=payload["currency"], field="currency", mono=True),
            Fact(label="Who receives", value=payload["recipient"], field="recipient", mono=True),
            Fact(
                label="Name the agent gave",
                value=payload["recipient_name"],
                field="recipient_name",
                note="the provider pays the identifier above",
            ),
        ]
        if payload.get("invoice"):
            rows.append(Fact(label="For invoice", value=payload["invoice"], field="invoice", mono=True))
        if payload.get("description"):
            rows.append(Fact(label="Text for the recipient", value=payload["description"], field="description"))
        return rows

    def title(self, payload: dict[str, Any]) -> str:
        return f"Pay {payload['recipient_name']}"

    def columns(self, payload: dict[str, Any]) -> SearchColumns:
        return SearchColumns(
            amount_minor=payload["amount_minor"],
            currency=payload["currency"],
            counterparty=payload["recipient_name"],
            business_reference=payload.get("invoice") or "",
        )

    def business_key(self, payload: dict[str, Any]) -> str:
        """One invoice, one recipient, one amount. Without an invoice two payments are two payments."""
        if not payload.get("invoice"):
            return ""
        return ":".join(
            ("payment", payload["invoice"], payload["recipient"], str(payload["amount_minor"]), payload["currency"])
        )

    def problem(self, payload: dict[str, Any]) -> tuple[str, str] | None:
        if exponent(payload["currency"]) is None:
            return "currency", "ISO 4217 has no such currency with minor units."
        return None


def _amount(payload: dict[str, Any], money: Money | None) -> str:
    return amount_in_words(payload["amount_minor"], payload["currency"], money.exponent if money else None)


def _amount_facts(payload: dict[str, Any], money: Money | None) -> list[Fact]:
    """The exact integer that is sent; and the intent's own, where the provider counts otherwise than the standard."""
    digits = money.exponent if money else exponent(payload["currency"])
    minor, sent = payload["amount_minor"], money.provider_amount if money else payload["amount_minor"]
    standard = f"minor units of {payload['currency']} ({digits} decimals)"
    if sent == minor:
        return [
            Fact(label="Amount sent to the provider", value=str(sent), field="amount_minor", mono=True, note=standard)
        ]
    return [
        Fact(label="Amount sent to the provider", value=str(sent), mono=True, note="the provider's own units"),
        Fact(label="Amount", value=str(minor), field="amount_minor", mono=True, note=standard),
    ]


ACTION = PaymentsCreate()
