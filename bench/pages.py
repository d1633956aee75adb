"""How long pages over many stored evaluations take: `python -m bench.pages [--evaluations 100000] [--json]`.

A store is filled with that many answered questions over half a year, each with scores, what failed, and a trace; then
`assay serve` serves it in a process of its own, and one client asks for each address over loopback. The time is the
client's: request sent to last byte read. A tenth of the evaluations is measured first, for what the server's memory
does when rows become ten times as many.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import numpy as np
from rich.console import Console
from rich.table import Table

from assay.clock import SystemClock
from assay.records import Scope
from assay.records.research import DIMENSIONS, Checkpoint
from assay.records.research_log import EvaluatedBy, ResearchSession
from assay.storage import Store, open_store

CLOCK = SystemClock()
SCOPE = Scope()
DAYS = 180
TOGETHER = 2_000
"""Evaluations put into one transaction."""
BAR = 0.6
TRACE = {"plan_evaluation": {"attempts": [{"number": 1, "critique": "What the evaluators said of it. " * 30}]}}
SUBJECTS = ("refunds", "parking", "breakfast", "invoices", "dogs", "late arrival", "keys", "the pool", "linen", "bikes")
SEASONS = ("on a holiday", "in winter", "for a group", "after midnight", "without a booking", "for members")
RARE = "zeppelin"
"""A word of one question in a thousand."""
GOALS_MS = {"Overview": 300.0, "API": 300.0, "Questions": 200.0}
"""p95, by the first word of what is asked."""
GOAL_MS = 300.0
"""p95 of every other page."""


class Asked(NamedTuple):
    """One address that is measured."""

    what: str
    address: str

    @property
    def goal_ms(self) -> float:
        """Below this at p95."""
        return GOALS_MS.get(self.what.split(",", maxsplit=1)[0], GOAL_MS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Took:
    """How long one address took."""

    what: str
    kilobytes: float
    processor_ms: float
    """Processor time of the server for one request: it does not depend on what else the machine does."""
    p50_ms: float
    p95_ms: float
    goal_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What was measured over one store."""

    evaluations: int
    fill_s: float
    peak_mb: float
    """Most memory the server had at once."""
    took: tuple[Took, ...]


def measure(folder: Path, evaluations: int, requests: int, seed: int) -> Figures:
    """Fill a store, serve it, and ask for every address so many times."""
    began = time.perf_counter()
    path = folder / f"{evaluations}.db"
    if not path.exists():
        fill(path, evaluations, seed)
    filled = time.perf_counter() - began
    with served_store(path) as (process, address), closing(PageClient(address)) as client:
        asked = _addresses(client)
        took = tuple(measure_page(client, one, requests, process) for one in asked)
        return Figures(evaluations=evaluations, fill_s=filled, peak_mb=_peak_mb(process), took=took)


def fill(path: Path, evaluations: int, seed: int) -> None:
    """A store with so many evaluations, oldest first."""
    rng = np.random.default_rng(seed)
    with open_store(str(path), clock=CLOCK) as store:
        now = CLOCK.now()
        ages = [DAYS * place / evaluations for place in range(evaluations, 0, -1)]
        for first in range(0, evaluations, TOGETHER):
            _put(store, [_session(store, rng, now - timedelta(days=age)) for age in ages[first : first + TOGETHER]])


def _put(store: Store, sessions: list[ResearchSession]) -> None:
    with store.writing(SCOPE) as work:
        for session in sessions:
            work.research.put(session, TRACE)


def _session(store: Store, rng: np.random.Generator, at: datetime) -> ResearchSession:
    drawn = {
        one: {name.value: round(float(score), 4) for name, score in zip(names, rng.beta(6, 2, len(names)), strict=True)}
        for one, names in DIMENSIONS.items()
    }
    scores = {name: score for own in drawn.values() for name, score in own.items()}
    stages = {one: float(np.mean(list(own.values()))) for one, own in drawn.items()}
    failed = tuple(name for name, score in scores.items() if score < BAR)
    passed = min(stages.values()) >= 0.7
    return ResearchSession(
        log_id=store.ids.new("r"),
        created_at=at,
        question=_question(rng),
        overall_score=float(np.mean(list(stages.values()))),
        plan_score=stages[Checkpoint.PLAN],
        retrieval_score=stages[Checkpoint.RETRIEVAL],
        answer_score=stages[Checkpoint.ANSWER],
        scores=scores,
        failed_dimensions=failed,
        passed=passed,
        failure_type="" if passed else str(rng.choice(["weak_retrieval", "incomplete", "off_topic"])),
        iterations=int(rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1])),
        escalated=bool(rng.random() < 0.1),
        severe=bool(rng.random() < 0.05),
        evaluated_by=EvaluatedBy.BUILTIN,
        latency_ms=float(rng.gamma(4, 200)),
        evaluation_ms=float(rng.gamma(2, 50)),
        prompt_versions=tuple(f"{name}@{int(rng.integers(0, 3))}" for name in ("planner", "synthesiser")),
    )


def _question(rng: np.random.Generator) -> str:
    rare = f" by {RARE}" if rng.random() < 0.001 else ""
    return f"What is the rule of {rng.choice(SUBJECTS)} {rng.choice(SEASONS)}{rare}, number {rng.integers(10**6)}?"


def _addresses(client: PageClient) -> list[Asked]:
    """What is asked for; a deep page is found by the cursor of the middle row."""
    deep = client.middle()
    overview, listed, api = "/evaluation", "/evaluation/queries", "/api/evaluation/metrics"
    return [
        Asked("Overview, last 30 days", overview),
        Asked("Overview, all time", _to(overview, range="all")),
        Asked("Overview, all time, not passed", _to(overview, range="all", passed="no")),
        Asked("Overview, all time, failed in relevance", _to(overview, range="all", dimension="relevance")),
        Asked("API, all time", api),
        Asked("API, all time, one prompt version", _to(api, prompt_version="planner@1")),
        Asked("Questions, newest", listed),
        Asked("Questions, deep page", _to(listed, after=deep)),
        Asked("Questions, score and dimension", _to(listed, least=0.2, most=0.5, dimension="relevance")),
        Asked("Questions, deep, not passed, in 90 days", _to(listed, after=deep, passed="no", range="90d")),
        Asked("Questions, by score", _to(listed, sort="overall")),
        Asked("Questions, by score, deep page", _to(listed, sort="overall", begin=deep)),
        Asked("Questions, by plans", _to(listed, sort="-plans")),
        Asked("Questions, by answer, not passed", _to(listed, sort="-answer", passed="no")),
        Asked("Questions, a rare word", _to(listed, text=RARE)),
        Asked("Questions, a word of none", _to(listed, text=f"{RARE}{RARE}")),
    ]


def _to(path: str, **query: Any) -> str:
    return f"{path}?{urlencode(query)}"


def measure_page(client: PageClient, asked: Asked, requests: int, server: int) -> Took:
    """Ask for an address so many times, after one time that is not counted."""
    size = len(client.get(asked.address))
    spent, seconds = processor_s(server), []
    for _ in range(requests):
        began = time.perf_counter()
        client.get(asked.address)
        seconds.append(time.perf_counter() - began)
    spent = 1000 * (processor_s(server) - spent) / requests
    p50, p95 = (float(value) * 1000 for value in np.percentile(seconds, [50, 95]))
    return Took(
        what=asked.what, kilobytes=size / 1000, processor_ms=spent, p50_ms=p50, p95_ms=p95, goal_ms=asked.goal_ms
    )


def processor_s(process: int) -> float:
    """Seconds that a process has worked."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class PageClient:
    """One browser's connection."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)

    def get(self, address: str) -> bytes:
        """A page, whole."""
        self._connection.request("GET", address)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{address} answered {answer.status}: {body[:300]!r}")
        return body

    def close(self) -> None:
        """Ask no more."""
        self._connection.close()

    def middle(self) -> int:
        """Behind which row the deepest half of the questions begins; rows are numbered from 1."""
        sessions: Mapping[str, Any] = json.loads(self.get("/api/evaluation/metrics"))
        return int(sessions["sessions"]) // 2


@contextmanager
def served_store(path: Path, more: Mapping[str, str] | None = None) -> Iterator[tuple[int, str]]:
    """`assay serve` as a process of its own, by its id and address; `more` are further variables of its environment."""
    own = {
        "ASSAY_DB": str(path),
        "ASSAY_EMBEDDER_KIND": "static",
        "ASSAY_SERVER_REQUESTS_PER_MINUTE": "10000000",
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "assay", "serve", "--port", "0"]
    with path.with_suffix(".log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **own, **(more or {})}, text=True
        )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        if "http://" not in line:
            raise RuntimeError(f"the server did not start: {line!r}")
        yield server.pid, "http://" + line.split("http://", 1)[1].split()[0]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def _peak_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM:"))


def show_times(took: Took) -> tuple[str, ...]:
    """Return the figures of an address as cells of a table."""
    return (
        f"{took.kilobytes:.0f}",
        f"{took.processor_ms:.0f}",
        f"{took.p50_ms:.1f}",
        f"{took.p95_ms:.1f}",
        f"< {took.goal_ms:.0f}",
    )


def _table(one: Figures, requests: int) -> Table:
    title = (
        f"{one.evaluations:,} evaluations, {requests} requests each; the server's memory peaked at {one.peak_mb:.0f} MB"
    )
    table = Table(title=title, box=None, title_justify="left")
    for column in ("asked for", "kB", "processor ms", "p50 ms", "p95 ms", "goal", ""):
        table.add_column(column, justify="left" if column in ("asked for", "") else "right")
    for took in one.took:
        held = "holds" if took.p95_ms < took.goal_ms else "MISSED"
        table.add_row(took.what, *show_times(took), held)
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="Keep the filled stores here, and find them again.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sizes = (max(given.evaluations // 10, 1), given.evaluations)
        measured = [measure(folder, size, given.requests, given.seed) for size in sizes]
    if given.json:
        print(json.dumps([asdict(one) for one in measured], indent=2))
        return
    for one in measured:
        Console().print(_table(one, given.requests))


if __name__ == "__main__":
    main()
