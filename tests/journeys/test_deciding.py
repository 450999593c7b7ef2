"""Deciding in a browser: without scripts, with an impatient finger, and by keyboard and with the back button."""

from playwright.sync_api import Browser, Page, expect

from approvals.models import Decision
from tests.journeys.screen import sitting_at
from tests.support.simulator import Simulator
from tests.support.tenant import World
from tests.support.web import Site


def open_decision(page: Page, site: Site, operation_id: str) -> None:
    page.goto(f"{site.url}/decisions/{operation_id}/")


def test_deciding_and_rejecting_without_scripts(
    patient_world: World, simulator: Simulator, site: Site, chrome: Browser
) -> None:
    world = patient_world
    first, second = world.prepare(), world.prepare()
    with sitting_at(chrome, site.url, world.alice, scripts=False) as page:
        page.get_by_role("link", name="Pay Vendor 77 LLP").first.click()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("status")).to_contain_text(f"Approved: {first}.")
        page.get_by_role("button", name="Reject").click()
        expect(page.get_by_role("alert")).to_contain_text("Say why you reject it")
        page.get_by_label("Reason").fill("Not ours.")
        page.get_by_role("button", name="Reject").click()
        expect(page.get_by_role("status")).to_contain_text(f"Rejected: {second}.")
        expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    world.drain()
    assert [len(simulator.posts(reference=operation_id)) for operation_id in (first, second)] == [1, 0]


def test_a_double_click_decides_once(patient_world: World, simulator: Simulator, site: Site, chrome: Browser) -> None:
    world = patient_world
    operation_id = world.prepare()
    for scripts in (True, False):
        with sitting_at(chrome, site.url, world.alice, scripts=scripts) as page:
            open_decision(page, site, operation_id)
            page.get_by_role("button", name="Approve").dblclick(force=True, no_wait_after=True)
            taken = page.get_by_text(f"Approved: {operation_id}.")
            expect(taken.or_(page.get_by_text("You have already answered this.")).first).to_be_visible()
        assert Decision.objects.filter(operation_id=operation_id).count() == 1
        world.drain()
        assert len(simulator.posts(reference=operation_id)) == 1
        operation_id = world.prepare()


def test_going_back_and_answering_again_reads_that_it_is_answered(
    patient_world: World, simulator: Simulator, site: Site, chrome: Browser
) -> None:
    world = patient_world
    operation_id = world.prepare()
    with sitting_at(chrome, site.url, world.alice, scripts=False) as page:
        open_decision(page, site, operation_id)
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("status")).to_contain_text(f"Approved: {operation_id}.")
        page.go_back()
        expect(page.get_by_text("You have already answered this.").first).to_be_visible()
    world.drain()
    assert Decision.objects.count() == 1
    assert len(simulator.posts(reference=operation_id)) == 1
