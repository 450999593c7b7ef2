"""The case page: what is not known about one operation, everything that was found, and what a person may say."""

import json
from dataclasses import dataclass
from typing import Any, Final

from operations import words as states
from operations.actions.base import Fact, Segment
from operations.core.contract import Contract, key_safe_until
from operations.core.states import FINAL, State
from operations.display import display_of, visible
from operations.models import Intent, Operation, User
from operations.providers.registry import known_contract
from operations.times import Clock, Moment
from reconciliation import words
from reconciliation.core import refusal_to_look_up, ways_to_ask
from reconciliation.findings import Found, findings_of
from reconciliation.history import Entry, history_of
from reconciliation.models import Case, Resolution
from reconciliation.services.cases import doubt_of
from reconciliation.services.standing import Stands, refusal_of_verdict, standing_of

ANSWERS: Final = (Resolution.Verdict.HAPPENED, Resolution.Verdict.DID_NOT_HAPPEN, Resolution.Verdict.MAY_RETRY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One sentence a person may say; the names are those of parts/choice.html."""

    value: str
    label: str
    detail: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """How long a repeat with the same key is no second effect; the names are those of parts/meter.html."""

    words: str
    used: int
    total: int
    left: int | None
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """A person's word that is on record."""

    by: str
    said: str
    at: Moment
    reason: str
    reference: str
    external_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CasePage:
    """Everything on the page. Refusals are the sentences that a POST would be refused with, "" where it would not."""

    operation_id: str
    case_id: int | None
    seen: int
    word: str
    tone: str
    context: str
    sentence: list[Segment]
    outside: str
    more: str
    why: str
    others: list[tuple[str, str, str]]
    connection: str
    found: list[Found]
    conflict: list[Fact]
    no_look_up: str
    window: Window | None
    window_words: str
    choices: list[Choice]
    settled: list[Settled]
    history: list[Entry]
    mine: bool

    @property
    def asks_reference(self) -> bool:
        """Whether it can be said that it happened, which needs what the provider calls it."""
        return any(choice.value == Resolution.Verdict.HAPPENED for choice in self.choices)


def contract_of(operation: Operation) -> Contract | None:
    """The contract in force for this operation's provider and action, if there is one."""
    return known_contract(operation.connection.provider, operation.intent.action)


def read_operation(*, tenant_id: int, operation_id: str) -> Operation | None:
    """This tenant's operation with what its case needs; None for anybody else's."""
    related = ("intent__agent", "intent__connection", "connection")
    return Operation.objects.select_related(*related).filter(pk=operation_id, tenant_id=tenant_id).first()


def page_of(operation: Operation, *, person_id: int, operator: bool, clock: Clock) -> CasePage:
    """The page for this person now."""
    intent, contract = operation.intent, contract_of(operation)
    cases = list(Case.objects.filter(operation=operation).select_related("claimed_by", "resolution__by").order_by("pk"))
    open_cases = [case for case in cases if case.closed_at is None]
    case = open_cases[0] if open_cases else None
    stands = standing_of(operation, contract, case_kind=case.kind if case else "")
    kind = case.kind if case else doubt_of(stands.standing.state, overdue=stands.standing.overdue) or ""
    found = findings_of(operation, contract, clock)
    owner = case.claimed_by if case and case.claimed_until and case.claimed_until > clock.now else None
    word, tone = _chip(operation, kind, stands)
    return CasePage(
        operation_id=operation.pk,
        case_id=case.pk if case else None,
        seen=stands.said,
        word=word,
        tone=tone,
        context=_context(operation, case, owner, person_id, clock),
        sentence=_sentence(operation, kind, stands),
        outside=words.outside_of(stands.standing.state, stands.standing.shown) or _outside(operation),
        more=_more(operation, found, clock),
        why=case.why if case and case.kind not in words.PLAIN else "",
        others=[(*words.chip_of(item.kind, ""), item.why) for item in open_cases[1:]],
        connection=intent.connection.name,
        found=found,
        conflict=_conflict(intent, found) if kind == Case.Kind.VERSION_CONFLICT else [],
        no_look_up=_no_look_up(operation, contract, stands, operator, clock),
        window=_window(operation, contract, clock),
        window_words="" if kind in ("", Case.Kind.VERSION_CONFLICT) else _no_window(operation, contract),
        choices=_choices(stands, kind) if kind else [],
        settled=[_settled(item, clock) for item in cases if hasattr(item, "resolution")],
        history=history_of(operation, clock),
        mine=owner is not None and owner.pk == person_id,
    )


def _chip(operation: Operation, kind: str, stands: Stands) -> tuple[str, str]:
    if kind:
        return words.chip_of(kind, stands.standing.shown)
    return states.label(operation.state, reason=operation.reason), states.tone(operation.state, reason=operation.reason)


def _context(operation: Operation, case: Case | None, owner: User | None, person_id: int, clock: Clock) -> str:
    parts = []
    if operation.first_sent_at is not None and operation.state not in FINAL:
        parts.append(f"for {clock.at(operation.first_sent_at).words}")
    if owner is not None and case is not None and case.claimed_until is not None:
        until = clock.short(case.claimed_until)
        mine = owner.pk == person_id
        parts.append(f"yours until {until}" if mine else f"{visible(owner.name)} is at it until {until}")
    return " · ".join(parts)


def _sentence(operation: Operation, kind: str, stands: Stands) -> list[Segment]:
    accepted = stands.standing.state is State.PENDING
    opening = words.opening_of(kind, stands.standing.shown, accepted=accepted)
    own = display_of(operation.intent).sentence
    return [Segment(text=opening), *own] if opening else own


def _outside(operation: Operation) -> str:
    said = states.outside(
        operation.state,
        reason=operation.reason,
        attempts=operation.attempts_made,
        external_id=visible(operation.external_id),
    )
    return f"{said}."


def _more(operation: Operation, found: list[Found], clock: Clock) -> str:
    """When the provider is asked next, and how much the look-ups so far say."""
    if operation.state in FINAL or operation.next_step_at is None or not operation.attempts_made:
        return ""
    due = operation.next_step_at
    next_look = f"Next look-up {clock.short(due)}" if due > clock.now else "The next look-up is due now"
    silent = [item for item in found if not item.strong]
    if not silent or len(silent) < len(found):
        return f"{next_look}."
    if len(silent) == 1:
        return f"{next_look}; the one so far says nothing clear."
    return f"{next_look}; {len(silent)} so far say nothing clear."


def _conflict(intent: Intent, found: list[Found]) -> list[Fact]:
    """The three facts of a version conflict, side by side: seen, there now, proposed."""
    payload = json.loads(bytes(intent.canonical))["payload"]
    proposed = ", ".join(
        f"{visible(str(name))} {visible(str(value))}"
        for name, value in payload.items()
        if name != "expected_version" and not name.endswith("_id")
    )
    now = next((text for item in reversed(found) for _, text in item.found), "")
    return [
        Fact(label="What the agent saw", value=f"version {payload.get('expected_version')}"),
        Fact(label="What the provider says", value=now or "not asked yet: look it up"),
        Fact(label="What was proposed", value=proposed),
    ]


def _no_look_up(operation: Operation, contract: Contract | None, stands: Stands, operator: bool, clock: Clock) -> str:
    return refusal_to_look_up(
        state=stands.standing.state,
        attempts=operation.attempts_made,
        ways=len(ways_to_ask(contract, stands.external_id)) if contract else 0,
        lease_until=operation.lease_until,
        now=clock.now,
        operator=operator,
    )


def _window(operation: Operation, contract: Contract | None, clock: Clock) -> Window | None:
    until = key_safe_until(contract, operation.first_sent_at) if contract else None
    if until is None or operation.first_sent_at is None or operation.state in FINAL:
        return None
    total = int((until - operation.first_sent_at).total_seconds())
    left = int((until - clock.now).total_seconds())
    over = left <= 0
    return Window(
        words="Over" if over else clock.at(until).words,
        used=total if over else total - left,
        total=total,
        left=None if over else left,
        note="The same key could act a second time now." if over else 'After that "may be sent again" is gone.',
    )


def _no_window(operation: Operation, contract: Contract | None) -> str:
    """What holds instead of a window; "" where there is one or nothing was sent."""
    if contract is None or operation.first_sent_at is None or key_safe_until(contract, operation.first_sent_at):
        return ""
    if contract.dedupe.carrier == "none":
        return "The provider does not recognise a repeat: sent again, it acts again."
    if contract.dedupe.retention == "permanent":
        return "The provider recognises a repeat for good."
    return "The provider does not say for how long it recognises a repeat."


def _choices(stands: Stands, kind: str) -> list[Choice]:
    final = stands.standing.state in FINAL
    offered = (Resolution.Verdict.NOTED,) if final else ANSWERS
    return [
        Choice(
            value=verdict.value,
            label=words.CHOICES[verdict][0],
            detail=words.CHOICES[verdict][1] or words.NOTES.get(Case.Kind(kind), ""),
            reason=refusal_of_verdict(verdict, stands),
        )
        for verdict in offered
    ]


def _settled(case: Case, clock: Clock) -> Settled:
    resolution: Any = case.resolution
    return Settled(
        by=visible(resolution.by.name),
        said=Resolution.Verdict(resolution.verdict).label,
        at=clock.at(resolution.resolved_at),
        reason=visible(resolution.reason, multiline=True),
        reference=visible(resolution.evidence_reference),
        external_id=visible(resolution.external_id),
    )
