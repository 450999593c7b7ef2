"""`crm.update_deal`: change a deal, only if it is still the version the agent saw."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from operations.actions.base import Action, Fact, Identifier, Line, Money, Payload, SearchColumns, Segment


class DealPayload(Payload):
    deal_id: Identifier
    expected_version: Annotated[int, Field(ge=0, lt=2**53)]
    stage: Identifier | None = None
    owner: Line | None = None


class CrmUpdateDeal(Action):
    name: ClassVar[str] = "crm.update_deal"
    label: ClassVar[str] = "Deal change"
    template_version: ClassVar[str] = "crm.update_deal/1"
    payload: ClassVar[type[Payload]] = DealPayload

    def sentence(self, payload: dict[str, Any], *, tenant: str, money: Money | None) -> list[Segment]:
        parts = [Segment(text="Change deal "), Segment(text=payload["deal_id"], strong=True)]
        if payload.get("stage"):
            parts += [Segment(text=": move to stage "), Segment(text=payload["stage"], strong=True)]
        if payload.get("owner"):
            joint = " and give it to " if payload.get("stage") else ": give it to "
            parts += [Segment(text=joint), Segment(text=payload["owner"], strong=True)]
        version = str(payload["expected_version"])
        return [
            *parts,
            Segment(text=", only if it is still version "),
            Segment(text=version, strong=True),
            Segment(text="."),
        ]

    def facts(self, payload: dict[str, Any], *, money: Money | None) -> list[Fact]:
        rows = [
            Fact(label="Deal", value=payload["deal_id"], field="deal_id", mono=True),
            Fact(
                label="Version the agent saw",
                value=str(payload["expected_version"]),
                field="expected_version",
                mono=True,
                note="if the deal has changed since, nothing is written",
            ),
        ]
        if payload.get("stage"):
            rows.append(Fact(label="New stage", value=payload["stage"], field="stage", mono=True))
        if payload.get("owner"):
            rows.append(Fact(label="New owner", value=payload["owner"], field="owner"))
        return rows

    def title(self, payload: dict[str, Any]) -> str:
        return f"Change deal {payload['deal_id']}"

    def columns(self, payload: dict[str, Any]) -> SearchColumns:
        return SearchColumns(counterparty=payload["deal_id"], business_reference=payload["deal_id"])

    def business_key(self, payload: dict[str, Any]) -> str:
        """Two changes of one version of one deal exclude each other anyway; the version check decides."""
        return f"deal:{payload['deal_id']}:{payload['expected_version']}"

    def problem(self, payload: dict[str, Any]) -> tuple[str, str] | None:
        if not payload.get("stage") and not payload.get("owner"):
            return "stage", "Name what is to change: stage, owner or both."
        return None


ACTION = CrmUpdateDeal()
