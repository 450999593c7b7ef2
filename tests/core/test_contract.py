"""What the engine may do alone, computed from the promises; and finding values in documents."""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any, get_args

import pytest

from operations.core.contract import (
    MISSING,
    Autonomy,
    Dedupe,
    autonomy,
    dig,
    key_safe_until,
    refusal_by_key,
    refusal_to_send_again,
)
from tests.core.samples import NOW, deals, payments, with_dedupe

CARRIERS = ["header", "body_field", "resource_id", "unique_property", "precondition", "one_time_link", "none"]
RETENTIONS: list[Any] = [1, 60, 86_400, "permanent", "unpublished"]


def test_the_list_of_carriers_is_complete() -> None:
    assert set(CARRIERS) == set(get_args(Dedupe.__annotations__["carrier"]))


@pytest.mark.parametrize("carrier", CARRIERS)
def test_without_look_up_and_without_recognised_repeats_nothing_goes_alone(carrier: str) -> None:
    contract = with_dedupe(carrier=carrier)
    assert autonomy(contract) is Autonomy.AUTOMATIC
    deaf = autonomy(replace(contract, look_ups=()))
    assert (deaf is Autonomy.MANUAL) == (carrier == "none")


@pytest.mark.parametrize(("carrier", "retention"), list(product(CARRIERS, RETENTIONS)))
def test_a_repeat_is_allowed_only_while_the_provider_surely_recognises_it(carrier: str, retention: Any) -> None:
    contract = with_dedupe(carrier=carrier, retention=retention)
    assert refusal_to_send_again(contract, None, NOW) == "", "nothing was sent, so nothing is repeated"
    safe_until = key_safe_until(contract, NOW)
    refused = refusal_to_send_again(contract, NOW, NOW)
    if carrier == "none" or retention == "unpublished":
        assert safe_until is None and refused.endswith(".")
    elif retention == "permanent":
        assert safe_until is None and not refused
        assert not refusal_to_send_again(contract, NOW, NOW + timedelta(days=4000))
    else:
        assert safe_until is not None and not refused
        assert NOW < safe_until < NOW + timedelta(seconds=retention)
        assert not refusal_to_send_again(contract, NOW, safe_until - timedelta(microseconds=1))
        assert refusal_to_send_again(contract, NOW, safe_until).endswith(".")


@pytest.mark.parametrize(("carrier", "retention"), list(product(CARRIERS, RETENTIONS)))
def test_a_person_may_take_on_what_is_not_promised_and_not_what_is_over(carrier: str, retention: Any) -> None:
    contract = with_dedupe(carrier=carrier, retention=retention)
    assert not refusal_by_key(contract, NOW, NOW)
    published = carrier != "none" and isinstance(retention, int)
    assert bool(refusal_by_key(contract, NOW, NOW + timedelta(days=4000))) == published


def test_a_tenth_of_the_keys_life_is_kept_as_a_margin() -> None:
    safe_until = key_safe_until(payments(), NOW)
    assert safe_until is not None
    assert abs(safe_until - NOW - timedelta(seconds=86_400 * 0.9)) < timedelta(milliseconds=1)
    assert key_safe_until(payments(), None) is None


def test_a_payment_makes_an_object_of_its_own_and_a_change_does_not() -> None:
    assert payments().creates_object and not deals().creates_object
    assert (payments().cited, deals().cited) == ("simulated.payments@1", "simulated.deals@1")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", 1),
        ("a", {"b": 1}),
        ("list.1", "y"),
        ("list.1.x", MISSING),
        ("list.2", MISSING),
        ("list.-1", MISSING),
        ("list.²", MISSING),
        ("list.x", MISSING),
        ("null", None),
        ("null.x", MISSING),
        ("a.c", MISSING),
        ("text.0", MISSING),
    ],
)
def test_a_path_finds_its_value_or_says_that_there_is_none(path: str, value: object) -> None:
    document = {"a": {"b": 1}, "list": ["x", "y"], "null": None, "text": "word"}
    assert dig(document, path) == value
    assert dig(document, "") is document


def test_not_there_is_told_from_a_null_that_is() -> None:
    assert dig({"a": None}, "a") is None and dig({}, "a") is MISSING
    assert repr(MISSING) == "MISSING"
