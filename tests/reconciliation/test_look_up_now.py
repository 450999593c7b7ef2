"""The operator's button: when it asks, when it does not, and that it never fails."""

import pytest
from django.db import connection

from operations.services import execute
from opsconsole.engine.look_up_now import MayNotLookUp
from reconciliation.services.settle import MayNotSettle
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import (
    WAITING,
    WORKER,
    look,
    look_ups,
    lost,
    open_cases,
    operation,
    say,
    word,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world


def test_a_connection_that_is_not_set_up_is_a_failed_look_up(
    prompt: World, simulator: Simulator, promise: Promise, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise(**WAITING)
    operation_id = lost(prompt, simulator)
    monkeypatch.delenv("BANK_MAIN_TOKEN")
    assert look(prompt, operation_id).verdict == "unreadable"
    assert "BANK_MAIN_TOKEN is not there" in look_ups(operation_id)[0].words


def test_a_live_call_is_not_looked_up_and_a_dead_one_is_closed_first(
    prompt: World, simulator: Simulator, promise: Promise
) -> None:
    promise(**WAITING)
    operation_id = prompt.approved()
    claim = execute.claim(operation_id=operation_id, worker=WORKER)
    assert claim is not None
    with pytest.raises(MayNotLookUp, match="A worker is making the call"):
        look(prompt, operation_id)
    assert not simulator.requests(reference=operation_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1.05)")
    look(prompt, operation_id)
    assert prompt.state(operation_id) == "unknown"
    assert operation(operation_id).attempts.get().outcome == "lost"


def test_nothing_sent_is_nothing_to_ask_about(prompt: World) -> None:
    with pytest.raises(MayNotLookUp, match="Nothing was sent"):
        look(prompt, prompt.prepare())


def test_another_organisation_has_no_such_operation(prompt: World, doubt: str, database: None) -> None:
    other = make_world()
    with pytest.raises(MayNotLookUp, match="no such operation here"):
        look(other, doubt, other.oscar)
    with pytest.raises(MayNotSettle, match="no such operation here"):
        say(other, doubt, word())


def test_a_finished_operation_can_be_looked_up(prompt: World, simulator: Simulator) -> None:
    operation_id = prompt.approved()
    prompt.drain()
    assert look(prompt, operation_id).verdict == "happened"
    assert (prompt.state(operation_id), open_cases(operation_id)) == ("succeeded", [])
