"""The investigations queue: open cases and operations in doubt. Always one tenant's; rows are plain values."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from operations import words as states
from operations.core.contract import key_safe_until
from operations.lines import Line, line_of
from operations.models import Intent
from operations.providers.registry import known_contract
from operations.times import Clock, Moment
from reconciliation.models import Case
from reconciliation.words import KINDS, chip_of

PAGE: Final = 50

OVER: Final = (Case.Kind.CONTRADICTION, Case.Kind.VERSION_CONFLICT)  # nothing of these is ever sent again

# By partial and state indexes, however long the history is. In doubt counts even while no case is open.
HERE: Final = """
WITH here AS (
    SELECT k.operation_id AS id FROM reconciliation_case k WHERE k.tenant_id = %(tenant)s AND k.closed_at IS NULL
    UNION
    SELECT o.intent_id FROM operations_operation o
    WHERE o.tenant_id = %(tenant)s AND (o.state IN ('unknown', 'disputed')
        OR (o.state = 'pending' AND o.deadline_at <= clock_timestamp()))
), listed AS (
    SELECT o.intent_id AS id, o.state, o.next_step_at, o.first_sent_at, o.attempts_made, k.claimed_by_id,
           k.claimed_until, k.id AS case_id,
           coalesce(k.kind, CASE o.state WHEN 'disputed' THEN 'disputed' ELSE 'unknown' END) AS kind
    FROM here JOIN operations_operation o ON o.intent_id = here.id
    LEFT JOIN LATERAL (SELECT * FROM reconciliation_case k WHERE k.operation_id = o.intent_id AND k.closed_at IS NULL
                       ORDER BY k.id LIMIT 1) k ON true
)
"""

ROWS: Final = """
SELECT l.id, l.kind, l.next_step_at, l.first_sent_at, u.name,
       EXISTS (SELECT FROM operations_attempt a WHERE a.operation_id = l.id AND a.outcome <> 'not_sent'),
       e.verdict, e.asked_at,
       (SELECT s.verdict FROM operations_evidence s WHERE s.operation_id = l.id AND s.source <> 'operator'
        AND s.verdict NOT IN ('says_nothing', 'unreadable') ORDER BY s.id DESC LIMIT 1)
FROM listed l
LEFT JOIN operations_user u ON u.id = l.claimed_by_id AND l.claimed_until > clock_timestamp()
LEFT JOIN LATERAL (SELECT e.verdict, e.asked_at FROM operations_evidence e
                   WHERE e.operation_id = l.id AND e.source = 'look_up' ORDER BY e.id DESC LIMIT 1) e ON true
WHERE (%(kind)s = '' OR l.kind = %(kind)s) AND (%(after)s = '' OR l.id > %(after)s)
ORDER BY l.id LIMIT %(limit)s
"""

COUNT_HERE: Final = "SELECT count(*) FROM (SELECT FROM here LIMIT %(most)s) AS bounded"

COUNTS: Final = """
SELECT kind, count(*) FROM listed GROUP BY kind
UNION ALL
SELECT '', count(*) FROM reconciliation_case k
WHERE k.tenant_id = %(tenant)s AND k.closed_at >= %(today)s
"""


def count_here(*, tenant_id: int, most: int) -> int:
    """How many operations the queue lists, counted no further than `most`; for the menu."""
    with connection.cursor() as cursor:
        cursor.execute(HERE + COUNT_HERE, {"tenant": tenant_id, "most": most})
        row = cursor.fetchone()
    return int(row[0]) if row else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the queue."""

    line: Line
    word: str
    tone: str
    since: Moment | None  # None: nothing was sent
    key: str
    looked: str
    looked_at: Moment | None
    next_look: str
    owner: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """One chip above the list."""

    kind: str
    word: str
    tone: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue:
    """One page. `more` is the id after which the next page begins, "" at the end."""

    rows: list[Row]
    filters: list[Filter]
    total: int
    closed_today: int
    more: str


def read_queue(*, tenant_id: int, kind: str, after: str, clock: Clock) -> Queue:
    """The longest known first. An unknown `kind` shows all; `after` is the last id of the page before."""
    kind = kind if kind in Case.Kind.values else ""
    found = _all(HERE + ROWS, {"tenant": tenant_id, "kind": kind, "after": after, "limit": PAGE + 1})
    ids = [row[0] for row in found[:PAGE]]
    intents = Intent.objects.filter(tenant_id=tenant_id).select_related("agent", "connection").in_bulk(ids)
    today = clock.now.astimezone(clock.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    counts = dict(_all(HERE + COUNTS, {"tenant": tenant_id, "today": today}))
    return Queue(
        rows=[_row(intents[row[0]], row, clock) for row in found[:PAGE]],
        filters=[
            Filter(kind=name, word=KINDS[name][0], tone=KINDS[name][1], count=counts[name])
            for name in Case.Kind
            if name in counts
        ],
        total=sum(number for name, number in counts.items() if name),
        closed_today=counts.get("", 0),
        more=ids[-1] if len(found) > PAGE else "",
    )


def _all(query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _row(intent: Intent, row: tuple[Any, ...], clock: Clock) -> Row:
    _, kind, next_step_at, first_sent_at, owner, sent, looked, looked_at, shown = row
    word, tone = chip_of(kind, shown or "")
    return Row(
        line=line_of(intent),
        word=word,
        tone=tone,
        since=clock.at(first_sent_at) if sent else None,
        key=_key_safe_for(intent, first_sent_at if sent and kind not in OVER else None, clock),
        looked=states.verdict_words(looked) if looked else "",
        looked_at=clock.at(looked_at) if looked_at else None,
        next_look=_next_look(kind, next_step_at, clock),
        owner=owner or "",
    )


def _key_safe_for(intent: Intent, first_sent_at: datetime | None, clock: Clock) -> str:
    """How long a repeat with the same key is no second effect; "" where nothing was sent or nothing is promised."""
    contract = known_contract(intent.connection.provider, intent.action)
    until = key_safe_until(contract, first_sent_at) if contract else None
    if until is None:
        return ""
    return clock.at(until).words if until > clock.now else "over"


def _next_look(kind: str, at: datetime | None, clock: Clock) -> str:
    if at is not None:
        return clock.short(at) if at > clock.now else "due now"
    return "needs a new decision" if kind == Case.Kind.VERSION_CONFLICT else "waits for an operator"
