"""Every open operation has a next step with a time, or stands in a person's queue (invariant 8)."""

import pytest
from django.db import IntegrityError

from operations.core.states import FINAL, OPEN, State
from tests.guards.attack import assert_refused, claimed, force, learn, one, run
from tests.support.tenant import World

NOBODY = "UPDATE operations_operation SET next_step_at = NULL, waits_for = ''"


def test_an_operation_that_waits_for_nothing_and_nobody_is_refused(world: World) -> None:
    world.prepare()
    assert_refused("operation_has_next_step", NOBODY)
    run("UPDATE operations_operation SET next_step_at = NULL, waits_for = 'approver'")
    run("UPDATE operations_operation SET next_step_at = clock_timestamp(), waits_for = ''")


@pytest.mark.parametrize("state", sorted(OPEN))
def test_no_open_state_can_be_left_without_a_next_step(world: World, state: str) -> None:
    claimed(world)
    force("operations_operation", "UPDATE operations_operation SET state = %s, waits_for = 'operator'", [state])
    rule = "in_progress_has_next_step" if state == State.IN_PROGRESS else "operation_has_next_step"
    assert_refused(rule, NOBODY)


def test_a_call_under_way_cannot_be_parked_with_a_person(world: World) -> None:
    claimed(world)
    parked = "UPDATE operations_operation SET next_step_at = NULL, waits_for = 'operator'"
    assert_refused("in_progress_has_next_step", parked)


@pytest.mark.parametrize("state", sorted(FINAL))
def test_what_is_finished_needs_no_next_step(world: World, state: str) -> None:
    fact = learn(claimed(world), "says_nothing")
    force("operations_operation", "UPDATE operations_operation SET state = %s, fact_id = %s", [state, fact])
    run(NOBODY)
    assert one("SELECT next_step_at IS NULL FROM operations_operation")


def test_an_operation_waits_only_for_people_that_exist(world: World) -> None:
    world.prepare()
    assert_refused("operation_waits_for_known", "UPDATE operations_operation SET waits_for = 'somebody'")


def test_a_new_operation_without_a_next_step_is_refused(world: World) -> None:
    world.prepare()
    with pytest.raises(IntegrityError, match="operation_has_next_step"):
        force("operations_operation", NOBODY)
