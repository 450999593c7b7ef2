"""The list of operations as pages show it. Always one tenant's; rows are plain values, never models."""

import re
from dataclasses import dataclass
from typing import Final

from django.db.models import Exists, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.aggregates import Count
from django.db.models.functions import Coalesce, Now

from operations import words
from operations.core.states import State
from operations.lines import Line, line_of
from operations.models import Intent, JournalEntry, Permit
from operations.times import Clock, Moment

PAGE: Final = 50
HASH: Final = re.compile(r"^(?:sha256:)?([0-9a-f]{6,64})$")

# What the filter is called in an address, what it says, and the state it stands for.
FILTERS: Final = {
    "not-sent": ("Not sent yet", State.NOT_STARTED),
    "being-sent": (words.LABELS[State.IN_PROGRESS], State.IN_PROGRESS),
    "open": (words.LABELS[State.PENDING], State.PENDING),
    "unknown": (words.LABELS[State.UNKNOWN], State.UNKNOWN),
    "investigated": (words.LABELS[State.DISPUTED], State.DISPUTED),
    "done": (words.LABELS[State.SUCCEEDED], State.SUCCEEDED),
    "refused": (words.LABELS[State.FAILED], State.FAILED),
    "withdrawn": ("Withdrawn before sending", State.CANCELLED),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Where an operation stands, in words."""

    label: str
    tone: str
    outside: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """One row of the list."""

    line: Line
    stands: Standing
    prepared: Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """One page of the list; `older` is the place where the next one begins, "" at the end."""

    rows: list[Listed]
    older: str


def find_operations(*, tenant_id: int, where: str, search: str, before: str, clock: Clock) -> Listing:
    """Newest first. `where` is a key of `FILTERS` or "", `search` is free, `before` is the last id already shown."""
    found = _annotated(Intent.objects.filter(tenant_id=tenant_id))
    if where in FILTERS:
        found = found.filter(operation__state=FILTERS[where][1], operation__tenant_id=tenant_id)
    if search:
        found = found.filter(_matching(search))
    if before:
        found = found.filter(operation_id__lt=before)
    intents = list(found.order_by("-operation_id")[: PAGE + 1])
    rows = [_listed(intent, clock) for intent in intents[:PAGE]]
    return Listing(rows=rows, older=intents[PAGE - 1].operation_id if len(intents) > PAGE else "")


def _annotated(intents: QuerySet[Intent]) -> QuerySet[Intent]:
    """With what the words need: a live permit, the approvals so far, and what came in its place."""
    permit = Permit.objects.filter(operation_id=OuterRef("pk"), revoked_at__isnull=True, expires_at__gt=Now())
    approvals = (
        JournalEntry.objects.filter(operation_id=OuterRef("pk"), verb="decided_approve")
        .order_by()
        .values("operation_id")
        .annotate(number=Count("pk"))
        .values("number")
    )
    successor = Intent.objects.filter(replaces=OuterRef("pk")).order_by("operation_id").values("operation_id")[:1]
    return intents.select_related("operation", "agent", "connection", "policy").annotate(
        permitted=Exists(permit),
        approvals=Coalesce(Subquery(approvals, output_field=IntegerField()), Value(0)),
        successor=Coalesce(Subquery(successor), Value("")),
    )


def _matching(search: str) -> Q:
    """An id, a beginning of the hash, or what stands in the searched columns."""
    text = search.strip()
    if text.lower().startswith("op_"):
        return Q(operation_id__startswith="op_" + text[3:].upper())
    found = (
        Q(operation__external_id=text)
        | Q(client_reference=text)
        | Q(business_reference__istartswith=text)
        | Q(counterparty__icontains=text)
    )
    if digits := HASH.match(text.lower()):
        found |= Q(payload_hash__startswith=f"sha256:{digits[1]}")
    return found


def approval_status(intent: Intent) -> str:
    """`approved` while a live permit is there, `open` before; from the ground floor's own tables."""
    return "approved" if _extra(intent, "permitted") else "open"


def missing_approvals(intent: Intent) -> int:
    """How many more people must agree."""
    return max(1, intent.policy.quorum - int(str(_extra(intent, "approvals"))))


def read_intent(*, tenant_id: int, operation_id: str) -> Intent | None:
    """This tenant's intent with all that its page needs; None for anybody else's."""
    return (
        _annotated(Intent.objects.filter(tenant_id=tenant_id, operation_id=operation_id))
        .select_related("operation", "agent__owner", "connection", "policy", "tenant", "replaces")
        .first()
    )


def successor_of(intent: Intent) -> str:
    """The operation that came in its place, or ""."""
    return str(_extra(intent, "successor"))


def where_it_stands(intent: Intent, clock: Clock, *, successor: str = "") -> Standing:
    """For an intent read by this module; with the `successor`'s id where there is room for it."""
    operation = intent.operation
    approval = approval_status(intent)
    next_look = clock.short(operation.next_step_at) if operation.next_step_at else ""
    return Standing(
        label=words.label(
            operation.state,
            approval,
            reason=operation.reason,
            missing=missing_approvals(intent),
            waits_for=operation.waits_for,
            replaced_by=successor,
        ),
        tone=words.tone(operation.state, approval, reason=operation.reason),
        outside=words.outside(
            operation.state,
            reason=operation.reason,
            attempts=operation.attempts_made,
            external_id=operation.external_id,
            next_look_up=next_look,
        ),
    )


def _listed(intent: Intent, clock: Clock) -> Listed:
    return Listed(line=line_of(intent), prepared=clock.at(intent.prepared_at), stands=where_it_stands(intent, clock))


def _extra(intent: Intent, name: str) -> object:
    return getattr(intent, name)
