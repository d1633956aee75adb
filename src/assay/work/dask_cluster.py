"""Workers of a Dask cluster: one that runs somewhere (`tcp://host:8786`), or one made here (`local:4`).

Dask starts workers, watches them and carries bytes. Which worker gets which batch is decided by `dispatch`, so that
every loss can be laid to one worker. The scheduler keeps nothing that matters: when it dies, `ClusterFailed` is raised,
and whoever called has what was finished.
"""

from __future__ import annotations

import logging
import queue
import re
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from assay.clock import Clock
from assay.errors import BadValue, ClusterFailed
from assay.extras import need_extra
from assay.work.dispatch import CrewExecutor, DispatchRules, Reply, WorkerState
from assay.work.worker import Request, close_job, perform

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

CONNECT_S = 10.0
"""How long to wait for a scheduler to answer."""
FETCH_S = 10.0
"""How long to wait for a result that a worker has; one that is gone meanwhile is found by the next look."""
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}
"""Settings of Dask for a cluster that does Assay's work.

By itself Dask looks into every worker 100 times a second and wakes every event loop 50 times. That takes some 2 % of a
core from each worker and from the scheduler, and shows nothing that anybody asks Assay for.
"""
_LOCAL = re.compile(r"local:(\d+)")
_SCHEMES = frozenset({"tcp", "tls"})


class ClusterName(NamedTuple):
    """What `--cluster` names."""

    address: str
    """Of a scheduler; empty: a cluster is made on this machine."""
    workers: int = 0
    """Of a cluster made here."""


def read_cluster(text: str) -> ClusterName:
    """Read `tcp://host:8786`, `tls://host:8786` or `local:4`."""
    local = _LOCAL.fullmatch(text.strip())
    if local is not None and int(local[1]) > 0:
        return ClusterName("", int(local[1]))
    try:
        parts = urlsplit(text.strip())
        whole = parts.scheme in _SCHEMES and parts.hostname and parts.port
    except ValueError:
        whole = None
    if not whole:
        raise BadValue(
            f"{text!r} names no cluster",
            remedy="Give the address of a scheduler such as tcp://host:8786, or local:4 for four workers here.",
        )
    return ClusterName(text.strip())


class DaskCrew:
    """The workers of a cluster, reached through its scheduler."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        self._futures: dict[str, Future[Any]] = {}
        self._ready: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._there: set[str] = set()
        self._told: dict[str, set[str]] = {}
        """By job, the workers that were given some of it."""

    def workers(self) -> Mapping[str, WorkerState]:
        """Every worker that the scheduler knows."""
        return {
            address: WorkerState(slots=max(1, int(told["nthreads"])), heard=told["last_seen"])
            for address, told in self.ask_scheduler().items()
        }

    def ask_scheduler(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the scheduler knows of its workers; raises `ClusterFailed` where it does not answer."""
        if self._client.status != "running":
            raise self._gone("the connection is closed")
        scheduler: Any = self._client.scheduler
        try:
            told: Mapping[str, Any] = self._client.sync(scheduler.identity, n_workers=-1, callback_timeout=CONNECT_S)
        except (OSError, TimeoutError, RuntimeError) as problem:
            raise self._gone(f"{type(problem).__name__}: {problem}") from problem
        found: Mapping[str, Mapping[str, Any]] = told["workers"]
        self._there = set(found)
        return found

    def _gone(self, why: str) -> ClusterFailed:
        return ClusterFailed(
            f"the scheduler {self._name} does not answer ({' '.join(why.split())[:200]})",
            remedy="Start it again. What is finished is kept.",
        )

    def send(self, token: str, worker: str, request: Request) -> None:
        """Give a worker a batch; if it goes away first, the next look finds that."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # the description of a job, once a worker
            try:
                future = self._client.submit(
                    perform, tuple(request), key=token, pure=False, workers=[worker], allow_other_workers=False
                )
            except (OSError, RuntimeError) as problem:
                raise self._gone(str(problem)) from problem
        self._futures[token] = future
        self._told.setdefault(request.key, set()).add(worker)
        future.add_done_callback(lambda _: self._ready.put(token))

    def wait(self, seconds: float) -> Sequence[Reply]:
        """Wait for replies, and take all that are ready."""
        try:
            tokens = [self._ready.get(timeout=seconds)]
        except queue.Empty:
            return []
        with suppress(queue.Empty):
            while True:
                tokens.append(self._ready.get_nowait())
        futures = {token: self._futures.pop(token) for token in tokens if token in self._futures}
        return [reply for token, future in futures.items() if (reply := self._fetch(token, future)) is not None]

    def _fetch(self, token: str, future: Future[Any]) -> Reply | None:
        if future.status == "finished":
            try:
                return Reply(token, future.result(timeout=FETCH_S))
            except Exception as problem:  # noqa: BLE001 - the worker died with the result, or it cannot be read
                return Reply(token, None, _one_line(problem))
        if future.status == "error":
            return Reply(token, None, _one_line(future.exception(timeout=FETCH_S)))
        # Cancelled, which nobody but a lost scheduler does: looking at it says so.
        self.ask_scheduler()
        return Reply(token, None, "the scheduler dropped it")

    def take_back(self, token: str, *, hung: bool) -> None:  # noqa: ARG002 - Dask restarts what hangs by itself
        """Forget a batch."""
        future = self._futures.pop(token, None)
        if future is not None and self._client.status == "running":
            with suppress(Exception):  # it may be gone already, which is what is wanted
                future.cancel()

    def finish(self, key: str) -> None:
        """Tell workers that a job is done with, and do not wait for them."""
        from distributed import fire_and_forget  # noqa: PLC0415 - the extra "distributed"

        # Not `Client.run`, which would wait for a worker that has stopped.
        for number, worker in enumerate(sorted(self._told.pop(key, set()) & self._there)):
            with suppress(Exception):  # a worker that does not hear it closes the job when others come
                fire_and_forget(
                    self._client.submit(close_job, key, key=f"assay-{key}-close-{number}", workers=[worker])
                )

    def run_on_workers(self, function: Callable[[], Any]) -> Mapping[str, Any]:
        """Call a function on every worker; what it raises there, or a timeout, is its result."""
        asked = {worker: self._client.submit(function, workers=[worker], pure=False) for worker in self.ask_scheduler()}
        return {worker: self._result_of(future) for worker, future in asked.items()}

    @staticmethod
    def _result_of(future: Future[Any]) -> Any:
        try:
            return future.result(timeout=FETCH_S)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is what the worker says
            return problem


def _is_no_loss(record: logging.LogRecord) -> bool:
    """Whether a line of the log is about something else than a result that was lost with its worker."""
    return "AllExit" not in str(record.exc_info)


def _one_line(problem: BaseException | None) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())[:300]


def open_cluster(
    text: str, *, threads: int = 1, rules: DispatchRules | None = None, clock: Clock | None = None
) -> CrewExecutor:
    """An executor of a Dask cluster; `threads` are those of each worker of a cluster made here."""
    crew, close = connect(text, threads=threads)
    more = {} if clock is None else {"clock": clock}
    return CrewExecutor(
        crew=crew, new_key=lambda: uuid.uuid4().hex[:12], close_crew=close, rules=rules or DispatchRules(), **more
    )


def connect(text: str, *, threads: int = 1) -> tuple[DaskCrew, Callable[[], None]]:
    """Reach a cluster, or make one here; return its workers and what gives them back."""
    name = read_cluster(text)
    need_extra("distributed")
    import dask  # noqa: PLC0415 - the extra "distributed"
    from distributed import Client, LocalCluster  # noqa: PLC0415 - the same

    # Otherwise the source code of whoever calls is read and sent to the scheduler with every batch.
    dask.config.set({"distributed.diagnostics.computations.nframes": 0, **QUIET})
    # Dask tells of every worker that comes and goes; what matters of that is told by `dispatch`.
    logging.getLogger("asyncio").addFilter(_is_no_loss)
    for logger in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    cluster: LocalCluster | None = None
    if not name.address:
        cluster = LocalCluster(
            n_workers=name.workers,
            threads_per_worker=threads,
            host="127.0.0.1",
            dashboard_address=None,
            # Without a dashboard its web server still takes port 8787, which one program at a time can have.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
        )
    try:
        client = Client(cluster or name.address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError) as problem:
        if cluster is not None:
            cluster.close()
        raise ClusterFailed(
            f"no scheduler answers at {text}: {_one_line(problem)}", remedy="Start one: `dask scheduler`."
        ) from problem

    def close() -> None:
        with suppress(Exception):  # what is gone is closed
            client.close(timeout=CONNECT_S)
        if cluster is not None:
            cluster.close(timeout=CONNECT_S)

    return DaskCrew(client, text), close
