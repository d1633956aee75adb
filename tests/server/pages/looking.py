"""A person with a browser: goes to pages, and hears whatever the browser complains of.

A browser does what it is told in its own time, so nothing here or in the tests looks once and believes it: what ought
to be there is expected, which waits for it (`test_waiting.py` holds the tests to that).
"""

from __future__ import annotations

import time
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

from tests.server.serving import BOUND_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

Theme = Literal["light", "dark"]
_TOO_WIDE = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = [...document.querySelectorAll("body *")].filter(
    (one) => one.getBoundingClientRect().right > root.clientWidth + 1 && !one.parentElement.closest(".wide"));
  const names = wide.map((one) => `${one.tagName} ${one.getAttribute("class")}`);
  return names.length ? names : ["something that is not seen"];
}"""
# Chromium throws away keys and clicks that arrive before a page has been painted once.
_PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@cache
def read_axe() -> str:
    """Return axe-core, which a package of the development environment carries."""
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


class Visitor:
    """One browser window of its own."""

    def __init__(self, browser: Browser, address: str, *, width: int = 1280, theme: Theme = "light") -> None:
        self.address = address
        self.complaints: list[str] = []
        """Errors on the console, in scripts, and requests to anybody else."""
        self._context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        self._context.set_default_timeout(1000 * BOUND_S)
        self.page: Page = self._context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda problem: self.complaints.append(f"script: {problem}"))
        self.page.on("request", self._asked)
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def go(self, path: str) -> Page:
        """Look at a page until it is drawn."""
        self.page.goto(self.address + path, wait_until="load")
        return self.drawn()

    def again(self) -> Page:
        """Load the same page anew, until it is drawn."""
        self.page.reload(wait_until="load")
        return self.drawn()

    def drawn(self) -> Page:
        """The page, once it is painted: before that it hears no key."""
        self.page.wait_for_load_state("load")
        self.page.evaluate(_PAINTED)
        return self.page

    def addresses(self, selector: str) -> list[str]:
        """Where the links of a drawn page lead: of one that does not change any more."""
        return [one.get_attribute("href") or "" for one in self.page.locator(selector).all()]

    def too_wide(self) -> list[str]:
        """What makes the page wider than its window, outside boxes that scroll by themselves, and stays so.

        Charts follow a window that has changed in their own time.
        """
        until = time.monotonic() + BOUND_S
        while (found := self.page.evaluate(_TOO_WIDE)) and time.monotonic() < until:
            self.drawn()
        return list(found)

    def violations(self) -> list[tuple[str, str]]:
        """What axe-core objects to on the page: its rule, and the beginning of the first element."""
        self.page.evaluate(read_axe())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [(violation["id"], violation["nodes"][0]["html"][:200]) for violation in found]

    def leave(self) -> None:
        """Close the window."""
        self._context.close()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.complaints.append(f"request to {request.url}")
