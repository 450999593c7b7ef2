"""Step three: what the answer proves, and the one move that follows from it."""

import logging
import uuid

from django.db import IntegrityError, transaction

from operations.core.contract import Contract, Schedule
from operations.core.outcomes import Answer, Finding, Verdict, judge
from operations.core.states import Event, State
from operations.models.evidence import Source
from operations.services import evidence, sql
from operations.services.execute.claim import Claim
from operations.services.execute.guards import refuse_inside_transaction, request_id_of
from operations.services.transition import lock
from operations.services.transition import transition as move

logger = logging.getLogger(__name__)

FINISH = """
UPDATE operations_attempt SET outcome = %s, phase = CASE WHEN phase = '' THEN %s ELSE phase END,
    finished_at = clock_timestamp()
WHERE operation_id = %s AND claim_token = %s AND outcome = ''
"""

DUE_NOW = "UPDATE operations_operation SET next_step_at = clock_timestamp() WHERE intent_id = %s"


def record(claim: Claim, answer: Answer) -> Finding:
    """Say what the answer proves and move accordingly. Without the claim: evidence only, and the state stays."""
    refuse_inside_transaction()
    finding = _of_a_repeat(claim, judge(claim.contract, claim.wanted, answer))
    try:
        with transaction.atomic():
            if _settle(claim, answer, finding):
                return finding
            transaction.set_rollback(True)
    except IntegrityError as error:
        logger.error("The answer for %s was refused by a guard: %s", claim.operation_id, sql.constraint_of(error))
        finding = _not_recordable(finding, sql.constraint_of(error))
        with transaction.atomic():
            if _settle(claim, answer, finding):
                return finding
            transaction.set_rollback(True)
    _leave_late_evidence(claim, answer, finding)
    return finding


def _of_a_repeat(claim: Claim, finding: Finding) -> Finding:
    """On a repeat the record may have changed through our own first request, so a conflict is a doubt, no refusal."""
    if not (claim.repeat and finding.reason == "version_conflict"):
        return finding
    return Finding(
        verdict=Verdict.SAYS_NOTHING,
        reason="conflict_on_repeat",
        words="The record has changed, perhaps by our own earlier request. The provider is asked.",
    )


def _not_recordable(finding: Finding, constraint: str) -> Finding:
    """What is left of an answer that the database refused: another operation's object, or a doubt. Never a fact."""
    if constraint == "operation_one_object":
        return Finding(
            verdict=Verdict.DIFFERENT,
            reason="object_of_another_operation",
            words="The provider's object already belongs to another operation. A person decides.",
            matches=finding.matches,
        )
    return Finding(
        verdict=Verdict.SAYS_NOTHING,
        reason="not_recorded",
        words="An answer came, and it could not be recorded. The provider is asked instead.",
    )


EVENTS = {
    Verdict.HAPPENED: (Event.CONFIRMED, "happened"),
    Verdict.ACCEPTED: (Event.ACKNOWLEDGED, "accepted"),
    Verdict.REFUSED: (Event.REFUSED, "refused"),
    Verdict.NOT_SENT: (Event.NOT_SENT, "not_sent"),
}
NEEDS_A_PERSON = {"redirected", "credential_refused", "version_conflict"}


def _settle(claim: Claim, answer: Answer, finding: Finding) -> bool:
    event, outcome = EVENTS.get(finding.verdict, (Event.LOST, "lost"))
    fact = _evidence(claim, answer, finding, Source.RESPONSE)
    sql.execute(FINISH, [outcome, answer.phase.value, claim.operation_id, claim.token])
    schedule = claim.contract.schedule
    next_step: float | None = None
    if event is Event.NOT_SENT:
        next_step = min(300, 2**claim.number)
    elif event in (Event.LOST, Event.ACKNOWLEDGED):
        next_step = schedule.delays[0]
    elif finding.reason in NEEDS_A_PERSON or claim.number > 1:
        next_step = 0  # an earlier attempt may have brought to light what speaks against this answer
    return move(
        operation_id=claim.operation_id,
        expected=State.IN_PROGRESS,
        event=event,
        actor=claim.worker,
        reason=finding.reason,
        token=claim.token,
        fact_id=fact,
        external_id=finding.external_id if finding.verdict in (Verdict.HAPPENED, Verdict.ACCEPTED) else "",
        next_step=next_step,
        deadline=schedule.deadline if event in (Event.LOST, Event.ACKNOWLEDGED) else None,
    )


def _leave_late_evidence(claim: Claim, answer: Answer, finding: Finding) -> None:
    """The claim is gone. What this worker learned is kept, and the engine is asked to compare it with the record.

    The lock comes first: otherwise a claim could slip in between this row and its commit, see nothing of it, and take
    it for older than itself.
    """
    with transaction.atomic():
        lock(operation_id=claim.operation_id)
        _evidence(claim, answer, finding, Source.LATE_RESPONSE)
        sql.execute(DUE_NOW, [claim.operation_id])


def _evidence(claim: Claim, answer: Answer, finding: Finding, source: Source) -> int:
    return evidence.record(
        operation_id=claim.operation_id,
        tenant_id=claim.tenant_id,
        source=source,
        finding=finding,
        attempt_number=claim.number,
        answer=answer,
        request_id=request_id_of(claim.contract, answer),
    )


def lose(*, operation_id: str, token: uuid.UUID, actor: str, contract: Contract | None) -> bool:
    """The lease ran out: in progress becomes unknown, and the attempt is closed as lost. Reads come next.

    A contract that is gone changes nothing about that; nobody may stay in progress for ever.
    """
    schedule = contract.schedule if contract else Schedule()
    with transaction.atomic():
        sql.execute(FINISH, ["lost", "", operation_id, token])
        moved = move(
            operation_id=operation_id,
            expected=State.IN_PROGRESS,
            event=Event.LOST,
            actor=actor,
            reason="worker_gone",
            token=token,
            next_step=schedule.delays[0],
            deadline=schedule.deadline,
        )
        if not moved:
            transaction.set_rollback(True)
        return moved
