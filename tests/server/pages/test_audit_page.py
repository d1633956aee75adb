"""The audit log and the report in a real browser: readable at both widths, and a report runs its own scripts alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.evaluation.reporting.test_report import BAD, DATA, GOOD
from tests.server.pages.looking import Visitor
from tests.server.serving import OWN, cookie_secret, token_text

from assay.evaluation.readings import reading_of
from assay.evaluation.reporting import Around, gather
from assay.evaluation.reporting.page import html_page
from assay.server.services import Services

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHOTS = os.environ.get("PAGE_SHOTS", "")
"""A folder for screenshots of these pages, to look at them."""


def test_the_audit_log_and_the_sign_ins_fit_narrow_and_wide_windows(
    browser: Browser, filled: Services, address: str
) -> None:
    cookie_secret(filled, token_text(filled))
    with filled.engine.store.writing(OWN) as work:
        work.audit.append("note", "a target with a long name " * 5, {"said": "<b>" + "word " * 100})
    for width, theme in ((400, "light"), (1600, "dark")):
        visitor = Visitor(browser, address, width=width, theme=theme)  # type: ignore[arg-type] # one of two words
        for path, heading in (("/evaluation/audit", "Audit log"), ("/evaluation/sign-ins", "Sign-ins")):
            page = visitor.go(path)
            expect(page.locator("h1")).to_have_text(heading)
            assert visitor.too_wide() == [], (path, width)
            if SHOTS:
                page.screenshot(path=Path(SHOTS) / f"{heading.replace(' ', '-')}-{width}.png", full_page=True)
        visitor.leave()
        assert visitor.complaints == []


def test_a_report_runs_its_own_scripts_and_no_other(browser: Browser, tmp_path: Path) -> None:
    report = gather(BAD, Around(dataset=DATA, baseline=reading_of(GOOD)))
    text = html_page(report)
    assert "'unsafe-inline'" not in text.partition("script-src")[2].partition(";")[0]
    slipped_in = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    file = tmp_path / "report.html"
    file.write_text(text.replace("</body>", f"{slipped_in}</body>"), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri(), wait_until="load")
    expect(page.locator(".chart svg.panel").first).to_be_visible()
    expect(page).to_have_title(f"{report.status.value}: {report.title}")
    page.close()
