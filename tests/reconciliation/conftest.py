"""Short calls and leases, and contracts that promise something else for one test."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from operations.providers import registry
from tests.reconciliation.support import WAITING, look, lost
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world

type Promise = Callable[..., None]


@pytest.fixture(autouse=True)
def short_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call takes half a second at most and a lease one second, so that an absence counts soon."""
    for name, seconds in {
        "PROVIDER_CONNECT_SECONDS": 0.3,
        "PROVIDER_READ_SECONDS": 0.4,
        "PROVIDER_TOTAL_SECONDS": 0.5,
        "LEASE_SECONDS": 1.0,
        "LEASE_MARGIN_SECONDS": 0.2,
    }.items():
        monkeypatch.setattr(settings, name, seconds)


@pytest.fixture
def promise(monkeypatch: pytest.MonkeyPatch) -> Promise:
    """Let a provider's contract promise something else; `dedupe`, `absence` and `schedule` change field by field."""

    def change(provider: str = "prompt", action: str = "payments.create", **parts: dict[str, Any]) -> None:
        known = dict(registry.contracts())
        loaded = known[provider, action]
        changed = {name: replace(getattr(loaded.contract, name), **fields) for name, fields in parts.items()}
        known[provider, action] = replace(loaded, contract=replace(loaded.contract, **changed))
        monkeypatch.setattr(registry, "contracts", lambda: known)

    return change


@pytest.fixture
def prompt(database: None, simulator: Simulator) -> World:
    """A bank that is asked every second and has nothing on its way after a call is over."""
    return make_world(provider="prompt")


@pytest.fixture
def keyless(database: None, simulator: Simulator) -> World:
    """A bank that recognises no repeats."""
    return make_world(provider="keyless")


@pytest.fixture
def doubt(prompt: World, simulator: Simulator, promise: Promise) -> str:
    """In doubt, looked up just now without a clear answer; no case is open and the engine leaves it for an hour."""
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    look(prompt, operation_id)
    assert prompt.state(operation_id) == "unknown"
    return operation_id
