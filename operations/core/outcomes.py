"""What an answer proves. `judge` for the answer to the write, `judge_look_up` for the answer to a read.

The provider's answer is first translated into our few words; everything else decides on the words. Whatever no
rule of the contract names proves nothing: an exception after the call began, a status nobody documented, a body
that is not the vendor's shape. A look-up that fails says nothing either, and is never "not there" (case P06).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from operations.core.contract import MISSING, Contract, LookUpWay, Match, ProviderObject, dig
from operations.core.intent import Json
from operations.core.render import Expected

# "Ask again over there": by HTTP's own rules the resource was not acted on. 302 and 303 can follow an effect.
REDIRECTS: Final = (301, 307, 308)
MAX_ID: Final = 200  # what the tables hold; a longer id could not be kept, so it proves nothing
MAX_SHOWN: Final = 200


class Phase(StrEnum):
    """How far a request got. Up to `CONNECTING` no byte of it can have reached the provider."""

    CONNECTING = "connecting"
    SENDING = "sending"
    WAITING = "waiting"
    ANSWERED = "answered"


class Verdict(StrEnum):
    """What something proves about the operation."""

    HAPPENED = "happened"
    ACCEPTED = "accepted"  # yes, and its outcome is open
    REFUSED = "refused"  # the provider's definite no
    ABSENT = "absent"  # read, and not there
    NOT_SENT = "not_sent"  # provably no byte left
    SEVERAL = "several"  # more than one object; never the newest
    DIFFERENT = "different"  # one object, with other values than approved
    SAYS_NOTHING = "says_nothing"
    UNREADABLE = "unreadable"  # the look-up itself failed
    WITHDRAWN = "withdrawn"  # taken back before anything was sent
    DID_NOT_HAPPEN = "did_not_happen"  # a person's word, with a reference
    MAY_RETRY = "may_retry"  # a person's permission to send again


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back, or how far we got. `body` is parsed JSON, or MISSING when it was not JSON."""

    phase: Phase
    status: int | None = None
    complete: bool = True  # False: the head came, and the body broke off
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: Any = MISSING
    error: str = ""
    raw_digest: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What is now known, why, and what it proves in words for a person."""

    verdict: Verdict
    reason: str
    words: str
    external_id: str = ""
    matches: tuple[dict[str, Json], ...] = ()
    retry_after: int | None = None


def judge(contract: Contract, wanted: Expected, answer: Answer) -> Finding:
    """What the answer to the write proves. Never raises; the default is that it proves nothing."""
    if answer.phase is Phase.CONNECTING:
        return Finding(verdict=Verdict.NOT_SENT, reason="not_sent", words=f"No byte was sent: {answer.error}")
    if answer.status is None or not answer.complete:
        return Finding(
            verdict=Verdict.SAYS_NOTHING,
            reason="answer_lost",
            words="The request may have arrived and no answer came back.",
        )
    for rule in contract.outcomes:
        if not _matches(rule.when, answer):
            continue
        if rule.means == "accepted":
            return _judge_object(contract.object, wanted, answer.body, None)
        verdict = Verdict.REFUSED if rule.means == "refused" else Verdict.SAYS_NOTHING
        return Finding(verdict=verdict, reason=rule.reason, words=rule.words or _default_words(rule.means))
    if answer.status in REDIRECTS:
        return Finding(
            verdict=Verdict.REFUSED,
            reason="redirected",
            words="The address of this connection only points elsewhere, so nothing was carried out there.",
        )
    return Finding(
        verdict=Verdict.SAYS_NOTHING,
        reason="unlisted_answer",
        words=f"The provider answered {answer.status} in a way its contract does not explain.",
    )


def judge_look_up(contract: Contract, way: LookUpWay, wanted: Expected, answer: Answer) -> Finding:
    """What the answer to a read proves. Absence only in the provider's documented shape, by a way that can prove it."""
    if answer.status is None or not answer.complete:
        return _unreadable(f"The look-up got no answer: {answer.error}", answer)
    if way.not_found is not None and _matches(way.not_found, answer):
        return _nothing_there(way, "The provider says it has no such object.")
    if not 200 <= answer.status < 300:
        return _unreadable(f"The look-up itself failed with {answer.status}.", answer)
    found = dig(answer.body, way.items)
    if way.items and not isinstance(found, list):
        return _unreadable("The answer is not the list the contract describes.", answer)
    if not way.items:
        return _judge_object(contract.object, wanted, found, way)
    return _judge_list(contract, way, wanted, answer, found if isinstance(found, list) else [])


def _judge_list(contract: Contract, way: LookUpWay, wanted: Expected, answer: Answer, found: list[object]) -> Finding:
    if any(dig(item, contract.object.id) is MISSING or not _tells_whose(item, wanted) for item in found):
        return _unreadable("A listed object lacks the fields that would tell whose it is.", answer)
    ours = [item for item in found if all(same(dig(item, name), value) for name, value in wanted.ours.items())]
    if len(ours) > 1:
        return Finding(
            verdict=Verdict.SEVERAL,
            reason="several_found",
            words="More than one. A person decides; never the newest.",
            matches=tuple(_shown(contract.object, wanted, item) for item in ours),
        )
    if ours:
        return _judge_object(contract.object, wanted, ours[0], way)
    if not all(same(dig(answer.body, name), value) for name, value in way.complete.items()):
        return Finding(
            verdict=Verdict.SAYS_NOTHING, reason="incomplete_list", words="Nothing yet: the list is not complete."
        )
    return _nothing_there(way, "None found.")


def _tells_whose(item: object, wanted: Expected) -> bool:
    """Whether the fields by which ours are recognised can be read.

    In a map that the provider's customers fill, such as metadata, a missing entry can be read as well: somebody else
    made that object and entered nothing, or something else.
    """
    holders = {name: name.rpartition(".")[0] for name in wanted.ours}
    return all(
        dig(item, name) is not MISSING or (holder != "" and isinstance(dig(item, holder), Mapping))
        for name, holder in holders.items()
    )


def _judge_object(shape: ProviderObject, wanted: Expected, found: object, way: LookUpWay | None) -> Finding:
    """Compare one object with the intent. `way`: how it was read; None for the direct answer to our own write."""
    external_id = _usable_id(dig(found, shape.id))
    if not external_id:
        return Finding(
            verdict=Verdict.UNREADABLE if way else Verdict.SAYS_NOTHING,
            reason="no_object_id",
            words="The answer lacks the object id its contract promises, so it proves nothing.",
        )
    shown = _shown(shape, wanted, found)
    if shape.version is not None and same(dig(found, shape.version.field), wanted.base_version):
        return Finding(
            verdict=Verdict.ABSENT if way and _can_prove_absence(way) else Verdict.SAYS_NOTHING,
            reason="still_base_version",
            words="The record still has the version this change was based on: not applied.",
            external_id=external_id,
            matches=(shown,),
        )
    differs = [name for name, value in (wanted.ours | wanted.equal).items() if not same(dig(found, name), value)]
    if differs or not _next_version(shape, wanted, found):
        names = ", ".join(differs or ["version"])
        return Finding(
            verdict=Verdict.DIFFERENT,
            reason="values_differ",
            words=f"An object exists, but its {names} is not what was approved. A person decides.",
            external_id=external_id,
            matches=(shown,),
        )
    return _by_status(shape, found, external_id, shown)


def _usable_id(value: object) -> str:
    """The object's id as text; "" where there is none that could be stored and asked for again."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = _storable(str(value)) if isinstance(value, str) or abs(value) < 10**MAX_ID else ""
    return text if text == str(value) and len(text) <= MAX_ID else ""


def same(found: object, wanted: object) -> bool:
    """Equal as JSON values: `true` is not 1, at any depth."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        return found.keys() == wanted.keys() and all(same(item, wanted[key]) for key, item in found.items())
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted


def _next_version(shape: ProviderObject, wanted: Expected, found: object) -> bool:
    """For a numbered version, ours must be the very next; a later one may hold somebody else's change as well."""
    if shape.version is None or not isinstance(wanted.base_version, int):
        return True
    return same(dig(found, shape.version.field), wanted.base_version + 1)


def _by_status(shape: ProviderObject, found: object, external_id: str, shown: dict[str, Json]) -> Finding:
    word = dig(found, shape.status) if shape.status else None
    if not shape.status or word in shape.succeeded:
        verdict, reason, words = Verdict.HAPPENED, "happened", "It happened once, with the approved values."
    elif word in shape.pending:
        verdict, reason, words = Verdict.ACCEPTED, "accepted", "The provider accepted it and will decide later."
    elif word in shape.failed:
        verdict, reason, words = Verdict.REFUSED, "refused_later", "The provider has it on record as refused."
    else:
        verdict, reason = Verdict.SAYS_NOTHING, "unknown_status_word"
        words = "The object exists with a status the contract does not explain."
    return Finding(verdict=verdict, reason=reason, words=words, external_id=external_id, matches=(shown,))


def _shown(shape: ProviderObject, wanted: Expected, found: object) -> dict[str, Json]:
    """The compared fields of an object as the provider has them: what evidence keeps, never the whole body."""
    names = [shape.id, *wanted.ours, *wanted.equal, shape.status, shape.version.field if shape.version else ""]
    values = {name: dig(found, name) for name in dict.fromkeys(names) if name}
    return {name: _plain(value) for name, value in values.items() if value is not MISSING}


def _plain(value: object) -> Json:
    """Small and storable: evidence keeps what was compared, and no provider can make it impossible to keep."""
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return _storable(repr(value)[:MAX_SHOWN] if not isinstance(value, str) else value[:MAX_SHOWN])


def _storable(text: str) -> str:
    """PostgreSQL holds neither NUL nor half a surrogate pair; both become the replacement character."""
    return "".join("\ufffd" if char == "\x00" or "\ud800" <= char <= "\udfff" else char for char in text)


def _can_prove_absence(way: LookUpWay) -> bool:
    return way.proves_absence and way.consistency == "immediate"


def _nothing_there(way: LookUpWay, words: str) -> Finding:
    if _can_prove_absence(way):
        return Finding(verdict=Verdict.ABSENT, reason="not_found", words=words)
    return Finding(
        verdict=Verdict.SAYS_NOTHING,
        reason="not_found_yet",
        words=f"{words} That proves nothing: this way of asking can lag behind.",
    )


def _unreadable(words: str, answer: Answer) -> Finding:
    wait = answer.headers.get("retry-after", "")
    return Finding(
        verdict=Verdict.UNREADABLE,
        reason="look_up_failed",
        words=words,
        retry_after=min(int(wait[:9]), 86_400) if wait.isascii() and wait.isdigit() else None,
    )


def _default_words(means: str) -> str:
    return "The provider definitely refused it." if means == "refused" else "This answer proves nothing."


def _matches(rule: Match, answer: Answer) -> bool:
    if rule.status and answer.status not in rule.status:
        return False
    if any(answer.headers.get(name.lower()) != value for name, value in rule.headers.items()):
        return False
    return all(_holds(dig(answer.body, path), wanted) for path, wanted in rule.body.items())


def _holds(value: object, wanted: str | int | bool | tuple[str, ...]) -> bool:
    if value is MISSING:
        return False
    if wanted == "*":
        return value not in (None, "", [], {})
    if isinstance(wanted, tuple):
        return value in wanted
    return type(value) is type(wanted) and value == wanted
