"""A person at a browser, and what must hold for everything they see."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page

from operations.models import User
from tests.support.web import PASSWORD

WIDEST = """() => {
    const wide = document.documentElement.clientWidth;
    const out = [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > wide + 0.5);
    return out.slice(0, 5).map((e) => e.outerHTML.slice(0, 160));
}"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@contextmanager
def sitting_at(
    chrome: Browser,
    url: str,
    person: User,
    *,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = True,
) -> Iterator[Page]:
    """Sign this person in. At the end, the browser must have had nothing to complain about."""
    context = chrome.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(f"{page.url}: {said.text}") if is_complaint(said) else None)
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    try:
        page.goto(url)
        page.get_by_label("Email").fill(person.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
        yield page
    finally:
        context.close()
    assert not complaints, "\n".join(complaints)


def is_complaint(said: ConsoleMessage) -> bool:
    """Errors and warnings, but not that an answer was refused: those pages are looked at by the journeys."""
    refused = re.search(r"responded with a status of (409|422) ", said.text)
    return said.type in ("error", "warning") and refused is None


def fits(page: Page) -> None:
    """Nothing stands beside the screen, and nothing was focused for the person."""
    assert page.evaluate(SIDEWAYS) == 0, f"{page.url}: {page.evaluate(WIDEST)}"
    assert page.evaluate("document.activeElement === document.body"), page.url


def accessible(page: Page) -> None:
    """The rules of axe-core for WCAG 2.2 A and AA hold."""
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    assert found.violations_count == 0, f"{page.url}\n{found.generate_report()}"
