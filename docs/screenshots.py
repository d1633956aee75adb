"""Makes the pictures of the dashboard in `docs/images` from a running demo, and fails where a page has nothing to show.

    assay serve --demo
    python -m docs.screenshots http://127.0.0.1:8710 docs/images [--only NAME ...] [--before FOLDER]

A chart without a mark, a page that says that it is empty, and a message of the browser are errors: nothing is written
then. `--before` names a folder with pictures of an older version under the same names: those that are there are put
beside the new ones, as `before-NAME.png`. Needs Chromium (`CHROMIUM` names another place than /usr/bin/chromium) and
the development environment.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import struct
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from playwright.sync_api import Browser, Page

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDTH, HEIGHT, SCALE = 1440, 900, 0.75
"""The window, and how much smaller its picture is."""
PAIRED = 640
"""How wide each of two pictures is that stand side by side."""
_EMPTY_CHARTS = "[...document.querySelectorAll('.chart')].filter((one) => !one.querySelector('[data-mark]')).length"
_PAIR = """<body style="margin:0;background:#888;display:flex;gap:8px;font:600 20px sans-serif;color:#fff">
<div><p style="margin:6px">0.1</p><img width="{width}" src="data:image/png;base64,{before}"></div>
<div><p style="margin:6px">now</p><img width="{width}" src="data:image/png;base64,{after}"></div></body>"""


_PIXELS = """async (encoded) => {
  const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height);
  let text = "";
  for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
  return [image.width, image.height, btoa(text)];
}"""


class Picture(NamedTuple):
    """A page to show; `links` are followed first, to reach a page whose address is not known beforehand."""

    name: str
    path: str
    links: tuple[str, ...] = ()
    may_be_empty: bool = False
    """Nothing stands on the page in a new demo."""


PICTURES = (
    Picture("ask", "/evaluation/queries?escalated=yes", ("a.cover", "text=As shown to the user")),
    Picture("front", "/"),
    Picture("overview", "/evaluation?range=90d"),
    Picture("questions", "/evaluation/queries"),
    Picture("question", "/evaluation/queries?escalated=yes", ("a.cover",)),
    Picture("iteration", "/evaluation/queries?iterations=2", ("a.cover",)),
    Picture("patterns", "/evaluation/patterns"),
    Picture("prompts", "/evaluation/prompts"),
    Picture("prompt", "/evaluation/prompts/planner"),
    Picture("debugger", "/evaluation/debugger?q=who+may+approve+a+refund"),
    Picture("difference", "/evaluation/debugger?q=who+may+approve+a+refund&against=words-first#compared"),
    Picture("runs", "/evaluation/runs"),
    Picture("run", "/evaluation/runs", ("td a:has-text('fts-only')",)),
    Picture("lost-query", "/evaluation/runs", ("td a:has-text('fts-only')", "main a[href*='/queries/']")),
    Picture("comparison", "/evaluation/runs", ("button:has-text('Compare the two')",)),
    Picture("run-start", "/evaluation/runs/start"),
    Picture("experiments", "/evaluation/experiments"),
    Picture("experiment", "/evaluation/experiments/balanced-weights"),
    Picture("experiment-lost", "/evaluation/experiments/words-only"),
    Picture("label", "/evaluation/label/hotel"),
    Picture("labels", "/evaluation/label"),
    Picture("traces", "/traces"),
    Picture("trace", "/traces", ("main td a",)),
    Picture("memories", "/memory"),
    Picture("memory", "/memory?folder=night-desk", ("a.cover",)),
    Picture("inbox", "/memory/inbox", may_be_empty=True),
    Picture("find", "/find?q=night"),
    Picture("audit", "/evaluation/audit"),
    Picture("tokens", "/evaluation/tokens", may_be_empty=True),
    Picture("sign-ins", "/evaluation/sign-ins", may_be_empty=True),
    Picture("settings", "/evaluation/settings"),
)
"""Every page of the dashboard."""


class EmptyPictureError(Exception):
    """A page has nothing to show."""


def open_page(page: Page, address: str, picture: Picture) -> None:
    """Go to the page of a picture; raise `EmptyPictureError` where it shows nothing or the browser complains."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda problem: complaints.append(str(problem)))
    page.goto(address + picture.path, wait_until="load")
    for link in picture.links:
        found = page.locator(link).first
        if not found.count():
            raise EmptyPictureError(f"{picture.name}: {page.url} has no {link}. Fill the demo anew.")
        with page.expect_navigation(wait_until="load"):
            found.click()
    check_page(page, picture)
    if complaints:
        raise EmptyPictureError(f"{picture.name}: the browser says {complaints[0]}")


def check_page(page: Page, picture: Picture) -> None:
    """Refuse a page with an empty chart or without content."""
    if (empty := page.evaluate(_EMPTY_CHARTS)) > 0:
        raise EmptyPictureError(f"{picture.name}: {empty} charts have no mark. Fill the demo anew.")
    if page.locator("section.empty:visible").count() and not picture.may_be_empty:
        raise EmptyPictureError(f"{picture.name}: {page.locator('section.empty:visible h2').first.inner_text()}")


def warm_up(browser: Browser, address: str) -> None:
    """Let the server search once: the first search loads the embedder, and its time is not that of a search."""
    page = browser.new_page()
    try:
        page.goto(f"{address}/evaluation/debugger?q=a+first+search", wait_until="load")
    finally:
        page.close()


def take_picture(browser: Browser, address: str, picture: Picture) -> bytes:
    """Return the picture of a page."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme="light"
    )
    try:
        open_page(page, address, picture)
        return shrink(page, page.screenshot(type="png", clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT}))
    finally:
        page.close()


def shrink(page: Page, content: bytes) -> bytes:
    """Return a picture with 256 colours; other pixels get the nearest of them."""
    width, height, pixels = page.evaluate(_PIXELS, base64.b64encode(content).decode())
    rgb = np.frombuffer(base64.b64decode(pixels), np.uint8).reshape(height * width, 4)[:, :3]
    colours, place, counts = np.unique(rgb, axis=0, return_inverse=True, return_counts=True)
    palette = _choose_palette(colours[np.argsort(-counts)])
    distance = ((colours[:, None].astype(np.int32) - palette[None].astype(np.int32)) ** 2).sum(axis=2)
    indexed = distance.argmin(axis=1).astype(np.uint8)[place.ravel()].reshape(height, width)
    lines = np.hstack([np.zeros((height, 1), np.uint8), indexed]).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", palette.tobytes()), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_write_chunk(name, data) for name, data in chunks)


def _choose_palette(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Choose 256 of the colours, which come by frequency: the first of each kind, so that no small mark turns grey."""
    _, first = np.unique(colours // 32, axis=0, return_index=True)
    chosen = np.concatenate([np.sort(first)[:160], np.arange(len(colours))])
    return colours[list(dict.fromkeys(chosen.tolist()))[:256]]


def _write_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def put_beside(browser: Browser, before: bytes, after: bytes) -> bytes:
    """Return a picture of two pictures side by side."""
    page = browser.new_page(viewport={"width": 2 * PAIRED + 8, "height": 400})
    try:
        both = (base64.b64encode(content).decode() for content in (before, after))
        page.set_content(
            _PAIR.format(width=PAIRED, **dict(zip(("before", "after"), both, strict=True))), wait_until="load"
        )
        return shrink(page, page.screenshot(type="png", full_page=True))
    finally:
        page.close()


def main(arguments: list[str]) -> int:
    """Make every picture; write them only when all of them show something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", help="where the demo serves")
    parser.add_argument("folder", type=Path, help="where pictures are written")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="make these pictures only")
    parser.add_argument("--before", type=Path, help="a folder with pictures of an older version")
    given = parser.parse_args(arguments)
    address = re.sub("/$", "", given.address)
    chosen = [picture for picture in PICTURES if given.only is None or picture.name in given.only]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            warm_up(browser, address)
            made = {picture.name: take_picture(browser, address, picture) for picture in chosen}
            for name in [] if given.before is None else list(made):
                if (old := given.before / f"{name}.png").is_file():
                    made[f"before-{name}"] = put_beside(browser, old.read_bytes(), made[name])
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
