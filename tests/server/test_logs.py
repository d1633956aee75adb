"""Logs of a server: who asked what, how it ended, and never a secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.serving import OWN, reaching, services_at, token_text

from assay.gateway.logs import RequestLog, set_up_logs
from assay.records.access import Access
from assay.server.services import Services
from assay.settings import Settings
from assay.storage.rows import mask_value


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services_at(tmp_path_factory.mktemp("logs"), server_access_log="yes") as made:
        yield made


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Where the logs of this test go; what was set up before is put back."""
    names = (None, "assay", "uvicorn", "assay.requests")
    before = {name: (logging.getLogger(name).level, list(logging.getLogger(name).handlers)) for name in names}
    yield io.StringIO()
    for name, (level, handlers) in before.items():
        logging.getLogger(name).setLevel(level)
        logging.getLogger(name).handlers[:] = handlers


def log_to(lines: io.StringIO, settings: Settings, **changed: str) -> None:
    set_up_logs(settings.change(**changed), mask_value, lines)


def test_a_request_is_one_line_with_its_caller_and_without_its_secrets(services: Services, lines: io.StringIO) -> None:
    log_to(lines, services.settings, server_log_format="json")
    token = token_text(services, Access.READ)
    canary = "assay_" + "c4n4ry" * 7 + "c"
    with reaching(services, local=False) as client:
        headers = {"Authorization": f"Bearer {token}"}
        found = client.get(f"/api/memory?limit=5&cursor={canary}", headers=headers)
        client.get("/api/memory", headers={"Authorization": f"Bearer {canary}", "Cookie": f"assay_session={canary}"})
        client.get(f"/api/{canary}%0A2026 forged", headers=headers)
        client.post("/api/memory/search", json={"query": f"password={canary}"}, headers=headers)
    written = lines.getvalue()
    assert "c4n4ry" not in written
    assert token not in written
    entries = [json.loads(line) for line in written.splitlines()]
    assert [(entry["method"], entry["status"]) for entry in entries] == [
        ("GET", found.status_code),
        ("GET", 401),
        ("GET", 404),
        ("POST", 200),
    ]
    assert entries[0]["path"] == "/api/memory?limit=&cursor="
    assert (entries[0]["tenant"], entries[0]["principal"]) == (OWN.tenant, "token:test")
    assert entries[1]["principal"] == ""
    assert all(entry["ms"] >= 0 and len(entry["request_id"]) == 16 for entry in entries)
    assert entries[0]["request_id"] == found.headers["x-request-id"]


def test_text_lines_stay_one_line_each(services: Services, lines: io.StringIO) -> None:
    log_to(lines, services.settings)
    with reaching(services) as client:
        client.get("/healthz")
        client.get("/api/a%0Aforged%1b[31m")
    first, second = lines.getvalue().splitlines()
    assert " GET /healthz 200 " in first
    assert "/api/a\\nforged\\x1b[31m 404 " in second


def test_a_failure_is_logged_with_its_id_and_without_secrets(services: Services, lines: io.StringIO) -> None:
    log_to(lines, services.settings, server_log_format="json", server_access_log="no")
    logging.getLogger("assay.server").info("not told at the level of warnings")
    problem = RuntimeError("connecting with password=hunter2canary failed")
    logging.getLogger("assay.server").error("request %s failed", "r_1", exc_info=problem)
    [entry] = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert (entry["level"], entry["message"]) == ("error", "request r_1 failed")
    assert "RuntimeError" in entry["traceback"]
    assert "hunter2canary" not in lines.getvalue()


def test_levels_and_the_log_of_requests_are_apart(services: Services, lines: io.StringIO) -> None:
    log_to(lines, services.settings, server_log_level="error")
    logging.getLogger("assay.server").warning("not told")
    with reaching(services) as client:
        client.get("/healthz")
    assert [line.split()[1] for line in lines.getvalue().splitlines()] == ["GET"]


def test_without_the_setting_nothing_wraps_the_application(tmp_path: Path, lines: io.StringIO) -> None:
    with services_at(tmp_path) as services, reaching(services) as client:
        log_to(lines, services.settings)
        assert not isinstance(client.app, RequestLog)
        assert client.get("/healthz").status_code == 200
    assert lines.getvalue() == ""
