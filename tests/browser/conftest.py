"""A real browser: the Chromium of the system, driven by Playwright. Where there is none these tests are skipped."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

PATIENCE = 120_000
"""Milliseconds: on a machine that has much else to do a page is slow, and not wrong."""
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


class Opened:
    """A page, and everything that it did which it should not do."""

    def __init__(self, page: Page, expected: str, server: str = "") -> None:
        self.page = page
        self._expected = expected
        self._allowed = (server, "data:") if server else ("file:", "blob:", "data:")
        self.trouble: list[str] = []
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self._check(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and not (self._expected and self._expected in text):
            self.trouble.append(f"{kind}: {text}")

    def _dismiss(self, dialog: Dialog) -> None:
        self.trouble.append(f"alert: {dialog.message}")
        dialog.dismiss()

    def _check(self, url: str) -> None:
        if not url.startswith(self._allowed):
            self.trouble.append(f"asked {url}")


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Return a function that opens a page, from the disk or from a server that ``server`` names.

    At the end nothing may have gone wrong in any of them.
    """
    opened: list[Opened] = []

    def open_with(  # noqa: PLR0913 (what a browser can be)
        path: Path | str,
        *,
        width: int = 1280,
        scheme: str = "light",
        place: str = "",
        expects: str = "",
        server: str = "",
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,  # type: ignore[arg-type] # light or dark
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE)
        opened.append(Opened(context.new_page(), expects, server))
        address = path if isinstance(path, str) else path.as_uri()
        opened[-1].page.goto(f"{address}{place}")
        return opened[-1].page

    yield open_with
    trouble = [shown for each in opened for shown in each.trouble]
    for each in opened:
        each.page.context.close()

    assert [] == trouble
