"""Verbs on runs: start one, list them, show one, explain its queries, compare two.

A caller names a dataset and a run by name, never by a path, and the system is always Assay over a store of its own: no
file is opened and no code or address is called because a caller said so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.clock import Clock
from assay.errors import BadValue, RecordNotFound, RunFailed, RunNotFound, ServerBusy
from assay.records import EvalResult, Mode, RunType
from assay.records.explanations import LostQueries, QueryExplanation
from assay.records.run_results import BlessedRun, ComparisonResult, GateResult, ListedRun, RunSummary
from assay.verbs.fields import NAME, NO_PATH, Whole, YesNo
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor, row_number
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Progress, Request, Verb

if TYPE_CHECKING:
    from pathlib import Path

    from assay.evaluation.results import RunResult
    from assay.evaluation.running.runner import Running
    from assay.records.datasets import Dataset
    from assay.records.evaluations import CaseResult, RunManifest
    from assay.systems.protocol import System

LIST = "runs"
MOST_CASES = 1_000
LONGEST_S = 600
ONE_RUN = threading.Lock()
"""Held by whoever measures in this process: two runs at once would distort each other's times."""


class StartRunRequest(Request):
    """What to measure."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"dataset": "hotel", "metrics": ["ndcg@10", "mrr"]}]})

    dataset: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="A bundled dataset (hotel, vault, agent-memory) or one imported by `assay dataset import`, by "
            "its name; never a path.",
        ),
    ]
    mode: Annotated[Mode, Field(description="How Assay searches; auto decides by the query.")] = Mode.AUTO
    answer: Annotated[
        bool, Field(description="Also answer the questions, as `assay ask` does, and measure the answers.")
    ] = False
    metrics: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
        Field(max_length=20, description="Up to 20, such as ndcg@10, recall@5, mrr; the dataset's own if left out."),
    ] = ()
    k: Annotated[Whole | None, Field(ge=1, le=1_000, description="Results to ask for, 1 to 1,000.")] = None
    max_cases: Annotated[
        Whole,
        Field(ge=1, le=MOST_CASES, description=f"At most this many cases, up to {MOST_CASES:,}: a fixed sample."),
    ] = 200
    max_seconds: Annotated[
        Whole,
        Field(ge=1, le=LONGEST_S, description=f"Stop after this many seconds, up to {LONGEST_S}; what ended counts."),
    ] = 120
    name: Annotated[str, Field(max_length=200, description="What to call the run, up to 200 characters.")] = ""
    flags: Annotated[
        Mapping[Annotated[str, Field(max_length=128, pattern=NAME)], YesNo],
        Field(max_length=20, description="Feature flags to switch on or off for this run alone, by their names."),
    ] = {}
    variant: Annotated[
        str,
        Field(
            max_length=128,
            pattern=f"^$|{NAME}",
            description="A variant to run instead, by its name; without mode, answer and flags.",
        ),
    ] = ""


class ListRunsRequest(Request):
    """Which page of runs."""

    run_type: Annotated[
        RunType | None,
        Field(description="Only full (runs) or only regression (verdicts of the gate); both if left out."),
    ] = None
    cursor: PageCursor = None
    limit: PageLimit = 50


class ShowRunRequest(Request):
    """Which run."""

    run_id: Annotated[
        str, Field(min_length=1, max_length=128, pattern=NAME, description="The run's id, as the list of runs has it.")
    ]
    run_type: Annotated[
        RunType, Field(description="full: the run itself; regression: the newest verdict of the gate on it.")
    ] = RunType.FULL


class WhyRunRequest(Request):
    """Which query of a run to explain, from what the run recorded."""

    run_id: Annotated[
        str, Field(min_length=1, max_length=200, pattern=NO_PATH, description="The run, by its id or name; not a path.")
    ]
    query: Annotated[
        str,
        Field(min_length=1, max_length=4_000, description="A query, by its id or words; `lost`: all that lost gold."),
    ] = "lost"
    k: Annotated[
        int | None, Field(ge=1, le=1_000_000, description="How far down a reader looks; as the metrics say.")
    ] = None


class CompareRunsRequest(Request):
    """Which runs to compare."""

    control: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="The run to compare with, by its id or name; not a path.",
        ),
    ]
    treatment: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="The run to look at, by its id or name, or latest; not a path.",
        ),
    ]
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="Of the resamples behind the intervals.")] = 0


class GateRunRequest(Request):
    """Which run may go in, and what it is held against."""

    run: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="The run to judge, by its id or name, or latest; not a path.",
        ),
    ] = "latest"
    baseline: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="The run it is held against, by its id or name; not a path. Left out: ask only what needs no "
            "baseline, such as floors.",
        ),
    ] = None
    # Not strict, here and below: in an address everything is text.
    strict: Annotated[bool, Field(description="Any drop beyond what is allowed fails, noise or not.")] = False
    metric: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="The one metric that decides. Left out: as the settings say, else every metric, corrected by "
            "Holm.",
        ),
    ] = None
    allow_lost: Annotated[int, Field(ge=0, le=1_000_000, description="Cases that may be lost.")] = 0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="Of the resamples behind the intervals.")] = 0


class BlessRunRequest(Request):
    """Which run becomes the baseline, and why."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"note": "New chunker, checked by hand."}]})

    run_id: Annotated[str, Field(min_length=1, max_length=128, pattern=NAME, description="The run, by its id or name.")]
    note: Annotated[str, Field(min_length=1, max_length=1_000, description="Why, for whoever reads the baseline.")]
    despite: Annotated[
        str,
        Field(max_length=1_000, description="Why it is blessed although something is wrong with it, such as a sample."),
    ] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPage:
    """Runs, newest first."""

    runs: tuple[ListedRun, ...]
    next_cursor: str | None
    """Where the next page begins; None on the last."""


def start(caller: Caller, request: StartRunRequest) -> RunSummary:
    """Run Assay over a dataset, keep the run and a row of it; raises `NothingMeasured` when nothing was scored."""
    if not ONE_RUN.acquire(blocking=False):
        raise ServerBusy("an evaluation is running already", remedy="Wait until it has ended.")
    try:
        return _run(caller, request)
    finally:
        ONE_RUN.release()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunHooks:
    """What a surface adds to a run that others watch."""

    run_id: str = ""
    """The id of the new run; empty: one is made."""
    order_seed: int | None = None
    """Ask the cases in a random order of this seed; None: in that of the dataset."""
    resume: Path | None = None
    """The folder of a run to go on with."""
    on_dataset: Callable[[Dataset], None] | None = None
    """Told of the cases that may be scored, before the system is opened."""
    on_document: Callable[[int, int], None] | None = None
    on_start: Callable[[RunManifest, Path | None], None] | None = None
    on_case: Callable[[int, int, CaseResult], None] | None = None


def _run(caller: Caller, request: StartRunRequest) -> RunSummary:
    from assay.evaluation.running.runner import refuse_unmeasured  # noqa: PLC0415 - needs numpy, as below

    time = _TimeLimit(caller.engine.clock, caller.engine.clock.monotonic() + request.max_seconds)
    hooks = RunHooks(
        on_document=time.watch(caller.progress), on_case=lambda done, of, _: caller.progress(done, of, "cases")
    )
    result, note = measure(caller, request, hooks, time.left)
    refuse_unmeasured(result, remedy="Give a larger max_seconds, other metrics or another dataset.")
    return result.summary([note] if note else [])


def measure(
    caller: Caller, request: StartRunRequest, hooks: RunHooks, seconds_left: Callable[[], float] | None = None
) -> tuple[RunResult, str]:
    """Run Assay over a dataset and keep a row of it; the second value is why there is no row, else empty.

    `seconds_left` ends the run with what there is; None: it goes on to its last case.
    """
    # All of this needs numpy and the store, which a client of another machine's server does without.
    from assay.evaluation.running.files import RunFolder  # noqa: PLC0415
    from assay.evaluation.running.planning import NO_LIMIT, Budget, RunOptions, options_of  # noqa: PLC0415
    from assay.evaluation.running.runner import Running, keep_row, run_dataset  # noqa: PLC0415
    from assay.metrics.spec import parse_specs  # noqa: PLC0415
    from assay.wiring import open_system  # noqa: PLC0415

    shelf = caller.shelf
    there = None if hooks.resume is None else RunFolder(hooks.resume).read_manifest()
    if there is None:
        spec = name_system(caller, request)
        metrics = parse_specs(list(request.metrics)) if request.metrics else None
        options = RunOptions(metrics=metrics, k=request.k, name=request.name, spec=spec)
    else:
        spec = check_system(there.system)
        options = replace(options_of(there), name=there.name, spec=spec)
    dataset = shelf.load_dataset(request.dataset)

    def begin() -> Running:
        return Running(
            runs=shelf.runs_folder,
            resume=hooks.resume,
            budget=NO_LIMIT if seconds_left is None else Budget(seconds=seconds_left()),
            clock=caller.engine.clock,
            run_id=hooks.run_id,
            order_seed=hooks.order_seed,
            on_start=_claiming(shelf.claim_run, hooks.on_start),
            on_case=hooks.on_case,
        )

    def open_assay(scored: Dataset) -> AbstractContextManager[System]:
        if hooks.on_dataset is not None:
            hooks.on_dataset(scored)
        return closing(open_system(spec, scored, on_document=hooks.on_document))

    most = request.max_cases if there is None else None
    result = run_dataset(dataset, open_assay, options, begin, max_cases=most)
    return result, keep_row(result, dataset, lambda: caller.engine.store.writing(caller.scope))


def _claiming(
    claim: Callable[[str], None], then: Callable[[RunManifest, Path | None], None] | None
) -> Callable[[RunManifest, Path | None], None]:
    """Return what is done when a run begins: write down whose it is, then tell whoever watches."""

    def on_start(manifest: RunManifest, folder: Path | None) -> None:
        claim(manifest.run_id)
        if then is not None:
            then(manifest, folder)

    return on_start


SAFE_KEYS = ("mode=", "channels=", "folder_mode=", "flags.", "search.")
"""Keys of a configuration that name no file, address or model."""


def name_system(caller: Caller, request: StartRunRequest) -> str:
    """Return Assay as `--system` of the command line names it."""
    if request.variant:
        return _name_variant(caller, request)
    keys = [
        *(["answer"] if request.answer else []),
        *([] if request.mode is Mode.AUTO else [f"mode={request.mode.value}"]),
        *(f"flags.{name}={'on' if on else 'off'}" for name, on in sorted(request.flags.items())),
    ]
    states = caller.engine.flag_states(caller.scope)
    for name in request.flags:
        if states[name].flag.spec:
            raise BadValue(f"{name} is a variant, not a flag", remedy="Give it as variant.")
    return f"assay:{','.join(keys)}" if keys else "assay"


def _name_variant(caller: Caller, request: StartRunRequest) -> str:
    if request.answer or request.flags or request.mode is not Mode.AUTO:
        raise BadValue(
            f"there are both the variant {request.variant} and a mode, answer or flags",
            remedy="Give one of the two: a variant says everything by itself.",
        )
    state = caller.engine.flag_states(caller.scope).get(request.variant)
    if state is None or not state.flag.spec:
        raise RecordNotFound(f"there is no variant {request.variant!r}", remedy="`assay variant list` names them all.")
    return check_system(state.flag.spec)


def check_system(spec: str) -> str:
    """Return the spec of Assay in a configuration that names no file, address or model; refuse any other."""
    kind, _, target = spec.partition(":")
    keys = [key.strip() for key in target.split(",") if key.strip()]
    if kind != "assay" or not all(key == "answer" or key.startswith(SAFE_KEYS) for key in keys):
        raise BadValue(
            f"the system {spec!r} cannot be run by the server", remedy="Run it on the command line: `assay run`."
        )
    return spec


@dataclass(frozen=True, slots=True)
class _TimeLimit:
    """How long a call may still take."""

    clock: Clock
    end: float

    def left(self) -> float:
        """Return the seconds left; a little when there are none, so that the budget can say so."""
        return max(self.end - self.clock.monotonic(), 0.001)

    def watch(self, progress: Progress) -> Callable[[int, int], None]:
        """Return a function that is told of each document and stops the work when the time is over."""

        def on_document(done: int, of: int) -> None:
            progress(done, of, "documents")
            if self.clock.monotonic() > self.end:
                raise RunFailed(
                    f"the time was over with {done} of {of} documents taken in",
                    remedy="Ask again: it goes on where it stopped. Or give a larger max_seconds.",
                )

        return on_document


def list_runs(caller: Caller, request: ListRunsRequest) -> RunPage:
    """Read one page of the rows of runs."""
    before = read_cursor(LIST, request.cursor, row_number, 0)
    with caller.engine.store.reading(caller.scope) as work:
        rows = work.lists.runs(before=before, limit=request.limit + 1, run_type=request.run_type)
    shown, following = cut_page(LIST, rows, request.limit, lambda numbered: numbered[0])
    return RunPage(runs=tuple(run for _, run in shown), next_cursor=following)


def show(caller: Caller, request: ShowRunRequest) -> EvalResult:
    """Read the row of one run, or of the newest verdict on it."""
    with caller.engine.store.reading(caller.scope) as work:
        rows = [row for row in work.results.of(request.run_id) if row.run_type is request.run_type]
    if not rows and request.run_type is RunType.REGRESSION:
        raise RunNotFound(f"no gate has judged the run {request.run_id!r}", remedy="Gate it: `assay gate`.")
    if not rows:
        raise RunNotFound(f"there is no run {request.run_id!r}", remedy="Name a run as the list of runs has it.")
    return rows[-1]


def explain(caller: Caller, request: WhyRunRequest) -> QueryExplanation | LostQueries:
    """Explain a query of this tenant's run from what it recorded; no system is asked."""
    from assay.evaluation.why.explaining import explain_run  # noqa: PLC0415 - numpy only when explaining

    run, dataset = caller.shelf.read_cases(caller.shelf.find_run(request.run_id))
    if dataset is None:
        raise RecordNotFound(
            f"the dataset {run.manifest.dataset} of the run is not at hand, or has changed since",
            remedy="Import the version that the run was measured on.",
        )
    return explain_run(run, dataset, request.query, k=request.k)


def compare(caller: Caller, request: CompareRunsRequest) -> ComparisonResult:
    """Compare two finished runs of this tenant."""
    from assay.evaluation.comparison import compare_two  # noqa: PLC0415 - numpy only when comparing

    shelf = caller.shelf
    control, treatment = shelf.read_run(request.control), shelf.read_run(request.treatment)
    return compare_two(control, treatment, seed=request.seed).result()


def gate(caller: Caller, request: GateRunRequest) -> GateResult:
    """Hold a finished run of this tenant against its floors and a baseline, and keep a row of the verdict."""
    # numpy only when judging
    from assay.evaluation.gating import GateOptions  # noqa: PLC0415
    from assay.evaluation.gating.rules import answer, ask  # noqa: PLC0415
    from assay.evaluation.result_rows import regression_row  # noqa: PLC0415

    settings, shelf = caller.settings, caller.shelf
    options = GateOptions(
        strict=request.strict,
        lost=request.allow_lost,
        floors=settings.floors,
        metric=request.metric or settings.gate_metric or None,
        seed=request.seed,
    )
    baseline = None if request.baseline is None else shelf.read_run(request.baseline)
    question = ask(shelf.read_run(request.run), baseline, options)
    verdict = answer(question)
    engine = caller.engine
    row = regression_row(
        question.run, question.compared, verdict, at=engine.clock.now(), metric=question.options.metric
    )
    with engine.store.writing(caller.scope) as work:
        work.results.add(row)
    return verdict.result()


def bless(caller: Caller, request: BlessRunRequest) -> BlessedRun:
    """Make a finished run of this tenant the baseline of its dataset."""
    shelf = caller.shelf
    before = shelf.baselines()
    note, despite = request.note.strip(), request.despite.strip()
    baseline = shelf.bless(request.run_id, note=note, despite=despite, floors=caller.settings.floors)
    reading = baseline.reading
    replaced = before.get(reading.dataset)
    blessed = BlessedRun(
        run_id=reading.run_id,
        name=reading.name,
        dataset=reading.dataset,
        blessed_at=baseline.blessed_at,
        note=note,
        despite=baseline.despite,
        shortcomings=baseline.shortcomings,
        replaces=None if replaced is None else replaced.run_id,
    )
    detail = {"dataset": blessed.dataset, "why": note, "despite": blessed.despite, "replaces": blessed.replaces}
    with caller.engine.store.writing(caller.scope) as work:
        work.audit.append("baseline.bless", blessed.run_id, detail)
    return blessed


START = Verb(
    name="run.start",
    summary="Run Assay over a dataset with known answers and measure how well it finds them, with intervals.",
    act=acts.RUN_START,
    request=StartRunRequest,
    result=RunSummary,
    call=start,
    http=HttpRoute("POST", "/api/runs", (404,)),
    tool=McpTool(
        name="eval_run",
        title="Measure retrieval",
        description="Run Assay over a dataset with known answers and measure how well it finds them, with intervals. "
        "Never touches the memory itself. Tells progress; may take minutes.",
        masked=frozenset({"breakdowns", "manifest"}),
    ),
    command="run",
    client="run",
    python="evaluate",
)
LIST_RUNS = Verb(
    name="run.list",
    summary="List runs and verdicts of the gate, newest first, page by page.",
    act=acts.RUN_READ,
    request=ListRunsRequest,
    result=RunPage,
    call=list_runs,
    http=HttpRoute("GET", "/api/runs"),
    client="runs",
)
SHOW = Verb(
    name="run.show",
    summary="Show one run as the store keeps it, with every case's numbers; or the newest verdict of the gate on it.",
    act=acts.RUN_READ,
    request=ShowRunRequest,
    result=EvalResult,
    call=show,
    http=HttpRoute("GET", "/api/runs/{run_id}", (404,)),
    client="show_run",
)
WHY = Verb(
    name="run.why",
    summary="Explain why a query of a run lost its gold, from what the run recorded; or list all that did.",
    act=acts.RUN_READ,
    request=WhyRunRequest,
    result=QueryExplanation | LostQueries,
    call=explain,
    http=HttpRoute("GET", "/api/runs/{run_id}/why", (404,)),
    client="why_run",
)
COMPARE = Verb(
    name="run.compare",
    summary="Compare two runs over the same cases: differences with intervals, and the cases that moved most.",
    act=acts.RUN_READ,
    request=CompareRunsRequest,
    result=ComparisonResult,
    call=compare,
    http=HttpRoute("GET", "/api/runs/compare", (404, 409)),
    tool=McpTool(
        name="eval_compare",
        title="Compare two runs",
        description="Compare two runs over the same cases: differences with intervals, and the cases that moved most.",
    ),
    command="compare",
    client="compare",
    python="compare",
)
GATE = Verb(
    name="run.gate",
    summary="Hold a run against its floors and a baseline: pass, fail, or inconclusive, with a sentence for each rule; "
    "the verdict is kept.",
    act=acts.RUN_GATE,
    request=GateRunRequest,
    result=GateResult,
    call=gate,
    http=HttpRoute("POST", "/api/runs/gate", (404, 409)),
    command="gate",
    client="gate",
    python="gate",
)

BLESS = Verb(
    name="run.bless",
    summary="Make a run the baseline of its dataset, with a note: later runs are held against it.",
    act=acts.RUN_BLESS,
    request=BlessRunRequest,
    result=BlessedRun,
    call=bless,
    http=HttpRoute("POST", "/api/runs/{run_id}/bless", (404, 409)),
    client="bless_run",
)

FAMILY = Family(name="runs", verbs=(START, LIST_RUNS, SHOW, WHY, COMPARE, GATE, BLESS))
