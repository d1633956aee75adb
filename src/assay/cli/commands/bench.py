"""`assay bench memory|list|verify|table|import|overlay`: the referee of memory systems."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.progress import show_several
from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption, open_executor, worker_lines
from assay.errors import BrokenSeal, InputError
from assay.formats.grid import grid
from assay.hashing import HASH_PREFIX, content_hash
from assay.referee.capsule import read_lines, read_records, write_capsule
from assay.referee.costs import summarise_costs
from assay.referee.importing import import_results
from assay.referee.joining import join_records
from assay.referee.journal import Journal
from assay.referee.measures import BUDGET, CUTOFFS, check_cutoffs
from assay.referee.records import BenchOptions, BenchRecords, Line
from assay.referee.running import Benchmark
from assay.referee.scoring import compute_results
from assay.referee.sets.catalog import SETS, load_set
from assay.referee.sets.overlays import convert_audit, load_overlay, write_overlay
from assay.referee.sets.values import ANSWERS, LAYERS, RETRIEVAL
from assay.referee.spread import OpenBench, run_on_workers
from assay.referee.tables import render_markdown, render_text
from assay.referee.verification import verify_capsule
from assay.referee.watching import SharedEmbedder
from assay.wiring.referee import (
    CONTENDERS,
    Answering,
    bench_embedder,
    find_repeatable_judge,
    make_benchmark,
    open_answering,
    open_bench_judge,
    parse_contender,
    quiet_peers,
    remote_bench,
)
from assay.work.jobs import Executor

DEFAULT_SYSTEMS = ("assay", "bm25", "vector", "markdown-grep")
DEFAULT_SET = "starter"
DEFAULT_FOLDER = Path("bench-runs")
CAPSULE, TABLE, COSTS = "capsule.jsonl", "table.md", "costs.json"
NOT_INTACT = 1

SystemOption = Annotated[
    list[str] | None, typer.Option("--system", "-s", metavar="NAME", help="A system of `assay bench list`; repeat it.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="SET", help="A set of `assay bench list`; repeat it.")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The folder with the files of public sets.")
]
CutoffOption = Annotated[
    list[int] | None, typer.Option("--k", metavar="N", help="Ranks to measure at; 1, 5, 10 and 20 unless given.")
]
BudgetOption = Annotated[int, typer.Option("--tokens", min=1, metavar="N", help="The token budget to measure at.")]
LayerOption = Annotated[str, typer.Option("--layer", metavar="LAYER", help="What to measure: retrieval or answers.")]
ReaderOption = Annotated[str, typer.Option("--reader", metavar="NAME", help="Who answers: choice, extract or model.")]
JudgeOption = Annotated[
    str, typer.Option("--judge", metavar="NAME", help="Who decides: choice, overlap, or a judge of correctness.")
]
OverlayOption = Annotated[
    list[Path] | None, typer.Option("--overlay", metavar="FILE", help="Corrections of a set's key; repeat it.")
]
RepeatOption = Annotated[int, typer.Option("--repeat", min=1, metavar="N", help="Ask every question N times.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="The seed of everything random.")]
ContextOption = Annotated[
    int, typer.Option("--window", min=1, metavar="TOKENS", help="The window that the row `full context` must fit.")
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")]
FolderOption = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where runs keep their files.")]
VectorsOption = Annotated[
    Path | None,
    typer.Option("--vectors", metavar="DIR", help="Keep vectors here, so that later runs need not make them again."),
]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Also write the tables as Markdown.")]
TimesOption = Annotated[bool, typer.Option("--times/--no-times", help="Show what was measured with a clock.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        help="Compare memory systems on the same texts and questions, and check what others publish.",
        no_args_is_help=True,
    )
    app.add_typer(group, name="bench")
    _register_memory(group)
    _register_rest(group)
    _register_files(group)


def _register_memory(group: typer.Typer) -> None:
    @command(group, "memory")
    def memory(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        system: SystemOption = None,
        sets: SetOption = None,
        data: DataOption = None,
        k: CutoffOption = None,
        tokens: BudgetOption = BUDGET,
        layer: LayerOption = RETRIEVAL,
        reader: ReaderOption = "",
        judge: JudgeOption = "",
        overlay: OverlayOption = None,
        repeat: RepeatOption = 1,
        seed: SeedOption = 0,
        window: ContextOption = 128_000,
        resume: ResumeOption = False,
        runs: FolderOption = DEFAULT_FOLDER,
        vectors: VectorsOption = None,
        out: OutOption = None,
        times: TimesOption = True,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
    ) -> None:
        """Fill memory systems with the same texts, ask them the same questions, and compare what they return."""
        cutoffs = check_cutoffs(k or CUTOFFS)
        options = BenchOptions(
            layer=_check_layer(layer),
            systems=tuple(dict.fromkeys(system or DEFAULT_SYSTEMS)),
            cutoffs=cutoffs,
            budget=tokens,
            seed=seed,
            repeats=repeat,
            context_limit=window,
            reader=reader,
            judge=judge,
            depth=max(cutoffs),
        )
        for name in options.systems:
            parse_contender(name)
        _refuse_kept_vectors(vectors, processes, cluster)
        quiet_peers()
        overlays = [load_overlay(path) for path in overlay or ()]
        found = [load_set(name, data) for name in dict.fromkeys(sets or [DEFAULT_SET])]
        with _bar(surface) as listen, open_executor(surface, processes, cluster) as executor:
            embedder = bench_embedder(surface.settings, options.systems, vectors, reader=reader)
            with _answering(surface, options, embedder) as answering:
                bench = make_benchmark(options, found, overlays, embedder, answering, listen)
                folder = runs / content_hash(bench.plan()).removeprefix(HASH_PREFIX)[:12]
                remote = remote_bench(surface.settings, options, found, overlays, answering)
                work = bench.run if executor is None else partial(_run_on_workers, bench, executor, remote)
                outcome = _run(bench, work, folder, resume=resume)
            if executor is not None:
                _tell_workers(surface, executor)
        _show(surface, outcome, folder, out, times=times)


def _refuse_kept_vectors(vectors: Path | None, processes: int | None, cluster: str | None) -> None:
    if vectors is not None and (processes is not None or cluster is not None):
        other = "--processes" if cluster is None else "--cluster"
        raise InputError(f"there are both --vectors and {other}", remedy="Give one: workers share no kept vectors.")


def _run_on_workers(bench: Benchmark, executor: Executor, remote: OpenBench | None, journal: Journal) -> BenchRecords:
    return run_on_workers(bench, journal, executor, remote)


def _tell_workers(surface: Surface, executor: Executor) -> None:
    for line in worker_lines(executor.workers(), "users"):
        surface.note(line)
    surface.note("Times were measured while several workers were busy; compare times of runs without workers.")


def _check_layer(layer: str) -> str:
    if layer not in LAYERS:
        raise InputError(f"there is no layer {layer!r}", remedy=f"Use one of: {', '.join(LAYERS)}.")
    return layer


@contextmanager
def _answering(surface: Surface, options: BenchOptions, embedder: SharedEmbedder | None) -> Iterator[Answering | None]:
    if options.layer != ANSWERS:
        yield None
        return
    with open_answering(surface.settings, options.reader, options.judge, embedder) as answering:
        yield answering


class _Outcome:
    """A finished benchmark."""

    def __init__(self, work: Callable[[Journal], BenchRecords], journal: Journal) -> None:
        self.records = work(journal)
        self.results = compute_results(self.records)
        self.costs: list[Line] = summarise_costs(journal.costs, self.results)


def _run(bench: Benchmark, work: Callable[[Journal], BenchRecords], folder: Path, *, resume: bool) -> _Outcome:
    journal = Journal(folder, bench.plan(), resume=resume)
    try:
        return _Outcome(work, journal)
    except KeyboardInterrupt:
        sys.stderr.write("Answered questions are kept. Go on with the same command and --resume.\n")
        raise
    finally:
        journal.close()


def _show(surface: Surface, outcome: _Outcome, folder: Path, out: Path | None, *, times: bool) -> None:
    capsule = folder / CAPSULE
    seal = write_capsule(capsule, outcome.records, outcome.results)
    costs = outcome.costs if times else []
    (folder / COSTS).write_text(json.dumps(outcome.costs, indent=1) + "\n", encoding="utf-8")
    (folder / TABLE).write_text(render_markdown(outcome.records, outcome.results, []), encoding="utf-8")
    if out is not None:
        out.write_text(render_markdown(outcome.records, outcome.results, costs), encoding="utf-8")
    told = {"capsule": str(capsule), "seal": seal, "results": outcome.results, "costs": costs}
    ends = f"Capsule: {capsule}\nSeal: {seal}\nCheck it with: assay bench verify {capsule}"
    surface.result(told, f"{render_text(outcome.records, outcome.results, costs)}\n\n{ends}")


@contextmanager
def _bar(surface: Surface) -> Iterator[Callable[[str, str, int, int], None]]:
    """A bar with the time left on a terminal, a line for each system elsewhere."""
    if surface.common.json or surface.common.quiet:
        yield lambda *_: None
        return
    with show_several(surface) as show:
        if show is None:
            yield _tell_finished
        else:
            yield lambda name, system, done, wanted: show(done, wanted, f"{name}: {system}")


def _tell_finished(name: str, system: str, done: int, wanted: int) -> None:
    if done == wanted:
        sys.stderr.write(f"{name}: {system} answered {wanted} questions\n")
        sys.stderr.flush()


def _register_rest(group: typer.Typer) -> None:
    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List the systems and sets that can be compared, with what each needs and where each deviates."""
        surface.result(_catalog_json(), "\n".join(_catalog_lines()))

    @command(group, "verify")
    def verify(
        surface: Surface,
        capsule: Annotated[Path, typer.Argument(metavar="CAPSULE", help="A file of `assay bench memory`.")],
        data: DataOption = None,
    ) -> None:
        """Compute every number of a capsule again, without the systems; exit 1 if anything was changed."""
        check = verify_capsule(capsule, data=data, find_judge=partial(find_repeatable_judge, surface.settings))
        lines = [
            (
                f"{capsule}: {check.rankings} rankings, {check.answers} answers ({check.rejudged} judged again), "
                f"{check.numbers} numbers computed again."
            ),
            *(f"  {problem}" for problem in check.problems),
            f"Intact. Seal: {check.seal}" if check.intact else "Not intact: do not use its numbers.",
        ]
        surface.result(check.as_json(), "\n".join(lines))
        if not check.intact:
            raise typer.Exit(NOT_INTACT)

    @command(group, "table")
    def table(
        surface: Surface,
        capsules: Annotated[list[Path], typer.Argument(metavar="CAPSULE...", help="Files of `assay bench memory`.")],
        out: OutOption = None,
        times: TimesOption = True,
    ) -> None:
        """Join several capsules in one table; refused where their numbers cannot be compared."""
        records = join_records([_read_capsule(path) for path in capsules])
        results = compute_results(records)
        costs = [line for path in capsules for line in _read_costs(path.with_name(COSTS))] if times else []
        if out is not None:
            out.write_text(render_markdown(records, results, costs), encoding="utf-8")
        surface.result({"results": results, "costs": costs}, render_text(records, results, costs))


def _register_files(group: typer.Typer) -> None:
    @command(group, "import")
    def import_files(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Result files of other harnesses.")],
        of: Annotated[str, typer.Option("--set", metavar="SET", help="The set that they answer.")],
        out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The capsule to write.")],
        data: DataOption = None,
        overlay: OverlayOption = None,
        judge: JudgeOption = "",
    ) -> None:
        """Read judged answers, PrecisionMemBench reports or rankings of others into a capsule, and score them."""
        found = [load_overlay(path) for path in overlay or ()]
        records = import_results(
            files,
            load_set(of, data),
            found[0] if found else None,
            judge=open_bench_judge(surface.settings, judge) if judge else None,
        )
        results = compute_results(records)
        seal = write_capsule(out, records, results)
        told = {"capsule": str(out), "seal": seal, "results": results}
        surface.result(told, f"{render_text(records, results, [])}\n\nCapsule: {out}\nSeal: {seal}")

    @command(group, "overlay")
    def overlay(
        surface: Surface,
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of LoCoMo's audit files.")],
        out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The overlay to write.")],
        version: Annotated[str, typer.Option("--version-name", metavar="NAME", help="What the overlay is called.")],
    ) -> None:
        """Make a key overlay of the files of LoCoMo's audit, for `assay bench memory --overlay`."""
        made = convert_audit(folder, version=version)
        write_overlay(out, made)
        told = {"file": str(out), "corrections": len(made.corrections), "hash": made.hash}
        surface.result(told, f"{out}: {len(made.corrections)} corrections of {made.set}.")


def _read_capsule(path: Path) -> BenchRecords:
    lines, stated, seal = read_lines(path)
    if stated != seal:
        raise BrokenSeal(f"{path} was changed after it was made", remedy=f"See: assay bench verify {path}")
    return read_records(lines)[0]


def _read_costs(path: Path) -> list[Line]:
    """Return the times that a run keeps beside its capsule; none where the capsule was copied alone."""
    found: list[Line] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return found


def _catalog_json() -> dict[str, Any]:
    systems = [{"name": entry.name, "summary": entry.summary, "needs": entry.needs} for entry in CONTENDERS.values()]
    sets = [
        {
            "name": entry.name,
            "summary": entry.summary,
            "bundled": entry.bundled,
            "chats": entry.published.chats if entry.published else None,
            "questions": entry.published.questions if entry.published else None,
            "quirks": list(entry.quirks),
        }
        for entry in SETS.values()
    ]
    return {"systems": systems, "sets": sets}


def _catalog_lines() -> list[str]:
    systems = [("system", "needs", "what")]
    systems += [(entry.name, entry.needs or "assaykit[memory]", entry.summary) for entry in CONTENDERS.values()]
    sets = [("set", "chats", "questions", "data", "what")]
    for entry in SETS.values():
        chats = str(entry.published.chats or "-") if entry.published else "-"
        questions = str(entry.published.questions or "-") if entry.published else "-"
        sets.append((entry.name, chats, questions, "bundled" if entry.bundled else "--data", entry.summary))
    quirks = [f"  {entry.name}: {quirk}" for entry in SETS.values() for quirk in entry.quirks]
    return [*grid(systems), "", *grid(sets), "", "Quirks", *quirks]
