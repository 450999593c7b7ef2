"""Amounts as people read them. The number of decimals is ISO 4217's, never a locale's: Babel only groups the digits."""

from decimal import Decimal

from babel.numbers import format_decimal
from iso4217 import Currency

NARROW_SPACE = "\u202f"


def exponent(currency: str) -> int | None:
    """How many decimals the standard gives this currency; None where it gives none (XAU) or knows no such code."""
    try:
        return Currency(currency).exponent
    except ValueError:
        return None


def amount_in_words(amount_minor: int, currency: str, digits: int | None = None) -> str:
    """`KZT 12 500.00`: the code, then all minor digits, grouped by narrow spaces. An intent brings its own `digits`,
    as they were when it was prepared."""
    digits = exponent(currency) if digits is None else digits
    if digits is None:
        return f"{currency} {amount_minor} minor units"
    value = Decimal(amount_minor).scaleb(-digits)
    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    return f"{currency} {format_decimal(value, format=pattern, locale='en').replace(',', NARROW_SPACE)}"
