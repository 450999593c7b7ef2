"""From the standard's minor units to the integer a provider wants. Whole numbers only, and never rounded.

Three tables exist: the standard's, a locale's and the provider's, and mixing them costs a factor of a hundred (case
P24). The intent holds the standard's exponent as it was at prepare; the contract holds where the provider differs.
"""

from operations.core.contract import Units


class Inexpressible(ValueError):
    """The provider cannot express this amount; the message says why."""


def provider_amount(amount_minor: int, currency: str, exponent: int, units: Units) -> int:
    """The integer that stands for this amount at the provider. Raises `Inexpressible` instead of rounding."""
    if units.currencies and currency not in units.currencies:
        raise Inexpressible(f"The provider does not take {currency}.")
    decimals = units.exponents.get(currency, exponent)
    factor = int(10 ** max(decimals - exponent, 0))
    divisor = int(10 ** max(exponent - decimals, 0))
    amount, rest = divmod(amount_minor * factor, divisor)
    if rest:
        raise Inexpressible(f"The provider takes {currency} with {decimals} decimals; this amount has more.")
    step = units.multiples.get(currency, 1)
    if amount % step:
        raise Inexpressible(f"The provider takes {currency} only in steps of {step} of its units.")
    return amount
