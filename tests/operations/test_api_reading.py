"""Reading: one operation in few queries, pages by key, a long-poll that wakes up, and no person's name."""

import threading
import time
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from operations.api import waiting
from tests.operations.agent import AgentClient, assert_problem
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world


def queries_of(work: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert work().status_code == 200
    return len(captured)


def test_reading_takes_few_queries_however_much_there_is(agent: AgentClient) -> None:
    first = agent.prepared(client_reference="r0")
    assert queries_of(lambda: agent.read(first)) <= 8
    for_one = queries_of(agent.get)
    for number in range(1, 8):
        agent.prepared(client_reference=f"r{number}")
    assert queries_of(agent.get) == for_one <= 8


def test_the_list_is_paged_by_key_newest_first(agent: AgentClient) -> None:
    made = sorted((agent.prepared(client_reference=f"r{number}") for number in range(7)), reverse=True)
    seen: list[str] = []
    query: dict[str, str | int] = {"limit": 3}
    sizes = []
    while True:
        page = agent.get(**query).json()
        sizes.append(len(page["operations"]))
        seen += [operation["operation_id"] for operation in page["operations"]]
        if page["next_cursor"] is None:
            break
        agent.prepared(client_reference=f"later {len(seen)}")
        query["cursor"] = page["next_cursor"]
    assert (seen, sizes) == (made, [3, 3, 1])


def test_the_list_is_filtered_by_reference_and_state(agent: AgentClient) -> None:
    first, second = agent.prepared(client_reference="a 1"), agent.prepared(client_reference="b")
    agent.cancel(second)

    def found(**query: str | int) -> list[str]:
        return [operation["operation_id"] for operation in agent.get(**query).json()["operations"]]

    assert found(client_reference="a%201") == [first]
    assert found(client_reference="A") == []
    assert found(state="cancelled") == [second]
    assert found(state="not_started", client_reference="b") == []


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ({"limit": 0}, "invalid_parameter", "limit"),
        ({"limit": 101}, "invalid_parameter", "limit"),
        ({"limit": "all"}, "invalid_parameter", "limit"),
        ({"state": "done"}, "invalid_parameter", "state"),
        ({"cursor": "7"}, "invalid_parameter", "cursor"),
        ({"client_reference": "%00"}, "invalid_parameter", "client_reference"),
        ({"status": "unknown"}, "unexpected_parameter", "status"),
    ],
)
def test_a_filter_that_is_not_understood_is_refused(
    agent: AgentClient, query: dict[str, Any], code: str, field: str
) -> None:
    assert_problem(agent.get(**query), 422, code, field)


@pytest.mark.parametrize("wait", [-1, 26, "1.5", "long"])
def test_the_wait_has_bounds(agent: AgentClient, wait: Any) -> None:
    assert_problem(agent.read(agent.prepared(), wait=wait), 422, "invalid_parameter", "wait")


@pytest.mark.parametrize("name", ["op_1", "op_01ARZ3NDEKTSV4RRFFQ69G5FAV", "%00", "OP_01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_what_is_not_there_is_not_found(agent: AgentClient, name: str) -> None:
    assert_problem(agent.read(name), 404, "not_found")
    assert_problem(agent.read(name, wait=1), 404, "not_found")
    assert_problem(agent.resume(name), 404, "not_found")
    assert_problem(agent.cancel(name), 404, "not_found")


@pytest.mark.parametrize("change", ["decided", "cancelled"])
def test_a_long_poll_returns_when_something_changes(
    world: World, agent: AgentClient, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    operation_id = agent.prepared()
    polling, answers = threading.Event(), []

    def announced(seconds: float) -> None:
        polling.set()
        time.sleep(seconds)

    monkeypatch.setattr(waiting, "sleep", announced)

    def poll() -> None:
        answers.append(agent.read(operation_id, wait=25))
        connection.close()

    thread = threading.Thread(target=poll)
    began = time.monotonic()
    thread.start()
    assert polling.wait(10)
    if change == "decided":
        world.decide(operation_id)
    else:
        agent.cancel(operation_id)
    thread.join(10)
    body = answers[0].json()
    assert time.monotonic() - began < 20
    assert (body["approval"]["status"], body["execution_status"]) == (
        ("approved", "not_started") if change == "decided" else ("withdrawn", "cancelled")
    )


def test_a_long_poll_ends_with_its_time_and_holds_no_transaction(
    agent: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation_id = agent.prepared()
    open_transactions = []

    def watched(seconds: float) -> None:
        open_transactions.append(connection.in_atomic_block or connection.connection.info.transaction_status != 0)
        time.sleep(seconds)

    monkeypatch.setattr(waiting, "sleep", watched)
    began = time.monotonic()
    assert agent.read(operation_id, wait=1).status_code == 200
    assert time.monotonic() - began >= 1
    assert open_transactions and not any(open_transactions)


def test_what_is_final_is_answered_at_once(agent: AgentClient, monkeypatch: pytest.MonkeyPatch) -> None:
    operation_id = agent.prepared()
    agent.cancel(operation_id)
    monkeypatch.setattr(waiting, "sleep", lambda seconds: pytest.fail("it waited"))
    assert agent.read(operation_id, wait=25).json()["execution_status"] == "cancelled"


def test_an_agent_reads_why_it_was_rejected_and_not_by_whom(world: World, agent: AgentClient) -> None:
    operation_id = agent.prepared()
    world.decide(operation_id, verdict="reject", reason="Wrong vendor.")
    response = agent.read(operation_id)
    body = response.json()
    assert body["approval"]["status"] == "rejected"
    assert [(item["verdict"], item["reason"]) for item in body["approval"]["decisions"]] == [
        ("reject", "Wrong vendor.")
    ]
    assert (body["execution_status"], body["reason"]) == ("cancelled", "rejected")
    assert body["message"].startswith("Nothing has been sent: an approver rejected it")
    assert "Alice" not in response.content.decode()


def test_what_was_done_shows_its_reference_attempts_and_evidence(database: None, simulator: Simulator) -> None:
    world = make_world(quorum=2)
    agent = AgentClient(world.key)
    operation_id = agent.prepared()
    world.decide(operation_id)
    assert agent.read(operation_id).json()["approval"]["status"] == "open"
    world.decide(operation_id, world.ana)
    world.drain()
    response = agent.read(operation_id, wait=25)
    body = response.json()
    (payment,) = simulator.payments(operation_id)
    assert (body["execution_status"], body["external_id"]) == ("succeeded", payment["id"])
    assert body["result"]["id"] == payment["id"]
    assert [item["outcome"] for item in body["attempts"]] == ["happened"]
    assert body["attempts"][0]["http_status"] == 201 and body["attempts"][0]["claimed_at"].endswith("Z")
    assert body["evidence"][-1]["verdict"] == "happened"
    assert body["message"] == f"It happened, once, provider reference {payment['id']}; nothing more is to be done."
    assert [item["reason"] for item in body["approval"]["decisions"]] == [None, None]
    assert not any(name in response.content.decode() for name in ("Alice", "Ana"))
