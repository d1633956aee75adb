"""The HTTP API as typed calls: what a program elsewhere uses in place of the memory itself.

    with assay.Client("https://assay.example", token=...) as client: ...

What comes back are frozen values; a field that a newer server adds is passed over. Errors are the same ones that the
library raises, by the code the server told. A call that may help again is tried again, and a write carries a key of its
own each time, so that it is done once however often it is sent.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlencode
from uuid import uuid4

import numpy as np

from assay import errors
from assay.calls import MemoryCalls
from assay.clock import Clock, SystemClock
from assay.errors import AssayError, EndpointUnavailable, InputError
from assay.metrics.catalog import MetricFacts
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.http_pool import HttpPool
from assay.network import Gatekeeper
from assay.records import (
    ErasedMemory,
    EvalResult,
    ForgottenMemory,
    MemoryLine,
    RunType,
    ShownMemory,
)
from assay.records.analysis import (
    Analysis,
)
from assay.records.datasets import DatasetOverview, ProposedQuestions, ReviewDecision
from assay.records.explanations import LostQueries, QueryExplanation
from assay.records.flags import (
    FlagState,
)
from assay.records.research_log import (
    ResearchAnswer,
    ResearchSession,
    SessionPage,
    StoredResearch,
)
from assay.records.run_results import BlessedRun, ComparisonResult, GateResult, RunSummary
from assay.research_calls import ResearchCalls
from assay.verbs import Verb, reading
from assay.verbs import analysis as analysis_verbs
from assay.verbs import datasets as dataset_verbs
from assay.verbs import flags as flag_verbs
from assay.verbs import memory as memory_verbs
from assay.verbs import metrics as metric_verbs
from assay.verbs import research as research_verbs
from assay.verbs import runs as run_verbs
from assay.verbs.datasets import DatasetList
from assay.verbs.metrics import MetricList
from assay.verbs.runs import RunPage

DEFAULT_URL = "http://127.0.0.1:8710"
AGAIN = frozenset({408, 425, 429, 502, 503, 504})
PAGE = 200

Result = TypeVar("Result")


class Client(MemoryCalls, ResearchCalls):
    """One server, and what its token opens there. Threads may share a client.

    Calls share open connections. A `with` block or `close` closes them.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        token: str = "",
        *,
        deadline_s: float = 60.0,
        attempts: int = 3,
        clock: Clock | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        options = EndpointOptions(url=url, key=token, deadline_s=deadline_s, attempts=attempts, again=AGAIN)
        # A client has no settings file: the variables hold for it too, and its own default is a configured address.
        gate = Gatekeeper.of_environment(os.environ, [DEFAULT_URL])
        clock = clock or SystemClock()
        self._pool = HttpPool()
        self._endpoint = Endpoint(
            options,
            gate=gate,
            clock=clock,
            rng=np.random.default_rng(),
            pause=pause,
            pool=self._pool,
        )

    def memory(self, memory_id: str, **more: Any) -> ShownMemory:
        """One memory as a whole; with a session_id, that counts as a read. `more` are session_id, offset and limit."""
        return self._call(reading.SHOW, memory_id=memory_id, **more)

    def memories(self, **filters: Any) -> Iterator[MemoryLine]:
        """Every memory, newest first, page after page; filters are folder, tags, tier, status and since."""
        cursor: str | None = None
        while True:
            page = self.list(limit=PAGE, cursor=cursor, **filters)
            yield from page.memories
            cursor = page.next_cursor
            if cursor is None:
                return

    def forget(
        self, memory_id: str, *, reversible: bool = False, versions: bool = False
    ) -> ForgottenMemory | ErasedMemory:
        """Erase a memory to the last byte; with `reversible`, hide it from every search until it is restored."""
        if reversible:
            return self._call(memory_verbs.FORGET, memory_id=memory_id)
        return self.erase(memory_id, versions=versions)

    def ask(self, question: str, **more: Any) -> ResearchAnswer:
        """Answer a question from the memory, with citations or an honest "not answered".

        `more` are further fields of the request: session_id, tags, evaluate, builtin.
        """
        return self._call(research_verbs.ASK, question=question, **more)

    def retry_search(self, log_id: str, **more: Any) -> ResearchAnswer:
        """Answer an earlier question again from a wider search; `more` are evaluate and builtin."""
        return self._call(research_verbs.RETRY, log_id=log_id, **more)

    def log(self, log_id: str) -> StoredResearch:
        """Show everything that happened to one question."""
        return self._call(research_verbs.SHOW, log_id=log_id)

    def evaluations(self, **filters: Any) -> Iterator[ResearchSession]:
        """Answered questions with their scores, newest first, page after page."""
        cursor: str | None = None
        while True:
            page = self.evaluation_page(**filters, cursor=cursor, limit=PAGE)
            yield from page.sessions
            cursor = page.next_cursor
            if cursor is None:
                return

    def evaluation_page(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> SessionPage:
        """One page of answered questions, newest first."""
        return self._call(research_verbs.LIST, limit=limit, cursor=cursor, **filters)

    def analyze(self, **more: Any) -> Analysis:
        """Sum up answered questions, look for patterns, and suggest what to change.

        `more` are the filters of `evaluations`, and fdr, least_support, least_drop and model.
        """
        return self._call(analysis_verbs.ANALYZE, **more)

    def run(self, dataset: str, **more: Any) -> RunSummary:
        """Run Assay over a dataset and measure it; may take minutes, so give the client a long deadline.

        `more` are further fields of the request, such as mode, answer, metrics, k or max_cases.
        """
        return self._call(run_verbs.START, dataset=dataset, **more)

    def runs(self, *, run_type: RunType | None = None, limit: int = 50, cursor: str | None = None) -> RunPage:
        """Return one page of runs and verdicts of the gate, newest first."""
        return self._call(run_verbs.LIST_RUNS, run_type=run_type, limit=limit, cursor=cursor)

    def show_run(self, run_id: str, *, run_type: RunType = RunType.FULL) -> EvalResult:
        """Return one run as the store keeps it, with every case's numbers; or the newest verdict of the gate on it."""
        return self._call(run_verbs.SHOW, run_id=run_id, run_type=run_type)

    def why_run(self, run_id: str, query: str = "lost", *, k: int | None = None) -> QueryExplanation | LostQueries:
        """Explain why a query of a run lost its gold, from what the run recorded; `lost` lists all that did."""
        return self._call(run_verbs.WHY, run_id=run_id, query=query, k=k)

    def compare(self, control: str, treatment: str, *, seed: int = 0) -> ComparisonResult:
        """Compare two runs over the same cases, each by its id or name."""
        return self._call(run_verbs.COMPARE, control=control, treatment=treatment, seed=seed)

    def gate(self, run: str = "latest", *, baseline: str | None = None, **more: Any) -> GateResult:
        """Hold a run against its floors and a baseline, each run by its id or name.

        `more` are further fields of the request: strict, metric, allow_lost and seed.
        """
        return self._call(run_verbs.GATE, run=run, baseline=baseline, **more)

    def bless_run(self, run_id: str, note: str, *, despite: str = "") -> BlessedRun:
        """Make a run the baseline of its dataset, with a note."""
        return self._call(run_verbs.BLESS, run_id=run_id, note=note, despite=despite)

    def datasets(self) -> DatasetList:
        """Return the datasets that come with Assay and those that were imported."""
        return self._call(dataset_verbs.LIST)

    def show_dataset(self, name: str) -> DatasetOverview:
        """Return what a dataset holds, counted."""
        return self._call(dataset_verbs.SHOW, name=name)

    def proposals(self, name: str) -> ProposedQuestions:
        """Return the questions that were proposed for a dataset, and what was decided about each."""
        return self._call(dataset_verbs.PROPOSALS, name=name)

    def review_proposal(
        self, name: str, case_id: str, decision: ReviewDecision | str, *, wording: str | None = None
    ) -> ProposedQuestions:
        """Keep or drop a proposed question, or undo that; with `wording`, keep it in these words."""
        return self._call(dataset_verbs.REVIEW, name=name, case_id=case_id, decision=decision, wording=wording)

    def metrics(self) -> MetricList:
        """Return every metric that the server can compute."""
        return self._call(metric_verbs.LIST)

    def show_metric(self, name: str) -> MetricFacts:
        """Return what is known of a metric: formula, range, parameters, source and a worked example."""
        return self._call(metric_verbs.SHOW, name=name)

    def flag(self, name: str) -> FlagState:
        """One flag as it stands."""
        return self._call(flag_verbs.SHOW, name=name)

    def _call(self, verb: Verb[Any, Result], /, **given: Any) -> Result:
        """Call a verb over HTTP; the result is the value that the same verb returns in Python."""
        route = verb.http
        if route is None:
            raise InputError(f"{verb.name} has no address", remedy="Use the command line or the Python API for it.")
        path = route.path.format(**{name: _part(str(given.pop(name))) for name in route.path_fields})
        if route.has_body:
            return verb.read(self._asked(route.method, path, given))
        query = {name: _written(value) for name, value in given.items() if value is not None}
        return verb.read(self._asked(route.method, f"{path}?{urlencode(query, doseq=True)}" if query else path))

    def get(self, path: str, **query: Any) -> Mapping[str, Any]:
        """Read any address of the API; what is None is not asked."""
        given = {name: _written(value) for name, value in query.items() if value is not None}
        return self._asked("GET", f"{path}?{urlencode(given, doseq=True)}" if given else path)

    def post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send something to any address of the API; what is None is left out."""
        return self._asked("POST", path, body)

    def put(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Set something at any address of the API; what is None is left out."""
        return self._asked("PUT", path, body)

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        sent = None if body is None else {name: _written(value) for name, value in body.items() if value is not None}
        headers = {} if method == "GET" else {"Idempotency-Key": uuid4().hex}
        try:
            found = self._endpoint.send(path, sent, method=method, headers=headers).value
        except EndpointUnavailable as problem:
            raise _told(problem) from problem
        answer: Mapping[str, Any] = found
        return answer

    def close(self) -> None:
        """Close the open connections. A later call opens new ones."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the open connections."""
        self.close()


def _written(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    return value.isoformat() if isinstance(value, datetime) else value


def _part(text: str) -> str:
    """One part of a path: an id never leads elsewhere."""
    return quote(text, safe="")


def _told(problem: EndpointUnavailable) -> AssayError:
    """The error the server told, as the library raises it; what is none is left as it is."""
    try:
        fault = json.loads(problem.body)["error"]
        message, remedy, code = str(fault["message"]), str(fault["remedy"]), str(fault["code"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return problem
    kind = getattr(errors, "".join(part.title() for part in code.split("_")), None)
    if not (isinstance(kind, type) and issubclass(kind, AssayError)):
        problem.message, problem.remedy = message, remedy
        return problem
    return kind(message, remedy=remedy)
