"""Every page on a wide and a narrow screen, light and dark: nothing sticks out, axe and the browser find nothing."""

import os
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from operations.core.states import State
from operations.models import Stop
from operations.services.stops import set_stop
from tests.journeys.screen import accessible, fits, sitting_at
from tests.support.simulator import Simulator
from tests.support.tenant import World
from tests.support.web import Site

PICTURES = os.environ.get("OPSCONSOLE_PICTURES")  # a folder that gets a picture of every page, for looking at them


def stories(world: World, simulator: Simulator) -> dict[str, str]:
    """Addresses of every kind of page, with operations in many places of their life behind them."""
    simulator.fault("reset")
    unknown = world.approved(world.wish(payload={"invoice": "inv_1"}))
    world.drain()
    assert world.state(unknown) == State.UNKNOWN
    done = world.approved(world.wish(payload={"invoice": "inv_2"}))
    rejected = world.prepare()
    world.decide(rejected, world.ana, "reject", reason="Not ours.")
    old = world.prepare(world.wish(payload={"invoice": "inv_9182", "amount_minor": 1190000}))
    new = world.wish(
        payload={"invoice": "inv_9182", "description": "late\u200bfee"}, replaces=old, rationale="New. " * 99
    )
    waiting, twin = world.prepare(new), world.prepare(world.wish(payload={"invoice": "inv_9182"}))
    world.prepare(world.deal())
    world.drain()
    set_stop(
        tenant_id=world.tenant.pk,
        person=world.oscar,
        scope=Stop.Scope.ACTION,
        subject="crm.update_deal",
        reason="Two deals were mixed up.",
    )
    return {
        "queue": "/decisions/",
        "queue-others": "/decisions/?view=others",
        "queue-decided": "/decisions/?view=decided",
        "decision": f"/decisions/{waiting}/",
        "decision-twin": f"/decisions/{twin}/",
        "decision-closed": f"/decisions/{rejected}/",
        "operations": "/operations/",
        "operations-none": "/operations/?q=nobody",
        "operation-done": f"/operations/{done}/",
        "operation-unknown": f"/operations/{unknown}/",
        "operation-replaced": f"/operations/{old}/",
        "raw": f"/operations/{waiting}/raw",
        "investigations": "/investigations/",
        "case": f"/investigations/{unknown}/",
        "stops": "/stops/",
        "password": "/accounts/password/change/",
        "sign-out": "/accounts/logout/",
    }


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_every_page_fits_and_the_browser_has_no_complaint(
    patient_world: World, simulator: Simulator, site: Site, chrome: Browser, width: int
) -> None:
    addresses = stories(patient_world, simulator)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        with sitting_at(chrome, site.url, patient_world.alice, width=width, scheme=scheme) as page:
            for name, address in addresses.items():
                answer = page.goto(site.url + address)
                assert answer is not None
                assert answer.status == 200, address
                if PICTURES:
                    page.screenshot(path=Path(PICTURES) / f"{name}-{width}-{scheme}.png", full_page=True)
                fits(page)
                if width != 390:
                    accessible(page)


def test_the_accessibility_rules_do_find_something(chrome: Browser) -> None:
    """The control: a field without a label and a picture without words."""
    page = chrome.new_page()
    page.set_content('<html lang="en"><title>x</title><main><input type="text"><img src="data:,"></main></html>')
    with pytest.raises(AssertionError, match="violations"):
        accessible(page)
    page.close()
