"""What an agent may know of an approval: where it stands, and why it was rejected. Never who answered, nor how many."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import connection
from django.urls import reverse

from approvals.models import Decision
from operations.api.schemas import ApprovalOut, DecisionOut

NEWEST = """
SELECT DISTINCT ON (r.operation_id) r.operation_id, r.id, r.expires_at,
    CASE WHEN r.status IN ('open', 'approved') AND o.state = 'not_started' AND r.expires_at <= clock_timestamp()
         THEN 'expired' ELSE r.status END
FROM approvals_approvalround r JOIN operations_operation o ON o.intent_id = r.operation_id
WHERE r.operation_id = ANY(%s) ORDER BY r.operation_id, r.number DESC
"""

STANDING = """
SELECT o.state, o.reason, o.changed_at, r.number, r.status, r.answers
FROM operations_operation o
LEFT JOIN LATERAL (SELECT number, status, (SELECT count(*) FROM approvals_decision d WHERE d.round_id = r.id) AS answers
                   FROM approvals_approvalround r WHERE r.operation_id = o.intent_id
                   ORDER BY r.number DESC LIMIT 1) r ON true
WHERE o.intent_id = %s
"""


def decision_url(operation_id: str) -> str:
    """The page where approvers decide it; following it by itself changes nothing."""
    return f"{settings.PUBLIC_URL}{reverse('decision', args=[operation_id])}"


def summaries(operation_ids: Sequence[str]) -> dict[str, ApprovalOut]:
    """The newest round of each operation, in two queries however many there are."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, [list(operation_ids)])
        rounds: dict[str, tuple[Any, ...]] = {row[0]: row for row in cursor.fetchall()}
    decisions: dict[int, list[DecisionOut]] = {row[1]: [] for row in rounds.values()}
    for answered in Decision.objects.filter(round_id__in=decisions).order_by("decided_at", "pk"):
        rejected = answered.verdict == Decision.Verdict.REJECT
        decisions[answered.round_id].append(
            DecisionOut(
                verdict="reject" if rejected else "approve",
                at=answered.decided_at,
                reason=answered.reason if rejected else None,
            )
        )
    return {item: _summary(item, rounds.get(item), decisions) for item in operation_ids}


def _summary(operation_id: str, row: tuple[Any, ...] | None, decisions: dict[int, list[DecisionOut]]) -> ApprovalOut:
    url = decision_url(operation_id)
    if row is None:
        return ApprovalOut(status="none", expires_at=None, url=url, decisions=[])
    _, round_id, expires_at, status = row
    return ApprovalOut(status=status, expires_at=expires_at, url=url, decisions=decisions[round_id])


def standing(operation_id: str) -> tuple[object, ...]:
    """State first, then all that a waiting agent wants to be woken for; one short query. Equal means unchanged."""
    with connection.cursor() as cursor:
        cursor.execute(STANDING, [operation_id])
        row = cursor.fetchone()
    assert row is not None, "operations are never deleted"
    return tuple(row)
