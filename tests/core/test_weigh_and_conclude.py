"""What a look-up leads to, over the product of findings, contracts and earlier look-ups; and when the next is due."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from operations.core.contract import Absence, Contract, Schedule
from operations.core.outcomes import Finding, Verdict
from operations.core.states import TRANSITIONS, Event, State
from reconciliation.core import COUNTS_AS_AN_ANSWER, Asked, LastAttempt, conclude, next_delay, weigh
from tests.core.samples import NOW, payments

SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
NEVER_ASKED = Asked(made=0, credible_absences=0, last_credible_absence_at=None)
ATTEMPT = LastAttempt(number=1, absence_credible_at=NOW, http_status=None)
VERDICTS_OF_A_READ = [
    Verdict.HAPPENED,
    Verdict.ACCEPTED,
    Verdict.REFUSED,
    Verdict.ABSENT,
    Verdict.SEVERAL,
    Verdict.DIFFERENT,
    Verdict.SAYS_NOTHING,
    Verdict.UNREADABLE,
]


def finding(verdict: Verdict, retry_after: int | None = None) -> Finding:
    return Finding(verdict=verdict, reason="read", words="None found.", retry_after=retry_after)


def trusting(**rule: object) -> Contract:
    return replace(payments(), absence=replace(Absence(trusted=True), **rule))  # type: ignore[arg-type]


@pytest.mark.parametrize("verdict", VERDICTS_OF_A_READ)
def test_only_an_absence_is_weighed(verdict: Verdict) -> None:
    read = finding(verdict)
    weighed = weigh(read, replace(payments(), absence=Absence()), None, NEVER_ASKED, NOW)
    assert (weighed is read) == (verdict is not Verdict.ABSENT)


def test_an_absence_counts_exactly_when_the_contract_lets_us_believe_it() -> None:
    attempts = [
        None,
        ATTEMPT,
        replace(ATTEMPT, absence_credible_at=NOW + TICK),
        replace(ATTEMPT, absence_credible_at=NOW - SECOND),
        replace(ATTEMPT, http_status=500),
        replace(ATTEMPT, http_status=504),
    ]
    earlier = [None, NOW - 2 * SECOND, NOW - SECOND, NOW - SECOND + TICK, NOW]
    for trusted, attempt, last in product([True, False], attempts, earlier):
        contract = trusting(trusted=trusted, not_after_status=(500,), spacing=1)
        asked = Asked(made=3, credible_absences=0, last_credible_absence_at=last)
        weighed = weigh(finding(Verdict.ABSENT), contract, attempt, asked, NOW)
        believed = (
            trusted
            and attempt is not None
            and attempt.http_status != 500
            and attempt.absence_credible_at <= NOW
            and (last is None or last + SECOND <= NOW)
        )
        assert weighed.verdict is (Verdict.ABSENT if believed else Verdict.SAYS_NOTHING)
        assert believed or (weighed.reason == "absence_not_credible" and weighed.words.startswith("None found. "))


@pytest.mark.parametrize(("state", "verdict"), list(product([State.PENDING, State.UNKNOWN], VERDICTS_OF_A_READ)))
def test_every_conclusion_is_a_move_that_the_table_has(state: State, verdict: Verdict) -> None:
    for refusal, absences, needed in product(["", "Only a person may."], range(4), (0, 1, 2, 3)):
        asked = Asked(made=absences, credible_absences=absences, last_credible_absence_at=None)
        event = conclude(state, finding(verdict), trusting(agreeing_reads=needed), asked, refusal)
        assert event is None or (state, event) in TRANSITIONS


def test_only_enough_agreeing_absences_lead_back_and_only_where_a_repeat_is_allowed() -> None:
    for state, refusal, before, needed in product(
        [State.UNKNOWN, State.PENDING], ["", "Only a person may."], range(4), (1, 2, 3)
    ):
        asked = Asked(made=before, credible_absences=before, last_credible_absence_at=None)
        event = conclude(state, finding(Verdict.ABSENT), trusting(agreeing_reads=needed), asked, refusal)
        if state is State.PENDING:
            assert event is Event.LOST, "accepted and now not there: that is a doubt, not an absence"
        else:
            assert event is (Event.PROVED_ABSENT if before + 1 >= needed and not refusal else None)


@pytest.mark.parametrize("verdict", [Verdict.SAYS_NOTHING, Verdict.UNREADABLE])
def test_what_says_nothing_moves_nothing(verdict: Verdict) -> None:
    for state in (State.UNKNOWN, State.PENDING):
        many = Asked(made=50, credible_absences=50, last_credible_absence_at=None)
        assert conclude(state, finding(verdict), trusting(), many, "") is None


def test_several_or_other_values_go_to_a_person() -> None:
    for verdict, state in product([Verdict.SEVERAL, Verdict.DIFFERENT], [State.UNKNOWN, State.PENDING]):
        assert conclude(state, finding(verdict), trusting(), NEVER_ASKED, "") is Event.CONTRADICTED


def test_accepted_again_is_no_news() -> None:
    assert conclude(State.PENDING, finding(Verdict.ACCEPTED), trusting(), NEVER_ASKED, "") is None
    assert conclude(State.UNKNOWN, finding(Verdict.ACCEPTED), trusting(), NEVER_ASKED, "") is Event.FOUND_PENDING


def test_a_read_that_failed_uses_up_no_budget() -> None:
    assert set(Verdict) - COUNTS_AS_AN_ANSWER == {Verdict.UNREADABLE}


def delay(verdict: Verdict, *, made: int = 0, retry_after: int | None = None, credible_in: float | None = None,
          contract: Contract | None = None) -> float:  # fmt: skip
    attempt = None
    if credible_in is not None:
        attempt = replace(ATTEMPT, absence_credible_at=NOW + timedelta(seconds=credible_in))
    asked = Asked(made=made, credible_absences=0, last_credible_absence_at=None)
    contract = contract or trusting(spacing=1)
    return next_delay(contract, finding(verdict, retry_after), attempt, asked, NOW)


def test_delays_follow_the_contract_and_the_last_one_repeats() -> None:
    assert [delay(Verdict.SAYS_NOTHING, made=made) for made in range(8)] == [5, 30, 120, 600, 3600, 3600, 3600, 3600]
    once = replace(payments(), schedule=Schedule(delays=(7,)))
    assert [delay(Verdict.SAYS_NOTHING, made=made, contract=once) for made in range(3)] == [7, 7, 7]


def test_the_provider_may_ask_for_more_time_and_never_for_less() -> None:
    assert delay(Verdict.UNREADABLE, retry_after=60) == 60
    assert delay(Verdict.UNREADABLE, retry_after=1) == 5
    assert delay(Verdict.UNREADABLE, retry_after=1, made=3) == 600


def test_an_absence_is_asked_again_as_soon_as_it_counts() -> None:
    assert delay(Verdict.ABSENT, made=4) == 1
    assert delay(Verdict.ABSENT, made=4, contract=trusting(spacing=9000)) == 3600


def test_a_read_that_came_too_early_is_repeated_when_an_absence_could_first_count() -> None:
    assert delay(Verdict.SAYS_NOTHING, made=3, credible_in=8) == pytest.approx(8.05)
    assert delay(Verdict.SAYS_NOTHING, made=3, credible_in=9000) == 600
    assert delay(Verdict.SAYS_NOTHING, made=3, credible_in=-1) == 600
    untrusting = replace(payments(), absence=Absence())
    assert delay(Verdict.SAYS_NOTHING, made=3, credible_in=8, contract=untrusting) == 600
