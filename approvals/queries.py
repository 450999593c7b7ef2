"""The queue as pages show it. Always one tenant's; rows are plain values, never models."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from approvals.models import ApprovalRound, Decision
from operations.core.states import State
from operations.lines import Line, line_of
from operations.models import Role, User
from operations.requests import ConsoleRequest
from operations.times import Clock, Moment

PAGE: Final = 50
SOON: Final = timedelta(hours=1)
JUST_NOW: Final = timedelta(minutes=10)
STRIP: Final = 5
VIEWS: Final = {
    "mine": ("Waiting for you", "needs_you"),
    "others": ("Waiting for others", "info"),
    "soon": ("Expiring within 1 h", "needs_you"),
    "decided": ("Decided recently", "done"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Who reads, where, and whether they may answer anything there."""

    tenant_id: int
    person: User
    is_approver: bool

    @classmethod
    def of(cls, request: ConsoleRequest) -> "Reader":
        return cls(tenant_id=request.tenant.pk, person=request.user, is_approver=Role.APPROVER in request.roles)

    @property
    def may_answer(self) -> Q:
        """The rounds this person may answer: not yet answered by them, and not asked by their own agent."""
        if not self.is_approver:
            return Q(pk__in=[])
        answered = Exists(Decision.objects.filter(round=OuterRef("pk"), person=self.person))
        own = Q(operation__intent__agent__owner=self.person) & Q(operation__intent__policy__owner_may_approve=False)
        return ~Q(answered) & ~own


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """One row of what waits."""

    line: Line
    prepared: Moment
    expires: Moment
    approvals: int
    quorum: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """One answer somebody gave."""

    line: Line
    verdict: str
    tone: str
    person: str
    reason: str
    at: Moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue[Row]:
    """One page; `after` is where the next one begins, "" at the end."""

    rows: list[Row]
    after: str


def waiting_rounds(tenant_id: int) -> QuerySet[ApprovalRound]:
    """Rounds that still can be answered, by the database's clock."""
    return ApprovalRound.objects.filter(
        tenant_id=tenant_id,
        status=ApprovalRound.Status.OPEN,
        expires_at__gt=Now(),
        operation__state=State.NOT_STARTED,
    )


def waiting_ids(reader: Reader, limit: int) -> list[str]:
    """The operations that wait for this person, the first to expire first, up to `limit`."""
    if not reader.is_approver:
        return []
    rounds = waiting_rounds(reader.tenant_id).filter(reader.may_answer).order_by("expires_at", "pk")
    return list(rounds.values_list("operation_id", flat=True)[:limit])


def waiting(reader: Reader, *, view: str, after: str, clock: Clock) -> Queue[Waiting]:
    """One page of what waits, the first to expire first."""
    rounds = waiting_rounds(reader.tenant_id)
    if view == "others":
        rounds = rounds.filter(~reader.may_answer)
    elif view == "soon":
        rounds = rounds.filter(expires_at__lte=clock.now + SOON)
    else:
        rounds = rounds.filter(reader.may_answer)
    if place := _place(after):
        rounds = rounds.filter(Q(expires_at__gt=place[0]) | Q(expires_at=place[0], pk__gt=place[1]))
    found = list(
        rounds.select_related("operation__intent__agent", "operation__intent__connection")
        .annotate(approvals=Count("decisions", filter=Q(decisions__verdict=Decision.Verdict.APPROVE)))
        .order_by("expires_at", "pk")[: PAGE + 1]
    )
    last = found[PAGE - 1] if len(found) > PAGE else None
    return Queue(
        rows=[_waiting(item, item.approvals, clock) for item in found[:PAGE]],
        after=f"{last.expires_at.isoformat()}~{last.pk}" if last else "",
    )


def decided(reader: Reader, *, after: str, clock: Clock, limit: int | None = None) -> Queue[Decided]:
    """Answers of everybody, the newest first; a page of them, or up to `limit`."""
    limit = limit or PAGE
    answers = Decision.objects.filter(tenant_id=reader.tenant_id)
    if place := _place(after):
        answers = answers.filter(Q(decided_at__lt=place[0]) | Q(decided_at=place[0], pk__lt=place[1]))
    found = list(
        answers.select_related("operation__intent__agent", "operation__intent__connection", "person").order_by(
            "-decided_at", "-pk"
        )[: limit + 1]
    )
    last = found[limit - 1] if len(found) > limit else None
    return Queue(
        rows=[_decided(answer, clock) for answer in found[:limit]],
        after=f"{last.decided_at.isoformat()}~{last.pk}" if last else "",
    )


def decided_just_now(reader: Reader, clock: Clock) -> list[Decided]:
    """The newest few answers of the last minutes, for the strip above the queue."""
    newest = decided(reader, after="", clock=clock, limit=STRIP).rows
    return [row for row in newest if (row.at.since or 0) <= JUST_NOW.total_seconds()]


def count_others(reader: Reader, limit: int) -> int:
    """How many wait for somebody else, counted up to `limit`."""
    rounds = waiting_rounds(reader.tenant_id).filter(~reader.may_answer)
    return rounds.order_by("expires_at")[:limit].count()


def _waiting(item: ApprovalRound, approvals: int, clock: Clock) -> Waiting:
    intent = item.operation.intent
    return Waiting(
        line=line_of(intent),
        prepared=clock.at(intent.prepared_at),
        expires=clock.at(item.expires_at),
        approvals=approvals,
        quorum=item.quorum,
    )


def _decided(answer: Decision, clock: Clock) -> Decided:
    approved = answer.verdict == Decision.Verdict.APPROVE
    return Decided(
        line=line_of(answer.operation.intent),
        verdict=Decision.Verdict(answer.verdict).label,
        tone="done" if approved else "refused",
        person=answer.person.name,
        reason=answer.reason,
        at=clock.at(answer.decided_at),
    )


def _place(after: str) -> tuple[datetime, int] | None:
    """Where the page before ended; an address somebody bent means the beginning."""
    instant, _, number = after.partition("~")
    try:
        place = datetime.fromisoformat(instant), int(number)
    except ValueError:
        return None
    return place if place[0].tzinfo else None
