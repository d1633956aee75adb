"""Makes the pictures of the dashboard in `docs/images` from a running demo, and fails where a page has nothing to show.

    assay serve --demo
    python -m docs.screenshots http://127.0.0.1:8710 docs/images

A chart without a mark, a page that says that it is empty, and a message of the browser are errors: nothing is written
then. Needs Chromium (`CHROMIUM` names another place than /usr/bin/chromium) and the development environment.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTH, HEIGHT = 1180, 800
_EMPTY_CHARTS = "[...document.querySelectorAll('.chart')].filter((one) => !one.querySelector('[data-mark]')).length"


class Picture(NamedTuple):
    """A page to show; `link` is followed first, to reach a page whose address is not known beforehand."""

    name: str
    path: str
    link: str = ""


PICTURES = (
    Picture("overview", "/evaluation?range=90d"),
    Picture("questions", "/evaluation/queries"),
    Picture("question", "/evaluation/queries?outcome=answered", "a.cover"),
    Picture("patterns", "/evaluation/patterns"),
)


class EmptyPictureError(Exception):
    """A page has nothing to show."""


def take_picture(page: Page, address: str, picture: Picture) -> bytes:
    """Return the picture of a page; raise `EmptyPictureError` where it shows nothing or the browser complains."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda problem: complaints.append(str(problem)))
    page.goto(address + picture.path, wait_until="load")
    if picture.link:
        page.locator(picture.link).first.click()
        page.wait_for_load_state("load")
    check_page(page, picture.name)
    if complaints:
        raise EmptyPictureError(f"{picture.name}: the browser says {complaints[0]}")
    return page.screenshot(type="png", clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT})


def check_page(page: Page, name: str) -> None:
    """Refuse a page with an empty chart or without content."""
    if (empty := page.evaluate(_EMPTY_CHARTS)) > 0:
        raise EmptyPictureError(f"{name}: {empty} charts have no mark. Fill the demo anew.")
    if page.locator("section.empty").count():
        raise EmptyPictureError(f"{name}: {page.locator('section.empty h2').first.inner_text()}")


def main(arguments: list[str]) -> int:
    """Make every picture; write them only when all of them show something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", help="where the demo serves")
    parser.add_argument("folder", type=Path, help="where pictures are written")
    given = parser.parse_args(arguments)
    address = re.sub("/$", "", given.address)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            made = {}
            for picture in PICTURES:
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
                made[picture.name] = take_picture(page, address, picture)
                page.close()
        except EmptyPictureError as problem:
            sys.stderr.write(f"{problem}\n")
            return 1
        finally:
            browser.close()
    for name, content in made.items():
        (given.folder / f"{name}.png").write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
