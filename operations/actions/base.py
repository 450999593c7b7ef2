"""What an action is: a strict schema, the words a person reads, and the key of the business act it stands for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, StringConstraints

# One line of printable text without spaces at the ends: names, references, ids.
ONE_LINE = r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"
Line = Annotated[str, StringConstraints(min_length=1, max_length=140, pattern=ONE_LINE)]
IDENTIFIER = r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$"
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=IDENTIFIER)]


class Payload(BaseModel):
    """No unknown fields, no coercion: `true` is not 1 and "12" is not 12."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One line of the facts a person decides on. `field` is the payload field it shows, "" for none."""

    label: str
    value: str
    field: str = ""
    mono: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A piece of the sentence; the decisive pieces are strong."""

    text: str
    strong: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchColumns:
    """Copied beside the intent for lists and searches; never decisive."""

    amount_minor: int | None = None
    currency: str = ""
    counterparty: str = ""
    business_reference: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Money:
    """How the intent's amount is counted, as it stands in the approved bytes."""

    currency: str
    exponent: int
    provider_amount: int


class Action(ABC):
    """Everything the product knows about one kind of effect. All methods read the approved payload and nothing else."""

    name: ClassVar[str]
    label: ClassVar[str]
    template_version: ClassVar[str]
    payload: ClassVar[type[Payload]]

    @abstractmethod
    def sentence(self, payload: dict[str, Any], *, tenant: str, money: Money | None) -> list[Segment]:
        """What will be done, in words; the largest text on the page."""

    @abstractmethod
    def facts(self, payload: dict[str, Any], *, money: Money | None) -> list[Fact]:
        """Every field of the payload, the decisive ones first."""

    @abstractmethod
    def title(self, payload: dict[str, Any]) -> str:
        """A short name for lists."""

    @abstractmethod
    def columns(self, payload: dict[str, Any]) -> SearchColumns:
        """What lists and searches show."""

    @abstractmethod
    def business_key(self, payload: dict[str, Any]) -> str:
        """Equal for two intents that would be one business act done twice; "" where the action has no such notion."""

    def problem(self, payload: dict[str, Any]) -> tuple[str, str] | None:
        """A field and the reason why this payload cannot become an intent, beyond what the schema says."""
        return None
