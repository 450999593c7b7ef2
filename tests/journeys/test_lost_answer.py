"""The whole journey: prepared by an agent, approved by a person, lost in a crash, found by a look-up, paid once."""

from playwright.sync_api import Browser, expect

from operations.core.states import State
from operations.models import Evidence
from tests.journeys.screen import fits, sitting_at
from tests.support.simulator import Simulator
from tests.support.tenant import World
from tests.support.visitor import Visitor
from tests.support.waiting import wait_until
from tests.support.web import Site, Sweep, Worker

SHORT_LEASE = {
    "LEASE_SECONDS": "4",
    "LEASE_MARGIN_SECONDS": "0.5",
    "PROVIDER_TOTAL_SECONDS": "2",
    "PROVIDER_READ_SECONDS": "1.5",
}


def test_a_payment_whose_answer_died_with_the_worker_is_found_and_paid_once(
    patient_world: World, simulator: Simulator, site: Site, chrome: Browser
) -> None:
    world = patient_world
    with Worker(**SHORT_LEASE) as worker, Sweep(**SHORT_LEASE):
        operation_id = _prepared_by_the_agent(site, world)
        simulator.fault("kill_caller", when="after_acting", pid=worker.pid)
        simulator.fault("error_without_effect", method="GET", status=503)  # the engine's own first look-up fails
        _approved_in_the_browser(site, world, chrome, operation_id)
        worker.wait_until_killed()
        worker.start()
        wait_until(lambda: Evidence.objects.filter(source="look_up").exists(), 30)
        assert world.state(operation_id) == State.UNKNOWN
        _looked_up_by_the_operator(site, world, chrome, operation_id)
    assert world.state(operation_id) == State.SUCCEEDED
    assert len(simulator.posts(reference=operation_id)) == 1
    assert len(simulator.payments(operation_id)) == 1


def _prepared_by_the_agent(site: Site, world: World) -> str:
    payload = {
        "amount_minor": 1250000,
        "currency": "KZT",
        "recipient": "vendor_77",
        "recipient_name": "Vendor 77 LLP",
        "invoice": "inv_9182",
    }
    body = {"client_reference": "r-1", "action": "payments.create", "connection": "bank-main", "payload": payload}
    with Visitor.agent(site.url, world.key) as agent:
        answer = agent.post("/api/v1/operations", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["operation_id"])


def _approved_in_the_browser(site: Site, world: World, chrome: Browser, operation_id: str) -> None:
    with sitting_at(chrome, site.url, world.alice) as page:
        expect(page.get_by_role("heading", name="Needs your decision")).to_be_visible()
        page.get_by_role("link", name="Pay Vendor 77 LLP").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Vendor 77 LLP for invoice inv_9182")
        expect(page.get_by_text("Nothing has been sent.")).to_be_visible()
        fits(page)
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("status")).to_contain_text(f"Approved: {operation_id}.")
        expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
        expect(page.get_by_role("heading", name="Decided just now")).to_be_visible()


def _looked_up_by_the_operator(site: Site, world: World, chrome: Browser, operation_id: str) -> None:
    with sitting_at(chrome, site.url, world.oscar) as page:
        expect(page.get_by_role("heading", name="Investigations")).to_be_visible()
        expect(page.get_by_role("row", name="Pay Vendor 77 LLP")).to_contain_text("Outcome unknown")
        page.get_by_role("link", name="Pay Vendor 77 LLP").click()
        expect(page.locator(".sentence")).to_contain_text("Outcome unknown")
        fits(page)
        page.get_by_role("button", name="Look up now").click()
        expect(page.get_by_role("status")).to_contain_text("It happened")
        expect(page.locator(".sentence")).to_contain_text("Done at provider")
        page.goto(f"{site.url}/operations/{operation_id}/")
        expect(page.locator(".sentence")).to_contain_text("Sent once; provider reference")
        fits(page)
        page.goto(f"{site.url}/investigations/")
        expect(page.get_by_text("Nothing is in doubt.")).to_be_visible()
