"""Asking people and taking their answers. Every answer is one row, on one hash, by one person, once."""

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, connection, transaction

from approvals.core import Asked, refusal_to_answer, refusal_to_approve
from approvals.models import ApprovalRound, Decision
from operations import bell
from operations.core.states import State
from operations.display import display_of
from operations.models import Intent, User
from operations.models.evidence import Source
from operations.models.tenant import Membership, Role
from operations.services import journal, permits
from operations.services.transition import schedule
from operations.services.withdraw import NotWithdrawable, withdraw


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


@transaction.atomic
def open_round(*, operation_id: str) -> None:
    """Ask for approval of the stored hash, unless a round is open already. The policy says how many and how long."""
    intent = Intent.objects.select_related("policy").get(operation_id=operation_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO approvals_approvalround "
            "(operation_id, tenant_id, number, payload_hash, policy_version, quorum, status, expires_at) "
            "SELECT %s, %s, coalesce(max(number), 0) + 1, %s, %s, %s, 'open', "
            "clock_timestamp() + make_interval(secs => %s) FROM approvals_approvalround WHERE operation_id = %s "
            "ON CONFLICT DO NOTHING",
            [
                operation_id,
                intent.tenant_id,
                intent.payload_hash,
                intent.policy_version,
                intent.policy.quorum,
                intent.policy.approval_seconds,
                operation_id,
            ],
        )
        if cursor.rowcount == 0:
            return
    journal.write(
        operation_id=operation_id,
        tenant_id=intent.tenant_id,
        actor="engine",
        verb="approval_asked",
        data={"payload_hash": intent.payload_hash, "quorum": intent.policy.quorum},
    )
    schedule(
        operation_id=operation_id,
        expected=State.NOT_STARTED,
        next_step=intent.policy.approval_seconds,
        waits_for="approver",
    )


@transaction.atomic
def close_round(*, operation_id: str, status: ApprovalRound.Status) -> None:
    """Close whatever is open; used when the operation was withdrawn or its time ran out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE approvals_approvalround SET status = %s, closed_at = clock_timestamp() "
            "WHERE operation_id = %s AND status = 'open'",
            [status.value, operation_id],
        )


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
    if verdict is Decision.Verdict.REJECT and not reason.strip():
        raise MayNotDecide("Say why you reject it; the agent and its owner will read it.")
    try:
        with transaction.atomic():
            answered = _take(
                operation_id=operation_id,
                tenant_id=tenant_id,
                person=person,
                verdict=verdict,
                shown=(shown_hash, shown_display),
                reason=reason.strip(),
                separate_effect=separate_effect,
            )
            bell.ring(operation_id)
            return answered
    except IntegrityError:
        sentence = "Somebody or the clock was quicker. Open the page again to see how it stands."
        raise MayNotDecide(sentence, late=True) from None
    except NotWithdrawable:
        raise MayNotDecide("It is no longer waiting, so it cannot be rejected.", late=True) from None


def _take(
    *,
    operation_id: str,
    tenant_id: int,
    person: User,
    verdict: Decision.Verdict,
    shown: tuple[str, str],
    reason: str,
    separate_effect: bool,
) -> Answered:
    asked_round = _locked_round(operation_id, tenant_id)
    intent = Intent.objects.select_related("operation", "agent", "policy", "tenant").get(operation_id=operation_id)
    display = display_of(intent)
    asked, now = asked_of(intent, asked_round, person, shown == (intent.payload_hash, display.digest))
    sentence = refusal_to_answer(asked, now)
    if not sentence and verdict is Decision.Verdict.APPROVE:
        sentence = refusal_to_approve(
            possible_duplicate=possible_duplicate(intent), separate_effect=separate_effect or intent.separate_effect
        )
    if sentence:
        raise MayNotDecide(sentence, late=not asked.waiting or asked.already_answered)
    Decision.objects.create(
        round=asked_round,
        operation_id=operation_id,
        tenant_id=tenant_id,
        person=person,
        verdict=verdict,
        payload_hash=shown[0],
        display_hash=shown[1],
        reason=reason,
        separate_effect=separate_effect,
    )
    journal.write(
        operation_id=operation_id,
        tenant_id=tenant_id,
        actor=f"{person.name} (approver)",
        verb=f"decided_{verdict.value}",
        reason=reason,
        data={"payload_hash": shown[0], "display_hash": shown[1], "separate_effect": separate_effect},
    )
    if verdict is Decision.Verdict.REJECT:
        return _reject(asked_round, person, reason)
    return _count(asked_round)


def _locked_round(operation_id: str, tenant_id: int) -> ApprovalRound:
    """The newest round under a lock, so that two answers to it come one after the other."""
    asked_round = (
        ApprovalRound.objects.select_for_update(of=("self",))
        .filter(operation_id=operation_id, tenant_id=tenant_id)
        .order_by("-number")
        .first()
    )
    if asked_round is None:
        raise MayNotDecide("Nobody has been asked to decide this.")
    return asked_round


def asked_of(
    intent: Intent, asked_round: ApprovalRound, person: User, shown_is_current: bool
) -> tuple[Asked, datetime]:
    """The facts for `refusal_to_answer`, rights read now, and the database's time. Used by page and POST alike."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None
    open_now = asked_round.status == ApprovalRound.Status.OPEN
    answers = list(asked_round.decisions.select_related("person"))
    return (
        Asked(
            waiting=open_now and intent.operation.state == State.NOT_STARTED,
            expires_at=asked_round.expires_at,
            shown_hash_is_current=shown_is_current,
            is_approver=Membership.objects.filter(
                tenant_id=intent.tenant_id, user=person, role=Role.APPROVER, user__is_active=True
            ).exists(),
            owns_agent=intent.agent.owner_id == person.pk,
            owner_may_approve=intent.policy.owner_may_approve,
            already_answered=any(answer.person_id == person.pk for answer in answers),
            closed_by="" if open_now else _closed_by(asked_round, answers),
        ),
        row[0],
    )


def _closed_by(asked_round: ApprovalRound, answers: list[Decision]) -> str:
    if asked_round.status == ApprovalRound.Status.REJECTED:
        names = [answer.person.name for answer in answers if answer.verdict == Decision.Verdict.REJECT]
        return f"Already rejected by {', '.join(names)}."
    if asked_round.status == ApprovalRound.Status.APPROVED:
        return f"Already approved by {', '.join(answer.person.name for answer in answers)}."
    if asked_round.status == ApprovalRound.Status.EXPIRED:
        return "Its time ran out before it was decided. Nothing has been sent."
    return "It was withdrawn before it was decided. Nothing has been sent."


def possible_duplicate(intent: Intent) -> str:
    """The operation that this one looks like, in words; "" when there is none (case P28 c)."""
    if not intent.business_key:
        return ""
    other = (
        Intent.objects.filter(tenant_id=intent.tenant_id, business_key=intent.business_key)
        .exclude(operation_id=intent.operation_id)
        .exclude(operation__state__in=[State.CANCELLED, State.FAILED])
        .order_by("operation_id")
        .first()
    )
    return f"the same business act as {other.operation_id}" if other else ""


def _reject(asked_round: ApprovalRound, person: User, reason: str) -> Answered:
    close_round(operation_id=asked_round.operation_id, status=ApprovalRound.Status.REJECTED)
    withdraw(
        operation_id=asked_round.operation_id,
        tenant_id=asked_round.tenant_id,
        actor=f"{person.name} (approver)",
        source=Source.APPROVER,
        reason="rejected",
        words=f"Rejected by {person.name}: {reason}",
    )
    return Answered(verdict=Decision.Verdict.REJECT, approvals=0, quorum=asked_round.quorum)


def _count(asked_round: ApprovalRound) -> Answered:
    """Close the round and grant the permit with the answer that completes the quorum."""
    names = list(
        asked_round.decisions.filter(verdict=Decision.Verdict.APPROVE)
        .order_by("decided_at")
        .values_list("person__name", flat=True)
    )
    answered = Answered(verdict=Decision.Verdict.APPROVE, approvals=len(names), quorum=asked_round.quorum)
    if answered.complete:
        close_round(operation_id=asked_round.operation_id, status=ApprovalRound.Status.APPROVED)
        permits.grant(
            operation_id=asked_round.operation_id,
            tenant_id=asked_round.tenant_id,
            round_number=asked_round.number,
            payload_hash=asked_round.payload_hash,
            policy_version=asked_round.policy_version,
            granted_by=names,
            expires_at=asked_round.expires_at,
        )
    return answered
