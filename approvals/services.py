"""Asking people and taking their answers. Every answer is one row, on one hash, by one person, once."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from approvals.core import refusal_to_answer, refusal_to_approve
from approvals.models import ApprovalRound, Decision
from approvals.situation import Situation, asked_in, situation_of
from operations import bell
from operations.core.states import State
from operations.display import display_of_bytes
from operations.models import Intent, User
from operations.models.evidence import Source
from operations.services import permits, sql
from operations.services.transition import schedule
from operations.services.withdraw import NotWithdrawable, withdraw

OPEN = """
INSERT INTO approvals_approvalround
    (operation_id, tenant_id, number, payload_hash, policy_version, quorum, status, expires_at)
SELECT %(operation)s::varchar, %(tenant)s, coalesce(max(number), 0) + 1, %(hash)s, %(policy)s, %(quorum)s, 'open',
       clock_timestamp() + make_interval(secs => %(seconds)s)
FROM approvals_approvalround WHERE operation_id = %(operation)s::varchar
ON CONFLICT DO NOTHING
"""

CLOSE = """
UPDATE approvals_approvalround SET status = %s, closed_at = clock_timestamp()
WHERE operation_id = %s AND status = 'open'
"""

ANSWER = """
INSERT INTO approvals_decision
    (round_id, operation_id, tenant_id, person_id, verdict, payload_hash, display_hash, reason, presence,
     separate_effect)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'session', %s)
"""


class MayNotDecide(Exception):
    """The answer was not taken; the message is the sentence for the person. `late`: somebody or time was quicker."""

    def __init__(self, sentence: str, *, late: bool = False) -> None:
        super().__init__(sentence)
        self.late = late


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What an answer led to."""

    verdict: str
    approvals: int
    quorum: int

    @property
    def complete(self) -> bool:
        return self.verdict == Decision.Verdict.APPROVE and self.approvals >= self.quorum


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    """One person's word, as it came in."""

    operation_id: str
    tenant_id: int
    person: User
    verdict: Decision.Verdict
    shown_hash: str
    shown_display: str
    reason: str
    separate_effect: bool


def ask(
    *, operation_id: str, tenant_id: int, payload_hash: str, policy_version: str, quorum: int, seconds: int
) -> bool:
    """Open a round about this hash, inside the caller's transaction; False when one is open already."""
    opened = sql.execute(
        OPEN,
        {
            "operation": operation_id,
            "tenant": tenant_id,
            "hash": payload_hash,
            "policy": policy_version,
            "quorum": quorum,
            "seconds": seconds,
        },
    )
    return opened == 1


@transaction.atomic
def open_round(*, operation_id: str) -> None:
    """Ask again about a stored intent, unless a round is open. Its policy says how many must agree and how long."""
    intent = Intent.objects.select_related("policy").get(operation_id=operation_id)
    opened = ask(
        operation_id=operation_id,
        tenant_id=intent.tenant_id,
        payload_hash=intent.payload_hash,
        policy_version=intent.policy_version,
        quorum=intent.policy.quorum,
        seconds=intent.policy.approval_seconds,
    )
    if opened:
        schedule(
            operation_id=operation_id,
            expected=State.NOT_STARTED,
            next_step=intent.policy.approval_seconds,
            waits_for="approver",
        )


def close_round(*, operation_id: str, status: ApprovalRound.Status) -> None:
    """Close whatever is open, inside the caller's transaction: answered, withdrawn, or its time ran out."""
    sql.execute(CLOSE, [status.value, operation_id])


def decide(
    *,
    operation_id: str,
    tenant_id: int,
    person: User,
    verdict: Decision.Verdict,
    shown_hash: str,
    shown_display: str,
    reason: str = "",
    separate_effect: bool = False,
) -> Answered:
    """Take one person's answer about the hash they were shown. Raises `MayNotDecide` with the sentence for them."""
    answer = _Answer(
        operation_id=operation_id,
        tenant_id=tenant_id,
        person=person,
        verdict=verdict,
        shown_hash=shown_hash,
        shown_display=shown_display,
        reason=reason.strip(),
        separate_effect=separate_effect,
    )
    if verdict is Decision.Verdict.REJECT and not answer.reason:
        raise MayNotDecide("Say why you reject it; the agent and its owner will read it.")
    try:
        with transaction.atomic():
            answered = _take(answer)
            bell.ring(operation_id)
            return answered
    except IntegrityError:
        sentence = "Somebody or the clock was quicker. Open the page again to see how it stands."
        raise MayNotDecide(sentence, late=True) from None
    except NotWithdrawable:
        raise MayNotDecide("It is no longer waiting, so it cannot be rejected.", late=True) from None


def _take(answer: _Answer) -> Answered:
    situation = situation_of(
        operation_id=answer.operation_id, tenant_id=answer.tenant_id, person_id=answer.person.pk, lock=True
    )
    if situation is None:
        raise MayNotDecide("Nobody has been asked to decide this.")
    _check(answer, situation)
    sql.execute(
        ANSWER,
        [
            situation.round_id,
            answer.operation_id,
            answer.tenant_id,
            answer.person.pk,
            answer.verdict.value,
            answer.shown_hash,
            answer.shown_display,
            answer.reason,
            answer.separate_effect,
        ],
    )
    return _reject(answer, situation) if answer.verdict is Decision.Verdict.REJECT else _approve(answer, situation)


def _check(answer: _Answer, situation: Situation) -> None:
    display = display_of_bytes(situation.canonical, situation.intent_hash)
    current = (answer.shown_hash, answer.shown_display) == (situation.intent_hash, display.digest)
    asked = asked_in(situation, answer.person.pk, shown_is_current=current)
    sentence = refusal_to_answer(asked, situation.now)
    if not sentence and answer.verdict is Decision.Verdict.APPROVE:
        sentence = refusal_to_approve(
            possible_duplicate=possible_duplicate(situation),
            separate_effect=answer.separate_effect or situation.separate_effect,
        )
    if sentence:
        over = situation.now >= asked.expires_at
        raise MayNotDecide(sentence, late=over or not asked.waiting or asked.already_answered)


def possible_duplicate(situation: Situation) -> str:
    """The operation that this one looks like, in words; "" when there is none (case P28 c)."""
    return f"the same business act as {situation.twin}" if situation.twin else ""


def _reject(answer: _Answer, situation: Situation) -> Answered:
    close_round(operation_id=answer.operation_id, status=ApprovalRound.Status.REJECTED)
    withdraw(
        operation_id=answer.operation_id,
        tenant_id=answer.tenant_id,
        actor=f"{answer.person.name} (approver)",
        source=Source.APPROVER,
        reason="rejected",
        words=f"Rejected by {answer.person.name}: {answer.reason}",
    )
    return Answered(verdict=Decision.Verdict.REJECT, approvals=0, quorum=situation.quorum)


def _approve(answer: _Answer, situation: Situation) -> Answered:
    """Close the round and grant the permit with the answer that completes the quorum."""
    names = [*situation.approved_by, answer.person.name]
    answered = Answered(verdict=Decision.Verdict.APPROVE, approvals=len(names), quorum=situation.quorum)
    if answered.complete:
        close_round(operation_id=answer.operation_id, status=ApprovalRound.Status.APPROVED)
        permits.grant(
            operation_id=answer.operation_id,
            tenant_id=answer.tenant_id,
            round_number=situation.round_number,
            payload_hash=situation.payload_hash,
            policy_version=situation.policy_version,
            granted_by=names,
            expires_at=situation.expires_at,
        )
    return answered
