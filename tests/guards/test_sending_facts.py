"""When something was first sent, and how far it got, are facts: nothing moves the key's window or unsends a request."""

import pytest

from operations.services import execute
from tests.guards.attack import CLAIM, assert_refused, claim, claimed, run
from tests.support.tenant import World


@pytest.mark.parametrize("when", ["'2099-01-01'", "clock_timestamp() - interval '1 day'"])
def test_the_key_s_window_cannot_be_moved(world: World, when: str) -> None:
    """`first_sent_at` starts the clock of the key; only a claim sets it, once, and never later than now."""
    statement = f"UPDATE operations_operation SET first_sent_at = {when} WHERE intent_id = %(id)s"
    assert_refused("operation_first_sent_once", statement, {"id": world.approved()})


def test_a_claim_cannot_begin_in_the_future(world: World) -> None:
    later = CLAIM.replace("coalesce(first_sent_at, clock_timestamp())", "clock_timestamp() + interval '1 day'")
    assert_refused("operation_first_sent_once", later, claim(world.approved()))


@pytest.mark.parametrize("phase", ["sending", "waiting", "answered"])
def test_what_may_have_left_cannot_be_declared_not_sent(world: World, phase: str) -> None:
    operation_id = claimed(world)
    run("UPDATE operations_attempt SET phase = %s WHERE operation_id = %s", [phase, operation_id])
    for statement in (
        "UPDATE operations_attempt SET outcome = 'not_sent' WHERE operation_id = %s",
        "UPDATE operations_attempt SET phase = '' WHERE operation_id = %s",
        "UPDATE operations_attempt SET phase = 'connecting', outcome = 'not_sent' WHERE operation_id = %s",
    ):
        assert_refused("attempt_may_have_left", statement, [operation_id])


PENDING = (
    "UPDATE operations_operation SET state = 'pending', last_event = 'acknowledged', external_id = 'object_1' "
    "WHERE intent_id = %s"
)


def test_one_object_at_the_provider_belongs_to_one_operation(world: World) -> None:
    first, second = claimed(world), claimed(world)
    run(PENDING, [first])
    assert_refused("operation_one_object", PENDING, [second])


def test_a_record_that_is_changed_may_belong_to_many(world: World) -> None:
    first, second = world.approved(world.deal()), world.approved(world.deal(version=20))
    for operation_id in (first, second):
        assert execute.claim(operation_id=operation_id, worker="honest") is not None
        run(PENDING, [operation_id])
    assert {world.state(first), world.state(second)} == {"pending"}
