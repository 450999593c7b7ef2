"""Everything an answer depends on, in one reading: the round, the bytes, the rights of this person, the time.

The page reads it to show why a button is off; the POST reads it again under a lock and raises the same sentence.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.core import Asked
from operations.core.states import State
from operations.services import sql, transition

QUERY = """
SELECT r.id, r.number, r.status, r.expires_at, r.quorum, r.policy_version, r.payload_hash, o.state,
       i.canonical, i.payload_hash, i.separate_effect, a.owner_id, p.owner_may_approve,
       EXISTS (SELECT FROM operations_membership m JOIN operations_user u ON u.id = m.user_id AND u.is_active
               WHERE m.tenant_id = r.tenant_id AND m.user_id = %(person)s AND m.role = 'approver'),
       ARRAY(SELECT d.person_id FROM approvals_decision d WHERE d.round_id = r.id ORDER BY d.decided_at),
       ARRAY(SELECT u.name FROM approvals_decision d JOIN operations_user u ON u.id = d.person_id
             WHERE d.round_id = r.id ORDER BY d.decided_at)::text[],
       ARRAY(SELECT d.verdict FROM approvals_decision d WHERE d.round_id = r.id ORDER BY d.decided_at)::text[],
       (SELECT min(other.operation_id) FROM operations_intent other
          JOIN operations_operation twin ON twin.intent_id = other.operation_id
        WHERE i.business_key <> '' AND other.tenant_id = i.tenant_id AND other.business_key = i.business_key
          AND other.operation_id <> i.operation_id
          AND (twin.state NOT IN ('cancelled', 'failed') OR twin.creates_object AND EXISTS (
              SELECT FROM operations_evidence e WHERE e.operation_id = twin.intent_id
                AND e.verdict IN ('happened', 'accepted', 'several', 'different') AND e.source <> 'operator'
                AND (twin.state = 'cancelled' OR e.recorded_at > twin.changed_at)))),
       clock_timestamp()
FROM approvals_approvalround r
JOIN operations_operation o ON o.intent_id = r.operation_id
JOIN operations_intent i ON i.operation_id = r.operation_id
JOIN operations_agent a ON a.id = i.agent_id
JOIN operations_policy p ON p.id = i.policy_id
WHERE r.operation_id = %(operation)s AND r.tenant_id = %(tenant)s
ORDER BY r.number DESC LIMIT 1
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """The newest round of an operation, and one person before it."""

    round_id: int
    round_number: int
    status: str
    expires_at: datetime
    quorum: int
    policy_version: str
    payload_hash: str
    state: State
    canonical: bytes
    intent_hash: str
    separate_effect: bool
    owns_agent: bool
    owner_may_approve: bool
    is_approver: bool
    answered: tuple[tuple[int, str, str], ...]  # (person id, name, verdict), oldest first
    twin: str  # another operation that stands for the same business act, "" for none
    now: datetime

    @property
    def approved_by(self) -> list[str]:
        return [name for _, name, verdict in self.answered if verdict == "approve"]


def situation_of(*, operation_id: str, tenant_id: int, person_id: int, lock: bool = False) -> Situation | None:
    """Read it; None when nobody was ever asked here. `lock`: so that two answers come one after the other."""
    if lock:
        transition.lock(operation_id=operation_id)
    row = sql.fetch_one(QUERY, {"person": person_id, "operation": operation_id, "tenant": tenant_id})
    return None if row is None else _situation(row, person_id)


def _situation(row: tuple[Any, ...], person_id: int) -> Situation:
    return Situation(
        round_id=row[0],
        round_number=row[1],
        status=row[2],
        expires_at=row[3],
        quorum=row[4],
        policy_version=row[5],
        payload_hash=row[6],
        state=State(row[7]),
        canonical=bytes(row[8]),
        intent_hash=row[9],
        separate_effect=row[10],
        owns_agent=row[11] == person_id,
        owner_may_approve=row[12],
        is_approver=row[13],
        answered=tuple(zip(row[14], row[15], row[16], strict=True)),
        twin=row[17] or "",
        now=row[18],
    )


def asked_in(situation: Situation, person_id: int, *, shown_is_current: bool) -> Asked:
    """The facts for `core.refusal_to_answer`."""
    return Asked(
        waiting=situation.status == "open" and situation.state is State.NOT_STARTED,
        expires_at=situation.expires_at,
        shown_hash_is_current=shown_is_current,
        is_approver=situation.is_approver,
        owns_agent=situation.owns_agent,
        owner_may_approve=situation.owner_may_approve,
        already_answered=any(person == person_id for person, _, _ in situation.answered),
        closed_by="" if situation.status == "open" else _closed_by(situation),
    )


def _closed_by(situation: Situation) -> str:
    match situation.status:
        case "rejected":
            names = [name for _, name, verdict in situation.answered if verdict == "reject"]
            return f"Already rejected by {', '.join(names)}."
        case "approved":
            return f"Already approved by {', '.join(situation.approved_by)}."
        case "expired":
            return "Its time ran out before it was decided. Nothing has been sent."
        case _:
            return "It was withdrawn before it was decided. Nothing has been sent."
