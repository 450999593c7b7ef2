"""The pure rules: what speaks against the record, and when a person may say what. No database."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from operations.core.outcomes import Verdict
from operations.core.states import FINAL, State
from reconciliation import core
from reconciliation.core import Standing, contradicts, refusal_to_allow_another, refusal_to_note, refusal_to_settle

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def standing(**changes: Any) -> Standing:
    """In doubt, looked up a minute ago, nothing shown, and the key still protects."""
    usual = {
        "state": State.UNKNOWN,
        "case_kind": "unknown",
        "overdue": False,
        "attempts": 1,
        "can_be_asked": True,
        "asked_at": NOW - timedelta(minutes=1),
        "shown": "",
        "sent_by_us": True,
        "refusal_by_key": "",
    }
    return Standing(**{**usual, **changes})


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("verdict", list(Verdict))
def test_only_what_shows_something_else_contradicts(state: State, verdict: Verdict) -> None:
    wrong = {
        State.SUCCEEDED: {"refused", "several", "different"},
        **dict.fromkeys((State.FAILED, State.CANCELLED, State.NOT_STARTED), core.SHOWS_SOMETHING),
    }.get(state, set())
    assert contradicts(state, verdict, creates_object=True) == (verdict in wrong)


@pytest.mark.parametrize("state", sorted(FINAL))
def test_a_record_that_many_change_moves_on(state: State) -> None:
    assert not contradicts(state, Verdict.DIFFERENT, creates_object=False)


def test_a_doubt_needs_an_answer_and_a_record_only_a_note() -> None:
    assert not refusal_to_settle(standing(), NOW)
    assert not refusal_to_allow_another(standing(), NOW)
    assert refusal_to_note(standing())
    for state in FINAL:
        assert not refusal_to_note(standing(state=state))
        assert refusal_to_settle(standing(state=state), NOW)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": State.IN_PROGRESS}, "A worker is making the call"),
        ({"state": State.PENDING, "case_kind": ""}, "still has time to decide"),
        ({"state": State.NOT_STARTED, "case_kind": ""}, "nothing of it is under way"),
        ({"asked_at": None}, "Look it up first"),
        ({"asked_at": NOW - timedelta(minutes=5, seconds=1)}, "Look it up first"),
    ],
)
def test_nobody_can_say_yet(changes: dict[str, Any], words: str) -> None:
    assert words in refusal_to_settle(standing(**changes), NOW)
    assert words in refusal_to_allow_another(standing(**changes), NOW)


@pytest.mark.parametrize(
    "changes",
    [
        {"state": State.PENDING, "case_kind": "", "overdue": True},
        {"state": State.NOT_STARTED, "case_kind": "manual"},
        {"can_be_asked": False, "asked_at": None},
        {"asked_at": NOW - timedelta(minutes=5)},
    ],
)
def test_somebody_can_say_now(changes: dict[str, Any]) -> None:
    assert not refusal_to_settle(standing(**changes), NOW)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"case_kind": "integrity"}, "do not fit"),
        ({"sent_by_us": False}, "We do not send this ourselves"),
        *[({"shown": verdict}, "shows something") for verdict in sorted(core.SHOWS_SOMETHING)],
        ({"refusal_by_key": "The key is over."}, "The key is over."),
        ({"on_its_way_until": NOW + timedelta(seconds=5)}, "may still be on its way until 12:00:05 UTC."),
    ],
)
def test_not_again(changes: dict[str, Any], words: str) -> None:
    assert words in refusal_to_allow_another(standing(**changes), NOW)
    assert not refusal_to_settle(standing(**changes), NOW), "what happened can be said all the same"


def test_asking_is_refused_in_words() -> None:
    usual: dict[str, Any] = {
        "state": State.UNKNOWN,
        "attempts": 1,
        "ways": 1,
        "lease_until": NOW + timedelta(seconds=30),
        "now": NOW,
        "operator": True,
    }
    assert not core.refusal_to_look_up(**usual)
    assert not core.refusal_to_look_up(**{**usual, "state": State.FAILED})
    assert core.refusal_to_look_up(**{**usual, "operator": False}) == core.NOT_AN_OPERATOR
    assert "Nothing was sent" in core.refusal_to_look_up(**{**usual, "attempts": 0})
    assert "no way to ask" in core.refusal_to_look_up(**{**usual, "ways": 0})
    during = {**usual, "state": State.IN_PROGRESS}
    assert core.refusal_to_look_up(**during) == "A worker is making the call. Ask again after 12:00:30 UTC."
    assert not core.refusal_to_look_up(**{**during, "now": NOW + timedelta(seconds=30)})
