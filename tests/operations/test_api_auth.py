"""Who may ask: a key is checked on each request, sees its own agent's operations, and shows up nowhere."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from operations.models import Agent, AgentKey, Intent
from tests.operations.agent import OPERATIONS, AgentClient, agent_of, assert_problem
from tests.support.tenant import World, make_world

SECRET = "s" * 43


def another_key(world: World, agent: Agent, number: int, *, actions: list[str] | None = None) -> AgentClient:
    key = f"ops_live_other{number:03d}_{SECRET}"
    AgentKey.objects.create(
        tenant=world.tenant,
        agent=agent,
        prefix=key[:17],
        key_hash=AgentKey.hash_of(key),
        actions=["payments.create"] if actions is None else actions,
        expires_at=timezone.now() + timedelta(days=1),
    )
    return AgentClient(key)


@pytest.mark.parametrize(
    "change",
    [
        lambda key: "",
        lambda key: key[:-1],
        lambda key: key[:-1] + "x",
        lambda key: key + "x",
        lambda key: key[:17],
        lambda key: "ops_live_unknown0_" + SECRET,
        lambda key: key.upper(),
        lambda key: "\x00" * 61,
        lambda key: "é" * 61,
        lambda key: f"{key[:17]}_{AgentKey.hash_of(key)[:43]}",
    ],
    ids=["none", "short", "other end", "long", "prefix", "unknown", "upper", "NUL", "not ASCII", "stored hash"],
)
def test_a_key_that_is_not_exactly_right_is_refused(agent: AgentClient, change: Callable[[str], str]) -> None:
    wrong = AgentClient(change(agent.key))
    for response in (wrong.prepare(), wrong.get(), wrong.read("op_01ARZ3NDEKTSV4RRFFQ69G5FAV")):
        assert_problem(response, 401, "invalid_key")
        assert response["WWW-Authenticate"].startswith("Bearer")
    assert not Intent.objects.exists()


@pytest.mark.parametrize("scheme", ["Basic", "Token", ""])
def test_only_the_bearer_scheme_is_known(agent: AgentClient, scheme: str) -> None:
    response = Client().get(OPERATIONS, headers={"Authorization": f"{scheme} {agent.key}".strip()})
    assert_problem(response, 401, "invalid_key")


@pytest.mark.parametrize("field", ["revoked_at", "expires_at"])
def test_a_key_taken_back_between_two_calls_is_refused_at_once(agent: AgentClient, field: str) -> None:
    assert agent.prepare().status_code == 201
    AgentKey.objects.update(**{field: timezone.now() - timedelta(seconds=1)})
    assert_problem(agent.prepare(), 401, "invalid_key")
    assert_problem(agent.get(), 401, "invalid_key")


def test_a_key_prepares_only_its_own_actions(world: World, agent: AgentClient) -> None:
    narrow = another_key(world, world.agent, 1, actions=["crm.update_deal"])
    assert_problem(narrow.prepare(), 403, "action_not_allowed", "action")
    assert not Intent.objects.exists()


@pytest.mark.parametrize("where", ["another tenant", "another agent of the tenant"])
def test_what_belongs_to_somebody_else_does_not_exist(world: World, agent: AgentClient, where: str) -> None:
    mine = agent.prepared()
    if where == "another tenant":
        stranger = agent_of(make_world())
    else:
        stranger = another_key(world, Agent.objects.create(tenant=world.tenant, name="other", owner=world.otto), 2)
    for response in (stranger.read(mine), stranger.read(mine, wait=1), stranger.resume(mine), stranger.cancel(mine)):
        assert_problem(response, 404, "not_found")
    assert stranger.get().json() == {"operations": [], "next_cursor": None}
    assert stranger.prepare().status_code == 201, "references are each agent's own"
    assert_problem(stranger.prepare(client_reference="x", replaces=mine), 422, "unknown_operation", "replaces")
    assert agent.read(mine).json()["execution_status"] == "not_started"


def test_two_keys_of_one_agent_are_the_same_agent(world: World, agent: AgentClient) -> None:
    mine = agent.prepared()
    rotated = another_key(world, world.agent, 3)
    assert rotated.prepare().json()["operation_id"] == mine


def test_the_key_appears_in_no_answer_and_no_log(agent: AgentClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    operation_id = agent.prepared()
    answers = [agent.get(), agent.read(operation_id), agent.resume(operation_id), agent.prepare(action="x")]
    answers += [AgentClient(agent.key[:-1] + "x").get(), agent.get("/api/v1/nothing")]
    text = caplog.text + json.dumps([answer.content.decode() for answer in answers])
    assert agent.key[18:] not in text and agent.key[:17] not in text
