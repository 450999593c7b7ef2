"""What to do next about one operation: one command, with its reason in words.

`decide` is the only place where the product chooses. It commands a call from one state alone, with a live permit for
these very bytes, strictly before the permit ends. From every other state it can at most read.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from operations.core.contract import Autonomy
from operations.core.facts import Approval, Facts
from operations.core.states import State


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do before `until`; None: until somebody acts."""

    why: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Open an approval round for the unchanged intent."""

    why: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Cancel: nothing was sent. `reason` is a code for `operations/words.py`."""

    why: str
    reason: str


@dataclass(frozen=True, slots=True)
class Call:
    """Claim the operation and make its one call."""

    why: str


@dataclass(frozen=True, slots=True)
class LookUp:
    """Read the provider; writes nothing there."""

    why: str


@dataclass(frozen=True, slots=True)
class Investigate:
    """Put it in front of a person. `kind` is the case's kind."""

    why: str
    kind: str


type Command = Rest | AskApproval | Withdraw | Call | LookUp | Investigate


def decide(facts: Facts, now: datetime) -> Command:
    """The one next step. Pure: equal facts and time give an equal command."""
    match facts.state:
        case State.NOT_STARTED:
            return _before_a_call(facts, now)
        case State.IN_PROGRESS:
            return _during_a_call(facts, now)
        case State.PENDING | State.UNKNOWN:
            return _in_doubt(facts, now)
        case State.DISPUTED:
            if facts.case_open:
                return Rest("A person is looking into it.")
            return Investigate("It is under investigation and nobody has been asked.", "disputed")
        case State.SUCCEEDED | State.FAILED | State.CANCELLED:
            if facts.follow_up:
                return Investigate("It is finished, and what the provider said needs a person.", facts.follow_up)
            return Rest("It is finished.")
        case _:
            assert_never(facts.state)


def _before_a_call(facts: Facts, now: datetime) -> Command:
    """In this order: are the bytes intact, is the ground unmoved, is it approved, may it be sent."""
    if facts.computed_hash != facts.stored_hash:
        return _investigate(facts, "The stored bytes no longer have the hash they were prepared with.", "integrity")
    if facts.says_it_is_there:
        return _investigate(
            facts, "The provider says it is there, although it was believed not to be.", "contradiction"
        )
    if facts.policy_version != facts.policy_in_force:
        return Withdraw("The policy it was prepared under is no longer in force.", "policy_moved")
    if not facts.binding_intact:
        return Withdraw("The connection or its contract is not the one that was approved.", "connection_moved")
    if facts.approval is Approval.REJECTED:
        return Withdraw("An approver rejected it.", "rejected")
    if facts.permit is None or now >= facts.permit.expires_at:
        return _without_permit(facts, now)
    if (facts.permit.payload_hash, facts.permit.policy_version) != (facts.computed_hash, facts.policy_version):
        return _investigate(facts, "The approval is for other bytes than those stored.", "integrity")
    if facts.autonomy is Autonomy.MANUAL:
        return _investigate(facts, "The provider promises too little for us to send this alone.", "manual")
    if facts.may_have_been_sent and facts.refusal_to_send_again:
        return _investigate(facts, facts.refusal_to_send_again, "resend")
    if facts.stopped:
        return Rest("An emergency stop holds it.", facts.permit.expires_at)
    if facts.attempts and facts.next_look_at is not None and now < facts.next_look_at:
        return Rest("The last try did not get through; the next one is not due.", facts.next_look_at)
    return Call("Approved, intact and not sent.")


def _without_permit(facts: Facts, now: datetime) -> Command:
    if facts.approval is Approval.OPEN and facts.approval_expires_at is not None and now < facts.approval_expires_at:
        return Rest("It waits for a decision.", facts.approval_expires_at)
    if facts.approval is Approval.NONE or facts.may_have_been_sent:
        return AskApproval("Nobody has been asked to approve it, or the earlier approval is over.")
    return Withdraw("Its approval time ran out before anything was sent.", "approval_expired")


def _during_a_call(facts: Facts, now: datetime) -> Command:
    if facts.lease_until is not None and now < facts.lease_until:
        return Rest("A worker is making the call.", facts.lease_until)
    if facts.can_look_up:
        return LookUp("The worker went away during the call, so the provider is asked.")
    return Investigate("The worker went away during the call and the provider cannot be asked.", "unknown")


def _in_doubt(facts: Facts, now: datetime) -> Command:
    """Keeps reading even while a case is open; a case only means that a person is looking as well."""
    if facts.follow_up:
        return Investigate("What the provider said needs a person.", facts.follow_up)
    over = facts.deadline_at is not None and now >= facts.deadline_at
    if not facts.can_look_up:
        return _investigate(facts, "The provider cannot be asked whether it happened.", "unknown")
    if facts.state is State.UNKNOWN and not facts.binding_intact and not facts.case_open:
        return Investigate("The connection or its contract is not the one it was sent with.", "configuration")
    if facts.absence_proved and facts.refusal_to_send_again and not facts.case_open:
        return Investigate(f"It is provably not there. {facts.refusal_to_send_again}", "resend")
    if (over or facts.look_ups_used >= facts.look_up_budget) and not facts.case_open:
        return Investigate("The look-ups so far settle nothing and their time is used up.", "unknown")
    if facts.next_look_at is None or now >= facts.next_look_at:
        return LookUp("The outcome is not known, so the provider is asked.")
    return Rest("The next look-up is not due.", facts.next_look_at)


def _investigate(facts: Facts, why: str, kind: str) -> Command:
    return Rest("A person is looking into it.") if facts.case_open else Investigate(why, kind)
