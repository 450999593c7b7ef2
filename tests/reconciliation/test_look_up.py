"""What a look-up proves, and what it does not: failures, absence in time and too early, several, other values."""

from typing import Any

import pytest

from operations.models import Evidence
from opsconsole.engine.resume import resume
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import (
    WORKER,
    asked,
    await_credible_absence,
    fail_look_ups,
    look_ups,
    lost,
    open_cases,
    operation,
    step,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World

# Case P06: nine answers that are no answer. Only the vendor's own documented shape says "not there".
NO_ANSWERS: tuple[dict[str, Any], ...] = (
    {"fault": "raw", "status": 401, "body": {"error": {"type": "authentication_error"}}},
    {"fault": "raw", "status": 403, "body": {"error": {"type": "authentication_error"}}},
    {"fault": "raw", "status": 429, "body": {"error": {"type": "rate_limit"}}, "headers": {"Retry-After": "2"}},
    {"fault": "raw", "status": 500, "body": {"error": {"type": "api_error"}}},
    {"fault": "raw", "status": 503, "body": "Service Unavailable"},
    {"fault": "delay_answer", "seconds": 1},
    {"fault": "raw", "status": 200, "body": "<html><body>Welcome</body></html>"},
    {"fault": "raw", "status": 200, "body": '{"object": "list", "data": [{"id": "pay'},
    {"fault": "raw", "status": 404, "body": "<html><body>No such page</body></html>"},
)


def test_a_failing_look_up_is_not_an_absent_object(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(schedule={"delays": (0,)})
    operation_id = lost(prompt, simulator, acting="after")
    for number, order in enumerate(NO_ANSWERS, start=1):
        simulator.fault(order["fault"], method="GET", **{k: v for k, v in order.items() if k != "fault"})
        step(operation_id)
        assert (prompt.state(operation_id), len(look_ups(operation_id))) == ("unknown", number), order
        assert look_ups(operation_id)[-1].verdict == "unreadable", order
        if order.get("status") == 429:
            resume(operation_id, worker=WORKER)
            assert asked(simulator, operation_id) == number, "asked again before Retry-After was over"
            next_step_at, answered_at = operation(operation_id).next_step_at, look_ups(operation_id)[-1].recorded_at
            assert next_step_at is not None and (next_step_at - answered_at).total_seconds() > 1.9
    step(operation_id)
    assert prompt.state(operation_id) == "succeeded"
    assert len(look_ups(operation_id)) == 10
    assert len(simulator.posts(reference=operation_id)) == 1
    assert not open_cases(operation_id)


def test_failed_look_ups_use_up_no_budget(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(schedule={"delays": (0,), "budget": 2})
    operation_id = lost(prompt, simulator)
    fail_look_ups(simulator, times=4)
    for _ in range(4):
        step(operation_id)
    assert not open_cases(operation_id)


def test_twice_absent_is_sent_once_more_as_the_same_request(prompt: World, simulator: Simulator) -> None:
    operation_id = lost(prompt, simulator)
    await_credible_absence(operation_id)
    step(operation_id)
    assert prompt.state(operation_id) == "unknown", "one absence is not enough"
    step(operation_id)
    assert prompt.state(operation_id) == "not_started"
    assert [row.verdict for row in look_ups(operation_id)] == ["absent", "absent"]
    step(operation_id)
    assert prompt.state(operation_id) == "succeeded"
    first, second = simulator.posts(reference=operation_id)
    assert first["body_sha256"] == second["body_sha256"] and first["key"] == second["key"] == operation_id
    attempts = list(operation(operation_id).attempts.order_by("number").values_list("permit_id", "request_digest"))
    assert len(attempts) == 2 and attempts[0] == attempts[1], "the same approval and the same bytes"
    assert len(simulator.payments(operation_id)) == 1


def test_without_recognised_repeats_absence_asks_a_person(
    keyless: World, simulator: Simulator, promise: Promise
) -> None:
    promise("keyless", absence={"processing_delay": 0}, schedule={"delays": (0, 1)})
    operation_id = lost(keyless, simulator)
    await_credible_absence(operation_id)
    for _ in range(3):
        step(operation_id)
    assert keyless.state(operation_id) == "unknown"
    assert open_cases(operation_id) == ["resend"]
    keyless.drain()
    assert len(simulator.posts(reference=operation_id)) == 1


def test_an_absence_too_early_says_nothing(keyless: World, simulator: Simulator) -> None:
    """The request may still be on its way for the provider's four seconds after the lease."""
    operation_id = lost(keyless, simulator)
    step(operation_id)
    (row,) = look_ups(operation_id)
    assert (row.verdict, row.reason) == ("says_nothing", "absence_not_credible")
    assert keyless.state(operation_id) == "unknown"


def test_several_are_disputed_with_both_shown(prompt: World, simulator: Simulator) -> None:
    operation_id = lost(prompt, simulator, acting="after")
    (paid,) = simulator.payments(operation_id)
    again = simulator.plant_payment(
        reference=operation_id, amount=1250000, currency="KZT", recipient="vendor_77", status="succeeded"
    )
    step(operation_id)
    prompt.drain()
    assert prompt.state(operation_id) == "disputed"
    (row,) = look_ups(operation_id)
    assert {entry["id"] for entry in row.result} == {paid["id"], again["id"]}
    assert open_cases(operation_id) == ["disputed"]
    assert len(simulator.posts(reference=operation_id)) == 1


def test_one_minor_unit_less_is_disputed(prompt: World, simulator: Simulator) -> None:
    operation_id = lost(prompt, simulator)
    simulator.plant_payment(
        reference=operation_id, amount=1249999, currency="KZT", recipient="vendor_77", status="succeeded"
    )
    step(operation_id)
    prompt.drain()
    assert prompt.state(operation_id) == "disputed"
    (row,) = look_ups(operation_id)
    assert row.verdict == "different" and row.result[0]["amount"] == 1249999
    assert operation(operation_id).external_id == ""
    assert len(simulator.posts(reference=operation_id)) == 1


@pytest.mark.parametrize("used_up", [{"budget": 1}, {"deadline": 0}], ids=["budget", "deadline"])
def test_used_up_opens_one_case_and_keeps_looking(
    used_up: dict[str, int], prompt: World, simulator: Simulator, promise: Promise
) -> None:
    promise(schedule={"delays": (0,), **used_up}, absence={"trusted": False})
    operation_id = lost(prompt, simulator)
    for _ in range(13):
        step(operation_id)
    assert open_cases(operation_id) == ["unknown"]
    assert prompt.state(operation_id) == "unknown", "time alone proves nothing"
    assert len(look_ups(operation_id)) >= 10, "it keeps looking while a person is asked"
    assert operation(operation_id).cases.count() == 1
    assert len(simulator.posts(reference=operation_id)) == 1


def test_found_later_closes_the_case(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(schedule={"delays": (0,), "budget": 1})
    operation_id = lost(prompt, simulator)
    step(operation_id)
    step(operation_id)
    assert open_cases(operation_id) == ["unknown"]
    simulator.plant_payment(
        reference=operation_id, amount=1250000, currency="KZT", recipient="vendor_77", status="succeeded"
    )
    step(operation_id)
    assert prompt.state(operation_id) == "succeeded"
    assert not open_cases(operation_id)


def test_fifty_look_ups_only_read(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(schedule={"delays": (0,), "budget": 100}, absence={"trusted": False})
    operation_id = lost(prompt, simulator)
    since = simulator.requests(reference=operation_id)[-1]["n"]
    for _ in range(50):
        step(operation_id)
    methods = [row["method"] for row in simulator.requests(since=since)]
    assert methods == ["GET"] * 50
    assert Evidence.objects.filter(operation_id=operation_id, source="look_up").count() == 50
