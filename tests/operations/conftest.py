"""An agent of a fresh tenant, whose connections point somewhere even where no provider is needed."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as product_settings
from django.db import connection

from operations.providers import http
from tests.conftest import empty_tables
from tests.operations.agent import AgentClient, agent_of
from tests.operations.scenario import patch_limits
from tests.operations.tampering import HASH_RULE
from tests.support.tenant import World


@pytest.fixture
def agent(world: World, monkeypatch: pytest.MonkeyPatch) -> AgentClient:
    """Intents name their target; without the simulator nothing answers there."""
    if not product_settings.PROVIDER_TARGETS:
        nowhere = "http://127.0.0.1:9"
        monkeypatch.setattr(product_settings, "PROVIDER_TARGETS", {"bank-main": nowhere, "crm-main": nowhere})
    return agent_of(world)


@pytest.fixture
def cold() -> Iterator[None]:
    """Each test begins and ends without a warm connection."""
    yield
    http.close()


@pytest.fixture
def tamperer(database: None, settings: Any) -> Iterator[None]:
    """The tamperer owns the tables. The rule is put back on empty tables, as it was."""
    patch_limits(settings)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [HASH_RULE])
        row = cursor.fetchone()
        assert row is not None
        cursor.execute(f"ALTER TABLE operations_intent DROP CONSTRAINT {HASH_RULE}")
    yield
    empty_tables()
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE operations_intent ADD CONSTRAINT {HASH_RULE} {row[0]}")
