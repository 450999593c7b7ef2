"""Intents whose bytes and hash are fixed for ever: what was approved yesterday must still be provable in ten years."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from operations.core.intent import canonical, parse_strict, sha256_of

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FIXED = {
    "deal": "sha256:13dbde706375919580d03f34e8e82002b64281b5264defa00ac860213691f3b2",
    "payment": "sha256:24a1c05d1b134e9d38658e6daec9ceb1be5b8d3a0378b76dcedeee56906255bd",
}


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def test_every_golden_intent_has_its_hash_written_down_here_too() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(FIXED)


@pytest.mark.parametrize("name", FIXED)
def test_the_bytes_and_the_hash_of_a_golden_intent_never_change(name: str) -> None:
    stored = golden(name)
    raw = stored["canonical"].encode()
    assert canonical(stored["document"]) == raw
    assert sha256_of(raw) == stored["payload_hash"] == FIXED[name]
    assert "sha256:" + hashlib.sha256(raw).hexdigest() == FIXED[name]


@pytest.mark.parametrize("name", FIXED)
def test_a_golden_intent_reads_back_as_itself(name: str) -> None:
    stored = golden(name)
    assert parse_strict(stored["canonical"].encode()) == stored["document"]
