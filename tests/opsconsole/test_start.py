"""Start-up refuses what is unsafe, and says every reason at once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from operations.providers import registry
from opsconsole.checks import UnsafeStart, refuse_unsafe
from tests.support.tenant import make_world

SAFE: dict[str, Any] = {
    "MODE": "production",
    "SECRET_KEY": "k" * 40,
    "PUBLIC_URL": "https://console.example",
    "ALLOWED_HOSTS": ["console.example"],
    "PROVIDER_TARGETS": {"bank-main": "https://api.bank.example"},
}
UNSAFE: list[tuple[str, Any, str]] = [
    ("DEBUG", True, "DEBUG is on"),
    ("SECRET_KEY", "short", "SECRET_KEY is missing or short"),
    ("SECRET_KEY", "unset-and-refused-outside-of-checks-and-long-enough", "SECRET_KEY is missing or short"),
    ("PUBLIC_URL", "http://console.example", "PUBLIC_URL must begin with https://"),
    ("ALLOWED_HOSTS", [], "ALLOWED_HOSTS must name the hosts"),
    ("ALLOWED_HOSTS", ["*"], "ALLOWED_HOSTS must name the hosts"),
    ("PROVIDER_TARGETS", {"bank-main": "http://api.bank.example"}, "bank-main is not https"),
    ("LEASE_SECONDS", 45.0, "LEASE_SECONDS must be longer"),
]


@pytest.fixture
def production(database: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Settings as they should be; contracts are read anew."""
    for name, value in SAFE.items():
        monkeypatch.setattr(settings, name, value)
    registry.contracts.cache_clear()
    yield monkeypatch
    registry.contracts.cache_clear()


def test_what_is_safe_starts(production: pytest.MonkeyPatch) -> None:
    refuse_unsafe()


@pytest.mark.parametrize(("name", "value", "reason"), UNSAFE)
def test_an_unsafe_setting_is_refused(production: pytest.MonkeyPatch, name: str, value: Any, reason: str) -> None:
    production.setattr(settings, name, value)
    with pytest.raises(UnsafeStart, match=reason):
        refuse_unsafe()


def test_all_reasons_are_said_at_once(production: pytest.MonkeyPatch) -> None:
    production.setattr(settings, "SECRET_KEY", "short")
    production.setattr(settings, "ALLOWED_HOSTS", [])
    with pytest.raises(UnsafeStart, match=r"SECRET_KEY.*ALLOWED_HOSTS"):
        refuse_unsafe()


def test_a_contract_with_a_field_that_does_not_exist_is_refused(production: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shipped = registry.OWN / "simulated" / "payments_create.toml"
    text = shipped.read_text("utf-8").replace('provider = "simulated"', 'provider = "acme"\nidempotent = true')
    (tmp_path / "acme.toml").write_text(text, "utf-8")
    production.setattr(settings, "PROVIDER_CONTRACT_DIRS", [tmp_path])
    with pytest.raises(UnsafeStart, match=r"acme\.toml.*idempotent"):
        refuse_unsafe()


def test_a_guard_that_is_switched_off_is_refused(production: pytest.MonkeyPatch) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE operations_evidence DISABLE TRIGGER append_only")
        try:
            with pytest.raises(
                UnsafeStart, match=r"Guards are missing or switched off: operations_evidence\.append_only"
            ):
                refuse_unsafe()
        finally:
            cursor.execute("ALTER TABLE operations_evidence ENABLE TRIGGER append_only")


def test_the_simulated_provider_is_refused_in_production_only(production: pytest.MonkeyPatch) -> None:
    make_world()
    with pytest.raises(UnsafeStart, match="2 connections go to the simulated provider"):
        refuse_unsafe()
    production.setattr(settings, "MODE", "demo")
    refuse_unsafe()
