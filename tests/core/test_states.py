"""Every pair of state and event, against the one table."""

from itertools import product

import pytest

from operations.core.states import FINAL, OPEN, TRANSITIONS, Event, IllegalTransition, State, advance

PAIRS = list(product(State, Event))


@pytest.mark.parametrize(("state", "event"), PAIRS, ids=[f"{s}-{e}" for s, e in PAIRS])
def test_a_pair_leads_where_the_table_says_or_nowhere(state: State, event: Event) -> None:
    if (state, event) in TRANSITIONS:
        assert advance(state, event) is TRANSITIONS[state, event]
        return
    with pytest.raises(IllegalTransition) as refused:
        advance(state, event)
    assert (refused.value.state, refused.value.event) == (state, event)
    assert state.value in str(refused.value) and event.value in str(refused.value)


def test_no_move_leads_to_where_it_began() -> None:
    assert all(before is not after for (before, _), after in TRANSITIONS.items())


def test_every_state_can_be_reached_and_every_event_is_used() -> None:
    assert set(TRANSITIONS.values()) == set(State)
    assert {event for _, event in TRANSITIONS} == set(Event)


def test_an_event_always_leads_to_the_same_state() -> None:
    """Whoever reads the journal needs the event alone to know what followed."""
    for event in Event:
        assert len({after for (_, taken), after in TRANSITIONS.items() if taken is event}) == 1


def test_open_and_final_states_share_nothing_and_leave_nothing_out() -> None:
    assert not FINAL & OPEN and set(State) == FINAL | OPEN


def test_what_is_final_can_only_be_marked_as_disputed() -> None:
    assert {event for state, event in TRANSITIONS if state in FINAL} == {Event.MARKED_DISPUTED}


def test_only_three_events_lead_back_to_where_a_call_may_begin() -> None:
    back = {event for (_, event), after in TRANSITIONS.items() if after is State.NOT_STARTED}
    assert back == {Event.NOT_SENT, Event.PROVED_ABSENT, Event.SETTLED_MAY_RETRY}


def test_only_a_claim_begins_a_call_and_only_before_anything_was_sent() -> None:
    assert {pair for pair, after in TRANSITIONS.items() if after is State.IN_PROGRESS} == {
        (State.NOT_STARTED, Event.CLAIMED)
    }


def test_an_unknown_outcome_becomes_failed_only_by_a_look_up_or_a_person() -> None:
    ways = {event for (state, event), after in TRANSITIONS.items() if state is State.UNKNOWN and after is State.FAILED}
    assert ways == {Event.FOUND_REFUSED, Event.SETTLED_DID_NOT}


def test_from_every_state_some_final_state_can_be_reached() -> None:
    reach = set(FINAL)
    for _ in State:
        reach |= {state for (state, _), after in TRANSITIONS.items() if after in reach}
    assert reach == set(State)
