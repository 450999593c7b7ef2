"""The decision page: everything a person needs before they answer, and why they may not where they may not."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from approvals.core import refusal_to_answer
from approvals.situation import asked_in, situation_of
from operations import words
from operations.actions.base import Fact
from operations.actions.money import amount_in_words
from operations.display import Display, display_of, visible
from operations.models import Intent, User
from operations.promises import LostAnswer, lost_answer
from operations.queries import Standing, read_intent
from operations.times import Clock, Moment

UNBOUND = frozenset({"operation_id", "schema", "replaces"})  # differ between any two intents, or are shown themselves


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """One field that differs from the replaced intent; an empty side means it is not there."""

    field: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Replaced:
    """What this intent replaces, field by field."""

    operation_id: str
    changed: list[Changed]
    unchanged: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionPage:
    """Everything on the page. `refusal` is the sentence the POST would be refused with, "" when it may be answered."""

    operation_id: str
    stands: Standing
    display: Display
    payload_hash: str
    expires: Moment
    approvals: int
    quorum: int
    approved_by: list[str]
    facts: list[Fact]
    rationale: str
    agent: str
    duplicate: str
    agent_says_separate: bool
    replaced: Replaced | None
    unencrypted: str
    lost: LostAnswer
    refusal: str
    waiting: bool

    @property
    def digits(self) -> str:
        return self.payload_hash.removeprefix("sha256:")

    @property
    def needs_separate(self) -> bool:
        """Whether approving needs the word that this is a separate effect."""
        return bool(self.duplicate) and not self.agent_says_separate

    @property
    def warned(self) -> bool:
        """Whether there is anything to read before deciding."""
        return bool(self.duplicate or self.replaced or self.unencrypted or self.display.hidden_characters)


def read_decision(*, tenant_id: int, operation_id: str, person: User, clock: Clock) -> DecisionPage | None:
    """The page for this person now; None when this tenant has asked nobody about such an operation."""
    intent = read_intent(tenant_id=tenant_id, operation_id=operation_id)
    situation = situation_of(operation_id=operation_id, tenant_id=tenant_id, person_id=person.pk)
    if intent is None or situation is None:
        return None
    asked = asked_in(situation, person.pk, shown_is_current=True)
    refusal = refusal_to_answer(asked, situation.now)
    waiting = asked.waiting and situation.now < asked.expires_at
    names = situation.approved_by
    return DecisionPage(
        operation_id=operation_id,
        stands=_stands(intent, situation.status, yours=not refusal, missing=max(1, situation.quorum - len(names))),
        display=display_of(intent),
        payload_hash=intent.payload_hash,
        expires=clock.at(situation.expires_at),
        approvals=len(names),
        quorum=situation.quorum,
        approved_by=names,
        facts=_prepared(intent, clock),
        rationale=visible(intent.rationale, multiline=True),
        agent=visible(intent.agent.name),
        duplicate=situation.twin,
        agent_says_separate=intent.separate_effect,
        replaced=_replaced(intent),
        unencrypted=_unencrypted(intent.target),
        lost=lost_answer(intent),
        refusal=refusal,
        waiting=waiting,
    )


def _stands(intent: Intent, status: str, *, yours: bool, missing: int) -> Standing:
    operation = intent.operation
    return Standing(
        label=words.label(
            operation.state,
            status,
            reason=operation.reason,
            missing=missing,
            yours=yours,
            waits_for=operation.waits_for,
        ),
        tone=words.tone(operation.state, status, yours=yours, reason=operation.reason),
        outside=words.outside(
            operation.state,
            reason=operation.reason,
            attempts=operation.attempts_made,
            external_id=operation.external_id,
        ),
    )


def _unencrypted(target: str) -> str:
    """The address, where what is sent to it could be read and changed on its way; this machine is no way."""
    parts = urlsplit(target)
    inside = parts.hostname in ("127.0.0.1", "::1", "localhost")
    return "" if parts.scheme == "https" or inside else target


def _prepared(intent: Intent, clock: Clock) -> list[Fact]:
    who = f"by agent {visible(intent.agent.name)} (owner: {visible(intent.agent.owner.name)})"
    return [Fact(label="Prepared", value=clock.exact(intent.prepared_at), note=who)]


def _replaced(intent: Intent) -> Replaced | None:
    old = intent.replaces
    if old is None:
        return None
    before, after = _flat(_document(old)), _flat(_document(intent))
    fields = sorted(before.keys() | after.keys())
    changed = [
        Changed(field=field, old=before.get(field, ""), new=after.get(field, ""))
        for field in fields
        if before.get(field) != after.get(field)
    ]
    amounts = [
        amount_in_words(each.amount_minor, each.currency) if each.amount_minor is not None else ""
        for each in (old, intent)
    ]
    if amounts[0] != amounts[1]:
        changed.insert(0, Changed(field="amount", old=amounts[0], new=amounts[1]))
    return Replaced(operation_id=old.operation_id, changed=changed, unchanged=len(fields) - len(changed))


def _document(intent: Intent) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(bytes(intent.canonical))
    return {key: value for key, value in document.items() if key not in UNBOUND}


def _flat(value: object, path: str = "") -> dict[str, str]:
    """Every single value by its dotted path, ready to be shown; the payload's own fields go by their plain names."""
    if not isinstance(value, dict):
        return {path: visible(json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value)}
    flat: dict[str, str] = {}
    for key, item in value.items():
        name = str(key) if path in ("", "payload") else f"{path}.{key}"
        flat |= _flat(item, visible(name))
    return flat
