"""The words of investigations: why something is here, what is not known about it, what a person may say."""

from typing import Final

from operations.core.outcomes import Verdict
from operations.core.states import State
from reconciliation.models import Case, Resolution

ASKED: Final = {
    "by_id": "the provider's id",
    "by_key": "our key",
    "by_reference": "our reference",
    "by_unique_property": "the record's own id",
    "by_parent_list": "the list it belongs to",
    "by_time_window": "the time it was sent",
    "search": "the provider's search",
}

KINDS: Final = {
    Case.Kind.UNKNOWN: ("Outcome unknown", "unknown"),
    Case.Kind.DISPUTED: ("Several or other values", "refused"),
    Case.Kind.RESEND: ("Not there, send again?", "needs_you"),
    Case.Kind.MANUAL: ("To be done by a person", "needs_you"),
    Case.Kind.INTEGRITY: ("Does not fit its approval", "refused"),
    Case.Kind.VERSION_CONFLICT: ("Version conflict", "info"),
    Case.Kind.CONFIGURATION: ("Connection not set up", "needs_you"),
    Case.Kind.CONTRADICTION: ("Contradicts the record", "refused"),
}
SHOWN: Final = {Verdict.SEVERAL: "Several found", Verdict.DIFFERENT: "Other values found"}

# The beginning of a case's sentence; the intent's own sentence follows.
OPENINGS: Final = {
    Case.Kind.UNKNOWN: "We sent this and lost the answer: ",
    Case.Kind.DISPUTED: "We do not know what became of this: ",
    Case.Kind.RESEND: "We sent this and it is not there: ",
    Case.Kind.MANUAL: "A person has to do this at the provider: ",
    Case.Kind.INTEGRITY: "What is stored or was sent does not fit the approval of this: ",
    Case.Kind.VERSION_CONFLICT: "This was not done, because the record had changed: ",
    Case.Kind.CONFIGURATION: "The connection is not set up to do this: ",
    Case.Kind.CONTRADICTION: "The provider contradicts our record of this: ",
}
FOUND_OPENINGS: Final = {
    Verdict.SEVERAL: "More than one was found at the provider for this: ",
    Verdict.DIFFERENT: "Something else than approved was found at the provider for this: ",
}
ACCEPTED: Final = "The provider accepted this and has not said what became of it: "

MAYBE: Final = "It may have happened. Do not repeat it."
OUTSIDE: Final = {
    State.IN_PROGRESS: MAYBE,
    State.UNKNOWN: MAYBE,
    State.DISPUTED: MAYBE,
    State.PENDING: "The provider has it. Do not repeat it.",
}

SEVERAL: Final = "More than one is there. Do not repeat it."
# The sentence above says it all; why the engine asked adds nothing for a person.
PLAIN: Final = frozenset({Case.Kind.DISPUTED, Case.Kind.VERSION_CONFLICT, Case.Kind.CONTRADICTION})

CHOICES: Final = {
    Resolution.Verdict.HAPPENED: (
        "It happened once \u2013 reference …",
        "It is closed as done, with the provider's reference.",
    ),
    Resolution.Verdict.DID_NOT_HAPPEN: ("It did not happen \u2013 close", "It is closed and never sent."),
    Resolution.Verdict.MAY_RETRY: (
        "It did not happen \u2013 may be sent again",
        "Once more, with the same key, the same content and the same approval.",
    ),
    Resolution.Verdict.NOTED: ("Seen \u2013 what is on record stands", ""),
}
NOTES: Final = {
    Case.Kind.VERSION_CONFLICT: "Nothing was written. If it is still wanted, ask the agent to prepare a new one.",
    Case.Kind.CONTRADICTION: "The record stays as it is. What has to be put right is put right at the provider.",
    Case.Kind.CONFIGURATION: "If it is still wanted, put the connection right and ask the agent to prepare a new one.",
}
DONE: Final = {
    Resolution.Verdict.HAPPENED: "Recorded: it happened. Nothing is sent any more.",
    Resolution.Verdict.DID_NOT_HAPPEN: "Recorded: it did not happen. Nothing is sent any more.",
    Resolution.Verdict.MAY_RETRY: "Recorded: it may be sent again, with the same key.",
    Resolution.Verdict.NOTED: "Recorded as seen. What is on record stands.",
}


def chip_of(kind: str, shown: str) -> tuple[str, str]:
    """Why it is here, in a word, and the tone. `shown` is the newest verdict that says anything."""
    word, tone = KINDS[Case.Kind(kind)]
    if kind == Case.Kind.DISPUTED and shown in SHOWN:
        word = SHOWN[Verdict(shown)]
    return word, tone


def outside_of(state: State, shown: str) -> str:
    """Whether it may have happened; "" where the operation's own words say it."""
    return SEVERAL if state is State.DISPUTED and shown == Verdict.SEVERAL else OUTSIDE.get(state, "")


def opening_of(kind: str, shown: str, *, accepted: bool) -> str:
    """How the sentence of a case begins; "" where nothing is in doubt."""
    if not kind:
        return ""
    if kind == Case.Kind.UNKNOWN and accepted:
        return ACCEPTED
    if kind == Case.Kind.DISPUTED and shown in FOUND_OPENINGS:
        return FOUND_OPENINGS[Verdict(shown)]
    return OPENINGS[Case.Kind(kind)]


def answer_of(verdict: str, reason: str, status: int | None, found: int) -> str:
    """What a look-up brought, in two or three words."""
    match Verdict(verdict):
        case Verdict.UNREADABLE:
            return f"error {status}" if status and status >= 400 else "no usable answer"
        case Verdict.SEVERAL:
            return f"{found} found" if found else "several found"
        case Verdict.ABSENT if found:
            return "not changed yet"
        case Verdict.ABSENT:
            return "none found"
        case Verdict.SAYS_NOTHING if reason == "incomplete_list":
            return "an incomplete list"
        case Verdict.SAYS_NOTHING:
            return "1 found" if found else "none found"
        case _:
            return "1 found" if found else "an answer"
