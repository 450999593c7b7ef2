"""The queue, and what holds for every address: one organisation, roles, tokens, few queries."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from operations.models import Membership
from opsconsole.engine.resume import resume
from reconciliation import core
from reconciliation.models import Case, Resolution
from tests.reconciliation.conftest import Promise
from tests.reconciliation.support import (
    WORKER,
    field,
    look,
    look_ups,
    lost,
    say,
    signed_in,
    text,
    word,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world

QUERIES = 12
SAID = {"verdict": "did_not_happen", "external_id": "", "evidence_reference": "mail", "reason": "The bank wrote so."}


def test_the_queue_shows_a_doubt_before_any_case(prompt: World, doubt: str) -> None:
    assert not Case.objects.exists()
    page = text(signed_in(prompt.oscar).get("/investigations/"))
    for words in (
        "Pay Vendor 77 LLP",
        "bank-main",
        "KZT 12 500.00",
        "Outcome unknown 1",
        "21 h 3",
        "Proves nothing",
        "nobody",
        "Closed today 0",
    ):
        assert words in page, words


def test_the_empty_queue_says_why(prompt: World) -> None:
    assert "Nothing is in doubt." in text(signed_in(prompt.oscar).get("/investigations/"))
    assert "Nothing of this kind. There may be others. Show all" in text(
        signed_in(prompt.oscar).get("/investigations/?kind=resend")
    )


def test_the_address_alone_filters(prompt: World, doubt: str, simulator: Simulator) -> None:
    simulator.plant_deal(id="deal_442", stage="offer", version=21)
    conflict = prompt.approved(prompt.deal(version=19))
    resume(conflict, worker=WORKER)
    resume(conflict, worker=WORKER)
    client = signed_in(prompt.oscar)
    both = client.get("/investigations/").content.decode()
    assert doubt in both and conflict in both
    one = client.get("/investigations/?kind=version_conflict")
    assert conflict in one.content.decode() and doubt not in one.content.decode()
    assert "needs a new decision" in text(one)
    assert doubt in client.get("/investigations/?kind=no-such-kind").content.decode()


def test_the_queue_goes_on_after_fifty(prompt: World, simulator: Simulator, promise: Promise) -> None:
    promise(schedule={"delays": (3600,)})
    ids = [lost(prompt, simulator) for _ in range(52)]
    client = signed_in(prompt.oscar)
    first = client.get("/investigations/").content.decode()
    assert [item for item in ids if item in first] == ids[:50]
    older = re.search(r'rel="next" href="([^"]+)"', first)
    assert older is not None
    second = client.get("/investigations/" + unescape(older[1])).content.decode()
    assert [item for item in ids if f"/{item}/" in second] == ids[50:]


def test_closed_today_counts(prompt: World, doubt: str) -> None:
    say(prompt, doubt, word())
    assert "Closed today 1" in text(signed_in(prompt.oscar).get("/investigations/"))


@pytest.mark.parametrize("address", ["/investigations/", "/investigations/{}/"])
def test_few_queries_however_many_rows(address: str, prompt: World, doubt: str, simulator: Simulator) -> None:
    Membership.objects.create(tenant=prompt.tenant, user=prompt.oscar, role="approver")
    client = signed_in(prompt.oscar)
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as seen:
            assert client.get(address.format(doubt)).status_code == 200
        counts.append(len(seen))
        for _ in range(5):
            lost(prompt, simulator)
            look(prompt, doubt)
    assert counts[0] == counts[1] <= QUERIES, [query["sql"][:90] for query in seen]


def test_every_address_is_another_organisations_secret(prompt: World, doubt: str) -> None:
    stranger = signed_in(make_world().oscar)
    for method, address in (
        ("get", f"/investigations/{doubt}/"),
        ("post", f"/investigations/{doubt}/settle"),
        ("post", f"/investigations/{doubt}/take"),
        ("post", f"/investigations/{doubt}/look-up"),
    ):
        assert getattr(stranger, method)(address, SAID).status_code == 404, address
    assert doubt not in stranger.get("/investigations/").content.decode()
    assert len(look_ups(doubt)) == 1 and not Case.objects.exists()


def test_a_get_changes_nothing_and_a_post_needs_its_token(prompt: World, doubt: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(prompt.oscar)
    for name in ("settle", "take", "look-up"):
        assert client.get(f"/investigations/{doubt}/{name}").status_code == 405
        assert client.post(f"/investigations/{doubt}/{name}", SAID).status_code == 403
    assert len(look_ups(doubt)) == 1 and not Case.objects.exists()


@pytest.mark.parametrize("who", ["alice", "audrey", "admin"])
def test_only_operators_act(who: str, prompt: World, doubt: str) -> None:
    client = signed_in(getattr(prompt, who))
    for name in ("settle", "take", "look-up"):
        answer = client.post(f"/investigations/{doubt}/{name}", {**SAID, "seen": 0})
        assert answer.status_code == 403 and core.NOT_AN_OPERATOR in text(answer)
    assert len(look_ups(doubt)) == 1 and not Resolution.objects.exists()


def test_a_right_taken_away_between_page_and_post_is_gone(prompt: World, doubt: str) -> None:
    client = signed_in(prompt.oscar)
    seen = field(client.get(f"/investigations/{doubt}/"), "seen")
    Membership.objects.filter(user=prompt.oscar).update(role="auditor")
    assert client.post(f"/investigations/{doubt}/settle", {**SAID, "seen": seen}).status_code == 403
    assert not Resolution.objects.exists()
