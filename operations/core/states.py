"""The life of an operation, as one table.

How it works. An operation is in exactly one *state*. A state says what may happen next; a *reason* beside it says why
we are here, and a new reason never needs a new state. Something becomes known (an *event*) and the table names the
state that follows. What the table does not name cannot happen: `advance` raises, and a trigger in the database, which
holds the same table, refuses.

Two rules shape the table. First, between the moment the request may have left and the moment an answer is on record,
the honest state is `unknown`: it is neither failed nor to be repeated. Second, only three ways lead back to a state
from which a call may begin: no byte left (`not_sent`), the provider was read and the object is provably not there
(`proved_absent`), or a person took responsibility (`settled_may_retry`). The passing of time is not an event.
"""

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """What may happen next. The words people read are in `operations/words.py`, never these."""

    NOT_STARTED = "not_started"  # nobody may call yet, or a call is allowed and not begun; nothing happened outside
    IN_PROGRESS = "in_progress"  # one worker holds the claim; the call may be under way; do not repeat
    PENDING = "pending"  # the provider accepted it and will decide later
    UNKNOWN = "unknown"  # we do not know whether it happened; do not repeat
    DISPUTED = "disputed"  # a person marked it, or several objects match, or one with other values
    SUCCEEDED = "succeeded"  # the provider's fact is on record
    FAILED = "failed"  # the provider definitely refused
    CANCELLED = "cancelled"  # withdrawn before anything was sent


class Event(StrEnum):
    """What became known. Each is recorded with the state it led to."""

    CLAIMED = "claimed"
    WITHDRAWN = "withdrawn"
    NOT_SENT = "not_sent"  # provably no byte left
    CONFIRMED = "confirmed"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    LOST = "lost"  # no clear answer, or the lease ran out
    FOUND = "found"
    FOUND_REFUSED = "found_refused"
    FOUND_PENDING = "found_pending"
    CONTRADICTED = "contradicted"  # several objects, or one with other values
    PROVED_ABSENT = "proved_absent"
    SETTLED_HAPPENED = "settled_happened"
    SETTLED_DID_NOT = "settled_did_not"
    SETTLED_MAY_RETRY = "settled_may_retry"
    MARKED_DISPUTED = "marked_disputed"


S, E = State, Event

TRANSITIONS: Final[dict[tuple[State, Event], State]] = {
    (S.NOT_STARTED, E.CLAIMED): S.IN_PROGRESS,
    (S.NOT_STARTED, E.WITHDRAWN): S.CANCELLED,
    (S.IN_PROGRESS, E.NOT_SENT): S.NOT_STARTED,
    (S.IN_PROGRESS, E.CONFIRMED): S.SUCCEEDED,
    (S.IN_PROGRESS, E.ACKNOWLEDGED): S.PENDING,
    (S.IN_PROGRESS, E.REFUSED): S.FAILED,
    (S.IN_PROGRESS, E.LOST): S.UNKNOWN,
    **{(state, E.FOUND): S.SUCCEEDED for state in (S.IN_PROGRESS, S.PENDING, S.UNKNOWN)},
    **{(state, E.FOUND_REFUSED): S.FAILED for state in (S.IN_PROGRESS, S.PENDING, S.UNKNOWN)},
    **{(state, E.CONTRADICTED): S.DISPUTED for state in (S.IN_PROGRESS, S.PENDING, S.UNKNOWN)},
    (S.IN_PROGRESS, E.FOUND_PENDING): S.PENDING,
    (S.UNKNOWN, E.FOUND_PENDING): S.PENDING,
    (S.PENDING, E.LOST): S.UNKNOWN,
    (S.UNKNOWN, E.PROVED_ABSENT): S.NOT_STARTED,
    **{(state, E.SETTLED_HAPPENED): S.SUCCEEDED for state in (S.UNKNOWN, S.DISPUTED)},
    **{(state, E.SETTLED_DID_NOT): S.FAILED for state in (S.UNKNOWN, S.DISPUTED)},
    **{(state, E.SETTLED_MAY_RETRY): S.NOT_STARTED for state in (S.UNKNOWN, S.DISPUTED)},
    **{
        (state, E.MARKED_DISPUTED): S.DISPUTED
        for state in (S.NOT_STARTED, S.PENDING, S.UNKNOWN, S.SUCCEEDED, S.FAILED, S.CANCELLED)
    },
}

FINAL: Final = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED})
OPEN: Final = frozenset(State) - FINAL


class IllegalTransition(Exception):
    """The table has no such move; the operation stays as it is."""

    def __init__(self, state: State, event: Event) -> None:
        super().__init__(f"An operation that is {state.value} cannot take the event {event.value}.")
        self.state, self.event = state, event


def advance(state: State, event: Event) -> State:
    """The state that follows; raises `IllegalTransition` where the table names none."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalTransition(state, event) from None
