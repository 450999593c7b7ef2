"""From the standard's minor units to the provider's integer: exact or refused (case P24)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.core.contract import Units
from operations.core.money import Inexpressible, provider_amount

ODD = Units(exponents={"UGX": 2, "ISK": 2, "JOD": 2, "XTS": 0}, multiples={"KWD": 10}, currencies=())


@pytest.mark.parametrize(
    ("minor", "currency", "exponent", "expected"),
    [
        (5800, "JPY", 0, 5800),
        (5, "UGX", 0, 500),
        (500, "ISK", 0, 50000),
        (199900, "HUF", 2, 199900),
        (1230, "KWD", 3, 1230),
        (1230, "JOD", 3, 123),
        (1999, "USD", 2, 1999),
        (7, "EUR", 2, 7),
        (700, "XTS", 2, 7),
    ],
)
def test_the_integer_is_exact(minor: int, currency: str, exponent: int, expected: int) -> None:
    assert provider_amount(minor, currency, exponent, ODD) == expected


@pytest.mark.parametrize(
    ("minor", "currency", "exponent", "why"),
    [
        (1234, "KWD", 3, "only in steps of 10"),
        (1234, "JOD", 3, "with 2 decimals"),
        (701, "XTS", 2, "with 0 decimals"),
    ],
)
def test_what_cannot_be_expressed_is_refused_and_never_rounded(
    minor: int, currency: str, exponent: int, why: str
) -> None:
    with pytest.raises(Inexpressible, match=why):
        provider_amount(minor, currency, exponent, ODD)


def test_a_provider_may_take_some_currencies_only() -> None:
    with pytest.raises(Inexpressible, match="does not take USD"):
        provider_amount(1, "USD", 2, Units(currencies=("EUR",)))
    assert provider_amount(1, "EUR", 2, Units(currencies=("EUR",))) == 1


@given(minor=st.integers(1, 10**15), exponent=st.integers(0, 4), sent=st.integers(0, 6))
def test_the_value_is_the_same_on_both_sides(minor: int, exponent: int, sent: int) -> None:
    try:
        amount = provider_amount(minor, "EUR", exponent, Units(exponents={"EUR": sent}))
    except Inexpressible:
        assert minor % 10 ** (exponent - sent) != 0
    else:
        assert amount * 10**exponent == minor * 10**sent
