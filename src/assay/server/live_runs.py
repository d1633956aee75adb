"""Runs that the server itself works on: begun in a browser, watched live, stopped, and gone on with.

A run works in a thread of its own. One at a time for each tenant, and one at a time in this process, since two would
distort each other's times: the others wait. How a run goes on is in files beside its journal
(`evaluation.running.live`), so that every serving process can show it, and a server that ends in the middle leaves a
run that can go on.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, NotReady, ServerBusy
from assay.evaluation.comparison import leading
from assay.evaluation.running.live import LiveFolder, LivePhase, LiveRun, LiveWatch, RunStopped, hold_place
from assay.verbs.runs import (
    ONE_RUN,
    GateRunRequest,
    RunHooks,
    StartRunRequest,
    check_system,
    gate,
    measure,
    name_system,
)

if TYPE_CHECKING:
    from assay.evaluation.results import RunResult
    from assay.verbs import Caller

MOST_WAITING = 8
"""Runs of tenants that may wait for the one in progress."""
ORDER_SEED = 0
"""Of the random order of cases: the same every time."""
TURN_S = 0.2
"""Seconds between two looks whether it is a waiting run's turn, or it was asked to stop."""
FAREWELL_S = 10.0
"""Seconds in which runs may end the case at hand when the server stops."""
_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class _Order:
    """One run to work on."""

    caller: Caller
    request: StartRunRequest
    watch: LiveWatch
    resume: Path | None
    thread: threading.Thread | None = None
    ready: threading.Event = field(default_factory=threading.Event)
    refused: AssayError | None = None
    """Why work could not begin."""


class LiveRuns:
    """The runs that this process works on."""

    def __init__(self) -> None:
        self._orders: dict[str, _Order] = {}
        self._lock = threading.Lock()

    def start(self, caller: Caller, request: StartRunRequest) -> str:
        """Begin a run in a thread; return its id at once. Raises where the tenant has one in progress."""
        caller.shelf.load_dataset(request.dataset)
        run_id = caller.engine.store.ids.new("run")
        system = name_system(caller, request)
        detail = {"dataset": request.dataset, "system": system, "cases": request.max_cases}
        self._begin(caller, request, run_id, system, resume=None)
        _audit(caller, "run.start", run_id, detail)
        return run_id

    def resume(self, caller: Caller, run_id: str) -> None:
        """Go on with a run that was stopped, failed or interrupted; cases that ended are not asked again."""
        folder = caller.shelf.find_run(run_id)
        if folder.finished:
            raise NotReady(f"the run {run_id} has finished", remedy="Read its verdict, or start another run.")
        there = folder.read_manifest()
        request = StartRunRequest(dataset=there.dataset, name=there.name)
        self._begin(caller, request, there.run_id, check_system(there.system), resume=folder.path)
        _audit(caller, "run.resume", there.run_id, {"cases_kept": len(folder.read_cases())})

    def stop(self, caller: Caller, run_id: str) -> None:
        """Ask a run to stop after the case at hand, whichever process works on it."""
        folder = caller.shelf.find_live(run_id)
        if not folder.is_held:
            raise NotReady(
                f"no server works on the run {run_id}",
                remedy="A run of the command line is stopped there, with Ctrl-C.",
            )
        folder.ask_to_stop()
        _audit(caller, "run.stop", run_id, {})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Stop every run when the server stops, and wait a little for the cases at hand."""
        try:
            yield
        finally:
            for order in list(self._orders.values()):
                order.watch.folder.ask_to_stop()
            for order in list(self._orders.values()):
                if order.thread is not None:
                    await asyncio.to_thread(order.thread.join, FAREWELL_S)

    def _begin(
        self, caller: Caller, request: StartRunRequest, run_id: str, system: str, *, resume: Path | None
    ) -> None:
        folder = LiveFolder(resume or caller.shelf.runs_folder / run_id)
        state = LiveRun(
            run_id=run_id,
            dataset=request.dataset,
            system=system,
            name=request.name or system,
            who=caller.scope.identity,
            began_at=caller.engine.clock.now(),
            phase=LivePhase.WAITING,
        )
        watch = LiveWatch(folder=folder, state=state, clock=caller.engine.clock)
        order = _Order(caller=caller, request=request, watch=watch, resume=resume)
        with self._lock:
            if len(self._orders) > MOST_WAITING:
                raise ServerBusy(f"{MOST_WAITING} runs are waiting already", remedy="Try again in a few minutes.")
            self._orders[run_id] = order
        order.thread = threading.Thread(target=self._work, args=(order,), name="assay-run", daemon=True)
        order.thread.start()
        order.ready.wait()
        if order.refused is not None:
            raise order.refused

    def _work(self, order: _Order) -> None:
        """Work on one run to its end, in its thread."""
        watch, run_id = order.watch, order.watch.state.run_id
        try:
            with ExitStack() as held:
                try:
                    held.enter_context(hold_place(order.caller.shelf.runs_folder, run_id))
                    held.enter_context(watch.folder.hold())
                    watch.enter(LivePhase.WAITING)
                except AssayError as problem:
                    order.refused = problem
                    return
                finally:
                    order.ready.set()
                self._run(order)
        finally:
            with self._lock:
                self._orders.pop(run_id, None)

    def _run(self, order: _Order) -> None:
        watch = order.watch
        try:
            with ExitStack() as held:
                _wait_for_turn(watch, held)
                watch.enter(LivePhase.PREPARING)
                result, note = measure(order.caller, order.request, _hooks(order))
            watch.look()
            watch.enter(LivePhase.FINISHED, problem=note)
            verdict = _gate(order.caller, result)
            _audit(order.caller, "run.finish", result.run_id, {**_describe(result), "verdict": verdict})
        except RunStopped:
            watch.enter(LivePhase.STOPPED)
        except AssayError as problem:
            _fail(order, f"{problem.message}. {problem.remedy}")
        except Exception:  # noqa: BLE001 - the page shows the problem instead of waiting for ever
            _log.exception("run %s failed", watch.state.run_id)
            _fail(order, "Assay itself failed; the server's log says more.")


def _wait_for_turn(watch: LiveWatch, held: ExitStack) -> None:
    """Wait until no other run is measured in this process."""
    while not ONE_RUN.acquire(timeout=TURN_S):
        watch.check()
    held.callback(ONE_RUN.release)


def _hooks(order: _Order) -> RunHooks:
    watch = order.watch

    def on_dataset(dataset: Any) -> None:
        watch.dataset = dataset

    return RunHooks(
        run_id=watch.state.run_id,
        order_seed=ORDER_SEED,
        resume=order.resume,
        on_dataset=on_dataset,
        on_document=watch.on_document,
        on_start=watch.on_start,
        on_case=watch.on_case,
    )


def _fail(order: _Order, problem: str) -> None:
    order.watch.enter(LivePhase.FAILED, problem=problem)
    _audit(order.caller, "run.fail", order.watch.state.run_id, {"problem": problem})


def _describe(result: RunResult) -> dict[str, Any]:
    """Return what the audit log keeps of a finished run."""
    metric = leading([str(spec) for spec in result.aggregates])
    values = {str(spec): aggregate.value for spec, aggregate in result.aggregates.items()}
    return {"metric": metric, "value": values[metric], "result": result.result_hash}


def _gate(caller: Caller, result: RunResult) -> str:
    """Hold a finished run against the baseline of its dataset, keep the verdict and return it; empty: there is none."""
    head = caller.shelf.baselines().get(result.manifest.dataset)
    if head is None:
        return ""
    try:
        return gate(caller, GateRunRequest(run=result.run_id, baseline=head.run_id)).status
    except AssayError as problem:
        return f"none: {problem.message}"


def _audit(caller: Caller, action: str, run_id: str, detail: dict[str, Any]) -> None:
    with caller.engine.store.writing(caller.scope) as work:
        work.audit.append(action, run_id, detail)
