"""Processor time of a request: where it is checked, and when it no longer ends a request."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import pytest
from tests.mcp.serving import LESSON, refused, serving_http
from tests.mcp.serving import connected as connected_mcp
from tests.server.serving import OWN, reaching, services_at

from assay import cpu_budget
from assay.cpu_budget import CpuBudget, apply_budget
from assay.errors import RequestTooCostly
from assay.records import SearchRequest, make_draft

NOTE = {"title": "Tabs", "body": "We indent Makefiles with tabs, because make refuses spaces there."}


class Used:
    """Processor time that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_request_over_its_budget_is_ended_with_what_it_used() -> None:
    used = Used()
    with apply_budget(CpuBudget(2.0, used=used, elapsed=used)):
        used.seconds += 2.0
        cpu_budget.check("fusion")
        used.seconds += 0.5
        with pytest.raises(RequestTooCostly, match=r"2\.5 s .* before fusion; it may use 2 s") as problem:
            cpu_budget.check("fusion")
    assert "less at a time" in problem.value.remedy
    cpu_budget.check("without a budget nothing is limited")


def test_once_something_was_committed_a_request_goes_on() -> None:
    used = Used()
    with apply_budget(CpuBudget(2.0, used=used, elapsed=used)):
        used.seconds += 3.0
        with pytest.raises(RequestTooCostly):
            cpu_budget.check("saving")
        cpu_budget.settle()
        cpu_budget.check("telling what was saved")
        used.seconds += 100.0
        cpu_budget.check("telling more of it")
    with apply_budget(CpuBudget(2.0, used=used, elapsed=used)):
        used.seconds += 3.0
        with pytest.raises(RequestTooCostly):
            cpu_budget.check("the next request, which has committed nothing")


def test_only_the_thread_that_began_it_counts() -> None:
    used = Used()
    budget = CpuBudget(2.0, used=used, elapsed=used)
    used.seconds += 3.0
    ended: list[str] = []

    def elsewhere() -> None:
        budget.check("a thread of its own")
        ended.append("fine")

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert ended == ["fine"]


def test_a_search_and_a_save_are_ended_between_their_steps(tmp_path: Path) -> None:
    with services_at(tmp_path) as services:
        used = Used()
        engine = services.engine
        draft = make_draft(title=NOTE["title"], body=NOTE["body"], written_with="test")
        with apply_budget(CpuBudget(1.0, used=used, elapsed=used)):
            used.seconds += 2.0
            with pytest.raises(RequestTooCostly):
                engine.searcher.search(OWN, SearchRequest(query="makefiles"))
            with pytest.raises(RequestTooCostly):
                engine.saver.save(OWN, draft)
        assert engine.searcher.search(OWN, SearchRequest(query="makefiles")).hits == ()
        with apply_budget(CpuBudget(1.0, used=used, elapsed=used)):
            engine.saver.save(OWN, draft)
            used.seconds += 2.0
            # It was saved: whatever follows is told, not refused.
            engine.searcher.search(OWN, SearchRequest(query="makefiles"))


def test_over_http_it_is_told_as_503_and_others_are_answered(tmp_path: Path) -> None:
    with services_at(tmp_path, server_request_cpu_s=1e-9) as services, reaching(services) as client:
        answer = client.post("/api/memory/search", json={"query": "makefiles"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "request_too_costly")
        assert client.post("/api/memory", json=NOTE).status_code == 503
        assert client.get("/healthz").status_code == 200


def test_over_mcp_it_is_told_in_the_tools_result(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        async with connected_mcp(address) as client:
            problem = await refused(client, "memory_save", **LESSON)
            assert problem["code"] == "request_too_costly"

    with serving_http(tmp_path, server_request_cpu_s=1e-9) as address:
        anyio.run(main, address)
