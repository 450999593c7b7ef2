"""The emergency stop's page: everybody reads it, those who work here set it, two lift it."""

from django.test import Client

from operations.models import Stop, User
from tests.support.tenant import World, make_world


def client(person: User) -> Client:
    web = Client()
    web.force_login(person, backend="allauth.account.auth_backends.AuthenticationBackend")
    return web


def set_by_page(world: World, person: User, what: str = "tenant:", reason: str = "Odd invoices.") -> int:
    return client(person).post("/stops/set", {"what": what, "reason": reason}).status_code


def test_a_stop_is_set_seen_on_every_page_and_lifted_by_two(world: World) -> None:
    assert set_by_page(world, world.oscar) == 302
    stop = Stop.objects.get()
    for person, address in ((world.alice, "/decisions/"), (world.audrey, "/operations/"), (world.oscar, "/stops/")):
        text = client(person).get(address).content.decode()
        assert "Everything is stopped" in text and "Odd invoices." in text and "Oscar" in text
    asked = client(world.oscar).post(f"/stops/{stop.pk}/lift", {"reason": "Checked."})
    assert asked.status_code == 302
    alone = client(world.oscar).post(f"/stops/{stop.pk}/lift", {"asked": "on"})
    assert alone.status_code == 409 and "somebody else must agree" in alone.content.decode()
    assert client(world.alice).post(f"/stops/{stop.pk}/lift", {"asked": "on"}).status_code == 302
    stop.refresh_from_db()
    assert (stop.lift_asked_by, stop.lifted_by) == (world.oscar, world.alice)
    assert "is stopped" not in client(world.audrey).get("/operations/").content.decode()
    assert "Checked." in client(world.audrey).get("/stops/").content.decode()


def test_what_is_wrong_is_said_beside_the_form_and_nothing_is_stored(world: World) -> None:
    web = client(world.oscar)
    empty = web.post("/stops/set", {"what": "tenant:", "reason": " "})
    assert empty.status_code == 422 and "Say why" in empty.content.decode()
    unknown = web.post("/stops/set", {"what": "agent:nobody", "reason": "Odd."})
    assert unknown.status_code == 422
    assert not Stop.objects.exists()
    assert set_by_page(world, world.oscar, "action:payments.create") == 302
    assert set_by_page(world, world.oscar, "action:payments.create") == 409
    no_reason = web.post(f"/stops/{Stop.objects.get().pk}/lift", {"reason": ""})
    assert no_reason.status_code == 409 and "Say why it may be lifted" in no_reason.content.decode()


def test_an_auditor_reads_the_reason_on_the_button_and_gets_the_same_sentence(world: World) -> None:
    sentence = "Only approvers, operators and administrators may set or lift a stop."
    assert sentence in client(world.audrey).get("/stops/").content.decode()
    refused = client(world.audrey).post("/stops/set", {"what": "tenant:", "reason": "Odd."})
    assert refused.status_code == 409 and sentence in refused.content.decode()


def test_another_tenant_s_stop_is_not_there(world: World) -> None:
    stranger = make_world()
    assert set_by_page(stranger, stranger.oscar) == 302
    stop = Stop.objects.get()
    web = client(world.oscar)
    assert "Everything is stopped" not in web.get("/stops/").content.decode()
    gone = web.post(f"/stops/{stop.pk}/lift", {"reason": "Checked."})
    assert gone.status_code == 409 and "does not hold any more" in gone.content.decode()
    stop.refresh_from_db()
    assert stop.lift_asked_by is None


def test_reading_stops_nothing(world: World) -> None:
    web = client(world.oscar)
    assert web.get("/stops/set").status_code == 405
    assert web.get("/stops/1/lift").status_code == 405
    assert not Stop.objects.exists()
