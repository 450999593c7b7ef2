"""Card numbers, keys and tokens have no place in an intent; they are refused at the door, with the field's name."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

DIGITS: Final = re.compile(r"[0-9]+(?:[ \u00a0\u202f-][0-9]+)*")
SECRETS: Final = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a signed token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")),
    ("a secret key", re.compile(r"\b(?:sk|rk|whsec|xox[abprs]|gh[pousr]|ops)_?(?:live|test)?[_-][A-Za-z0-9_-]{16,}")),
)


def problem_in(value: object, path: str = "") -> tuple[str, str] | None:
    """The first field that must not be stored, and why, without repeating what stands in it."""
    for field, text in _texts(value, path):
        if not unicodedata.is_normalized("NFC", text):
            return field, "The text is not in Unicode form NFC, so it could look like another text."
        if any(_holds_card(found[0]) for found in DIGITS.finditer(text)):
            return field, "The text holds what looks like a card number."
        for name, pattern in SECRETS:
            if pattern.search(text):
                return field, f"The text holds what looks like {name}."
    return None


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else str(key)
            yield inner, str(key)
            yield from _texts(item, inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}.{index}")


def _holds_card(text: str) -> bool:
    """Whether some groups in a row make a card number; a number beside it must not hide it."""
    groups = re.findall("[0-9]+", text)
    return any(
        _is_card("".join(groups[start:end]))
        for start in range(len(groups))
        for end in range(start + 1, min(start + 20, len(groups) + 1))
    )


def _is_card(number: str) -> bool:
    """Length, first digit of an issuer and the Luhn sum; an invoice number passes all three only by rare chance."""
    if not 13 <= len(number) <= 19 or number[0] not in "23456":
        return False
    digits = [int(character) for character in number]
    doubled = [digit if index % 2 == 0 else sum(divmod(digit * 2, 10)) for index, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
