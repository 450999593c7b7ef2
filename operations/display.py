"""What a person is shown of an intent, from its stored bytes alone, and the hash of what was shown.

One function for every channel. Hidden and direction-changing characters become visible escapes; nothing is cleaned
behind the reader's back, and the bytes stay what they are.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

import regex

from operations.actions import ACTIONS
from operations.actions.base import Fact, Money, Segment
from operations.core.intent import Json, canonical, sha256_of, short_code
from operations.models import Intent

# Default_Ignorable_Code_Point misses the braille blank; the other classes are controls, formats, private, unassigned.
HIDDEN = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u2800]")
PLAIN = regex.compile(r"[\n\t]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Display:
    """Everything the decision rests on, ready to be put on a page, in a mail or in an export."""

    sentence: list[Segment]
    facts: list[Fact]
    template_version: str
    digest: str
    short_code: str
    raw: str
    hidden_characters: int


def visible(text: str, *, multiline: bool = False) -> str:
    """The text with every hidden character written as ⟦U+XXXX⟧."""

    def escape(found: Any) -> str:
        character = found[0]
        return character if multiline and PLAIN.match(character) else f"⟦U+{ord(character):04X}⟧"

    return str(HIDDEN.sub(escape, text))


def display_of(intent: Intent) -> Display:
    """The display of a stored intent."""
    return display_of_bytes(bytes(intent.canonical), intent.payload_hash)


def display_of_bytes(stored: bytes, payload_hash: str) -> Display:
    """Derive the display from the canonical bytes; equal bytes give an equal digest in every process and time zone."""
    raw = stored.decode("utf-8")
    document = json.loads(raw)
    action = ACTIONS[document["action"]]
    payload = document["payload"]
    money = Money(**document["money"]) if "money" in document else None
    sentence = [
        Segment(text=visible(part.text), strong=part.strong)
        for part in action.sentence(payload, tenant=document["tenant"], money=money)
    ]
    facts = [
        Fact(label=fact.label, value=visible(fact.value), field=fact.field, mono=fact.mono, note=fact.note)
        for fact in [*action.facts(payload, money=money), *_bound_to(document)]
    ]
    shown: dict[str, Json] = {
        "template": action.template_version,
        "sentence": [asdict(part) for part in sentence],
        "facts": [asdict(fact) for fact in facts],
    }
    return Display(
        sentence=sentence,
        facts=facts,
        template_version=action.template_version,
        digest=sha256_of(canonical(shown)),
        short_code=short_code(payload_hash),
        raw=visible(raw),
        hidden_characters=len(HIDDEN.findall(raw)),
    )


def _bound_to(document: dict[str, Any]) -> list[Fact]:
    """The rest of the intent: through what, under which rule, on which data."""
    connection = document["connection"]
    rows = [
        Fact(
            label="Through",
            value=connection["name"],
            mono=True,
            note=f"{connection['provider']}, {connection['target']}",
        ),
        Fact(label="Contract", value=connection["contract"], mono=True, note=connection["contract_digest"]),
        Fact(label="Rule", value=document["policy_version"], mono=True),
    ]
    if document["data_version"]:
        rows.append(Fact(label="Based on data", value=document["data_version"], mono=True))
    return [*rows, Fact(label="Tenant", value=document["tenant"], mono=True)]
