"""The words people and agents read for states and reasons. Pages, mails and the agents' API all take them from here.

A label says where it stands; `outside` always answers "did anything happen outside?". States drive and reasons only
explain, so a reason without words of its own gets a neutral sentence and never changes a label's meaning. "Failed" is
never written for "we do not know".

`approval` is the status of the newest approval round: open, approved, rejected, expired, withdrawn, or "" for none.
"""

from typing import Final

from operations.core.outcomes import Verdict
from operations.core.states import State

DO_NOT_REPEAT: Final = "May have been sent \u2013 do not repeat"
NOTHING_SENT: Final = "Nothing has been sent"
NEUTRAL: Final = "What was learned is recorded with the evidence."

LABELS: Final = {
    State.IN_PROGRESS: "Being sent now",
    State.PENDING: "Accepted, outcome open",
    State.UNKNOWN: "Outcome unknown",
    State.DISPUTED: "Under investigation",
    State.SUCCEEDED: "Done at provider",
    State.FAILED: "Refused by provider",
}

CANCELLED: Final = {
    "approval_expired": "Expired",
    "cancelled_by_agent": "Withdrawn",
    "replaced": "Replaced",
    "rejected": "Rejected",
    "policy_moved": "Rule changed",
    "connection_moved": "Connection changed",
}

TONES: Final = {
    State.NOT_STARTED: "info",
    State.IN_PROGRESS: "info",
    State.PENDING: "info",
    State.UNKNOWN: "unknown",
    State.DISPUTED: "unknown",
    State.SUCCEEDED: "done",
    State.FAILED: "refused",
    State.CANCELLED: "quiet",
}

REASONS: Final = {
    "approval_expired": "Its approval time ran out before anything was sent.",
    "policy_moved": "The rule it was prepared under is no longer in force.",
    "connection_moved": "The connection or its contract is not the one it was prepared for.",
    "rejected": "An approver rejected it.",
    "replaced": "The agent replaced it with a new operation.",
    "cancelled_by_agent": "The agent took it back.",
    "not_sent": "The provider could not be reached, and no byte was sent.",
    "answer_lost": "The request may have arrived and no answer came back.",
    "worker_gone": "The worker went away during the call, so its answer is not known.",
    "unlisted_answer": "The provider answered in a way its contract does not explain.",
    "no_object_id": "The answer lacks the object id its contract promises, so it proves nothing.",
    "unknown_status_word": "The provider shows a status its contract does not explain.",
    "happened": "The provider has it on record, once, with the approved values.",
    "accepted": "The provider accepted it.",
    "refused_later": "The provider has it on record as refused.",
    "declined": "The provider declined it.",
    "invalid": "The provider does not accept these values.",
    "no_such_record": "The provider has no such record.",
    "version_conflict": "The record changed after it was read, so nothing was written.",
    "redirected": "The address of the connection only points elsewhere, so nothing was carried out.",
    "credential_refused": "The provider refused the connection's credential.",
    "key_in_use": "The provider is still busy with an earlier request of the same key.",
    "key_used_with_other_body": "The provider knows this key with other content.",
    "not_found": "The provider was asked and has no such object.",
    "not_found_yet": "The provider was asked and shows nothing yet, which proves nothing.",
    "absence_not_credible": "The provider was asked and shows nothing, too early or too weakly to rely on.",
    "incomplete_list": "The provider's list was not complete, so it proves nothing.",
    "look_up_failed": "The look-up itself failed, which says nothing about the operation.",
    "still_base_version": "The record still has the version the change was based on, so it was not applied.",
    "several_found": "The provider shows more than one object, so a person decides.",
    "values_differ": "The provider shows an object with other values than approved, so a person decides.",
    "object_of_another_operation": "The provider's object already belongs to another operation, so a person decides.",
    "conflict_on_repeat": "The record has changed, perhaps by our own earlier request, so the provider is asked.",
    "not_recorded": "An answer came and could not be recorded, so the provider is asked.",
    "resolved": "An operator investigated it and recorded what happened.",
}

VERDICTS: Final = {
    Verdict.HAPPENED: "It happened",
    Verdict.ACCEPTED: "Accepted, outcome open",
    Verdict.REFUSED: "Refused",
    Verdict.ABSENT: "Not there",
    Verdict.NOT_SENT: "Nothing was sent",
    Verdict.SEVERAL: "More than one found",
    Verdict.DIFFERENT: "Found with other values",
    Verdict.SAYS_NOTHING: "Proves nothing",
    Verdict.UNREADABLE: "The look-up failed",
    Verdict.WITHDRAWN: "Withdrawn",
    Verdict.DID_NOT_HAPPEN: "Did not happen, says an operator",
    Verdict.MAY_RETRY: "May be sent again, says an operator",
}


def reason_sentence(code: str) -> str:
    """The sentence for a reason code; "" for no reason, a neutral one for a code that has no words (a new contract)."""
    return REASONS.get(code, NEUTRAL) if code else ""


def verdict_words(verdict: str) -> str:
    """What a piece of evidence proves, in a few words."""
    return VERDICTS[Verdict(verdict)]


def label(
    state: str,
    approval: str = "",
    *,
    reason: str = "",
    missing: int = 1,
    yours: bool = False,
    waits_for: str = "",
    replaced_by: str = "",
) -> str:
    """Where it stands. `yours`: the reader may decide it now; `missing`: approvals still needed."""
    match State(state):
        case State.NOT_STARTED:
            return _waiting(approval, missing, yours, waits_for)
        case State.CANCELLED if reason == "replaced" and replaced_by:
            return f"Replaced by {replaced_by}"
        case State.CANCELLED:
            return CANCELLED.get(reason, "Withdrawn")
        case State.FAILED if reason == "resolved":
            return "Did not happen"
        case other:
            return LABELS[other]


def _waiting(approval: str, missing: int, yours: bool, waits_for: str) -> str:
    if waits_for == "operator":
        return "Approved \u2013 waits for an operator" if approval == "approved" else "Waits for an operator"
    if approval == "approved" and waits_for == "stop":
        return "Approved \u2013 held by an emergency stop"
    if approval == "approved":
        return "Approved \u2013 will be sent"
    if approval == "open" and yours:
        return "Needs your decision"
    if approval in ("", "none", "open"):
        return f"Waiting for {missing} more approver{'' if missing == 1 else 's'}"
    return {"rejected": "Rejected", "expired": "Expired"}.get(approval, "Withdrawn")


def outside(state: str, *, reason: str = "", attempts: int = 0, external_id: str = "", next_look_up: str = "") -> str:
    """The second line: did anything happen outside? `next_look_up` is a time already written for the reader."""
    match State(state):
        case State.NOT_STARTED | State.CANCELLED:
            return _nothing(reason, attempts)
        case State.IN_PROGRESS:
            return DO_NOT_REPEAT
        case State.PENDING:
            return "Sent; the provider decides later \u2013 do not repeat"
        case State.UNKNOWN:
            return f"{DO_NOT_REPEAT}. Next look-up {next_look_up}" if next_look_up else DO_NOT_REPEAT
        case State.DISPUTED:
            return "See resolution record"
        case State.SUCCEEDED:
            done = "An operator confirmed that it happened" if reason == "resolved" else _sent(attempts)
            return f"{done}; provider reference {external_id}" if external_id else done
        case State.FAILED:
            return "An operator says it did not happen" if reason == "resolved" else "Provider says it did not happen"


def _nothing(reason: str, attempts: int) -> str:
    """After an earlier call "nothing was sent" would be untrue, although nothing happened."""
    if attempts == 0 or (attempts == 1 and reason == "not_sent"):
        return NOTHING_SENT
    if reason == "resolved":
        return "An operator allowed it to be sent again"
    return "Sent before; provider says it did not happen"


def _sent(attempts: int) -> str:
    return "Sent once" if attempts <= 1 else "Done once"


def tone(state: str, approval: str = "", *, yours: bool = False, reason: str = "") -> str:
    """needs_you, unknown, refused, done, info or quiet; always shown together with an icon and the label."""
    if State(state) is State.NOT_STARTED and approval == "open" and yours:
        return "needs_you"
    if State(state) is State.CANCELLED and reason == "rejected":
        return "refused"
    return TONES[State(state)]


def message(
    state: str,
    approval: str = "",
    *,
    reason: str = "",
    attempts: int = 0,
    external_id: str = "",
    waits_for: str = "",
    replaced_by: str = "",
) -> str:
    """One sentence an agent can pass on to its user: did anything happen outside, and what now."""
    match State(state):
        case State.NOT_STARTED:
            return f"{_nothing(reason, attempts)}; {_what_now(approval, waits_for)}."
        case State.IN_PROGRESS:
            return "It is being sent now and may already have happened; do not repeat it, read this operation again."
        case State.PENDING:
            return "The provider accepted it and will decide later; do not repeat it, read this operation again."
        case State.UNKNOWN:
            return "It may have happened and nobody knows yet; do not repeat it, the provider is being asked."
        case State.DISPUTED:
            return "It may have happened and a person is investigating it; do not repeat it, read this operation again."
        case State.SUCCEEDED:
            reference = f", provider reference {external_id}" if external_id else ""
            return f"It happened, once{reference}; nothing more is to be done."
        case State.FAILED:
            why = _clause(reason)
            return f"It did not happen: {why}; if it is still wanted, prepare a new operation."
        case State.CANCELLED:
            if replaced_by:
                return f"{_nothing(reason, attempts)}; it was replaced by {replaced_by}, so read that operation."
            return f"{_nothing(reason, attempts)}: {_clause(reason)}; if it is still wanted, prepare a new operation."


def _what_now(approval: str, waits_for: str) -> str:
    if waits_for == "operator":
        return "it waits for an operator"
    if waits_for == "stop":
        return "sending is stopped for now, and it goes on when two people here lift the stop"
    if approval == "approved":
        return "it is approved and will be sent, so nothing is to be done"
    return "it waits for a person to approve it"


def _clause(reason: str) -> str:
    """The reason's sentence, to stand inside another one."""
    sentence = (reason_sentence(reason) or NEUTRAL).rstrip(".")
    return sentence[0].lower() + sentence[1:]
