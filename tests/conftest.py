"""Shared set-up. Tests commit for real: a proof about crashes and races cannot hide in a rolled-back transaction."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import setup_databases, teardown_databases

from operations.providers import http
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Connections of one test process are kept for the whole run."""


@pytest.fixture(scope="session", autouse=True)
def _static_root(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The static files' server wants its folder to exist; what it serves here comes from the sources."""
    settings.STATIC_ROOT = tmp_path_factory.mktemp("static")


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: Any) -> Iterator[None]:
    """The test database, whatever marks the collected tests carry; ours carry none, as they manage it themselves."""
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False)
    yield
    with django_db_blocker.unblock():
        teardown_databases(made, verbosity=0)


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The real database with real commits; emptied before the test, with the guards off only for that."""
    with django_db_blocker.unblock():
        empty_tables()
        yield
        connection.close()
        http.close()


def empty_tables() -> None:
    """Delete every row but the migrations'. Owners may switch their own triggers off; the product never does.

    DELETE and not TRUNCATE: new files for thirty tables take longer than most tests.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        tables = [t for t in connection.introspection.table_names(cursor) if t != "django_migrations"]
        guarded = [t for t in tables if t.partition("_")[0] in ("operations", "approvals", "reconciliation")]
        for table in guarded:
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
        for table in tables:
            cursor.execute(f'DELETE FROM "{table}"')
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in guarded:
            cursor.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')


@pytest.fixture
def world(database: None) -> World:
    return make_world()


@pytest.fixture(scope="session")
def shared_simulator() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(shared_simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """The provider: its own process, with its own log and ledger, connected as bank-main and crm-main."""
    shared_simulator.reset()
    targets = {"bank-main": shared_simulator.url, "crm-main": shared_simulator.url}
    monkeypatch.setattr(settings, "PROVIDER_TARGETS", targets)
    monkeypatch.setenv("BANK_MAIN_TOKEN", "test-token")
    return shared_simulator
