"""How an operation stands for a person who is about to settle it. One reading serves the page and the refusal alike."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from operations.core.contract import Autonomy, Contract, autonomy, refusal_by_key
from operations.core.states import State
from operations.models import Operation
from reconciliation.core import (
    Standing,
    refusal_to_allow_another,
    refusal_to_deny,
    refusal_to_note,
    refusal_to_settle,
    ways_to_ask,
)
from reconciliation.models import Resolution

# `said` counts what tells anything: an answer that decides, or a person's word. Look-ups that failed do not count.
QUERY = """
SELECT clock_timestamp(), o.deadline_at <= clock_timestamp(),
       (SELECT a.external_id FROM operations_attempt a WHERE a.operation_id = o.intent_id
        ORDER BY a.number DESC LIMIT 1),
       (SELECT max(e.recorded_at) FROM operations_evidence e WHERE e.operation_id = o.intent_id
        AND e.source = 'look_up' AND e.attempt_number = o.attempts_made),
       (SELECT CASE e.reason WHEN 'unknown_status_word' THEN 'accepted' ELSE e.verdict END
        FROM operations_evidence e WHERE e.operation_id = o.intent_id AND e.source <> 'operator'
        AND (e.verdict NOT IN ('says_nothing', 'unreadable') OR e.reason = 'unknown_status_word')
        ORDER BY e.id DESC LIMIT 1),
       (SELECT count(*) FROM operations_evidence e WHERE e.operation_id = o.intent_id
        AND (e.source = 'operator' OR e.verdict NOT IN ('says_nothing', 'unreadable'))),
       (SELECT max(e.id) FROM operations_evidence e WHERE e.operation_id = o.intent_id
        AND (e.source = 'operator' OR e.verdict NOT IN ('says_nothing', 'unreadable'))),
       (SELECT max(a.absence_credible_at) FROM operations_attempt a
        WHERE a.operation_id = o.intent_id AND a.outcome <> 'not_sent')
FROM operations_operation o WHERE o.intent_id = %s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stands:
    """The standing, the database's time it holds for, and how much was on record then."""

    standing: Standing
    now: datetime
    said: int
    newest: int | None
    external_id: str


def standing_of(operation: Operation, contract: Contract | None, *, case_kind: str) -> Stands:
    """Read it now. `operation` needs its connection."""
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [operation.pk])
        row = cursor.fetchone()
    assert row is not None
    now, overdue, seen_id, asked_at, shown, said, newest, on_its_way_until = row
    external_id = operation.external_id or seen_id or ""
    standing = Standing(
        state=State(operation.state),
        case_kind=case_kind,
        overdue=bool(overdue),
        attempts=operation.attempts_made,
        can_be_asked=bool(contract and operation.attempts_made and ways_to_ask(contract, external_id)),
        asked_at=asked_at,
        shown=shown or "",
        sent_by_us=bool(
            contract and operation.connection.mode != "manual" and autonomy(contract) is Autonomy.AUTOMATIC
        ),
        refusal_by_key=_refusal_by_key(operation, contract, now),
        on_its_way_until=on_its_way_until,
    )
    return Stands(standing=standing, now=now, said=said, newest=newest, external_id=external_id)


def _refusal_by_key(operation: Operation, contract: Contract | None, now: datetime) -> str:
    if contract is None:
        return "There is no contract to send it under."
    return refusal_by_key(contract, operation.first_sent_at, now)


def refusal_of_verdict(verdict: Resolution.Verdict, stands: Stands) -> str:
    """Why this sentence cannot be chosen now; shown on the choice, and raised by the POST."""
    match verdict:
        case Resolution.Verdict.NOTED:
            return refusal_to_note(stands.standing)
        case Resolution.Verdict.DID_NOT_HAPPEN:
            return refusal_to_deny(stands.standing, stands.now)
        case Resolution.Verdict.MAY_RETRY:
            return refusal_to_allow_another(stands.standing, stands.now)
        case _:
            return refusal_to_settle(stands.standing, stands.now)
