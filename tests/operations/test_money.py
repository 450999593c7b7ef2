"""Case P24: what a person reads, the integer that is sent and what was paid are one amount, in every currency."""

import pytest
from babel.numbers import get_currency_precision
from iso4217 import Currency

from operations.actions.money import amount_in_words, exponent
from operations.display import display_of
from operations.models import Intent
from operations.services.prepare import PrepareRefused
from tests.operations.agent import AgentClient, agent_of
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world

ALL = sorted(currency.code for currency in Currency)
WITH_MINOR_UNITS = [code for code in ALL if exponent(code) is not None]


def test_the_standard_has_178_currencies() -> None:
    assert len(ALL) == 178
    assert len(WITH_MINOR_UNITS) == 165


@pytest.mark.parametrize("code", WITH_MINOR_UNITS)
def test_every_minor_digit_is_printed(code: str) -> None:
    digits = exponent(code) or 0
    printed = amount_in_words(123456789, code)
    number = printed.removeprefix(f"{code} ")
    assert printed.startswith(f"{code} ")
    assert number.replace("\u202f", "").replace(".", "") == "123456789"
    assert len(number.partition(".")[2]) == digits


def test_the_locale_s_digits_are_not_the_standard_s() -> None:
    """The trap itself: a console that printed by the locale's table would be wrong for these."""
    differs = [code for code in WITH_MINOR_UNITS if get_currency_precision(code) != exponent(code)]
    assert {"HUF", "IDR", "IQD", "COP"} <= set(differs)
    assert len(differs) >= 10


PAID = [
    ("simulated", "JPY", 5800, 5800, "JPY 5\u202f800"),
    ("simulated", "UGX", 5, 5, "UGX 5"),
    ("simulated", "HUF", 199900, 199900, "HUF 1\u202f999.00"),
    ("simulated", "KWD", 1234, 1234, "KWD 1.234"),
    ("simulated", "USD", 1999, 1999, "USD 19.99"),
    ("simulated", "EUR", 7, 7, "EUR 0.07"),
    ("oddunits", "UGX", 5, 500, "UGX 5"),
    ("oddunits", "ISK", 500, 50000, "ISK 500"),
    ("oddunits", "KWD", 1230, 1230, "KWD 1.230"),
    ("oddunits", "BHD", 1230, 1230, "BHD 1.230"),
    ("oddunits", "CLP", 5800, 5800, "CLP 5\u202f800"),
]


@pytest.mark.parametrize(("provider", "currency", "minor", "sent", "read"), PAID)
def test_what_is_read_is_what_is_sent(
    database: None, simulator: Simulator, provider: str, currency: str, minor: int, sent: int, read: str
) -> None:
    world = make_world(provider=provider)
    operation_id = world.prepare(world.wish(payload={"currency": currency, "amount_minor": minor}))
    display = display_of(Intent.objects.get(pk=operation_id))
    assert read in "".join(part.text for part in display.sentence)
    assert next(fact.value for fact in display.facts if fact.label == "Amount sent to the provider") == str(sent)
    assert [fact.value for fact in display.facts if fact.field == "amount_minor"] == [str(minor)]
    world.decide(operation_id)
    world.drain()
    (payment,) = simulator.payments(operation_id)
    assert (payment["amount"], payment["currency"]) == (sent, currency)
    assert world.state(operation_id) == "succeeded"


@pytest.mark.parametrize(
    ("provider", "currency", "minor", "field"),
    [
        ("oddunits", "KWD", 1234, "payload.amount_minor"),
        ("oddunits", "MRU", 123, "payload.amount_minor"),
        ("oddunits", "UGX", 10**14, "payload.amount_minor"),
        ("simulated", "XYZ", 100, "payload.currency"),
        ("simulated", "XAU", 100, "payload.currency"),
        ("simulated", "usd", 100, "payload.currency"),
    ],
)
def test_what_the_provider_cannot_express_is_refused_at_prepare(
    database: None, simulator: Simulator, provider: str, currency: str, minor: int, field: str
) -> None:
    world = make_world(provider=provider)
    with pytest.raises(PrepareRefused) as refused:
        world.prepare(world.wish(payload={"currency": currency, "amount_minor": minor}))
    assert refused.value.field == field
    assert not Intent.objects.exists()


def test_the_refusal_reaches_the_agent_with_its_field(database: None, simulator: Simulator) -> None:
    world: World = make_world(provider="oddunits")
    agent: AgentClient = agent_of(world)
    answer = agent.prepare(payload={**world.wish().payload, "currency": "KWD", "amount_minor": 1234})
    assert answer.status_code == 422
    assert (answer.json()["code"], answer.json()["field"]) == ("amount_not_expressible", "payload.amount_minor")
