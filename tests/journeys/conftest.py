"""Journeys run in a real browser against real processes."""

from collections.abc import Iterator

import pytest
from django.db import connection
from playwright.sync_api import Browser

from tests.support.browser import browser
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.web import Site, let_sign_in


@pytest.fixture
def chrome(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """A browser. Its driver keeps an event loop running here, beside which the tests still read the database.

    Beside a running loop Django opens a connection of its own, which is closed before the loop is gone.
    """
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with browser() as launched:
        yield launched
        connection.close()


@pytest.fixture
def patient_world(database: None) -> World:
    """A tenant whose bank is asked again by itself only after an hour, so that a doubt stands still."""
    world = make_world(provider="patient")
    let_sign_in(world.alice, world.oscar)
    return world


@pytest.fixture
def site(patient_world: World, simulator: Simulator) -> Iterator[Site]:
    """The console at an address of its own."""
    with Site() as running:
        yield running
