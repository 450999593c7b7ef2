"""An approval holds until an instant and not a moment longer, whatever zone any machine is in (case P21)."""

import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from approvals.core import Asked, refusal_to_answer
from approvals.models import ApprovalRound, Decision
from approvals.services import MayNotDecide
from operations.models import User
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.visitor import Visitor, signed_in
from tests.support.waiting import database_now, wait_past
from tests.support.web import Site, let_sign_in

END = datetime(2026, 12, 1, 16, tzinfo=UTC)


ASKED = Asked(
    waiting=True,
    expires_at=END,
    shown_hash_is_current=True,
    is_approver=True,
    owns_agent=False,
    owner_may_approve=False,
    already_answered=False,
)


@pytest.mark.parametrize(("microseconds", "late"), [(-1, False), (0, True), (1, True)])
def test_the_end_itself_is_too_late(microseconds: int, late: bool) -> None:
    refusal = refusal_to_answer(ASKED, END + timedelta(microseconds=microseconds))
    assert bool(refusal) is late


def test_approved_in_time_and_carried_on_too_late_sends_nothing(database: None, simulator: Simulator) -> None:
    world = make_world(approval_seconds=1)
    operation_id = world.approved()
    wait_past(ApprovalRound.objects.get().expires_at)
    world.drain()
    assert Decision.objects.count() == 1
    assert simulator.posts(reference=operation_id) == []
    assert world.state(operation_id) == "cancelled"
    page = signed_in(world.alice).get(f"/operations/{operation_id}/").content.decode()
    assert "Expired" in page
    assert "Nothing has been sent." in page


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
def test_the_instant_is_the_same_whatever_zone_the_server_is_in(world: World, simulator: Simulator, zone: str) -> None:
    let_sign_in(world.alice)
    User.objects.filter(pk=world.alice.pk).update(time_zone="Europe/Berlin")
    with Site(TZ=zone) as site, Visitor(site.url, world.alice) as alice:
        operation_id = _prepared_over_http(site, world)
        page = alice.http.get(f"/decisions/{operation_id}/").text
    stored = ApprovalRound.objects.get()
    assert abs(stored.expires_at - database_now() - timedelta(hours=1)) < timedelta(seconds=30)
    assert abs(stored.expires_at - stored.opened_at - timedelta(hours=1)) < timedelta(seconds=1)
    shown = re.search(r'expires <time datetime="([^"]+)"', page)
    assert shown is not None
    assert datetime.fromisoformat(shown[1]) == stored.expires_at.replace(microsecond=0)
    assert re.search(r"UTC\+0[12]:00", page)


def _prepared_over_http(site: Site, world: World) -> str:
    wish = world.wish()
    body = {
        "client_reference": wish.client_reference,
        "action": wish.action,
        "connection": wish.connection,
        "payload": wish.payload,
    }
    with Visitor.agent(site.url, world.key) as agent:
        answer = agent.post("/api/v1/operations", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["operation_id"])


@pytest.mark.parametrize(
    ("ahead", "seconds", "taken"), [(timedelta(minutes=3), 60, True), (-timedelta(days=1), 1, False)]
)
def test_the_database_s_clock_decides_whatever_the_web_server_s_shows(
    database: None, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, ahead: timedelta, seconds: int, taken: bool
) -> None:
    world = make_world(approval_seconds=seconds)
    operation_id = world.prepare()
    if not taken:
        wait_past(ApprovalRound.objects.get().expires_at)
    wrong = datetime.now(UTC) + ahead
    monkeypatch.setattr(timezone, "now", lambda: wrong)
    monkeypatch.setattr(time, "time", wrong.timestamp)
    page = signed_in(world.alice).get(f"/decisions/{operation_id}/").content.decode()
    late = "Its time ran out before it was decided. Nothing has been sent."
    assert (late in page) is not taken
    if taken:
        world.decide(operation_id)
    else:
        with pytest.raises(MayNotDecide, match="Its time ran out"):
            world.decide(operation_id)
    assert Decision.objects.count() == int(taken)
