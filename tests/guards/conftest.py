"""The guards need addresses to prepare with and never send anything."""

from typing import Any

import pytest

from tests.guards.attack import run
from tests.support.tenant import World, make_world


@pytest.fixture(autouse=True)
def connected(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PROVIDER_TARGETS = {"bank-main": "http://127.0.0.1:1", "crm-main": "http://127.0.0.1:1"}
    monkeypatch.setenv("BANK_MAIN_TOKEN", "not-a-secret")


@pytest.fixture
def world(database: None) -> World:
    """As everywhere; commits are as real, they only do not wait for the disk, because nothing is killed here."""
    run("SET synchronous_commit = off")
    return make_world()
