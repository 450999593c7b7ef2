"""What was found at the provider, look-up by look-up, with what each proves beside it."""

import json
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q

from operations.core.contract import Contract
from operations.core.intent import Json
from operations.core.outcomes import Verdict
from operations.core.render import Unrenderable, expected
from operations.display import visible
from operations.models import Evidence, Operation
from operations.models.evidence import Source
from operations.times import Clock
from reconciliation.history import to_the_second
from reconciliation.words import ASKED, answer_of

SHOWN: Final = 20
SILENT: Final = frozenset({Verdict.SAYS_NOTHING, Verdict.UNREADABLE})


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One look-up, or one answer that came too late; the names are those of parts/lookups.html."""

    at: str
    at_iso: str
    asked_by: str
    answer: str
    strong: bool
    found: list[tuple[str, str]]
    request_id: str
    proves: str


def findings_of(operation: Operation, contract: Contract | None, clock: Clock) -> list[Found]:
    """The newest ones, oldest first."""
    newest = (
        Evidence.objects.filter(Q(source=Source.LOOK_UP) | Q(source=Source.LATE_RESPONSE), operation=operation)
        .select_related("look_up")
        .order_by("-pk")[:SHOWN]
    )
    wanted = _wanted(operation, contract)
    return [_found(item, contract, wanted, clock) for item in reversed(list(newest))]


def _wanted(operation: Operation, contract: Contract | None) -> dict[str, Json]:
    """The approved values in the provider's own field names, to be held beside what was found."""
    if contract is None:
        return {}
    values: dict[str, Json] = json.loads(bytes(operation.intent.canonical))
    try:
        wanted = expected(contract, {**values, "idempotency_key": operation.intent.idempotency_key})
    except Unrenderable:
        return {}
    return {**wanted.ours, **wanted.equal}


def _found(item: Evidence, contract: Contract | None, wanted: dict[str, Json], clock: Clock) -> Found:
    at = clock.at(item.asked_at)
    objects = [entry for entry in item.result if isinstance(entry, dict)] if isinstance(item.result, list) else []
    late = item.source == Source.LATE_RESPONSE
    return Found(
        at=to_the_second(item.asked_at, clock),
        at_iso=at.iso,
        asked_by="the call itself, answered late" if late else ASKED.get(item.look_up.way, item.look_up.way),
        answer=answer_of(item.verdict, item.reason, item.http_status, len(objects)),
        strong=item.verdict not in SILENT,
        found=[_object(entry, contract, wanted) for entry in objects],
        request_id=visible(item.provider_request_id),
        proves=visible(item.words),
    )


def _object(entry: dict[str, Any], contract: Contract | None, wanted: dict[str, Json]) -> tuple[str, str]:
    """The provider's id, and its values; what was approved stands beside a value that differs."""
    name = contract.object.id if contract else "id"
    told = [
        f"{visible(field)} {visible(str(value))}{_approved(field, value, wanted)}"
        for field, value in sorted(entry.items(), key=lambda item: item[0] in wanted)
        if field != name and (field not in wanted or value != wanted[field] or len(entry) <= 3)
    ]
    return visible(str(entry.get(name, ""))), " · ".join(told)


def _approved(field: str, value: object, wanted: dict[str, Json]) -> str:
    return f" (approved: {visible(str(wanted[field]))})" if field in wanted and value != wanted[field] else ""
