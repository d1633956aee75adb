"""Who does the work: threads, processes or a Dask cluster, as a command asks for.

- Executors of a command.
- What workers open: a system by its name, an embedder and a judge by their settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, NotReady
from assay.settings import Settings, load_settings
from assay.systems.registry import SystemRequest, parse_spec
from assay.wiring.engines import load_embedder
from assay.wiring.network import gatekeeper_of
from assay.wiring.stores import scope_of
from assay.work.dask_cluster import DaskCrew, connect, open_cluster, read_cluster
from assay.work.jobs import Executor, LocalExecutor
from assay.work.processes import open_processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.embedding.protocol import Embedder
    from assay.evaluation.run_judging import SpreadJudge
    from assay.evaluation.running.asking import OpenRemoteSystem
    from assay.judging.canaries import AskAll
    from assay.judging.protocol import Judging
    from assay.records.datasets import Dataset
    from assay.records.judging import RubricKind
    from assay.systems.protocol import System
    from assay.wiring.models import JudgeChoice

# --- Executors of a command ---


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkOptions:
    """Who is to do the work; nothing given: one thread of this process."""

    threads: int = 1
    """At once, in this process or in each worker of a cluster made here."""
    processes: int | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.cluster is not None and self.processes is not None:
            raise InputError("there are both --cluster and --processes", remedy="Give one of the two.")
        if self.processes is not None and self.threads > 1:
            raise InputError(
                "there are both --processes and --threads",
                remedy="Give one of the two, or --cluster local:N --threads M for M threads in each of N workers.",
            )


def open_executor(settings: Settings, options: WorkOptions) -> Executor:
    """Return who does the work; the caller closes it."""
    if options.cluster is not None:
        check_cluster(settings, options.cluster)
        return open_cluster(options.cluster, threads=options.threads)
    if options.processes is not None:
        return open_processes(options.processes)
    return LocalExecutor(options.threads)


def check_cluster(settings: Settings, text: str) -> None:
    """Refuse an address that may not be contacted."""
    address = read_cluster(text).address
    if address:
        gatekeeper_of(settings).check(address)


def connect_cluster(settings: Settings, text: str) -> tuple[DaskCrew, Callable[[], None]]:
    """Reach a cluster to look at it; the second value gives it back."""
    check_cluster(settings, text)
    return connect(text)


# --- What workers open: a system by its name, an embedder and a judge by their settings ---


def remote_system(settings: Settings, text: str) -> OpenRemoteSystem | None:
    """Return what opens a system inside a worker: its name and the folder it was named in.

    None for `assay:answer` with a model: the model's budget and its limit of concurrent requests hold in one process.
    """
    configuration = parse_spec(text, Path.cwd()).configuration
    if configuration is not None and configuration.answers:
        from assay.wiring.models import has_model  # noqa: PLC0415 - see the package's docstring

        if has_model(settings):
            return None
    return partial(open_worker_system, text, str(Path.cwd()))


def open_worker_system(text: str, folder: str, dataset: Dataset) -> System:
    """Open a system in a worker, with files from the caller's folder, or on another machine from the worker's own."""
    there = Path(folder)
    place = there if there.is_dir() else Path.cwd()
    spec = parse_spec(text, place)
    return spec.entry.open(SystemRequest(text=spec.text, target=spec.target, dataset=dataset, folder=place))


_EMBEDDER_FIELDS = ("embedder", "embedder_folder", "embedder_url", "embedder_model", "embedder_dimension")
"""What workers are told of the settings. A key is read from the environment of each worker, and never sent."""


def spread_embedder(settings: Settings, executor: Executor) -> Embedder | None:
    """Return the embedder of the settings, with its work done by an executor; None: nobody, or this process, embeds."""
    if isinstance(executor, LocalExecutor) or settings.embedder == "none":
        return None
    from assay.embedding.spread import SpreadEmbedder  # noqa: PLC0415 - see the package's docstring

    return SpreadEmbedder(load_embedder(settings), executor, partial(load_worker_embedder, tell_embedder(settings)))


def tell_embedder(settings: Settings) -> dict[str, Any]:
    """Return what workers are told of the settings, to load the same embedder."""
    return {name: value for name in _EMBEDDER_FIELDS if (value := getattr(settings, name))}


def load_worker_embedder(told: dict[str, Any]) -> Embedder:
    """Load an embedder in a worker: one thread for each batch, since a worker has as many batches as it has threads."""
    return load_embedder(load_settings().settings.change(**told, embedder_threads=1))


def spread_judges(settings: Settings, executor: Executor, choice: JudgeChoice) -> SpreadJudge | None:
    """Return who judges: workers for judges that ask no model, this process for others; None: this process for all."""
    if isinstance(executor, LocalExecutor):
        return None
    from assay.evaluation.spread_judging import ask_workers, asks_model  # noqa: PLC0415 - see the package's docstring
    from assay.wiring.models import judge_name  # noqa: PLC0415 - the same

    told, name = tell_embedder(settings), judge_name(settings, choice)

    def spread(judge: Judging) -> AskAll | None:
        if asks_model(judge):
            return None
        return ask_workers(judge, executor, partial(open_worker_judge, told, name, judge.about, choice.rubric))

    return spread


class _NoStore:
    """Takes the place of the store in a worker, which has none."""

    def __getattr__(self, name: str) -> Any:
        raise NotReady("this judge needs the store, which workers do not have", remedy="Judge without --cluster.")


def open_worker_judge(told: dict[str, Any], name: str, about: RubricKind, rubric: str) -> Judging:
    """Open a judge that asks no model in a worker."""
    from assay.judging.registry import JudgeRequest, find_judge  # noqa: PLC0415 - see the package's docstring

    settings = load_settings().settings.change(**told, embedder_threads=1)
    store: Any = _NoStore()
    request = JudgeRequest(
        about=about, rubric=rubric, model="", settings=settings, store=store, scope=scope_of(settings)
    )
    return find_judge(name, about).open(request)
