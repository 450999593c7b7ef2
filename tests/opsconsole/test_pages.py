"""Who gets in, whose data they see, what the header says, and that reading changes nothing."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest import MonkeyPatch

from approvals.models import ApprovalRound, Decision
from operations.core.states import State
from operations.models import JournalEntry, Membership, Operation, Role, User
from operations.providers import registry
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.visitor import signed_in

MOST_QUERIES = 12
LINK = re.compile(r'\s(?:href|action)="([^"#]+)')


def text_of(response: object) -> str:
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "address", ["/", "/decisions/", "/operations/", "/investigations/", "/tenant/", "/no-such-page"]
)
def test_nothing_is_shown_to_whoever_is_not_signed_in(database: None, address: str) -> None:
    answer = Client().get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/accounts/login/?next={address}")


@pytest.mark.parametrize("name", ["signup", "email", "password/reset", "password/set", "confirm-email"])
def test_the_sign_in_pages_that_are_not_needed_do_not_exist(database: None, name: str) -> None:
    assert Client().get(f"/accounts/{name}/").status_code == 404


def test_signing_in_and_out(world: World) -> None:
    world.alice.set_password("a-long-password-for-tests")
    world.alice.save()
    client = Client()
    assert client.get("/accounts/login/").status_code == 200
    entered = client.post(
        "/accounts/login/", {"login": world.alice.email, "password": "a-long-password-for-tests"}, follow=True
    )
    assert entered.redirect_chain[-1][0] == "/decisions/"
    assert client.get("/accounts/password/change/").status_code == 200
    assert client.get("/accounts/logout/").status_code == 200
    client.post("/accounts/logout/")
    assert client.get("/decisions/").status_code == 302


@pytest.mark.parametrize(
    ("who", "page"),
    [("alice", "/decisions/"), ("oscar", "/investigations/"), ("audrey", "/operations/"), ("admin", "/operations/")],
)
def test_the_start_page_is_where_ones_work_is(world: World, who: str, page: str) -> None:
    assert signed_in(getattr(world, who)).get("/").headers["Location"] == page


def test_whoever_belongs_nowhere_reads_so(database: None) -> None:
    stranger = User.objects.create(email="s@example.org", name="Sam", password="!unusable")
    answer = signed_in(stranger).get("/operations/")
    assert answer.status_code == 403
    assert "You belong to no organisation here" in text_of(answer)


def test_a_deactivated_person_is_out_at_once(world: World) -> None:
    client = signed_in(world.alice)
    assert client.get("/decisions/").status_code == 200
    User.objects.filter(pk=world.alice.pk).update(is_active=False)
    assert client.get("/decisions/").status_code == 302


def test_switching_between_two_organisations(world: World, simulator: Simulator) -> None:
    other, stranger = make_world(), make_world()
    Membership.objects.create(tenant=other.tenant, user=world.alice, role=Role.AUDITOR)
    here, there = world.prepare(), other.prepare()
    client = signed_in(world.alice)
    assert here in text_of(client.get("/operations/"))
    assert client.post("/tenant/", {"tenant": str(stranger.tenant.pk)}).status_code == 404
    assert client.get("/tenant/").status_code == 200
    client.post("/tenant/", {"tenant": str(other.tenant.pk)})
    page = text_of(client.get("/operations/"))
    assert there in page
    assert here not in page
    assert "Auditor" in page


def test_the_header_says_who_is_here_and_how_much_waits(world: World, simulator: Simulator) -> None:
    world.prepare()
    page = text_of(signed_in(world.alice).get("/decisions/"))
    name = '<a href="/accounts/password/change/" title="Change your password"><bdi>Alice</bdi></a>'
    assert f"<bdi>{world.tenant.name}</bdi> · {name} · Approver" in page
    assert "UTC+00:00" in page
    assert 'Needs your decision <span class="count">1</span>' in page
    assert "Demo: provider is simulated" not in page


def test_alive_and_ready(database: None, monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    client = Client()
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(settings, "PROVIDER_CONTRACT_DIRS", [tmp_path / "missing"])
    registry.contracts.cache_clear()
    try:
        broken = client.get("/readyz")
    finally:
        monkeypatch.undo()
        registry.contracts.cache_clear()
    assert broken.status_code == 503
    assert "contract" in broken.content.decode()


def test_not_ready_while_a_migration_is_missing(database: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET name = name || '_' WHERE app = 'approvals'")
    try:
        answer = Client().get("/readyz")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE django_migrations SET name = rtrim(name, '_') WHERE app = 'approvals'")
    assert (answer.status_code, answer.content) == (503, b"The database has migrations that are not applied.\n")


def test_reading_every_page_changes_nothing(world: World, simulator: Simulator) -> None:
    operation_ids = _one_of_each(world)
    before = _everything(simulator)
    client = signed_in(world.alice)
    seen: set[str] = set()
    waiting = ["/", *(f"/operations/{operation_id}/" for operation_id in operation_ids)]
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code in (200, 302, 405), f"{address}: {answer.status_code}"
        waiting += list(_links(address, answer.content.decode() if answer.status_code == 200 else ""))
    assert len([address for address in seen if address.startswith("/decisions/op_")]) >= 1
    world.drain()
    assert _everything(simulator) == before


def test_pages_need_few_queries_however_many_rows_there_are(world: World, simulator: Simulator) -> None:
    _one_of_each(world)
    first = _queries_of(world)
    for _ in range(12):
        world.prepare()
    world.approved()
    world.drain()
    assert _queries_of(world) == first
    assert max(first.values()) <= MOST_QUERIES, first


def _one_of_each(world: World) -> list[str]:
    """Operations in many places of their life."""
    done = world.approved(world.wish(payload={"invoice": "inv_1"}))
    world.drain()
    rejected = world.prepare()
    world.decide(rejected, verdict="reject", reason="Not ours.")
    replaced = world.prepare()
    waiting = world.prepare(world.wish(replaces=replaced, rationale="Corrected."))
    deal = world.prepare(world.deal())
    world.drain()
    return [done, rejected, replaced, waiting, deal]


def _queries_of(world: World) -> dict[str, int]:
    waiting = ApprovalRound.objects.filter(status="open").values_list("operation_id", flat=True)[0]
    done = Operation.objects.filter(state=State.SUCCEEDED).values_list("pk", flat=True)[0]
    addresses = {
        "queue": "/decisions/",
        "others": "/decisions/?view=others",
        "soon": "/decisions/?view=soon",
        "decided": "/decisions/?view=decided",
        "decision": f"/decisions/{waiting}/",
        "explorer": "/operations/",
        "search": "/operations/?q=Vendor&where=done",
        "operation": f"/operations/{done}/",
        "raw": f"/operations/{done}/raw",
    }
    client = signed_in(world.alice)
    counts = {}
    for name, address in addresses.items():
        with _counted() as queries:
            assert client.get(address).status_code == 200
        counts[name] = len(queries)
    return counts


@contextmanager
def _counted() -> Iterator[CaptureQueriesContext]:
    with CaptureQueriesContext(connection) as queries:
        yield queries


def _links(address: str, page: str) -> Iterator[str]:
    for link in LINK.findall(page):
        parts = urlsplit(urljoin(f"http://testserver{address}", unescape(link)))
        if parts.netloc == "testserver" and not parts.path.startswith(("/static/", "/accounts/")):
            yield f"{parts.path}?{parts.query}" if parts.query else parts.path


def _everything(simulator: Simulator) -> tuple[object, ...]:
    return (
        Decision.objects.count(),
        JournalEntry.objects.count(),
        sorted(Operation.objects.values_list("pk", "state", "changed_at")),
        len(simulator.posts()),
    )
