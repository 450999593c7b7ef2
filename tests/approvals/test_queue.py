"""The queue: who sees what in which part of it, in which order, and what an empty one says."""

import pytest

from approvals import queries
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.visitor import answer, signed_in

pytestmark = pytest.mark.usefixtures("simulator")


def text_of(response: object) -> str:
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]


def test_one_sees_what_one_may_decide_and_the_rest_with_the_others(world: World) -> None:
    operation_id = world.prepare()
    link = f'href="/decisions/{operation_id}/"'
    assert link in text_of(signed_in(world.alice).get("/decisions/"))
    for other in (world.otto, world.oscar):
        client = signed_in(other)
        assert link not in text_of(client.get("/decisions/"))
        assert link in text_of(client.get("/decisions/?view=others"))


def test_an_answered_row_leaves_at_once_and_stays_in_sight(database: None) -> None:
    world = make_world(quorum=2)
    operation_id = world.prepare()
    client = signed_in(world.alice)
    answer(client, operation_id, "approve")
    page = text_of(client.get("/decisions/"))
    assert f'href="/decisions/{operation_id}/"' not in page
    assert "Decided just now" in page
    assert f'href="/operations/{operation_id}/"' in page
    assert "1 of 2" in text_of(client.get("/decisions/?view=others"))


def test_soon_means_within_the_hour(database: None, simulator: Simulator) -> None:
    late, soon = make_world(approval_seconds=7200), make_world(approval_seconds=600)
    assert late.prepare() not in text_of(signed_in(late.alice).get("/decisions/?view=soon"))
    assert soon.prepare() in text_of(signed_in(soon.alice).get("/decisions/?view=soon"))


@pytest.mark.parametrize("view", ["mine", "decided"])
def test_long_lists_come_page_by_page_without_gap_or_repeat(
    world: World, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    prepared = [world.prepare() for _ in range(5)]
    if view == "decided":
        for operation_id in prepared:
            world.decide(operation_id)
    client, address, shown = signed_in(world.alice), f"?view={view}", []
    while address:
        page = client.get(f"/decisions/{address}")
        shown += [row.line.operation_id for row in page.context["rows"]]
        address = page.context["next"]
    assert shown == (prepared if view == "mine" else prepared[::-1])


def test_a_bent_address_shows_the_beginning(world: World) -> None:
    operation_id = world.prepare()
    client = signed_in(world.alice)
    for query in ("view=nonsense", "after=nonsense", "after=2026-01-01T00:00:00~1", "view=decided&after=~"):
        assert client.get(f"/decisions/?{query}").status_code == 200
    assert operation_id in text_of(client.get("/decisions/?after=nonsense"))


def test_an_empty_queue_says_why_and_what_next(world: World) -> None:
    alice = signed_in(world.alice)
    assert "As soon as an agent prepares something that you may decide, it stands here." in text_of(
        alice.get("/decisions/")
    )
    assert "you are not an approver here" in text_of(signed_in(world.oscar).get("/decisions/"))
    for view, words in (
        ("others", "Nothing waits for others."),
        ("soon", "Nothing runs out within the next hour."),
        ("decided", "Nobody has decided anything here yet."),
    ):
        assert words in text_of(alice.get(f"/decisions/?view={view}"))
    world.prepare()
    assert "1 waits for others." in text_of(signed_in(world.otto).get("/decisions/"))
