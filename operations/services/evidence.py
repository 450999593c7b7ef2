"""What was learned is written down here, before anything moves because of it."""

import json
from datetime import datetime

from operations.core.outcomes import Answer, Finding
from operations.models.evidence import Source
from operations.services import sql

ROW = """
INSERT INTO operations_evidence
    (operation_id, tenant_id, attempt_number, source, verdict, reason, words, result, external_id, http_status,
     provider_request_id, raw_digest, asked_at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, coalesce(%s, clock_timestamp()))
RETURNING id
"""


def record(
    *,
    operation_id: str,
    tenant_id: int,
    source: Source,
    finding: Finding,
    attempt_number: int | None = None,
    answer: Answer | None = None,
    request_id: str = "",
    asked_at: datetime | None = None,
) -> int:
    """Append one row inside the caller's transaction and return its id. Keeps compared values, never a body."""
    row = sql.fetch_one(
        ROW,
        [
            operation_id,
            tenant_id,
            attempt_number,
            source.value,
            finding.verdict.value,
            finding.reason,
            finding.words[:400],
            json.dumps(finding.matches),
            finding.external_id[:200],
            answer.status if answer else None,
            request_id[:200],
            answer.raw_digest if answer else "",
            asked_at,
        ],
    )
    assert row is not None
    return int(row[0])
