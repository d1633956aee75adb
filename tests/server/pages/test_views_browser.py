"""The frame in a real browser: palette, saved views, times of the viewer, exports, upload, and a shared link."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.server.pages.looking import Visitor
from tests.server.serving import OWN, served, services_at, token_text

from assay.records import Draft
from assay.records.access import Access
from assay.server.services import Services

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_palette_finds_a_memory_and_opens_it(visitor: Visitor) -> None:
    page = visitor.go("/evaluation/audit")
    page.keyboard.press("Control+k")
    page.locator("#palette-words").fill("parking")
    first = page.locator(".palette li").first
    expect(first).to_contain_text("Parking")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Parking")
    assert visitor.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_memories_are_uploaded_sorted_saved_as_a_view_and_exported(
    browser: Browser, tmp_path: Path, width: int, theme: str
) -> None:
    notes = tmp_path / "notes"
    (notes / "desk").mkdir(parents=True)
    (notes / "desk" / "bell.md").write_text("# The bell\n\nIt is at the side door.\n", encoding="utf-8")
    (notes / "pool.txt").write_text("The pool closes at nine.", encoding="utf-8")
    (notes / "empty.md").write_text(" ", encoding="utf-8")
    (notes / "photo.png").write_bytes(b"\x89PNG")
    with services_at(tmp_path / "store") as services, served(services, pages=True) as address:
        visitor = Visitor(browser, address, width=width, theme=theme)  # type: ignore[arg-type] # one of two words
        page = visitor.go("/memory")
        page.set_input_files("[data-folder]", str(notes))
        expect(page.locator("[data-progress]")).to_contain_text("2 saved")
        expect(page.locator("[data-progress]")).to_contain_text("1 of other kinds were left out")
        expect(page.locator("[data-problems]")).to_contain_text("notes/empty.md: it is empty")
        page = visitor.go("/memory?sort=title")
        page.get_by_role("button", name="Save view").click()
        page.get_by_label("Name of the view").fill("By title")
        page.locator("form.save-view button").click()
        if width == 390:
            page.get_by_role("button", name="Menu").click()
        expect(page.locator("[data-views] a")).to_have_attribute("href", "/memory?sort=title")
        with page.expect_download() as waited:
            page.locator(".list-bar .exports a").first.click()
        rows = list(csv.DictReader(io.StringIO(Path(waited.value.path()).read_text(encoding="utf-8"))))
        assert [(row["title"], row["folder"]) for row in rows] == [("pool", "notes"), ("The bell", "notes/desk")]
        expect(page.locator("td time").first).to_have_attribute("title", re.compile(r"\(UTC\)$"))
        assert visitor.too_wide() == []
        visitor.leave()
        assert visitor.complaints == []


@pytest.mark.slow
def test_a_table_and_a_chart_are_exported_from_the_page(visitor: Visitor, filled: Services) -> None:
    with filled.engine.store.reading(OWN) as work:
        memory = next(found for found in work.memories.page() if work.edges.of(found.id))
    page = visitor.go(f"/memory/{memory.id}")
    with page.expect_download() as drawn:
        page.get_by_role("button", name="Neighbours as SVG").click()
    picture = Path(drawn.value.path()).read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "var(--" not in re.sub(r'(?:fill|stroke)="[^"]*"', "", picture)
    with page.expect_download() as painted:
        page.get_by_role("button", name="Neighbours as PNG").click()
    assert Path(painted.value.path()).read_bytes().startswith(b"\x89PNG")
    page = visitor.go("/memory")
    with page.expect_download() as written:
        page.get_by_role("button", name="What each channel found as JSON").click()
    rows = json.loads(Path(written.value.path()).read_text(encoding="utf-8"))
    assert {row["channel"] for row in rows} >= {"bm25", "vector"}
    assert visitor.complaints == []


@pytest.mark.slow
def test_a_reader_follows_a_link_from_elsewhere_signs_in_once_and_out(browser: Browser, tmp_path: Path) -> None:
    with services_at(tmp_path) as services, served(services, local=False, pages=True) as address:
        services.engine.saver.save(OWN, Draft(title="Safe", body="The safe is behind the clock."), gated=False)
        visitor = Visitor(browser, address)
        page = visitor.go("/memory?sort=title&status=current")
        page.get_by_label("Token").fill(token_text(services, Access.READ))
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{address}/memory?sort=title&status=current")
        # Another site: a page without an origin of ours that links here.
        page.goto(f"data:text/html,<a href='{address}/memory?tier=normal'>look</a>")
        page.get_by_text("look").click()
        expect(page.locator(".who")).to_contain_text("read")
        expect(page.locator("h1")).to_have_text("Memory")
        expect(page.get_by_role("link", name="Add")).to_have_count(0)
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("h1")).to_have_text("Sign in")
        visitor.leave()
