"""What a look-up leads to, and when the next one is due. Pure; the contract's rules and the facts go in."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from operations.core.contract import Absence, Contract, Schedule
from operations.core.outcomes import Finding, Verdict
from operations.core.states import Event, State

EVENTS = {
    Verdict.HAPPENED: Event.FOUND,
    Verdict.REFUSED: Event.FOUND_REFUSED,
    Verdict.SEVERAL: Event.CONTRADICTED,
    Verdict.DIFFERENT: Event.CONTRADICTED,
}
COUNTS_AS_AN_ANSWER = frozenset(Verdict) - {Verdict.UNREADABLE}


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
