"""The facades behind the public names: what a program calls, without knowing how things are wired."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from assay import wiring
from assay.access import Access, Grant
from assay.calls import MemoryCalls
from assay.clock import Clock
from assay.errors import UnknownSystem
from assay.records import (
    Erased,
    Forget,
    ForgottenMemory,
    Scope,
    ShownMemory,
)
from assay.records import datasets as records_of_datasets
from assay.records.saving import Exported, ImportReport, IngestReport
from assay.records.store_audits import ImportedStore, RepairedStore, StoreAudit
from assay.records.traces import TraceFormat, TraceImport, WrittenScores
from assay.research_calls import ResearchCalls
from assay.settings import KNOWN, Settings, load_settings
from assay.verbs import Caller, Surface, Verb, documents, reading, store_audits
from assay.verbs import analysis as analysis_verbs
from assay.verbs import files as file_verbs
from assay.verbs import flags as flag_verbs
from assay.verbs import maintenance as maintenance_verbs
from assay.verbs import memory as memory_verbs
from assay.verbs import research as research_verbs
from assay.verbs import traces as trace_verbs

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.evaluation.comparison import RunsCompared
    from assay.evaluation.gating import Verdict
    from assay.evaluation.results import RunResult
    from assay.evaluation.running.early_stopping import SureAgainst
    from assay.memory.engine import Engine
    from assay.records.analysis import (
        Analysis,
    )
    from assay.records.datasets import AgreementReport, AppliedLabels
    from assay.records.explanations import LostQueries, QueryExplanation
    from assay.records.flags import (
        FlagState,
    )
    from assay.records.maintenance import (
        BroughtBack,
        CheckpointLine,
        CheckpointPage,
        RescanReport,
        RestoredCheckpoint,
        RetentionReport,
    )
    from assay.records.research_log import SessionPage, StoredResearch, TracedAnswer
    from assay.records.run_results import FileMeasurement, WrittenReport
    from assay.research.custom import CustomDimension
    from assay.research.events import StageEvent
    from assay.storage import Store
    from assay.systems.protocol import System

Result = TypeVar("Result")


def open_store(db: str | Path | None = None, *, create: bool = True, clock: Clock | None = None) -> Store:
    """Open the evidence store at a path or `postgresql://` address; without one, the store the settings name."""
    return wiring.open_store(_settings(db, {}), clock=clock, create=create)


class Memory(MemoryCalls):
    """A memory: save notes, take in documents, search, and see why each result is where it is.

    The words are those of the command line. `settings` are those of `assay.toml` by their names here, such as
    `tenant="blue"` or `search_k=5`; an `embedder` is a kind (`"minilm"`, `"static"`, `"none"`) or an embedder itself.
    """

    def __init__(
        self,
        db: str | Path | None = None,
        *,
        embedder: str | Embedder | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        kind = {"embedder": embedder} if isinstance(embedder, str) else {}
        self.settings = _settings(db, settings | kind)
        self.scope = wiring.scope_of(self.settings)
        given = None if isinstance(embedder, str) else embedder
        self.engine = wiring.open_engine(self.settings, clock=clock, embedder=given)

    def ingest(
        self,
        *paths: str | Path,
        root: str | Path | None = None,
        globs: Sequence[str] = (),
        follow_links: bool = False,
        gate: bool = False,
        prune: bool = False,
        conversation: bool = False,
    ) -> IngestReport:
        """Take in files and folders: what is new or changed, in batches that survive an interruption."""
        report = self._call(
            documents.INGEST,
            paths=paths,
            root=root,
            globs=globs,
            follow_links=follow_links,
            gate=gate,
            prune=prune,
            conversation=conversation,
        )
        self.engine.keep_up(self.scope)
        return report

    def import_traces(
        self,
        *paths: str | Path,
        format: TraceFormat | str = TraceFormat.AUTO,  # noqa: A002 - the word of the command line
    ) -> TraceImport:
        """Import traces of other systems from files; the same file again changes nothing."""
        return self._call(trace_verbs.IMPORT, paths=paths, format=format)

    def write_trace_scores(
        self,
        path: str | Path | None = None,
        *,
        send: bool = False,
        trace_ids: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        most: int = 1_000,
    ) -> WrittenScores:
        """Let scores of traces leave as `gen_ai.evaluation.result` events: into a file, to a collector, or both."""
        return self._call(
            trace_verbs.SCORES, path=path, send=send, trace_ids=trace_ids, since=since, until=until, most=most
        )

    def import_memories(
        self,
        path: str | Path,
        *,
        format: str = "auto",  # noqa: A002 - the word of the command line
        user: str | None = None,
        folder: str = "",
        source: str | None = None,
        gate: bool = False,
        dry_run: bool = False,
    ) -> ImportReport:
        """Import what mem0, MCP server-memory, ChatGPT, Obsidian or Assay exported; the same again changes nothing."""
        report = self._call(
            documents.IMPORT,
            path=path,
            format=format,
            user=user,
            folder=folder,
            source=source,
            gate=gate,
            dry_run=dry_run,
        )
        self.engine.keep_up(self.scope)
        return report

    def export_memories(self, path: str | Path, *, format: str = "jsonl") -> Exported:  # noqa: A002 - the same
        """Write every memory to a file that loses nothing, or the current ones to a folder of Markdown notes."""
        return self._call(documents.EXPORT, path=path, format=format)

    def audit_store(
        self,
        path: str | Path,
        *,
        kind: str = "auto",
        as_of: datetime | str | None = None,
        plan: str | Path | None = None,
        report: str | Path | None = None,
    ) -> StoreAudit:
        """Audit a memory store of another tool, which is only read; `plan` and `report` are files to write.

        The audit log of this store is `audit`.
        """
        return self._call(store_audits.AUDIT, path=path, kind=kind, as_of=as_of, plan=plan, report=report)

    def repair_store(self, plan: str | Path, to: str | Path, *, store: str | Path | None = None) -> RepairedStore:
        """Apply a repair plan to a copy of the audited store, and audit the copy."""
        return self._call(store_audits.REPAIR, plan=plan, to=to, store=store)

    def import_store(
        self, path: str | Path, *, kind: str = "auto", as_of: datetime | str | None = None, dry_run: bool = False
    ) -> ImportedStore:
        """Audit a memory store of another tool, and save its good memories through the gate."""
        report = self._call(store_audits.IMPORT, path=path, kind=kind, as_of=as_of, dry_run=dry_run)
        self.engine.keep_up(self.scope)
        return report

    def show(
        self, memory_id: str, *, session_id: str | None = None, offset: int = 0, limit: int | None = None
    ) -> ShownMemory:
        """A memory with its chunks, edges, versions and the saves behind it; in a session, that counts as a read.

        `offset` and `limit` choose a part of the body, in characters.
        """
        return self._call(reading.SHOW, memory_id=memory_id, session_id=session_id, offset=offset, limit=limit)

    def forget(self, memory_id: str, *, reversible: bool = False, versions: bool = False) -> Erased | ForgottenMemory:
        """Erase a memory to the last byte; with `reversible`, hide it from every search until it is restored."""
        if reversible:
            return self._call(memory_verbs.FORGET, memory_id=memory_id)
        return self.engine.forget(self.scope, Forget(memory_ids=(memory_id,), versions=versions))

    def flag(self, name: str, value: str | bool | int | None = None) -> FlagState:
        """How a flag stands; with a value (`on`, `off`, a percentage), after switching it."""
        if value is None:
            return self._call(flag_verbs.SHOW, name=name)
        from assay.flags import percent_of  # noqa: PLC0415 - the extra "memory"

        return self.set_flag(name, percent_of(value, f"the flag {name}"))

    def create_checkpoint(self, name: str | None = None) -> CheckpointLine:
        """Copy the whole store as it is now; others may go on writing."""
        return self._call(maintenance_verbs.CREATE_CHECKPOINT, name=name)

    def checkpoints(self, *, limit: int = 100, cursor: str | None = None) -> CheckpointPage:
        """Return one page of the copies of the whole store, newest first."""
        return self._call(maintenance_verbs.LIST_CHECKPOINTS, limit=limit, cursor=cursor)

    def restore_checkpoint(self, checkpoint: str) -> RestoredCheckpoint:
        """Bring the whole store back to a checkpoint, by its id or name; what is there now is kept aside."""
        return self._call(maintenance_verbs.RESTORE_CHECKPOINT, checkpoint=checkpoint)

    def delete_checkpoint(self, checkpoint: str) -> CheckpointLine:
        """Delete one copy of the whole store for good, by its id or name."""
        return self._call(maintenance_verbs.DELETE_CHECKPOINT, checkpoint=checkpoint)

    def run_retention(self, *, dry_run: bool = False) -> RetentionReport:
        """Archive old searches and feedback, and delete old comparisons and log lines; evidence stays."""
        return self._call(maintenance_verbs.RUN_RETENTION, dry_run=dry_run)

    def restore_archive(self, path: str | Path) -> BroughtBack:
        """Bring the rows of an archive back: all of them, or none when anything is wrong with it."""
        return self._call(maintenance_verbs.RESTORE_ARCHIVE, path=str(path))

    def rescan(self, *, apply: bool = False) -> RescanReport:
        """Look for secrets that an older version stored in clear; `apply` masks them in place."""
        return self._call(maintenance_verbs.RESCAN, apply=apply)

    def _call(self, verb: Verb[Any, Result], /, **given: Any) -> Result:
        return verb.call(self.caller(verb), verb.make(given))

    def caller(self, verb: Verb[Any, Any]) -> Caller:
        """Return whoever calls a verb on this memory: a person who may do everything in it."""
        return _caller(self.settings, self.scope, verb, self.engine)

    def close(self) -> None:
        """Give everything back. Closing twice is fine."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self.engine.store.place!r}, tenant={self.scope.tenant!r})"


class Dataset(records_of_datasets.Dataset):
    """Documents and cases with what is expected of each; read from a name, a file or a folder by `load`."""

    @classmethod
    def load(cls, name: str | Path) -> Self:
        """A bundled dataset such as `hotel`, an imported one by name, or what lies at a path."""
        from assay.evaluation.datasets import load_dataset  # noqa: PLC0415 - numpy only when there is work for it

        found = load_dataset(name, registry=wiring.registry_of(_settings(None, {})))
        return cls(**{item.name: getattr(found, item.name) for item in fields(found)})

    @staticmethod
    def label_agreement(dataset: str | Path, *, labels: str | Path | None = None) -> AgreementReport:
        """How far people who labelled the same pairs agree; `labels` is their file, beside the dataset if left out."""
        return _call_unopened(file_verbs.AGREEMENT, dataset=str(dataset), labels=labels)

    @staticmethod
    def apply_labels(dataset: str | Path, to: str | Path, *, labels: str | Path | None = None) -> AppliedLabels:
        """Write a dataset with the labels of people in it to another place."""
        return _call_unopened(file_verbs.APPLY, dataset=str(dataset), to=to, labels=labels)


def evaluate(
    dataset: records_of_datasets.Dataset | str | Path,
    system: str | Callable[..., Any] | Memory | System,
    *,
    metrics: str | Sequence[str | Callable[..., Any]] | None = None,
    k: int | None = None,
    repeats: int = 1,
    sample: float | None = None,
    max_cases: int | None = None,
    timeout_s: float | None = 60.0,
    name: str = "",
    runs: str | Path | None = None,
    until_sure_against: RunResult | str | Path | None = None,
) -> RunResult:
    """Run a system over a dataset and measure it; with `runs`, every case is written down below that folder.

    A system is a function of query and k that returns ids, best first (or pairs with scores, or objects with an id), a
    `Memory`, or a name as the command line takes it, such as `"assay:mode=quick"`. A case in which it fails is an
    outcome; only a run in which nothing at all could be measured raises. A metric is a name such as `"ndcg@10"`, or a
    function of one case (`assay.extend.CaseView`) that returns a number, or None where the question does not arise.
    `max_cases` takes a fixed sample of at most that many cases, as the server does; `sample` takes a share of them.
    With `until_sure_against`, a baseline file or another run, cases are asked in a random order until it is decided
    whether the system is better or worse than it; the result's caveats say that it was stopped early, and why.
    """
    from assay.evaluation.running.planning import RunOptions  # noqa: PLC0415 - see Dataset
    from assay.evaluation.running.runner import (  # noqa: PLC0415 - the same
        Running,
        refuse_unmeasured,
        run_dataset,
    )
    from assay.metrics.catalog import metric_names  # noqa: PLC0415 - the same
    from assay.metrics.spec import parse_specs  # noqa: PLC0415 - the same

    given = dataset if isinstance(dataset, records_of_datasets.Dataset) else Dataset.load(dataset)
    options = RunOptions(
        metrics=None if metrics is None else parse_specs(metric_names(metrics)),
        k=k,
        repeats=repeats,
        sample=sample,
        timeout_s=timeout_s,
        name=name,
        spec=system if isinstance(system, str) else "",
        against=None if until_sure_against is None else _sure_against(until_sure_against),
    )
    running = Running(runs=None if runs is None else Path(runs))
    result = run_dataset(given, lambda scored: _open_system(system, scored), options, running, max_cases=max_cases)
    refuse_unmeasured(result)
    return result


def _sure_against(baseline: RunResult | str | Path) -> SureAgainst:
    from assay.evaluation.running.early_stopping import SureAgainst  # noqa: PLC0415 - see Dataset

    settings = _settings(None, {})
    control = wiring.lookup_of(settings).baseline(baseline)
    return SureAgainst(control=control, metric=settings.gate_metric or None)


@contextmanager
def _open_system(
    system: str | Callable[..., Any] | Memory | System, dataset: records_of_datasets.Dataset
) -> Iterator[System]:
    """Give what is to be asked, and close it afterwards if it was opened here."""
    under_test, own = _system(system, dataset)
    try:
        yield under_test
    finally:
        if own:
            under_test.close()


def _system(
    system: str | Callable[..., Any] | Memory | System, dataset: records_of_datasets.Dataset
) -> tuple[System, bool]:
    """What is to be asked, and whether it was opened here."""
    from assay.systems.protocol import System  # noqa: PLC0415 - see Dataset

    if isinstance(system, str):
        return wiring.open_system(system, dataset), True
    if isinstance(system, System):
        return system, False
    if isinstance(system, Memory):
        from assay.systems.assay_engine import AssaySystem  # noqa: PLC0415 - needs the extra "memory"
        from assay.systems.registry import Configuration  # noqa: PLC0415 - the same

        return AssaySystem(system.engine, system.scope, dataset, Configuration(), name="Memory"), False
    from assay.systems.python_function import PythonFunction  # noqa: PLC0415 - see Dataset

    if not callable(system):
        raise UnknownSystem(
            f"{type(system).__name__} is not a system", remedy="Give a function of (query, k), a Memory, or a name."
        )
    return PythonFunction(system), False


class Research(ResearchCalls):
    """Answers questions from a memory: plan, search, answer with citations, each step scored.

    Models are asked where the settings name one (`model.url`); else rules plan, answer and evaluate. Evaluation never
    breaks an answer: what could not be scored says why. `custom` adds dimensions of your own.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        builtin: bool = False,
        evaluate: bool = True,
        custom: Sequence[CustomDimension] = (),
    ) -> None:
        self._memory = memory
        self._choice = {"builtin": builtin, "evaluate": evaluate}
        self._custom = tuple(custom)

    def ask(
        self,
        question: str,
        *,
        session_id: str | None = None,
        tags: Sequence[str] = (),
        listen: Callable[[StageEvent], None] | None = None,
    ) -> TracedAnswer:
        """An answer with citations, or an explicit abstention; `listen` is told of every step while it happens."""
        return self._call(
            research_verbs.ASK, listen, question=question, session_id=session_id, tags=tags, **self._choice
        )

    def retry_search(self, log_id: str, *, listen: Callable[[StageEvent], None] | None = None) -> TracedAnswer:
        """Answer an earlier question again from a wider search."""
        return self._call(research_verbs.RETRY, listen, log_id=log_id, **self._choice)

    def get(self, log_id: str) -> StoredResearch:
        """An earlier session with its whole record."""
        return self._call(research_verbs.SHOW, log_id=log_id)

    def sessions(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> SessionPage:
        """One page of answered questions, newest first; filters are fields of `ResearchFilter`."""
        return self._call(research_verbs.LIST, limit=limit, cursor=cursor, **filters)

    def analyze(
        self,
        *,
        fdr: float | None = None,
        least_support: int | None = None,
        least_drop: float | None = None,
        model: bool = False,
        **filters: Any,
    ) -> Analysis:
        """Sum up answered questions, find what low scores have in common, and suggest what to change.

        `fdr` is the share of the reported patterns that may be chance, `least_support` the questions that a pattern
        needs, `least_drop` how much lower the mean has to be. With `model`, the configured model words suggestions.
        """
        return self._call(
            analysis_verbs.ANALYZE,
            fdr=fdr,
            least_support=least_support,
            least_drop=least_drop,
            model=model,
            **filters,
        )

    def _call(
        self, verb: Verb[Any, Result], listen: Callable[[StageEvent], None] | None = None, /, **given: Any
    ) -> Result:
        caller = replace(self._memory.caller(verb), listen=listen, dimensions=self._custom)
        return verb.call(caller, verb.make(given))


def measure(
    qrels: str | Path,
    runs: Sequence[str | Path],
    *,
    metrics: str | Sequence[str] | None = None,
    relevance_level: int = 1,
    depth: int | None = None,
    absent: str = "empty",
    per_query: bool = False,
    seed: int = 0,
) -> FileMeasurement:
    """Measure run files against judgments; each later run is compared with the first, query by query.

    Judgments are TREC qrels or BEIR's qrels.tsv, runs are TREC runs, plain or gzipped. A judged query without results
    counts as an empty ranking, with `absent="skip"` not at all. Raises `NothingMeasured` where a run and the judgments
    have no query or document in common.
    """
    return _call_unopened(
        file_verbs.MEASURE,
        qrels=qrels,
        runs=runs,
        metrics=(metrics,) if isinstance(metrics, str) else metrics,
        relevance_level=relevance_level,
        depth=depth,
        absent=absent,
        per_query=per_query,
        seed=seed,
    )


def report(
    run: str | Path = "latest",
    *,
    baseline: str | Path | None = None,
    no_baseline: bool = False,
    html: bool = False,
    output: str | Path = "reports",
    name: str | None = None,
    k: int | None = None,
    dataset: str | Path | None = None,
    runs: str | Path | None = None,
) -> WrittenReport:
    """Write a run's report as Markdown, with `html` as one HTML file too; the result names the files.

    A run is its id, name or folder, or `latest`. It is compared with `baseline`, a baseline file or another run, or
    with `baseline.json` where there is one. `k` says how far down a reader looks.
    """
    return _call_unopened(
        file_verbs.REPORT,
        run=str(run),
        baseline=None if baseline is None else str(baseline),
        no_baseline=no_baseline,
        html=html,
        output=output,
        name=name,
        k=k,
        dataset=None if dataset is None else str(dataset),
        runs=runs,
    )


def why(
    run: RunResult | str | Path = "latest",
    query: str = "lost",
    *,
    probe: bool = False,
    calls: int = 20,
    k: int | None = None,
    dataset: records_of_datasets.Dataset | str | Path | None = None,
    runs: str | Path | None = None,
    system: Callable[..., Any] | Memory | System | None = None,
) -> QueryExplanation | LostQueries:
    """Explain why a query of a run lost its gold, by id or words; `lost` lists every query that did.

    With `probe` the system is asked again, `calls` times for one query at most: deeper, with the gold item's own words,
    with fewer words, with more. A run that `evaluate` returned can be given itself, with its `dataset`; a run of a
    function that no name leads to needs the function as `system`.
    """
    if isinstance(run, (str, Path)) and not isinstance(dataset, records_of_datasets.Dataset) and system is None:
        return _call_unopened(
            file_verbs.WHY,
            run=str(run),
            query=query,
            probe=probe,
            calls=calls,
            k=k,
            dataset=None if dataset is None else str(dataset),
            runs=runs,
        )
    given = Dataset.load(dataset) if isinstance(dataset, (str, Path)) else dataset
    asked = file_verbs.WHY.make({"query": query, "probe": probe, "calls": calls, "k": k, "runs": runs})
    settings = _settings(None, {})
    return file_verbs.explain_values(
        _caller(settings, wiring.scope_of(settings), file_verbs.WHY, None),
        asked,
        run=run,
        dataset=given,
        open_system=None if system is None else lambda scored: _open_system(system, scored),
    )


def compare(*runs: RunResult | str | Path, seed: int = 0) -> RunsCompared:
    """Compare two or more runs over the same cases; the first is the control.

    A run is what `evaluate` gave, a run's id, name or folder, or a baseline file. Printing the result shows a table.
    Raises `NotComparable` when they were not measured alike.
    """
    from assay.evaluation.comparison import compare_readings  # noqa: PLC0415 - numpy is loaded when something is compared

    place = wiring.lookup_of(_settings(None, {}))
    readings = [place.either(run) for run in runs]
    return compare_readings(readings, seed=seed)


def gate(
    run: RunResult | str | Path = "latest",
    *,
    baseline: RunResult | str | Path | None = "baseline.json",
    strict: bool = False,
    metric: str | None = None,
    allow_lost: int = 0,
    floors: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Verdict:
    """Hold a run against its floors and its baseline; `passed` says it in a word, printing it says why.

    `baseline=None` asks only what needs none. `metric` names the one whose change decides, tested alone; without it
    every metric does, corrected by Holm. What cannot be decided is not passed; a baseline that is missing or
    measured otherwise raises `NoBaseline` or `NotComparable`.
    """
    from assay.evaluation.gating import GateOptions, judge  # noqa: PLC0415 - numpy is loaded when something is judged

    settings = _settings(None, {})
    place = wiring.lookup_of(settings)
    options = GateOptions(
        strict=strict,
        lost=allow_lost,
        floors={**settings.floors, **(floors or {})},
        metric=metric or settings.gate_metric or None,
        seed=seed,
    )
    return judge(place.run(run), None if baseline is None else place.baseline(baseline), options)


def _call_unopened(verb: Verb[Any, Result], **given: Any) -> Result:
    """Call a verb that needs no memory, such as one on files, with the settings of this folder."""
    settings = _settings(None, {})
    return verb.call(_caller(settings, wiring.scope_of(settings), verb, None), verb.make(given))


def _caller(settings: Settings, scope: Scope, verb: Verb[Any, Any], engine: Engine | None) -> Caller:
    """Return whoever calls a verb in Python: a person who may do everything in that store."""
    return Caller(
        opened=engine,
        settings=settings,
        grant=Grant(scope=scope, access=Access.OPERATOR, person=True),
        surface=Surface.PYTHON,
        via=f"assay.{verb.python}",
    )


def _option(value: Any) -> str | None:
    """A setting as an option of the command line would give it."""
    if value is None:
        return None
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _settings(db: str | Path | None, given: Mapping[str, Any]) -> Settings:
    """File, environment and what the program says, the last winning. Names are those of `Settings`."""
    keys = {setting.name: setting.key for setting in KNOWN}
    options = {keys.get(name, name): _option(value) for name, value in given.items()}
    return load_settings(options={**options, "db": None if db is None else str(db)}).settings
