"""Alerts are sent once, to a webhook and a file, and what could not be delivered is written down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
from tests.models.service import answer, serving
from tests.server.serving import OWN, reaching, services_at

from assay.records.research_log import QuestionOutcome, ResearchSession, ResearchStatus
from assay.server.alerting import watch_alerts
from assay.server.services import Services
from assay.storage.repositories.history import AuditFilter
from assay.testing import FixedClock
from assay.wiring.alerts import SENT, UNDELIVERED, send_new_alerts

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@contextmanager
def changed_services(folder: Path, **settings: Any) -> Iterator[Services]:
    """Services whose questions were answered for four weeks, and are refused since Monday."""
    with services_at(folder, clock=FixedClock(NOW), **settings) as services:
        with services.engine.store.writing(OWN) as work:
            for place in range(120):
                bad = place >= 80
                begins = NOW - timedelta(days=4 if bad else 30)
                work.research.put(
                    ResearchSession(
                        log_id=f"r_{place:03}",
                        created_at=begins + timedelta(minutes=place),
                        question=f"question {place}",
                        status=ResearchStatus.ABSTAINED if bad else ResearchStatus.ANSWERED,
                        outcome=QuestionOutcome.REFUSED if bad else QuestionOutcome.ANSWERED,
                        passed=not bad,
                        latency_ms=10.0 + place,
                    ),
                    {},
                )
        yield services


def send(services: Services) -> list[str]:
    store, clock = services.engine.store, services.engine.clock
    return [alert.id for alert in send_new_alerts(services.settings, store, OWN, clock)]


def audited(services: Services, action: str) -> list[str]:
    with services.engine.store.reading(OWN) as work:
        return [entry.entry.target for entry in work.audit.find(AuditFilter(action=action))]


def test_alerts_are_sent_once_to_the_webhook_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "told" / "alerts.jsonl"
    with (
        serving(answer(204)) as hook,
        changed_services(tmp_path, alerts_webhook=f"{hook.url}/hook", alerts_file=file) as services,
    ):
        sent = send(services)
        assert "2026-11-16:refused:up" in sent
        assert send(services) == []
        assert [heard.body["id"] for heard in hook.heard] == sent
        assert hook.heard[0].path == "/v1/hook"
        assert sorted(audited(services, SENT)) == sorted(sent)
        assert audited(services, UNDELIVERED) == []
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["id"] for line in lines] == sent
    assert "question 1" not in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o077 == 0


def test_what_the_webhook_refuses_is_written_down(tmp_path: Path) -> None:
    with (
        serving(answer(403, b"no")) as hook,
        changed_services(tmp_path, alerts_webhook=hook.url) as services,
    ):
        assert audited(services, UNDELIVERED) == []
        sent = send(services)
        assert sorted(audited(services, UNDELIVERED)) == sorted(sent)


def test_the_server_looks_while_it_runs_and_the_overview_shows_the_alerts(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"

    async def look(services: Services) -> None:
        async with watch_alerts(services, every_s=60.0):
            for _ in range(3_000):
                if file.is_file() and "refused" in file.read_text(encoding="utf-8"):
                    return
                await anyio.sleep(0.01)

    with changed_services(tmp_path, alerts_file=file) as services:
        anyio.run(look, services)
        with reaching(services, pages=True) as client:
            page = client.get("/evaluation").text
    assert 'data-alert="2026-11-16:refused:up"' in page
    assert "/evaluation/queries?outcome=refused&amp;from=2026-11-16&amp;to=2026-11-22" in page
