"""Workers that can be killed, and time-outs short enough to wait for."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.operations.scenario import database_url, patch_limits
from tests.support.between import Between
from tests.support.simulator import Simulator
from tests.support.workers import Workers


@pytest.fixture(scope="session")
def forking_server(django_db_setup: None, django_db_blocker: Any) -> Iterator[Workers]:
    with django_db_blocker.unblock():
        url = database_url()
    environment = {"DATABASE_URL": url, "BANK_MAIN_TOKEN": "test-token", "LOG_LEVEL": "WARNING"}
    with Workers(environment) as workers:
        yield workers


@pytest.fixture
def workers(forking_server: Workers, database: None, simulator: Simulator) -> Iterator[Workers]:
    """Hire workers; whoever is left at the end is dismissed before the tables are emptied."""
    yield forking_server
    forking_server.dismiss()
    simulator.reset()


@pytest.fixture
def short(settings: Any) -> None:
    """A lease that runs out soon. It covers a whole call, as it must."""
    patch_limits(settings, read=1.6, total=1.7, margin=0.1, lease=2.6)


@pytest.fixture
def between(simulator: Simulator, settings: Any) -> Iterator[Between]:
    """The bank is reached through a relay, so that a test knows when an answer has arrived."""
    with Between(simulator.port) as relay:
        settings.PROVIDER_TARGETS = {**settings.PROVIDER_TARGETS, "bank-main": relay.url}
        yield relay
