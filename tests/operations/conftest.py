"""An agent of a fresh tenant, whose connections point somewhere even where no provider is needed."""

import pytest
from django.conf import settings

from tests.operations.agent import AgentClient, agent_of
from tests.support.tenant import World


@pytest.fixture
def agent(world: World, monkeypatch: pytest.MonkeyPatch) -> AgentClient:
    """Intents name their target; without the simulator nothing answers there."""
    if not settings.PROVIDER_TARGETS:
        nowhere = "http://127.0.0.1:9"
        monkeypatch.setattr(settings, "PROVIDER_TARGETS", {"bank-main": nowhere, "crm-main": nowhere})
    return agent_of(world)
