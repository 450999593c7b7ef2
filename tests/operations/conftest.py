"""The API's tests: an agent of a fresh tenant, whose connections point somewhere even where no provider is needed."""

import pytest
from django.conf import settings

from tests.operations.agent import AgentClient, agent_of
from tests.support.tenant import World


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intents name their target; nothing answers there, so a test that would send needs the simulator."""
    nowhere = "http://127.0.0.1:9"
    monkeypatch.setattr(settings, "PROVIDER_TARGETS", {"bank-main": nowhere, "crm-main": nowhere})


@pytest.fixture
def agent(world: World) -> AgentClient:
    return agent_of(world)
