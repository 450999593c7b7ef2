"""A real Chromium for the journeys: the system's own, found by path."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MACOS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
MISSING = (
    "No Chromium was found, and the browser journeys need one. `make test` installs it where apt-get works; elsewhere "
    "install Chromium or Google Chrome, or name its program in the environment variable CHROMIUM."
)


class NoChromium(Exception):
    """There is no browser to run the journeys with."""


@cache
def chromium_path() -> str:
    """Return a Chromium that runs: CHROMIUM, then PATH, then the usual places of macOS, then Playwright's own."""
    for candidate in _candidates():
        if _runs(candidate):
            return candidate
    raise NoChromium(MISSING)


@contextmanager
def browser() -> Iterator[Browser]:
    """Lend a headless browser that makes no background requests and goes through no proxy."""
    path = chromium_path()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path, headless=True, args=[*ARGUMENTS, "--no-proxy-server"], chromium_sandbox=False
        )
        try:
            yield launched
        finally:
            launched.close()


def _candidates() -> Iterator[str]:
    named = os.environ.get("CHROMIUM")
    if named:
        # A wrong name must not be papered over by another browser.
        yield named
        return
    yield from filter(None, map(shutil.which, NAMES))
    yield from MACOS
    with sync_playwright() as playwright:
        yield playwright.chromium.executable_path


def _runs(program: str) -> bool:
    """Ask for the version: some systems keep a script of this name that only tells you to install a package."""
    if not Path(program).is_file():
        return False
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
