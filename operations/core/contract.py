"""What a provider promises for one action, as data.

A contract is read from a file, versioned, and its digest is part of every intent. Whatever it does not promise is
not guaranteed. What the engine may do alone is *computed* from these promises (`autonomy`, `may_send_again`); there is
no flag called idempotent, because "same key" means six different things at six providers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal

KEY_MARGIN: Final = 0.1  # of the key's published life: a clock that runs a little wrong must not cost a second effect

type Template = str | int | bool | list[Template] | dict[str, Template] | None
type Retention = int | Literal["permanent", "unpublished"]


class Strict:
    """Loaders refuse fields that a contract does not know: a misspelt promise must not pass as no promise."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}


class Autonomy(StrEnum):
    """What the engine may do without a person, computed from the contract."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"  # a person acts at the provider and records evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Request(Strict):
    """How an approved intent becomes one HTTP request. Values in braces come from the approved bytes only."""

    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    path: str
    encoding: Literal["json", "form"] = "json"
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Template] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential(Strict):
    """Where the secret goes. The secret itself is fetched at the moment of sending and stored nowhere."""

    header: str = "Authorization"
    value: str = "Bearer {credential}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Match(Strict):
    """A condition on an answer: all that is given must hold. A body value of "*" means: present and not empty."""

    status: tuple[int, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, str | int | bool | tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome(Strict):
    """One ordered rule: answers like this prove that. After the last rule stands, unwritten, `unknown`."""

    when: Match
    means: Literal["accepted", "refused", "unknown"]
    reason: str
    words: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Version(Strict):
    """For a versioned update: where the record's version stands and which one the intent was based on."""

    field: str
    base: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderObject(Strict):
    """How to recognise the business object in any answer, and which values must equal the intent's."""

    id: str
    ours: dict[str, str] = field(default_factory=dict)
    equal: dict[str, Template] = field(default_factory=dict)
    status: str = ""
    succeeded: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    version: Version | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Dedupe(Strict):
    """What repeats the provider recognises, by what, and for how long (seconds since the first send)."""

    carrier: Literal["header", "body_field", "resource_id", "unique_property", "precondition", "one_time_link", "none"]
    name: str = ""
    key_form: Literal["operation_id", "uuid"] = "operation_id"
    retention: Retention = "unpublished"


@dataclass(frozen=True, kw_only=True, slots=True)
class LookUpWay(Strict):
    """One way to read whether it happened. `by_id` is usable only once the provider's id is known."""

    way: Literal["by_id", "by_key", "by_reference", "by_unique_property", "by_parent_list", "by_time_window", "search"]
    path: str
    query: dict[str, str] = field(default_factory=dict)
    items: str = ""
    complete: dict[str, str | int | bool] = field(default_factory=dict)
    consistency: Literal["immediate", "bounded", "eventual", "unknown"] = "unknown"
    proves_absence: bool = False
    not_found: Match | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Absence(Strict):
    """When "not there" may be believed. Without `trusted` it never is."""

    trusted: bool = False
    processing_delay: int = 0  # seconds a request may still be on its way after the call is over
    agreeing_reads: int = 2
    spacing: int = 1  # seconds between two reads that count
    not_after_status: tuple[int, ...] = ()  # e.g. a stored 500 that the provider may still roll forward


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule(Strict):
    """When to look again after a doubt, in seconds from one look-up to the next; the last delay repeats."""

    delays: tuple[int, ...] = (0, 5, 30, 120, 600, 3600)
    deadline: int = 86_400
    budget: int = 20  # look-ups that got a real answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Units(Strict):
    """Where the provider counts money otherwise than ISO 4217. Empty: as the standard does, any currency."""

    exponents: dict[str, int] = field(default_factory=dict)  # decimals the provider sends for a currency
    multiples: dict[str, int] = field(default_factory=dict)  # smallest step, in the provider's units
    currencies: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim(Strict):
    """How we know what this contract says."""

    about: str
    source: str
    on: str
    confidence: Literal["documented", "tested", "assumed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract(Strict):
    """A provider's promises for one action. `name` and `version` together are what people cite."""

    name: str
    version: int
    provider: str
    action: str
    effect: Literal["create", "versioned_update", "unversioned_update", "delete", "send", "transfer", "state_change"]
    summary: str
    request: Request
    object: ProviderObject
    outcomes: tuple[Outcome, ...]
    credential: Credential = field(default_factory=Credential)
    dedupe: Dedupe = field(default_factory=lambda: Dedupe(carrier="none"))
    look_ups: tuple[LookUpWay, ...] = ()
    absence: Absence = field(default_factory=Absence)
    schedule: Schedule = field(default_factory=Schedule)
    request_id_header: str = ""
    units: Units = field(default_factory=Units)
    evidence: tuple[Claim, ...] = ()

    @property
    def cited(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def creates_object(self) -> bool:
        """Whether one provider object belongs to exactly one operation (a deal is updated by many)."""
        return self.effect in ("create", "send", "transfer")


def autonomy(contract: Contract) -> Autonomy:
    """No look-up and no recognised repeats: the engine may not act alone, whatever anybody configures."""
    if not contract.look_ups and contract.dedupe.carrier == "none":
        return Autonomy.MANUAL
    return Autonomy.AUTOMATIC


def key_safe_until(contract: Contract, first_sent_at: datetime | None) -> datetime | None:
    """The moment after which the same key may mean a second effect; None where no such moment is promised."""
    retention = contract.dedupe.retention
    if first_sent_at is None or contract.dedupe.carrier == "none" or not isinstance(retention, int):
        return None
    return first_sent_at + timedelta(seconds=retention * (1 - KEY_MARGIN))


def refusal_to_send_again(contract: Contract, first_sent_at: datetime | None, now: datetime) -> str:
    """Why the engine may not repeat the call alone after proven absence; "" when it may."""
    if first_sent_at is None:
        return ""
    if contract.dedupe.carrier == "none":
        return "The provider does not recognise a repeated request, so only a person may allow another one."
    if contract.dedupe.retention == "permanent":
        return ""
    safe_until = key_safe_until(contract, first_sent_at)
    if safe_until is None:
        return "The provider does not publish how long it recognises a repeated request."
    if now >= safe_until:
        return "The time in which the provider recognises this key is over; the same key could act a second time."
    return ""


def refusal_by_key(contract: Contract, first_sent_at: datetime | None, now: datetime) -> str:
    """Why nobody may repeat the call any more, not even on a person's word: a published life of the key that is over.

    Where the provider recognises no repeats, or does not say for how long, a person may take it upon themselves.
    """
    if contract.dedupe.carrier == "none" or contract.dedupe.retention == "unpublished":
        return ""
    return refusal_to_send_again(contract, first_sent_at, now)


def dig(document: object, path: str) -> object:
    """The value at a dotted path, or `MISSING`. An empty path is the document itself."""
    value = document
    for step in path.split(".") if path else ():
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


class Missing:
    """Distinguishes "not there" from a null that is."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
