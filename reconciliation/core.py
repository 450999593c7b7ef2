"""What a look-up leads to, and when the next one is due. Pure; the contract's rules and the facts go in."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from operations.core.contract import Absence, Contract, LookUpWay, Schedule
from operations.core.outcomes import Finding, Verdict
from operations.core.states import FINAL, Event, State

EVENTS = {
    Verdict.HAPPENED: Event.FOUND,
    Verdict.REFUSED: Event.FOUND_REFUSED,
    Verdict.SEVERAL: Event.CONTRADICTED,
    Verdict.DIFFERENT: Event.CONTRADICTED,
}
COUNTS_AS_AN_ANSWER = frozenset(Verdict) - {Verdict.UNREADABLE}
SHOWS_SOMETHING = frozenset({Verdict.HAPPENED, Verdict.ACCEPTED, Verdict.SEVERAL, Verdict.DIFFERENT})
CONTRADICTS = {
    State.NOT_STARTED: SHOWS_SOMETHING,
    State.SUCCEEDED: frozenset({Verdict.REFUSED, Verdict.SEVERAL, Verdict.DIFFERENT}),
    State.FAILED: SHOWS_SOMETHING,
    State.CANCELLED: SHOWS_SOMETHING,
}
FRESH = timedelta(minutes=5)

NOT_AN_OPERATOR = "You are not an operator here."
SAY_HOW = "Say how you know; an auditor will read it."
NAME_WHAT = "Name what backs it: a statement line, a ticket, a mail."
GIVE_REFERENCE = "Give the provider's reference of what happened."


@dataclass(frozen=True, kw_only=True, slots=True)
class LastAttempt:
    """What matters of the last call for believing an absence."""

    number: int
    absence_credible_at: datetime
    http_status: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The look-ups since the last attempt."""

    made: int
    credible_absences: int
    last_credible_absence_at: datetime | None


def elsewhere(finding: Finding) -> Finding:
    """The finding, where address or contract are no longer those of the call: not finding it there proves nothing."""
    if finding.verdict is not Verdict.ABSENT:
        return finding
    why = "The connection or its contract is not the one it was sent with, so this proves nothing."
    return Finding(verdict=Verdict.SAYS_NOTHING, reason="absence_not_credible", words=f"{finding.words} {why}")


def weigh(
    finding: Finding, contract: Contract, attempt: LastAttempt | None, asked: Asked, asked_at: datetime
) -> Finding:
    """An absence is only an absence when the contract lets us believe it now; otherwise it says nothing yet."""
    if finding.verdict is not Verdict.ABSENT:
        return finding
    why = _why_not_credible(contract.absence, attempt, asked, asked_at)
    if not why:
        return finding
    return Finding(verdict=Verdict.SAYS_NOTHING, reason="absence_not_credible", words=f"{finding.words} {why}")


def _why_not_credible(rule: Absence, attempt: LastAttempt | None, asked: Asked, asked_at: datetime) -> str:
    if not rule.trusted:
        return "The provider does not promise that this means it did not happen."
    if attempt is None:
        return "Nothing was sent, so there is nothing to be absent."
    if attempt.http_status in rule.not_after_status:
        return f"After an answer of {attempt.http_status} the provider may still carry it out."
    if asked_at < attempt.absence_credible_at:
        return f"The request may still be on its way until {attempt.absence_credible_at:%H:%M:%S} UTC."
    last = asked.last_credible_absence_at
    if last is not None and asked_at < last + timedelta(seconds=rule.spacing):
        return "It was asked too soon after the last look-up to count a second time."
    return ""


def conclude(state: State, finding: Finding, contract: Contract, asked: Asked, refusal: str) -> Event | None:
    """The event that this finding stands for; None: the state stays. `asked` is before this look-up.

    Enough agreeing absences lead back to a state from which a call may begin, but only where the contract allows the
    engine to call again alone (`refusal` is empty); otherwise the doubt stays and a person is asked.
    """
    if finding.verdict is Verdict.ACCEPTED and state is not State.PENDING:
        return Event.FOUND_PENDING
    if finding.verdict is Verdict.ABSENT:
        if state is State.PENDING:
            return Event.LOST
        enough = asked.credible_absences + 1 >= contract.absence.agreeing_reads
        return Event.PROVED_ABSENT if enough and not refusal else None
    return EVENTS.get(finding.verdict)


def next_delay(
    contract: Contract, finding: Finding, attempt: LastAttempt | None, asked: Asked, asked_at: datetime
) -> float:
    """Seconds until the next look-up, by the contract's schedule, but no later than an absence could first count."""
    planned = float(_planned(contract.schedule, asked.made))
    if finding.retry_after is not None:
        return max(planned, float(finding.retry_after))
    if finding.verdict is Verdict.ABSENT:
        return min(planned, float(contract.absence.spacing))
    if contract.absence.trusted and attempt is not None and asked_at < attempt.absence_credible_at:
        return min(planned, (attempt.absence_credible_at - asked_at).total_seconds() + 0.05)
    return planned


def _planned(schedule: Schedule, made: int) -> int:
    """After the first look-up the second delay holds, and the last one repeats."""
    return schedule.delays[min(made + 1, len(schedule.delays) - 1)]


def contradicts(state: State, verdict: str, *, creates_object: bool) -> bool:
    """Whether this evidence speaks against what is on record.

    A record that many may change, such as a deal, moves on after us: other values there say nothing about our change.
    """
    if verdict == Verdict.DIFFERENT and not creates_object and state in FINAL:
        return False
    return verdict in CONTRADICTS.get(state, ())


def ways_to_ask(contract: Contract, external_id: str) -> tuple[LookUpWay, ...]:
    """The contract's ways that can be used now: by id only once the provider's id is known."""
    return tuple(way for way in contract.look_ups if way.way != "by_id" or external_id)


def refusal_to_look_up(
    *, state: State, attempts: int, ways: int, lease_until: datetime | None, now: datetime, operator: bool
) -> str:
    """Why asking the provider makes no sense now; "" when it may be asked, also about a finished operation."""
    if not operator:
        return NOT_AN_OPERATOR
    if attempts == 0:
        return "Nothing was sent, so there is nothing to ask about."
    if ways == 0:
        return "The provider offers no way to ask about this."
    if state is State.IN_PROGRESS and lease_until is not None and now < lease_until:
        return f"A worker is making the call. Ask again after {lease_until:%H:%M:%S} UTC."
    return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a person's word is measured against. `shown` is the newest verdict that says anything; "" for none."""

    state: State
    case_kind: str  # of the open case; "" before there is one
    overdue: bool  # the time in which the provider should have decided is over
    attempts: int
    can_be_asked: bool
    asked_at: datetime | None  # the newest look-up since the last attempt
    shown: str
    sent_by_us: bool  # not a connection where a person acts at the provider
    refusal_by_key: str  # why the same key would not protect from a second effect
    on_its_way_until: datetime | None = None  # of the last attempt: before this moment it may still arrive


def refusal_to_note(standing: Standing) -> str:
    """Why it cannot just be noted: a doubt needs an answer."""
    return "" if standing.state in FINAL else "This one is still open, so it needs an answer."


def refusal_to_settle(standing: Standing, now: datetime) -> str:
    """Why nobody can say now what happened."""
    if standing.state in FINAL:
        return "What is on record is final; it can only be noted."
    if standing.state is State.IN_PROGRESS:
        return "A worker is making the call. Look it up first."
    if standing.state is State.PENDING and not (standing.overdue or standing.case_kind):
        return "The provider accepted it and still has time to decide."
    if standing.state is State.NOT_STARTED and not standing.case_kind:
        return "It is not in doubt: nothing of it is under way."
    if standing.can_be_asked and (standing.asked_at is None or standing.asked_at < now - FRESH):
        return "Look it up first: there is no look-up from the last five minutes."
    return ""


def refusal_to_deny(standing: Standing, now: datetime) -> str:
    """Why nobody can say now that it did not happen: a request that is still travelling may yet act."""
    return refusal_to_settle(standing, now) or _still_travelling(standing, now)


def _still_travelling(standing: Standing, now: datetime) -> str:
    until = standing.on_its_way_until
    return f"The request may still be on its way until {until:%H:%M:%S} UTC." if until and now < until else ""


def refusal_to_allow_another(standing: Standing, now: datetime) -> str:
    """Why nobody can say now that it may be sent again."""
    if refusal := refusal_to_settle(standing, now):
        return refusal
    if standing.case_kind == "integrity":
        return "Not while what is stored and what was approved, or sent, do not fit."
    if not standing.sent_by_us:
        return "We do not send this ourselves; a person does it at the provider."
    if standing.shown in SHOWS_SOMETHING:
        return "Not while the provider shows something of it."
    return _still_travelling(standing, now) or standing.refusal_by_key
