"""`assay serve --demo`: every page has something to show, all of it measured; done once, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.serving import OWN, reaching

from assay import wiring
from assay.errors import InputError
from assay.server import demo, demo_history
from assay.server.pages.page import MENU
from assay.server.services import Services
from assay.settings import load_settings


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work", encoding="utf-8")
    with pytest.raises(InputError, match="the demo did not create"):
        demo.demo_settings(load_settings().settings, tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_what_was_left_half_made_is_made_anew(tmp_path: Path) -> None:
    settings = demo.demo_settings(load_settings().settings, tmp_path / "demo")
    Path(settings.db).write_text("half", encoding="utf-8")
    demo.clear(settings)
    assert not Path(settings.db).exists()
    (tmp_path / "demo" / demo.FILLED).write_text("{}", encoding="utf-8")
    Path(settings.db).write_text("whole", encoding="utf-8")
    demo.clear(settings)
    assert Path(settings.db).read_text(encoding="utf-8") == "whole"


@pytest.mark.slow
def test_every_page_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    settings = demo.demo_settings(load_settings().settings, tmp_path / "demo")
    said: list[str] = []
    with wiring.open_engine(settings) as engine:
        demo.fill(engine, settings, said.append)
        demo.fill(engine, settings, pytest.fail)
        assert said
        with engine.store.reading(OWN) as work:
            asked = demo_history.A_WEEK * demo_history.WEEKS + demo_history.TODAY + len(demo_history.OUTSIDE)
            assert work.research.totals().sessions >= asked
            assert len(work.research.totals().days) > 5 * demo_history.WEEKS
            assert work.edges.count() > 0
            assert work.ab_tests.latest(demo.FLAG).sample_count > 0
        with reaching(Services(engine, settings.change()), pages=True) as client:
            for entry in MENU:
                page = client.get(entry.address)
                assert page.status_code == 200
                # Nobody signs in to a demo on this machine.
                assert 'class="empty"' not in page.text or entry.name == "sign-ins"
                charts = page.text.split('<figure class="chart">')[1:]
                assert all("data-mark" in chart.partition("</figure>")[0] for chart in charts)
            assert "data-alert" in client.get("/evaluation?range=90d").text
            assert "pattern" in client.get("/evaluation/patterns").text
