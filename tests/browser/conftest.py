"""A real browser: the Chromium of the system, driven by Playwright. Where there is none these tests are skipped."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

PATIENCE = 120_000
"""Milliseconds: on a machine that has much else to do a page is slow, and not wrong."""
expect.set_options(timeout=PATIENCE)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """Return where a Chromium is; empty if there is none."""
    given = os.environ.get("CRMEVAL_CHROMIUM", "")
    return given or next((found for name in NAMES if (found := shutil.which(name))), "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start it once for all tests of a file: while it is open, no other event loop can run in this thread."""
    path = chromium()
    if not path:
        pytest.skip("there is no Chromium: apt-get install chromium, or set CRMEVAL_CHROMIUM")
    with sync_playwright() as playwright:
        # Root has no sandbox; and a Chromium whose temporary folder has a long name does not start.
        short: dict[str, str | float | bool] = {**os.environ, "TMPDIR": "/tmp"}  # noqa: S108 (as without it)
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], env=short)
        yield started
        started.close()


class Tab:
    """A page of the browser, and everything that it did which it should not do."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._expected = ""
        self._allowed: tuple[str, ...] = ()
        self.trouble: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self._check(request.url))

    def open(self, address: str, width: int, scheme: Literal["light", "dark"], expects: str, server: str) -> Page:
        """Go to an address, as if the tab were new."""
        self._expected = expects
        self._allowed = (server, "data:") if server else ("file:", "blob:", "data:")
        self.page.emulate_media(media="screen", color_scheme=scheme, reduced_motion="reduce")
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.goto(address)
        return self.page

    def leave(self) -> list[str]:
        """Forget what the page has stored; return what went wrong since it was opened."""
        self.page.evaluate("localStorage.clear()")
        trouble = [*self.trouble]
        self.page.goto("about:blank")
        self.trouble.clear()
        return trouble

    def _note(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and not (self._expected and self._expected in text):
            self.trouble.append(f"{kind}: {text}")

    def _dismiss(self, dialog: Dialog) -> None:
        self.trouble.append(f"alert: {dialog.message}")
        dialog.dismiss()

    def _check(self, url: str) -> None:
        if not url.startswith(self._allowed):
            self.trouble.append(f"asked {url}")


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> list[Tab]:
    """Return the tabs that are open: a new one takes a second of CPU time, so tests use them again."""
    return [Tab(browser.new_page())]


Open = Callable[..., Page]


@pytest.fixture
def open_page(tabs: list[Tab], browser: Browser) -> Iterator[Open]:
    """Return a function that opens a page, from the disk or from a server that ``server`` names.

    At the end nothing may have gone wrong in any of them.
    """
    used: list[Tab] = []

    def open_with(  # noqa: PLR0913 (what a browser can be)
        path: Path | str,
        *,
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
        place: str = "",
        expects: str = "",
        server: str = "",
    ) -> Page:
        if len(used) == len(tabs):
            tabs.append(Tab(browser.new_page()))
        used.append(tabs[len(used)])
        address = path if isinstance(path, str) else path.as_uri()
        return used[-1].open(f"{address}{place}", width, scheme, expects, server)

    yield open_with
    assert [] == [shown for tab in used for shown in tab.leave()]
