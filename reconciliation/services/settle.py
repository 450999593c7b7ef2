"""settle: a person says what happened, with a reason and a reference. Their word is recorded, and stays."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction

from operations import bell
from operations.core.contract import Contract, refusal_to_send_again
from operations.core.outcomes import Finding, Verdict
from operations.core.states import FINAL, Event, State
from operations.models import Operation, User
from operations.models.evidence import Source
from operations.models.tenant import Membership, Role
from operations.services import evidence, journal
from operations.services.transition import transition as move
from reconciliation.models import Case, LookUp, Resolution
from reconciliation.services.cases import close_cases

FRESH = timedelta(minutes=5)


class MayNotSettle(Exception):
    """The resolution was not taken; the message is the sentence for the person. `late`: somebody was quicker."""

    def __init__(self, sentence: str, *, field: str = "", late: bool = False) -> None:
        super().__init__(sentence)
        self.field, self.late = field, late


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """What the person says."""

    verdict: Resolution.Verdict
    reason: str
    evidence_reference: str
    external_id: str = ""


def settle(*, case_id: int, tenant_id: int, person: User, word: Word, contract: Contract | None) -> Resolution:
    """Record the word, move the operation accordingly and close its cases. Raises `MayNotSettle`."""
    try:
        with transaction.atomic():
            return _settle(case_id, tenant_id, person, word, contract)
    except IntegrityError:
        sentence = "This cannot be recorded: the reference belongs to another operation, or somebody was quicker."
        raise MayNotSettle(sentence, field="external_id", late=True) from None


def _settle(case_id: int, tenant_id: int, person: User, word: Word, contract: Contract | None) -> Resolution:
    case = Case.objects.select_for_update(of=("self",)).filter(pk=case_id, tenant_id=tenant_id).first()
    if case is None:
        raise MayNotSettle("There is no such case here.")
    operation = Operation.objects.select_for_update(of=("self",)).get(pk=case.operation_id)
    sentence, field = refusal_to_settle(case, operation, person, word, contract)
    if sentence:
        raise MayNotSettle(sentence, field=field, late=case.closed_at is not None)
    resolution = Resolution.objects.create(
        case=case,
        operation=operation,
        tenant_id=tenant_id,
        verdict=word.verdict,
        reason=word.reason.strip(),
        evidence_reference=word.evidence_reference.strip(),
        external_id=word.external_id.strip(),
        by=person,
    )
    _carry_out(operation, person, word)
    because = f"Resolved by {person.name}: {Resolution.Verdict(word.verdict).label}."
    if word.verdict is Resolution.Verdict.NOTED:
        close_cases(operation_id=operation.pk, because=because, kinds=[Case.Kind(case.kind)])
    else:
        close_cases(operation_id=operation.pk, because=because)
    bell.ring(operation.pk)
    return resolution


def refusal_to_settle(
    case: Case, operation: Operation, person: User, word: Word, contract: Contract | None
) -> tuple[str, str]:
    """Why this word is not taken, and the field it is about; ("", "") when it is. Rights are read now."""
    if not Membership.objects.filter(
        tenant_id=case.tenant_id, user=person, role=Role.OPERATOR, user__is_active=True
    ).exists():
        return "You are not an operator here.", ""
    if case.closed_at is not None:
        resolution = Resolution.objects.filter(case=case).select_related("by").first()
        return (f"{resolution.by.name} has already resolved this case." if resolution else case.closed_because), ""
    if not word.reason.strip():
        return "Say how you know; an auditor will read it.", "reason"
    if not word.evidence_reference.strip():
        return "Name what backs it: a statement line, a ticket, a mail.", "evidence_reference"
    if word.verdict is Resolution.Verdict.HAPPENED and not word.external_id.strip():
        return "Give the provider's reference of what happened.", "external_id"
    sentence = refusal_of_verdict(word.verdict, operation, contract)
    return sentence, "verdict" if sentence else ""


def refusal_of_verdict(verdict: Resolution.Verdict, operation: Operation, contract: Contract | None) -> str:
    """Why this sentence cannot be chosen now; shown on the choice, and raised by the POST."""
    state = State(operation.state)
    if (verdict is Resolution.Verdict.NOTED) != (state in FINAL):
        return "What is on record is final; it can only be noted." if state in FINAL else "This one is still open."
    if verdict is Resolution.Verdict.NOTED:
        return ""
    if state in (State.IN_PROGRESS, State.PENDING):
        return "It is not in doubt: the provider or a worker is still busy with it."
    now = _now()
    newest = LookUp.objects.filter(operation=operation).select_related("evidence").order_by("-pk").first()
    if contract is not None and contract.look_ups and operation.attempts_made:
        if newest is None or newest.evidence.recorded_at < now - FRESH:
            return "Look it up first: the last look-up is older than five minutes."
    if verdict is Resolution.Verdict.MAY_RETRY:
        return _refusal_to_retry(operation, contract, newest, now)
    return ""


def _refusal_to_retry(operation: Operation, contract: Contract | None, newest: LookUp | None, now: datetime) -> str:
    if newest is not None and newest.evidence.verdict in ("happened", "accepted", "several", "different"):
        return "Not while the provider shows something of it."
    if contract is None:
        return "There is no contract to send it under."
    if contract.dedupe.carrier != "none" and contract.dedupe.retention != "unpublished":
        return refusal_to_send_again(contract, operation.first_sent_at, now)
    return ""


def _carry_out(operation: Operation, person: User, word: Word) -> None:
    actor = f"{person.name} (operator)"
    fact = evidence.record(
        operation_id=operation.pk,
        tenant_id=operation.tenant_id,
        source=Source.OPERATOR,
        finding=Finding(
            verdict=Verdict.SAYS_NOTHING if word.verdict is Resolution.Verdict.NOTED else Verdict(word.verdict.value),
            reason="resolved",
            words=f"{Resolution.Verdict(word.verdict).label}, by {person.name}: {word.evidence_reference.strip()}",
            external_id=word.external_id.strip(),
        ),
    )
    journal.write(
        operation_id=operation.pk,
        tenant_id=operation.tenant_id,
        actor=actor,
        verb="resolved",
        reason=word.reason.strip(),
        data={"verdict": word.verdict.value, "reference": word.evidence_reference.strip(), "evidence": fact},
    )
    if word.verdict is Resolution.Verdict.NOTED:
        return
    state = State(operation.state)
    if state is State.NOT_STARTED:
        _step(operation, state, Event.MARKED_DISPUTED, actor, fact)
        state = State.DISPUTED
    _step(operation, state, EVENTS[word.verdict], actor, fact, external_id=word.external_id.strip())


EVENTS = {
    Resolution.Verdict.HAPPENED: Event.SETTLED_HAPPENED,
    Resolution.Verdict.DID_NOT_HAPPEN: Event.SETTLED_DID_NOT,
    Resolution.Verdict.MAY_RETRY: Event.SETTLED_MAY_RETRY,
}


def _step(operation: Operation, expected: State, event: Event, actor: str, fact: int, *, external_id: str = "") -> None:
    moved = move(
        operation_id=operation.pk,
        expected=expected,
        event=event,
        actor=actor,
        reason="resolved",
        fact_id=fact,
        external_id=external_id if event is Event.SETTLED_HAPPENED else "",
        next_step=0 if event is Event.SETTLED_MAY_RETRY else None,
        waits_for="operator" if event is Event.MARKED_DISPUTED else "",
    )
    if not moved:
        raise MayNotSettle("It moved while you decided. Open the page again.", late=True)


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None
    now: datetime = row[0]
    return now
