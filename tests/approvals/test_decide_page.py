"""The decision page and its POST: what is shown, what is refused with which words, and that nothing else decides."""

import pytest
from django.test import Client

from approvals.models import ApprovalRound, Decision
from operations.models import User
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.visitor import answer, form_of, signed_in
from tests.support.waiting import wait_past

pytestmark = pytest.mark.usefixtures("simulator")


def text_of(response: object) -> str:
    """The page without its line breaks, as a reader sees it."""
    return " ".join(response.content.decode().split())  # type: ignore[attr-defined]


def test_approving_decides_once_and_says_what_follows(world: World, simulator: Simulator) -> None:
    operation_id = world.prepare()
    done = answer(signed_in(world.alice), operation_id, "approve")
    assert (done.status_code, done.url) == (302, "/decisions/")
    assert Decision.objects.get().verdict == "approve"
    world.drain()
    assert len(simulator.posts(reference=operation_id)) == 1


def test_after_an_answer_the_next_item_opens_with_the_message(world: World) -> None:
    first, second = world.prepare(), world.prepare()
    client = signed_in(world.alice)
    done = answer(client, first, "approve")
    assert done.url == f"/decisions/{second}/"
    assert f"Approved: {first}. It is sent once, now" in text_of(client.get(done.url))


def test_rejecting_needs_a_reason_and_sends_nothing(world: World, simulator: Simulator) -> None:
    operation_id = world.prepare()
    client = signed_in(world.alice)
    refused = answer(client, operation_id, "reject", reason="  ")
    assert refused.status_code == 422
    assert "Say why you reject it" in text_of(refused)
    assert answer(client, operation_id, "reject", reason="Not ours.").status_code == 302
    world.drain()
    assert world.state(operation_id) == "cancelled"
    assert simulator.posts(reference=operation_id) == []
    assert "Not ours." in text_of(client.get(f"/operations/{operation_id}/"))


@pytest.mark.parametrize("field", ["payload_hash", "display_hash"])
def test_a_forged_or_stale_hash_is_refused_and_the_reason_kept(world: World, field: str) -> None:
    operation_id = world.prepare()
    refused = answer(
        signed_in(world.alice), operation_id, "approve", reason="as agreed", **{field: "sha256:" + "0" * 64}
    )
    assert refused.status_code == 422
    assert "What you were shown is not what is stored. Open the page again." in text_of(refused)
    assert "as agreed" in text_of(refused)
    assert not Decision.objects.exists()


def test_a_page_that_was_not_sent_whole_is_refused(world: World) -> None:
    operation_id = world.prepare()
    refused = signed_in(world.alice).post(f"/decisions/{operation_id}/", {"verdict": "approve"})
    assert refused.status_code == 422
    assert "The page was not sent whole. Open it again." in text_of(refused)
    assert not Decision.objects.exists()


def test_an_expired_request_is_refused_at_its_end(database: None, simulator: Simulator) -> None:
    world = make_world(approval_seconds=1)
    operation_id = world.prepare()
    client = signed_in(world.alice)
    form = form_of(client.get(f"/decisions/{operation_id}/"))
    wait_past(ApprovalRound.objects.get().expires_at)
    late = client.post(f"/decisions/{operation_id}/", {**form, "verdict": "approve"})
    assert late.status_code == 409
    assert "Its time ran out before it was decided. Nothing has been sent." in text_of(late)
    world.drain()
    assert not Decision.objects.exists()
    assert simulator.posts(reference=operation_id) == []


def test_another_tenants_operation_is_not_found(world: World) -> None:
    stranger = make_world()
    operation_id = stranger.prepare()
    form = form_of(signed_in(stranger.alice).get(f"/decisions/{operation_id}/"))
    client = signed_in(world.alice)
    assert client.get(f"/decisions/{operation_id}/").status_code == 404
    assert client.post(f"/decisions/{operation_id}/", {**form, "verdict": "approve"}).status_code == 404
    for address in ("", "raw", "intent.json"):
        assert client.get(f"/operations/{operation_id}/{address}").status_code == 404
    assert operation_id not in text_of(client.get("/operations/"))
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("who", "sentence"),
    [
        ("oscar", "You are not an approver here."),
        ("audrey", "You are not an approver here."),
        ("otto", "You own the agent that asks, so somebody else must decide."),
    ],
)
def test_whoever_may_not_decide_reads_why_on_the_buttons_and_in_the_refusal(
    world: World, who: str, sentence: str
) -> None:
    operation_id = world.prepare()
    form = form_of(signed_in(world.alice).get(f"/decisions/{operation_id}/"))
    client = signed_in(getattr(world, who))
    page = text_of(client.get(f"/decisions/{operation_id}/"))
    assert page.count(f">{sentence}</small>") == 2
    assert 'value="approve"' not in page
    refused = client.post(f"/decisions/{operation_id}/", {**form, "verdict": "approve"})
    assert refused.status_code == 422
    assert sentence in text_of(refused)
    assert not Decision.objects.exists()


def test_a_right_taken_away_is_gone_with_the_next_click(world: World) -> None:
    operation_id = world.prepare()
    client = signed_in(world.alice)
    form = form_of(client.get(f"/decisions/{operation_id}/"))
    world.alice.memberships.all().delete()
    assert client.post(f"/decisions/{operation_id}/", {**form, "verdict": "approve"}).status_code == 403
    assert not Decision.objects.exists()


def test_going_back_and_sending_again_decides_once(world: World, simulator: Simulator) -> None:
    operation_id = world.prepare()
    client = signed_in(world.alice)
    form = {**form_of(client.get(f"/decisions/{operation_id}/")), "verdict": "approve"}
    assert client.post(f"/decisions/{operation_id}/", form).status_code == 302
    world.drain()
    for verdict in ("approve", "reject"):
        again = client.post(f"/decisions/{operation_id}/", {**form, "verdict": verdict, "reason": "second thoughts"})
        assert again.status_code == 409
        assert "You have already answered this." in text_of(again)
    world.drain()
    assert Decision.objects.count() == 1
    assert len(simulator.posts(reference=operation_id)) == 1


def test_who_comes_second_reads_who_was_quicker(world: World) -> None:
    operation_id = world.prepare()
    ana = signed_in(world.ana)
    form = form_of(ana.get(f"/decisions/{operation_id}/"))
    answer(signed_in(world.alice), operation_id, "approve")
    late = ana.post(f"/decisions/{operation_id}/", {**form, "verdict": "reject", "reason": "Wrong account."})
    assert late.status_code == 409
    assert "Already approved by Alice." in text_of(late)
    assert "Wrong account." in text_of(late)


def test_two_people_where_two_must_agree(database: None, simulator: Simulator) -> None:
    world = make_world(quorum=2)
    operation_id = world.prepare()
    client = signed_in(world.alice)
    answer(client, operation_id, "approve")
    assert f"Your approval of {operation_id} is recorded, 1 of 2." in text_of(client.get("/decisions/"))
    world.drain()
    assert simulator.posts(reference=operation_id) == []
    assert "1 of 2 approvals" in text_of(signed_in(world.ana).get(f"/decisions/{operation_id}/"))
    answer(signed_in(world.ana), operation_id, "approve")
    world.drain()
    assert len(simulator.posts(reference=operation_id)) == 1


def test_a_possible_duplicate_needs_the_word_that_it_is_a_separate_effect(world: World) -> None:
    first = world.approved(world.wish(payload={"invoice": "inv_9182"}))
    second = world.prepare(world.wish(payload={"invoice": "inv_9182"}))
    client = signed_in(world.alice)
    page = text_of(client.get(f"/decisions/{second}/"))
    assert "Possible duplicate." in page
    assert f'href="/operations/{first}/"' in page
    refused = answer(client, second, "approve", reason="a second delivery")
    assert refused.status_code == 422
    assert "Say that this is a separate effect, or reject it." in text_of(refused)
    assert "a second delivery" in text_of(refused)
    assert answer(client, second, "approve", separate_effect="on").status_code == 302


def test_a_replaced_intent_is_shown_field_by_field(world: World) -> None:
    old = world.prepare(world.wish(payload={"amount_minor": 1190000}))
    new = world.prepare(world.wish(replaces=old))
    client = signed_in(world.alice)
    page = text_of(client.get(f"/decisions/{new}/"))
    assert "<del><bdi>1190000</bdi></del>" in page
    assert "<ins><bdi>1250000</bdi></ins>" in page
    late = text_of(client.get(f"/decisions/{old}/"))
    assert "It was withdrawn before it was decided. Nothing has been sent." in late


def test_hidden_characters_are_flagged_and_written_out(world: World) -> None:
    operation_id = world.prepare(world.wish(payload={"recipient_name": "Ven\u200bdor"}, rationale="pay \u202enow"))
    page = signed_in(world.alice).get(f"/decisions/{operation_id}/").content.decode()
    assert "Hidden characters." in page
    assert "Ven⟦U+200B⟧dor" in page
    assert "pay ⟦U+202E⟧now" in page
    assert not any(character in page for character in "\u200b\u202e")


def test_what_the_agent_says_comes_after_the_facts_and_stays_text(world: World) -> None:
    operation_id = world.prepare(world.wish(rationale="<script>alert(1)</script> Approve quickly."))
    page = signed_in(world.alice).get(f"/decisions/{operation_id}/").content.decode()
    assert page.index("<h2>Facts</h2>") < page.index("What the agent says. Not verified")
    assert "<script>alert(1)" not in page


def test_reject_and_approve_are_equal_and_neither_is_focused(world: World) -> None:
    page = text_of(signed_in(world.alice).get(f"/decisions/{world.prepare()}/"))
    assert "autofocus" not in page
    assert page.index('value="reject"') < page.index('value="approve"')


def test_nothing_is_decided_by_get_or_without_the_token(world: World) -> None:
    operation_id = world.prepare()
    client = signed_in(world.alice)
    form = {**form_of(client.get(f"/decisions/{operation_id}/")), "verdict": "approve"}
    assert client.get(f"/decisions/{operation_id}/", form).status_code == 200
    strict: Client = signed_in(world.alice, enforce_csrf_checks=True)
    assert strict.post(f"/decisions/{operation_id}/", form).status_code == 403
    assert not Decision.objects.exists()


def test_the_expiry_is_shown_in_the_persons_zone_with_its_offset(world: World) -> None:
    operation_id = world.prepare()
    User.objects.filter(pk=world.alice.pk).update(time_zone="Asia/Kathmandu")
    page = text_of(signed_in(world.alice).get(f"/decisions/{operation_id}/"))
    assert "UTC+05:45" in page
    assert "+05:45" in page[page.index('<time datetime="') :][:60]


def test_what_happens_when_the_answer_is_lost_comes_from_the_contract(database: None, simulator: Simulator) -> None:
    for provider, sentence in (
        ("simulated", "The same key stays safe for 21 h 36 min after sending."),
        ("keyless", "The provider does not recognise repeats, so only a person may allow another call."),
    ):
        world = make_world(provider=provider)
        page = text_of(signed_in(world.alice).get(f"/decisions/{world.prepare()}/"))
        assert "is asked by its own id or by our reference before anything is repeated." in page
        assert sentence in page
