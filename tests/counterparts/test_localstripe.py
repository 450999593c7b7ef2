"""The journey against a payment server that nobody here wrote: form-encoded, without idempotency, its own ledger."""

from collections.abc import Iterator
from typing import Any

import pytest

from operations.models import Evidence, Operation
from tests.crash.jobs import until_quiet
from tests.operations.scenario import cases, database_url, moves, outcomes, patch_limits
from tests.support.between import Between
from tests.support.localstripe import KEY, Localstripe
from tests.support.tenant import World, make_world
from tests.support.waiting import wait_past
from tests.support.workers import Workers

DECLINED = "4000000000000341"  # can be kept, and is declined when it is charged


@pytest.fixture(scope="module")
def localstripe() -> Iterator[Localstripe]:
    with Localstripe() as running:
        yield running


@pytest.fixture
def between(localstripe: Localstripe, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Between]:
    """The way to localstripe, on which an answer can be lost."""
    patch_limits(settings, read=1.2, total=1.3, margin=0.1, lease=2.0)
    monkeypatch.setenv("BANK_MAIN_TOKEN", KEY)
    with Between(localstripe.port) as relay:
        settings.PROVIDER_TARGETS = {"bank-main": relay.url}
        yield relay


@pytest.fixture
def charged(database: None, between: Between) -> World:
    return make_world(provider="localstripe")


def approved_charge(world: World, customer: str) -> str:
    """EUR 19.99 from this customer, prepared and approved."""
    return world.approved(world.wish(payload={"recipient": customer, "currency": "EUR", "amount_minor": 1999}))


def writes(localstripe: Localstripe, operation_id: str) -> list[dict[str, Any]]:
    """What localstripe logged of this operation's writes."""
    return [row for row in localstripe.requests(operation_id) if row["method"] == "POST"]


def test_a_blind_repeat_charges_twice(localstripe: Localstripe) -> None:
    """The control: the same bytes under the same key. This is why it is a good witness."""
    customer = localstripe.customer()
    form = {"amount": "1999", "currency": "EUR", "customer": customer}
    for _ in range(2):
        localstripe.send("POST", "/v1/charges", form, key="op_the_same")
    assert len(localstripe.charges(customer)) == 2


def test_charged_once(localstripe: Localstripe, charged: World) -> None:
    customer = localstripe.customer()
    operation_id = approved_charge(charged, customer)
    charged.drain()
    [charge] = localstripe.charges(customer)
    assert (charge["amount"], charge["currency"], charge["metadata"]) == (1999, "EUR", {"operation_id": operation_id})
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.external_id) == ("succeeded", charge["id"])
    assert len(writes(localstripe, operation_id)) == 1


def test_the_answer_is_lost(localstripe: Localstripe, charged: World, between: Between) -> None:
    """It was charged and nobody heard. Found in the customer's list, among charges that others made."""
    customer = localstripe.customer()
    others = {"amount": "1999", "currency": "EUR", "customer": customer}
    localstripe.send("POST", "/v1/charges", others)
    localstripe.send("POST", "/v1/charges", {**others, "metadata[operation_id]": "op_another"})
    operation_id = approved_charge(charged, customer)
    between.lose_answer()
    charged.drain()
    assert charged.state(operation_id) == "succeeded"
    assert outcomes(operation_id) == ["lost"]
    assert len(writes(localstripe, operation_id)) == 1
    assert len(localstripe.charges(customer)) == 3


def test_the_worker_is_killed(localstripe: Localstripe, charged: World, between: Between) -> None:
    """Killed after localstripe had charged: another worker looks it up, and there is one charge."""
    customer = localstripe.customer()
    operation_id = approved_charge(charged, customer)
    between.lose_answer()
    with Workers({"DATABASE_URL": database_url(), "BANK_MAIN_TOKEN": KEY, "LOG_LEVEL": "WARNING"}) as workers:
        worker = workers.hire("carry_on", gate="before_record", operation_id=operation_id)
        worker.wait_for("before_record")
        worker.kill()
        assert outcomes(operation_id) == [""]
        wait_past(Operation.objects.get(pk=operation_id).lease_until)  # type: ignore[arg-type]
        workers.hire("until_quiet", seconds=15).result()
    assert moves(operation_id) == [
        "not_started claimed in_progress",
        "in_progress lost unknown",
        "unknown found succeeded",
    ]
    [charge] = localstripe.charges(customer)
    assert Operation.objects.get(pk=operation_id).external_id == charge["id"]
    assert len(writes(localstripe, operation_id)) == 1


def test_never_arrived_and_never_repeated_alone(localstripe: Localstripe, charged: World, between: Between) -> None:
    """Killed before it called. It is proved absent, and as no key protects, a person is asked: nothing is sent."""
    customer = localstripe.customer()
    operation_id = approved_charge(charged, customer)
    with Workers({"DATABASE_URL": database_url(), "BANK_MAIN_TOKEN": KEY, "LOG_LEVEL": "WARNING"}) as workers:
        worker = workers.hire("carry_on", gate="before_call", operation_id=operation_id)
        worker.wait_for("before_call")
        worker.kill()
    until_quiet(seconds=15)
    assert (charged.state(operation_id), cases(operation_id)) == ("unknown", ["resend"])
    assert Evidence.objects.filter(operation_id=operation_id, verdict="absent").count() >= 2
    assert (writes(localstripe, operation_id), localstripe.charges(customer)) == ([], [])


def test_a_declined_card_is_a_definite_no(localstripe: Localstripe, charged: World) -> None:
    customer = localstripe.customer(DECLINED)
    operation_id = approved_charge(charged, customer)
    charged.drain()
    assert (charged.state(operation_id), outcomes(operation_id)) == ("failed", ["refused"])
    assert len(writes(localstripe, operation_id)) == 1
