"""Checks of single values, shared by the fault catalogue, the settings and the API."""

import base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from operations.providers.simulated.messages import BadField

# A check returns what it expected when the value is wrong, and None when the value will do.
Check = Callable[[Any], str | None]

LOOPBACK = ("127.0.0.1", "localhost")


def seconds(value: Any) -> str | None:
    """A number of seconds, zero or more, at most a year."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 31_536_000
    return None if good else "a number of seconds from 0 to 31536000"


def whole(least: int, most: int = 1_000_000_000) -> Check:
    """A whole number within bounds."""

    def check(value: Any) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return None if good else f"a whole number from {least} to {most}"

    return check


def one_of(*values: str) -> Check:
    """One of a few words."""
    return lambda value: None if value in values else "one of " + ", ".join(values)


def text(value: Any) -> str | None:
    """A string that is not empty."""
    return None if isinstance(value, str) and value else "a string that is not empty"


def any_text(value: Any) -> str | None:
    """A string, possibly empty."""
    return None if isinstance(value, str) else "a string"


def flag(value: Any) -> str | None:
    """True or false."""
    return None if isinstance(value, bool) else "true or false"


def anything(value: Any) -> str | None:
    """Any JSON value."""
    return None


def header_map(value: Any) -> str | None:
    """Header names and values as strings without line breaks."""
    expected = "an object of strings without line breaks"
    if not isinstance(value, dict):
        return expected
    parts = [part for pair in value.items() for part in pair]
    return None if all(isinstance(part, str) and not set(part) & set("\r\n") for part in parts) else expected


def loopback_url(value: Any) -> str | None:
    """Empty, or an http address on this machine."""
    if value == "":
        return None
    try:
        parts = urlsplit(value)
        good = parts.scheme == "http" and parts.hostname in LOOPBACK and parts.port is not None
    except (ValueError, AttributeError, TypeError):
        good = False
    return None if good else "empty, or an http address on 127.0.0.1 with a port"


def webhook_secret(value: Any) -> str | None:
    """Empty, ``whsec_`` and base64, or any other text."""
    try:
        if value.startswith("whsec_"):
            base64.b64decode(value.removeprefix("whsec_"), validate=True)
    except (AttributeError, ValueError):
        return "a string: empty, whsec_ and base64, or plain text"
    return None


def optional(check: Check) -> Check:
    """The same, or null."""
    return lambda value: None if value is None else check(value)


def demand(checks: Mapping[str, Check], values: Mapping[str, Any]) -> None:
    """Raise BadField for the first unknown name or wrong value."""
    for name, value in values.items():
        if name not in checks:
            raise BadField(name, f"Unknown field {name}; known: {', '.join(sorted(checks))}.")
        expected = checks[name](value)
        if expected:
            raise BadField(name, f"{name} must be {expected}.")
