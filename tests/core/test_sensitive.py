"""Card numbers, keys and tokens are refused with their field's name, and what only looks long is not."""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.core.sensitive import problem_in

# Issuers' published test numbers; none is a card.
CARDS = ["4111111111111111", "5555555555554444", "378282246310005", "6011111111111117", "2223003122003222"]
SPLITS = ["{0}", "{1} {2} {3} {4}", "{1}-{2}-{3}-{4}", "{1}\u00a0{2}\u00a0{3}\u00a0{4}"]


def split(card: str, form: str) -> str:
    return form.format(card, card[:4], card[4:8], card[8:12], card[12:])


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("form", SPLITS)
@pytest.mark.parametrize("around", ["{}", "card {}.", "for invoice 77 {}", "{} 12/29", "n{}n", "2026-10-01 {} 5"])
def test_a_card_number_is_found_however_it_is_split_and_whatever_stands_beside_it(
    card: str, form: str, around: str
) -> None:
    found = problem_in({"description": around.format(split(card, form))}, "payload")
    assert found == ("payload.description", "The text holds what looks like a card number.")


def luhn_free(length: int) -> str:
    """A number of that length that begins like a card and fails the sum."""
    chance = random.Random(length)
    while True:
        number = "4" + "".join(str(chance.randrange(10)) for _ in range(length - 1))
        if problem_in(number, "x") is None:
            return number


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",
        "1111111111111117",
        "411111111111",
        "41111111111111111111111",
        "KZ86125KZT5004100100",
        "2026-10-01T12:00:00Z",
        "INV-2026-000123",
        "+7 727 250 00 00",
        *(luhn_free(length) for length in range(13, 20)),
        "",
    ],
)
def test_what_is_no_card_number_passes(text: str) -> None:
    assert problem_in({"text": text}) is None


# Built from pieces, so that no scanner takes this file for a leak.
SECRETS = [
    ("a secret key", "sk" + "_live_" + "a1B2c3D4e5F6g7H8"),
    ("a secret key", "rk" + "_test_" + "a1B2c3D4e5F6g7H8"),
    ("a secret key", "whsec" + "_" + "a1B2c3D4e5F6g7H8"),
    ("a secret key", "ghp" + "_" + "a1B2c3D4e5F6g7H8"),
    ("a secret key", "xoxb" + "-" + "a1B2c3D4e5F6g7H8"),
    ("a secret key", "ops" + "_test_" + "00000001_kkkkkkkkkkkkk"),
    ("a signed token", "eyJ" + "hbGciOiJI" + ".eyJzdWIiOiIx" + ".c2lnbmF0dXJl"),
    ("a private key", "-----BEGIN " + "RSA PRIVATE KEY-----"),
    ("a private key", "-----BEGIN " + "PRIVATE KEY-----"),
]


@pytest.mark.parametrize(("name", "secret"), SECRETS)
def test_a_secret_is_found_and_not_repeated(name: str, secret: str) -> None:
    for document in ({"a": {"b": ["x", f"use {secret} please"]}}, {"a": {"b": {secret: 1}}}):
        found = problem_in(document, "payload")
        assert found is not None
        assert found[0].startswith("payload.a.b") and found[1] == f"The text holds what looks like {name}."


@pytest.mark.parametrize("text", ["ask_live_and_learn", "sk_live_", "desk-lamp for the new office room", "eyJ.a.b"])
def test_words_that_only_resemble_a_secret_pass(text: str) -> None:
    assert problem_in(text, "x") is None


def test_text_that_could_look_like_another_is_refused() -> None:
    composed = "caf\u00e9"
    assert problem_in({"name": composed}) is None
    found = problem_in({"name": unicodedata.normalize("NFD", composed)})
    assert found is not None and found[0] == "name" and "NFC" in found[1]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))  # fmt: skip
def test_no_value_makes_it_raise(value: object) -> None:
    problem_in(value, "payload")
