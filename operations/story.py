"""The whole story of one operation, from the ground floor's own tables alone."""

import json
from dataclasses import dataclass
from typing import Final

from operations import words
from operations.actions.base import Fact, Segment
from operations.core.states import FINAL, State
from operations.display import Display, display_of, visible
from operations.models import Attempt, Evidence, Intent, JournalEntry
from operations.models.evidence import Source
from operations.queries import Standing, approval_status, successor_of, where_it_stands
from operations.times import Clock, Moment

VERBS: Final = {
    "prepared": "Prepared",
    "approval_asked": "Approval asked for",
    "decided_approve": "Approved",
    "decided_reject": "Rejected",
    "looked_up": "Looked up at the provider",
    "case_opened": "Put in front of a person",
    "resolved": "Recorded what happened",
    "claimed": "Sending began",
    "withdrawn": "Withdrawn, nothing was sent",
    "not_sent": "Not sent: no byte left",
    "confirmed": "The provider confirmed it",
    "acknowledged": "The provider accepted it and decides later",
    "refused": "The provider refused it",
    "lost": "The answer was lost",
    "found": "Found at the provider",
    "found_refused": "Found at the provider as refused",
    "found_pending": "Found at the provider, not decided yet",
    "contradicted": "Found something that does not fit",
    "proved_absent": "Proved not to be at the provider",
    "settled_happened": "Settled: it happened",
    "settled_did_not": "Settled: it did not happen",
    "settled_may_retry": "Settled: it may be sent again",
    "marked_disputed": "Marked for investigation",
}
DOUBTFUL: Final = frozenset({State.PENDING, State.UNKNOWN, State.DISPUTED})
DECISIONS: Final = frozenset({"approval_asked", "decided_approve", "decided_reject"})
OUTCOMES: Final = {
    "": "under way, or its answer is not known yet",
    "happened": "the provider confirmed it",
    "accepted": "the provider accepted it and decides later",
    "refused": "the provider refused it",
    "not_sent": "no byte left, nothing was sent",
    "lost": "no clear answer",
}
NOW: Final = {
    State.NOT_STARTED: "Nothing is to be done by hand. It is sent once, when enough people have approved it.",
    State.IN_PROGRESS: "Wait for the answer. Do not repeat it by hand.",
    State.PENDING: "Wait for the provider's decision. Do not repeat it by hand.",
    State.UNKNOWN: "Do not repeat it by hand. The provider is asked until it is clear; an operator can ask now.",
    State.DISPUTED: "Do not repeat it by hand. An operator decides with everything that was found.",
    State.SUCCEEDED: "Nothing is to be done.",
    State.FAILED: "If it is still wanted, the agent prepares a new operation.",
    State.CANCELLED: "If it is still wanted, the agent prepares a new operation.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One attempt."""

    number: int
    began: Moment
    ended: str
    status: str
    request_id: str
    external_id: str
    worker: str
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Learned:
    """One piece of evidence; the names are those of parts/lookups.html."""

    anchor: str
    at: str
    at_iso: str
    asked_by: str
    answer: str
    strong: bool
    found: list[tuple[str, str]]
    request_id: str
    proves: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of the journal; the names are those of parts/timeline.html."""

    anchor: str
    at: str
    at_iso: str
    actor: str
    text: str
    detail: str
    tone: str
    url: str
    hash: str
    decision: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """Everything the operation's page shows."""

    operation_id: str
    digits: str
    stands: Standing
    why: str
    now: str
    next_step: Moment | None
    display: Display
    sentence: list[Segment]
    facts: list[Fact]
    more: list[Fact]
    rationale: str
    agent: str
    attempts: list[Tried]
    evidence: list[Learned]
    journal: list[Entry]
    waits_for_decision: bool
    investigated: bool
    replaces: str
    replaced_by: str

    @property
    def decisions(self) -> list[Entry]:
        """The part of the journal that is about people's answers."""
        return [entry for entry in self.journal if entry.decision]


def story_of(intent: Intent, clock: Clock) -> Story:
    """Read the story of an intent that came from `queries.read_intent`."""
    operation, display = intent.operation, display_of(intent)
    state = State(operation.state)
    attempts = Attempt.objects.filter(operation_id=intent.pk, tenant_id=intent.tenant_id).order_by("number")
    evidence = Evidence.objects.filter(operation_id=intent.pk, tenant_id=intent.tenant_id).order_by("pk")
    journal = JournalEntry.objects.filter(operation_id=intent.pk, tenant_id=intent.tenant_id).order_by("sequence")
    return Story(
        operation_id=intent.operation_id,
        digits=intent.payload_hash.removeprefix("sha256:"),
        stands=where_it_stands(intent, clock, successor=successor_of(intent)),
        why=words.reason_sentence(operation.reason),
        now=NOW[state],
        next_step=clock.at(operation.next_step_at) if operation.next_step_at and state not in FINAL else None,
        display=display,
        sentence=display.sentence,
        facts=display.facts,
        more=_more(intent, clock),
        rationale=visible(intent.rationale, multiline=True),
        agent=visible(intent.agent.name),
        attempts=[_tried(attempt, clock) for attempt in attempts],
        evidence=[_learned(item, operation.fact_id, clock) for item in evidence],
        journal=[_entry(item, clock) for item in journal],
        waits_for_decision=state is State.NOT_STARTED and approval_status(intent) == "open",
        investigated=state in DOUBTFUL or any(item.verb == "case_opened" for item in journal),
        replaces=intent.replaces_id or "",
        replaced_by=successor_of(intent),
    )


def _more(intent: Intent, clock: Clock) -> list[Fact]:
    """What belongs to the operation and not to what was approved."""
    rows = [
        Fact(
            label="Prepared",
            value=clock.exact(intent.prepared_at),
            note=f"by agent {visible(intent.agent.name)} (owner: {visible(intent.agent.owner.name)})",
        ),
        Fact(label="Agent's reference", value=visible(intent.client_reference), mono=True),
        Fact(label="Idempotency key", value=intent.idempotency_key, mono=True),
    ]
    if intent.operation.external_id:
        rows.append(Fact(label="Provider's reference", value=visible(intent.operation.external_id), mono=True))
    return rows


def _tried(attempt: Attempt, clock: Clock) -> Tried:
    return Tried(
        number=attempt.number,
        began=clock.at(attempt.claimed_at),
        ended=OUTCOMES.get(attempt.outcome, "see the evidence"),
        status=str(attempt.http_status or ""),
        request_id=visible(attempt.provider_request_id),
        external_id=visible(attempt.external_id),
        worker=visible(attempt.worker),
        digest=attempt.request_digest,
    )


def _learned(item: Evidence, fact_id: int | None, clock: Clock) -> Learned:
    at = clock.at(item.asked_at)
    found = (
        [_found(match, item.operation_id) for match in item.result if isinstance(match, dict)]
        if isinstance(item.result, list)
        else []
    )
    return Learned(
        anchor=f"evidence-{item.pk}",
        at=at.line,
        at_iso=at.iso,
        asked_by=Source(item.source).label.capitalize(),
        answer=visible(item.words),
        strong=item.pk == fact_id,
        found=found,
        request_id=visible(item.provider_request_id),
        proves=words.verdict_words(item.verdict),
    )


def _found(match: dict[str, object], own: str) -> tuple[str, str]:
    """The provider's id first, then its other values as they were compared."""
    values = {key: "this operation" if value == own else visible(str(value)) for key, value in match.items()}
    name = values.pop("id", "")
    return name, ", ".join(f"{key} {value}" for key, value in values.items())


def told(item: JournalEntry) -> tuple[str, str]:
    """What an entry of the journal says, and why, in words."""
    text = VERBS.get(item.verb, item.verb.replace("_", " ").capitalize())
    return text, words.reason_sentence(item.reason) if item.after else visible(item.reason)


def _entry(item: JournalEntry, clock: Clock) -> Entry:
    at = clock.at(item.at)
    text, detail = told(item)
    return Entry(
        anchor=f"event-{item.sequence}",
        at=at.line,
        at_iso=at.iso,
        actor=visible(item.actor),
        text=text,
        detail=detail,
        tone=words.tone(item.after) if item.after else "quiet",
        url=_evidence_anchor(item.data),
        hash=item.hash,
        decision=item.verb in DECISIONS,
    )


def _evidence_anchor(data: str) -> str:
    known = json.loads(data)
    fact = known.get("fact") or known.get("evidence")
    return f"#evidence-{fact}" if fact else ""
