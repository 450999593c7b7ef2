"""settle: a person says what happened, with a reason and a reference. Their word is recorded, and stays."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from operations import bell
from operations.core.contract import Contract
from operations.core.outcomes import Finding, Verdict
from operations.core.states import Event, State
from operations.models import Evidence, Operation, User
from operations.models.evidence import Source
from operations.services import evidence, journal, sql
from operations.services.transition import transition as move
from reconciliation.core import GIVE_REFERENCE, NAME_WHAT, NOT_AN_OPERATOR, SAY_HOW
from reconciliation.models import Case, Resolution
from reconciliation.services.cases import case_of, close_cases, may_operate
from reconciliation.services.standing import Stands, refusal_of_verdict, standing_of

EVENTS = {
    Resolution.Verdict.HAPPENED: Event.SETTLED_HAPPENED,
    Resolution.Verdict.DID_NOT_HAPPEN: Event.SETTLED_DID_NOT,
    Resolution.Verdict.MAY_RETRY: Event.SETTLED_MAY_RETRY,
}
FIRST_DISPUTED = (State.NOT_STARTED, State.PENDING)


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


def settle(
    *,
    operation_id: str,
    tenant_id: int,
    person: User,
    word: Word,
    contract: Contract | None,
    case_id: int | None = None,
    seen: int | None = None,
) -> Resolution:
    """Record the word, move the operation accordingly and close its cases. Raises `MayNotSettle`.

    `case_id` and `seen` are what the person's page showed: its case, and how much was on record (`Stands.said`). If
    somebody answered or something was found since, the word is not taken.
    """
    try:
        with transaction.atomic():
            return _settle(operation_id, tenant_id, person, word, contract, case_id, seen)
    except IntegrityError as error:
        rule = sql.constraint_of(error)
        if rule == "operation_one_object":
            sentence = "This reference belongs to another operation already."
            raise MayNotSettle(sentence, field="external_id") from None
        raise MayNotSettle("Somebody was quicker. Open the page again to see how it stands.", late=True) from None


def _settle(
    operation_id: str,
    tenant_id: int,
    person: User,
    word: Word,
    contract: Contract | None,
    case_id: int | None,
    seen: int | None,
) -> Resolution:
    operation = (
        Operation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("connection")
        .filter(pk=operation_id, tenant_id=tenant_id)
        .first()
    )
    if operation is None:
        raise MayNotSettle("There is no such operation here.")
    if not may_operate(tenant_id, person):
        raise MayNotSettle(NOT_AN_OPERATOR)
    case = Case.objects.filter(pk=case_id, operation=operation).first() if case_id else None
    stands = standing_of(operation, contract, case_kind=case.kind if case else "")
    overtaken = _overtaken(operation, case, stands, seen)
    if overtaken:
        raise MayNotSettle(overtaken, late=True)
    case = case or case_of(operation, actor=f"{person.name} (operator)")
    stands = standing_of(operation, contract, case_kind=case.kind if case else "")
    sentence, field = refusal_to_settle(word, stands)
    if sentence or case is None:
        raise MayNotSettle(sentence or "There is nothing to resolve here.", field=field)
    return _carry_out(operation, case, person, word)


def _overtaken(operation: Operation, case: Case | None, stands: Stands, seen: int | None) -> str:
    """Why the page this word comes from is out of date; "" when it is not."""
    closed = case is not None and case.closed_at is not None
    if not closed and seen in (None, stands.said):
        return ""
    by_a_person = Evidence.objects.filter(operation=operation, pk=stands.newest or 0, source=Source.OPERATOR).exists()
    last = Resolution.objects.filter(operation=operation).select_related("by").order_by("-pk").first()
    if last is not None and (closed or by_a_person):
        said = Resolution.Verdict(last.verdict).label
        return f"{last.by.name} has already resolved this: {said}. Your word was not recorded."
    if case is not None and closed:
        return f"This case is closed: {case.closed_because} Your word was not recorded."
    return "Something new was found since you opened this page. Look at it before you decide."


def refusal_to_settle(word: Word, stands: Stands) -> tuple[str, str]:
    """Why this word is not taken, and the field it is about; ("", "") when it is."""
    if not word.reason.strip():
        return SAY_HOW, "reason"
    if not word.evidence_reference.strip():
        return NAME_WHAT, "evidence_reference"
    if word.verdict is Resolution.Verdict.HAPPENED and not word.external_id.strip():
        return GIVE_REFERENCE, "external_id"
    sentence = refusal_of_verdict(word.verdict, stands)
    return sentence, "verdict" if sentence else ""


def _carry_out(operation: Operation, case: Case, person: User, word: Word) -> Resolution:
    resolution = Resolution.objects.create(
        case=case,
        operation=operation,
        tenant_id=operation.tenant_id,
        verdict=word.verdict,
        reason=word.reason.strip(),
        evidence_reference=word.evidence_reference.strip(),
        external_id=word.external_id.strip(),
        by=person,
    )
    fact = _on_record(operation, person, word)
    noted = word.verdict is Resolution.Verdict.NOTED
    if not noted:
        _move(operation, person, word, fact)
    close_cases(
        operation_id=operation.pk,
        because=f"Resolved by {person.name}: {Resolution.Verdict(word.verdict).label}.",
        kinds=[Case.Kind(case.kind)] if noted else None,
    )
    bell.ring(operation.pk)
    return resolution


def _on_record(operation: Operation, person: User, word: Word) -> int:
    noted = word.verdict is Resolution.Verdict.NOTED
    fact = evidence.record(
        operation_id=operation.pk,
        tenant_id=operation.tenant_id,
        source=Source.OPERATOR,
        finding=Finding(
            verdict=Verdict.SAYS_NOTHING if noted else Verdict(word.verdict.value),
            reason="resolved",
            words=f"{Resolution.Verdict(word.verdict).label}, by {person.name}: {word.evidence_reference.strip()}",
            external_id=word.external_id.strip(),
        ),
    )
    journal.write(
        operation_id=operation.pk,
        tenant_id=operation.tenant_id,
        actor=f"{person.name} (operator)",
        verb="resolved",
        reason=word.reason.strip(),
        data={"verdict": word.verdict.value, "reference": word.evidence_reference.strip(), "evidence": fact},
    )
    return fact


def _move(operation: Operation, person: User, word: Word, fact: int) -> None:
    state, actor = State(operation.state), f"{person.name} (operator)"
    if state in FIRST_DISPUTED:
        _step(operation, state, Event.MARKED_DISPUTED, actor, fact)
        state = State.DISPUTED
    _step(operation, state, EVENTS[word.verdict], actor, fact, external_id=word.external_id.strip())


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
