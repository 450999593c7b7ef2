"""Between two calls lies evidence of absence that may be believed, or a person's word (invariant 3)."""

import pytest
from django.db import transaction

from tests.guards.attack import ATTEMPT, CLAIM, MOVE, assert_refused, claim, claimed, learn, move, one, run, unknown
from tests.support.tenant import World

BACK = ["not_started", "proved_absent", None]


def needed(operation_id: str) -> int:
    return int(one("SELECT absences_needed FROM operations_attempt WHERE operation_id = %s", [operation_id]))


def test_enough_absences_after_the_time_lead_back_to_a_second_call(world: World) -> None:
    operation_id = unknown(world)
    for _ in range(needed(operation_id)):
        learn(operation_id, "absent")
    move(operation_id, "not_started", "proved_absent")
    parameters = claim(operation_id)
    with transaction.atomic():
        run(CLAIM, parameters)
        run(ATTEMPT, parameters)
    assert one("SELECT max(number) FROM operations_attempt") == 2


def test_without_any_evidence_of_absence_nothing_leads_back(world: World) -> None:
    assert_refused("return_needs_absence", MOVE, [*BACK, unknown(world)])


def test_one_absence_too_few_does_not_lead_back(world: World) -> None:
    operation_id = unknown(world)
    assert needed(operation_id) == 2
    learn(operation_id, "absent")
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


@pytest.mark.parametrize(
    "seconds", [0.000001, 60, 86_400], ids=["a moment too early", "a minute too early", "of yesterday"]
)
def test_an_absence_asked_while_the_request_may_be_on_its_way_does_not_count(world: World, seconds: float) -> None:
    operation_id = unknown(world)
    too_early = one(
        "SELECT absence_credible_at - make_interval(secs => %s) FROM operations_attempt WHERE operation_id = %s",
        [seconds, operation_id],
    )
    for _ in range(5):
        learn(operation_id, "absent", asked_at=too_early)
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


def test_the_exact_moment_from_which_an_absence_counts(world: World) -> None:
    operation_id = unknown(world)
    moment = one("SELECT absence_credible_at FROM operations_attempt WHERE operation_id = %s", [operation_id])
    learn(operation_id, "absent", asked_at=moment)
    learn(operation_id, "absent")
    move(operation_id, "not_started", "proved_absent")
    assert world.state(operation_id) == "not_started"


def test_absences_of_one_moment_are_one_absence(world: World) -> None:
    operation_id = unknown(world)
    moment = one("SELECT absence_credible_at FROM operations_attempt WHERE operation_id = %s", [operation_id])
    for _ in range(5):
        learn(operation_id, "absent", asked_at=moment)
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


def test_while_the_lease_runs_no_absence_counts_and_the_time_cannot_be_claimed_to_be_later(world: World) -> None:
    operation_id = unknown(world, credible=False)
    later = one("SELECT clock_timestamp() + interval '1 day'")
    for _ in range(5):
        learn(operation_id, "absent", asked_at=later)
    assert one("SELECT max(asked_at) <= clock_timestamp() FROM operations_evidence")
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


@pytest.mark.parametrize(
    "verdict", ["says_nothing", "unreadable", "did_not_happen", "refused", "not_sent", "withdrawn"]
)
def test_nothing_but_an_absence_proves_absence(world: World, verdict: str) -> None:
    operation_id = unknown(world)
    for _ in range(5):
        learn(operation_id, verdict)
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


@pytest.mark.parametrize("source", ["response", "late_response", "operator", "approver", "agent", "engine"])
def test_an_absence_that_was_not_looked_up_does_not_count(world: World, source: str) -> None:
    operation_id = unknown(world)
    for _ in range(5):
        learn(operation_id, "absent", source=source)
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


def test_an_absence_of_another_operation_does_not_count(world: World) -> None:
    operation_id, other = unknown(world), unknown(world)
    for _ in range(5):
        learn(other, "absent")
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


@pytest.mark.parametrize("attempt", [None, 0, 2])
def test_an_absence_about_another_attempt_does_not_count(world: World, attempt: int | None) -> None:
    operation_id = unknown(world)
    for _ in range(5):
        learn(operation_id, "absent", attempt=attempt)
    assert_refused("return_needs_absence", MOVE, [*BACK, operation_id])


@pytest.mark.parametrize("outcome", ["", "lost", "happened", "refused"])
def test_an_attempt_that_is_not_recorded_as_unsent_was_not_unsent(world: World, outcome: str) -> None:
    operation_id = claimed(world)
    if outcome:
        run("UPDATE operations_attempt SET outcome = %s", [outcome])
    assert_refused("return_needs_not_sent", MOVE, ["not_started", "not_sent", None, operation_id])


def test_an_attempt_that_is_recorded_as_unsent_leads_back(world: World) -> None:
    operation_id = claimed(world)
    run("UPDATE operations_attempt SET outcome = 'not_sent'")
    move(operation_id, "not_started", "not_sent")
    assert world.state(operation_id) == "not_started"
