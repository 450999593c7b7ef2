"""Step two: one last look at the committed truth, then one request."""

import logging
import time

from django.conf import settings
from django.db import DatabaseError

from operations.core.contract import dig, refusal_by_key
from operations.core.outcomes import Answer, Phase
from operations.providers.ports import Limits
from operations.services import sql
from operations.services.execute.claim import Claim
from operations.services.execute.guards import refuse_inside_transaction, request_id_of

logger = logging.getLogger(__name__)
BEGIN_WITHIN = 2.0  # seconds between the last look at the database and the first byte

# The last look. It reads the committed truth by the database's own clock and hashes the stored bytes once more.
LAST_CHECK = """
SELECT extract(epoch FROM o.lease_until - clock_timestamp())::float8, o.first_sent_at, clock_timestamp(),
       EXISTS (SELECT FROM operations_attempt a WHERE a.operation_id = o.intent_id AND a.claim_token <> o.claim_token
               AND a.outcome <> 'not_sent')
FROM operations_operation o
JOIN operations_intent i ON i.operation_id = o.intent_id
JOIN operations_permit p ON p.operation_id = o.intent_id AND p.revoked_at IS NULL
WHERE o.intent_id = %s AND o.state = 'in_progress' AND o.claim_token = %s
  AND p.expires_at > clock_timestamp() AND p.payload_hash = opsconsole_hash(i.canonical) AND p.payload_hash = %s
  AND p.policy_version = i.policy_version
  AND NOT EXISTS (SELECT FROM operations_policy newer JOIN operations_policy mine ON mine.id = i.policy_id
                  WHERE newer.tenant_id = mine.tenant_id AND newer.action = mine.action
                    AND newer.version > mine.version)
  AND NOT EXISTS (SELECT FROM operations_evidence e WHERE e.operation_id = o.intent_id
                  AND (e.verdict IN ('happened', 'accepted', 'several', 'different')
                       OR e.reason = 'unknown_status_word')
                  AND e.recorded_at > o.changed_at)
  AND NOT opsconsole_is_stopped(o.intent_id)
"""

NOTE = """
UPDATE operations_attempt SET phase = %s, http_status = %s, provider_request_id = %s, external_id = %s
WHERE operation_id = %s AND claim_token = %s AND outcome = ''
"""


def call(claim: Claim) -> Answer:
    """Look once more, then send once. Whatever happens after that is in the answer; nothing is raised for it."""
    refuse_inside_transaction()
    looked_at = time.monotonic()
    row = sql.fetch_one(LAST_CHECK, [claim.operation_id, claim.token, claim.payload_hash])
    if row is None:
        return Answer(phase=Phase.CONNECTING, error="the approval or the claim no longer holds")
    lease_left, first_sent_at, now, is_repeat = row
    if is_repeat and refusal_by_key(claim.contract, first_sent_at, now):
        return Answer(phase=Phase.CONNECTING, error="the provider may recognise the key no longer")
    spare = lease_left - settings.PROVIDER_TOTAL_SECONDS - settings.LEASE_MARGIN_SECONDS
    if spare <= 0:
        return Answer(phase=Phase.CONNECTING, error="too little of the lease is left for a whole call")
    answer = claim.writer.submit(
        claim.request,
        limits=Limits(
            connect=settings.PROVIDER_CONNECT_SECONDS,
            read=settings.PROVIDER_READ_SECONDS,
            total=settings.PROVIDER_TOTAL_SECONDS,
            begin_by=looked_at + min(spare, BEGIN_WITHIN + settings.PROVIDER_CONNECT_SECONDS),
        ),
    )
    if answer.phase is not Phase.CONNECTING:
        _note(claim, answer)
    return answer


def _note(claim: Claim, answer: Answer) -> None:
    """Save the provider's request id and object id in a transaction of their own, as soon as they are known.

    Without this note the answer is still in hand and may still be recorded, so a failure here must not lose it.
    """
    found = dig(answer.body, claim.contract.object.id)
    known = isinstance(found, str | int) and not isinstance(found, bool)
    values = [
        answer.phase.value,
        answer.status,
        request_id_of(claim.contract, answer),
        str(found)[:200] if known else "",
        claim.operation_id,
        claim.token,
    ]
    try:
        sql.execute(NOTE, values)
    except DatabaseError as error:
        logger.warning("What was learned about %s could not be noted: %s", claim.operation_id, type(error).__name__)
