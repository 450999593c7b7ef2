"""The list of operations and the page of one: what is found, what is shown, and the exact bytes."""

import hashlib
import re

import pytest

from operations import queries
from operations.models import Intent, Operation
from tests.support.simulator import Simulator
from tests.support.tenant import World
from tests.support.visitor import signed_in

pytestmark = pytest.mark.usefixtures("simulator")


def text_of(response: object) -> str:
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]


def test_every_way_of_searching_finds_the_operation_and_no_other(world: World) -> None:
    wanted = world.approved(world.wish(payload={"invoice": "inv_9182", "recipient_name": "Vendor 77 LLP"}))
    other = world.approved(world.wish(payload={"recipient_name": "Somebody Else", "amount_minor": 100}))
    world.drain()
    intent = Intent.objects.get(operation_id=wanted)
    client = signed_in(world.audrey)
    for search in (
        wanted,
        wanted.lower(),
        Operation.objects.get(pk=wanted).external_id,
        "vendor 77",
        "inv_9182",
        intent.payload_hash,
        intent.payload_hash.removeprefix("sha256:")[:12],
        intent.client_reference,
    ):
        page = text_of(client.get("/operations/", {"q": search}))
        assert f'href="/operations/{wanted}/"' in page, search
        assert f'href="/operations/{other}/"' not in page, search


def test_the_filter_shows_only_what_stands_there(world: World) -> None:
    done, waiting = world.approved(), world.prepare()
    world.drain()
    client = signed_in(world.audrey)
    page = text_of(client.get("/operations/?where=done"))
    assert done in page
    assert waiting not in page
    assert waiting in text_of(client.get("/operations/?where=no-such-place"))


def test_a_search_without_result_offers_to_clear_it(world: World) -> None:
    page = text_of(signed_in(world.audrey).get("/operations/?q=nobody"))
    assert "Nothing here fits." in page
    assert "Clear filters" in page


def test_long_lists_come_page_by_page_without_gap_or_repeat(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PAGE", 2)
    prepared = [world.prepare() for _ in range(5)]
    client, address, shown = signed_in(world.audrey), "/operations/", []
    while address:
        answer = client.get(address)
        shown += [row.line.operation_id for row in answer.context["rows"]]
        address = f"/operations/{answer.context['older']}" if answer.context["older"] else ""
    assert shown == prepared[::-1]


def test_the_page_tells_the_whole_story(world: World, simulator: Simulator) -> None:
    operation_id = world.approved(world.wish(rationale="Invoice checked."))
    world.drain()
    page = text_of(signed_in(world.audrey).get(f"/operations/{operation_id}/"))
    external_id = simulator.payments(operation_id)[0]["id"]
    for words in (
        "Done at provider",
        f"Sent once; provider reference {external_id}",
        "Nothing is to be done.",
        "The provider confirmed it",
        "HTTP 201",
        "It happened once, with the approved values.",
        'Approved</a> <span class="muted">by <bdi>Alice (approver)</bdi>',
        'id="event-1"',
        "Invoice checked.",
    ):
        assert words in page, words
    assert "Read and decide" not in page
    linked = set(re.findall(r'href="#(evidence-\d+)"', page))
    assert linked
    assert linked <= set(re.findall(r'id="(evidence-\d+)"', page))


def test_an_approver_gets_from_the_story_to_the_decision(world: World) -> None:
    operation_id = world.prepare()
    link = f'href="/decisions/{operation_id}/"'
    assert link in text_of(signed_in(world.alice).get(f"/operations/{operation_id}/"))
    assert link not in text_of(signed_in(world.audrey).get(f"/operations/{operation_id}/"))


def test_a_replaced_operation_names_what_came_in_its_place(world: World) -> None:
    old = world.prepare()
    new = world.prepare(world.wish(replaces=old))
    client = signed_in(world.audrey)
    assert f"Replaced by {new}" in text_of(client.get(f"/operations/{old}/"))
    assert f'href="/operations/{old}/"' in text_of(client.get(f"/operations/{new}/"))


def test_the_saved_bytes_are_the_stored_ones_and_give_the_fingerprint(world: World) -> None:
    operation_id = world.prepare(world.wish(payload={"recipient_name": "Ven\u200bdor"}))
    client = signed_in(world.audrey)
    saved = client.get(f"/operations/{operation_id}/intent.json")
    intent = Intent.objects.get()
    assert saved.content == bytes(intent.canonical)
    assert "sha256:" + hashlib.sha256(saved.content).hexdigest() == intent.payload_hash
    assert saved.headers["Content-Type"] == "application/json"
    assert saved.headers["Content-Disposition"] == f'attachment; filename="{operation_id}.json"'
    page = client.get(f"/operations/{operation_id}/raw").content.decode()
    assert "Ven⟦U+200B⟧dor" in page
    assert "\u200b" not in page
