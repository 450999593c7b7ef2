"""The guards need addresses to prepare with and never send anything."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def connected(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PROVIDER_TARGETS = {"bank-main": "http://127.0.0.1:1", "crm-main": "http://127.0.0.1:1"}
    monkeypatch.setenv("BANK_MAIN_TOKEN", "not-a-secret")
