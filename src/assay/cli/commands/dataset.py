"""`assay dataset`: import, check, split, build and write golden datasets.

- `assay dataset build` and `assay dataset generate`: datasets from the query log, and from a user's documents.
- `assay dataset from-traces`: cases of traces of production traffic.
- `assay dataset review`: in `label`, whose kind of work it is.
- `assay dataset import|export|check|split|show|list`: golden datasets in and out, and whether they can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.commands.label import register_review
from assay.cli.dataset_tables import (
    check_as_json,
    check_lines,
    count,
    import_as_json,
    import_lines,
    list_lines,
    overview_lines,
)
from assay.cli.plain import plain
from assay.cli.progress import show_progress
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import BadValue, InputError, NothingMeasured
from assay.evaluation.datasets import (
    Checked,
    Source,
    apply_relocations,
    check_dataset,
    check_path,
    export_dataset,
    import_dataset,
    keep_fixed,
    load_dataset,
    split_dataset,
)
from assay.evaluation.datasets import show as overview
from assay.evaluation.datasets.contents import list_datasets
from assay.evaluation.datasets.loading import find_losses
from assay.evaluation.labelling import FILE_NAME, write_tasks
from assay.evaluation.question_generation import Generated, GenerateOptions, generate
from assay.formats.grid import grid
from assay.records.access import FileKind
from assay.records.datasets import Dataset
from assay.records.fields import one_of
from assay.records.memory import count_by_kind
from assay.records.traces import TraceCases
from assay.verbs import datasets as dataset_verbs
from assay.verbs import traces as trace_verbs
from assay.wiring.models import has_model, open_model

if TYPE_CHECKING:
    from assay.evaluation.harvesting import Built


# --- `assay dataset build` and `assay dataset generate`: datasets from the query log, and from a user's documents

BuildToArgument = Annotated[Path, typer.Argument(metavar="TO", help="The folder to write.")]
BuildPathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="A document, or a folder of them.")]
FromLogOption = Annotated[bool, typer.Option("--from-log", help="From the questions of the store's query log.")]
BuildNameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="What to call it; default: as TO is.")
]
SizeOption = Annotated[int, typer.Option("--size", metavar="N", help="Questions at most.")]
ByOption = Annotated[str, typer.Option("--by", metavar="HOW", help="newest, frequent or random, within each intent.")]
LabelOption = Annotated[int, typer.Option("--to-label", metavar="N", help="Questions to be labelled by hand.")]
UnjudgedOption = Annotated[
    int | None, typer.Option("--unjudged", metavar="GRADE", help="Grade of results without a judgment; default: none.")
]
BuildSeedOption = Annotated[int, typer.Option("--seed", help="Of what is drawn.")]
PerOption = Annotated[int, typer.Option("--per-document", metavar="N", help="Questions from one document at most.")]
BuiltinOption = Annotated[bool, typer.Option("--builtin", help="Ask no model, also where one is configured.")]
MostOption = Annotated[int, typer.Option("--most", metavar="N", help="Questions in all at most.")]
MostCharactersOption = Annotated[
    int | None,
    typer.Option(
        "--most-characters",
        metavar="N",
        help="Take a sample of the documents, with N characters at most; default: all.",
    ),
]


TracesDatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="The dataset that grows; made if there is none of that name.")
]
FailingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--failing",
        metavar="FAULT",
        help="Only traces that are ungrounded, abstained, empty, stale, slow or failed; may be given several times.",
    ),
]
TracesOption = Annotated[
    list[str] | None, typer.Option("--trace", metavar="ID", help="Only this trace; may be given several times.")
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only traces that began at this time (UTC) or later.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only traces that began before this time.")
]
TracesMostOption = Annotated[int, typer.Option("--most", metavar="N", help="Look at the newest N traces.")]
SlowOption = Annotated[float, typer.Option("--slow-ms", metavar="MS", help="From this time on a trace counts as slow.")]


def register_build(group: typer.Typer) -> None:
    """Add the commands to their group."""
    _register_build(group)
    _register_from_traces(group)

    @command(group, "generate")
    def generate(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        path: BuildPathArgument,
        to: BuildToArgument,
        name: BuildNameOption = None,
        per_document: PerOption = 3,
        most: MostOption = 100,
        builtin: BuiltinOption = False,
        most_characters: MostCharactersOption = None,
    ) -> None:
        """Make questions with gold anchors from documents; a question counts only after it was labelled by hand."""
        _refuse_what_is_there(to)
        options = GenerateOptions(
            name=name or _name_of_folder(to),
            per_document=per_document,
            most=most,
            most_characters=most_characters,
        )
        found = _generate(surface, path, options, builtin=builtin)
        export_dataset(found.dataset, to, kind="anchored")
        surface.result(_generation_as_json(found, to), "\n".join(_generation_lines(found, to)))


def _register_from_traces(group: typer.Typer) -> None:
    @command(group, "from-traces")
    def from_traces(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        name: TracesDatasetArgument,
        failing: FailingOption = None,
        trace: TracesOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        most: TracesMostOption = 1_000,
        slow_ms: SlowOption = trace_verbs.SLOW_MS,
    ) -> None:
        """Make traces cases of a dataset: the question and what was retrieved, for people to label."""
        done = surface.call(
            trace_verbs.CASES,
            dataset=name,
            failing=failing or (),
            trace_ids=trace or (),
            since=since,
            until=until,
            most=most,
            slow_ms=slow_ms,
        )
        surface.show(trace_verbs.CASES, done, "\n".join(_trace_case_lines(done)))


def _trace_case_lines(done: TraceCases) -> Iterator[str]:
    known = f", {len(done.known):,} were there already" if done.known else ""
    yield f"{len(done.added):,} new cases in {done.dataset} {done.version}{known}; now {done.cases:,}."
    yield from (f"  left out, {reason}: {count:,}" for reason, count in done.left_out.items())
    if done.to_label:
        yield f"None of them counts until it was labelled ({done.to_label:,} pairs): assay label {done.dataset}"
    yield f"Then hold what was recorded against the labels: assay run {done.dataset} --system traces"


def _register_build(group: typer.Typer) -> None:
    @command(group, "build")
    def build(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        to: BuildToArgument,
        from_log: FromLogOption = False,
        name: BuildNameOption = None,
        size: SizeOption = 200,
        by: ByOption = "newest",
        to_label: LabelOption = 50,
        unjudged: UnjudgedOption = None,
        seed: BuildSeedOption = 0,
    ) -> None:
        """Make a dataset from logged searches, with weak labels, and pick questions to label by hand."""
        from assay.evaluation.harvesting import BuildOptions, By  # noqa: PLC0415 - the extra "memory"
        from assay.evaluation.harvesting import build as build_it  # noqa: PLC0415 - the extra "memory"

        if not from_log:
            raise InputError("it is not said what to build from", remedy="Give --from-log.")
        _refuse_what_is_there(to)
        options = BuildOptions(
            name=name or _name_of_folder(to),
            size=size,
            by=one_of(By)(by, "by"),
            to_label=to_label,
            unjudged=unjudged,
            seed=seed,
        )
        with wiring.open_engine(surface.settings, create=False) as engine:
            found = build_it(engine, surface.scope, options)
        export_dataset(found.dataset, to, private=True)
        if found.tasks:
            write_tasks(to / FILE_NAME, found.tasks)
        surface.result(_build_as_json(found, to), "\n".join(_build_lines(found, to)))


def _generate(surface: Surface, path: Path, options: GenerateOptions, *, builtin: bool) -> Generated:
    if builtin or not has_model(surface.settings):
        return generate(path, options)
    # The store keeps what the model replied and cost.
    with wiring.open_store(surface.settings) as store:
        return generate(path, options, model=open_model(surface.settings, store, surface.scope))


def _refuse_what_is_there(to: Path) -> None:
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to} is there already", remedy="Name a folder that is not there, or is empty.")


def _name_of_folder(to: Path) -> str:
    return to.resolve().name


def _build_as_json(found: Built, to: Path) -> dict[str, Any]:
    return {
        "path": str(to),
        "harvested": found.harvested,
        "cases": len(found.dataset.cases),
        "graded": found.graded,
        "grades": _sources(found),
        "documents": len(found.dataset.documents),
        "to_label": {"questions": len({task.case_id for task in found.tasks}), "pairs": len(found.tasks)},
        "notes": list(found.notes),
    }


def _sources(found: Built) -> dict[str, int]:
    counts: dict[str, int] = {}
    for case in found.dataset.cases:
        for grade in case.grades:
            counts[grade.source.value] = counts.get(grade.source.value, 0) + 1
    return dict(sorted(counts.items()))


def _build_lines(found: Built, to: Path) -> Iterator[str]:
    told = _build_as_json(found, to)
    yield f"{told['cases']:,} of {found.harvested:,} questions, {told['documents']:,} documents: {to}"
    sources = ", ".join(f"{count:,} {source}" for source, count in told["grades"].items())
    yield f"{found.graded:,} questions have a grade from use ({sources or 'none'})."
    if found.tasks:
        pairs = told["to_label"]
        yield f"{pairs['questions']:,} questions, {pairs['pairs']:,} candidates are to be labelled: assay label {to}"
    yield from found.notes


def _generation_as_json(found: Generated, to: Path) -> dict[str, Any]:
    return {
        "path": str(to),
        "cases": len(found.dataset.cases),
        "documents": len(found.dataset.documents),
        "source": found.source,
        "parts": found.parts,
        "thrown_away": found.thrown_away,
        "reasons": dict(found.reasons),
        "taken": dict(found.taken),
        "skipped": dict(found.skipped),
        "unreadable": dict(found.unreadable),
        "left_out": found.left_out,
    }


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


_UNREAD_SHOWN = 5


def _unread_lines(unreadable: Mapping[str, str]) -> Iterator[str]:
    if unreadable:
        yield f"Documents left out, because they cannot be read: {_kinds(count_by_kind(unreadable))}."
    for path, reason in list(unreadable.items())[:_UNREAD_SHOWN]:
        yield f"Not read: {path}: {reason}"
    if len(unreadable) > _UNREAD_SHOWN:
        yield f"Not read: {len(unreadable) - _UNREAD_SHOWN:,} more; --json has them all"


def _generation_lines(found: Generated, to: Path) -> Iterator[str]:
    cases, documents = len(found.dataset.cases), len(found.dataset.documents)
    yield f"{cases:,} questions from {documents:,} documents, by {found.source.replace(':', ' ')}: {to}"
    for case in found.dataset.cases[:5]:
        yield f"  {case.query}"
    yield f"Documents read: {_kinds(found.taken)}."
    if found.skipped:
        yield f"Files skipped, because Assay does not read them as documents: {_kinds(found.skipped)}."
    yield from _unread_lines(found.unreadable)
    if found.left_out:
        yield f"Documents that are not in the sample: {found.left_out:,}."
    if found.thrown_away:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in found.reasons.items())
        yield f"Drafts that could not be used: {found.thrown_away:,} ({reasons})."
    yield f"None of them counts until it was labelled: assay label {to}"


# --- `assay dataset import|export|check|split|show|list`: golden datasets in and out, and whether they can be trusted

NOT_USABLE = 2
"""Exit code of a check that found errors, and of a dataset without cases."""

NameArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="A name (hotel, docs, docs@1.0.0) or a path; see `assay dataset list`.")
]
DatasetPathArgument = Annotated[
    Path, typer.Argument(metavar="PATH", help="A file or folder in one of the formats of --format.")
]
DatasetToArgument = Annotated[Path, typer.Argument(metavar="TO", help="The file or folder to write.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="KIND",
        help="golden, anchored, beir, trec, ragas, questions, longmemeval or parquet; default: as it looks.",
    ),
]
WriteOption = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="KIND",
        help="golden, golden-files, golden-lines, anchored, beir, trec, ragas, questions, longmemeval or parquet.",
    ),
]
SplitOption = Annotated[
    str | None, typer.Option("--split", metavar="NAME", help="Which judgments of a BEIR folder, such as test.")
]
VaultOption = Annotated[
    Path | None,
    typer.Option(
        "--vault",
        "--docs",
        metavar="FOLDER",
        help="The documents of anchored cases or of a table of questions; default: beside them.",
    ),
]
QrelsOption = Annotated[
    Path | None, typer.Option("--qrels", metavar="FILE", help="The judgments, where PATH is a file of topics.")
]
DatasetNameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="What to call it; default: its own.")
]
VersionOption = Annotated[str | None, typer.Option("--version", metavar="1.2.0", help="Which version this is.")]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Give up what this version was.")]
EncodeOption = Annotated[bool, typer.Option("--encode-ids", help="Write blanks in the ids of TREC files as %20.")]
RootOption = Annotated[
    Path | None, typer.Option("--corpus", metavar="FOLDER", help="Look anchors up here, not in the dataset's notes.")
]
ExcludeOption = Annotated[
    bool, typer.Option("--exclude-unresolved", help="Cases whose anchors lead nowhere will be left out of scoring.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")]
FixOption = Annotated[bool, typer.Option("--fix", help="Move anchors to where they clearly went, in a copy.")]
FixedOption = Annotated[
    Path | None, typer.Option("--to", metavar="PATH", help="Where --fix writes the copy; default: the next version.")
]
PartOption = Annotated[
    list[str], typer.Option("--part", metavar="NAME=SHARE", help="A part and its share; at least two, adding up to 1.")
]
DatasetSeedOption = Annotated[int, typer.Option("--seed", help="Of the shuffling.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Bring in, check, split and write golden datasets.", no_args_is_help=True)
    app.add_typer(group, name="dataset")
    _register_files(group)
    _register_looks(group)
    register_build(group)
    register_review(group)


def _register_files(group: typer.Typer) -> None:
    @command(group, "import")
    def import_(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        path: DatasetPathArgument,
        name: DatasetNameOption = None,
        version: VersionOption = None,
        kind: FormatOption = None,
        split: SplitOption = None,
        vault: VaultOption = None,
        qrels: QrelsOption = None,
        replace: ReplaceOption = False,
    ) -> None:
        """Keep a dataset under a name, so that runs can use it; the same content again changes nothing."""
        with _progress(surface) as on_read:
            done = import_dataset(
                path,
                wiring.registry_of(surface.settings),
                clock=SystemClock(),
                source=_source(kind, split, vault, qrels),
                name=name,
                version=version,
                replacing=replace,
                on_read=on_read,
            )
        note = wiring.claim_files(surface.settings, FileKind.DATASET, [done.card.path])
        findings = check_dataset(done.dataset)
        surface.result(import_as_json(done, findings), "\n".join(import_lines(done, findings)))
        if note:
            surface.note(note)

    @command(group, "export")
    def export(  # noqa: PLR0917 - the same
        surface: Surface,
        name: NameArgument,
        to: DatasetToArgument,
        kind: WriteOption = "golden",
        split: SplitOption = None,
        encode_ids: EncodeOption = False,
    ) -> None:
        """Write a dataset in another format."""
        dataset = _load_with_progress(surface, name)
        place = export_dataset(dataset, to, kind=kind, split=split, encode_ids=encode_ids)
        losses = find_losses(dataset, place, kind, split=split)
        lost = ["what it keeps is not known: it cannot be read back"] if losses is None else losses.lines()
        surface.result(
            {
                "name": dataset.name,
                "format": kind,
                "path": str(place),
                "content_hash": dataset.content_hash,
                "lost": None if losses is None else plain(losses),
            },
            "\n  ".join([f"{dataset.name} {dataset.version} written as {kind}: {place}", *lost]),
        )

    @command(group, "split")
    def split(
        surface: Surface,
        name: NameArgument,
        to: DatasetToArgument,
        part: PartOption = ["dev=0.5", "test=0.5"],  # noqa: B006 - typer reads the default, nobody changes it
        seed: DatasetSeedOption = 0,
    ) -> None:
        """Share the cases of a dataset out, category by category; each part is a golden file with all documents."""
        parts = split_dataset(_load_with_progress(surface, name), _shares(part), seed=seed)
        placed = {key: (part, export_dataset(part, to / f"{part.name}.json")) for key, part in parts.items()}
        rows = [
            ("part", "cases", "file"),
            *((key, f"{len(part.cases):,}", str(at)) for key, (part, at) in placed.items()),
        ]
        surface.result(
            {key: {"cases": [case.id for case in part.cases], "path": str(at)} for key, (part, at) in placed.items()},
            "\n".join(grid([("part", "cases", "file"), *rows])),
        )


def _register_looks(group: typer.Typer) -> None:
    @command(group, "check")
    def check(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        name: NameArgument,
        kind: FormatOption = None,
        split: SplitOption = None,
        corpus: RootOption = None,
        qrels: QrelsOption = None,
        exclude_unresolved: ExcludeOption = False,
        strict: StrictOption = False,
        fix: FixOption = False,
        to: FixedOption = None,
    ) -> None:
        """Say what is wrong with a dataset; exit 2 if numbers measured on it would be wrong."""
        with _progress(surface) as on_read:
            found = check_path(
                name,
                registry=wiring.registry_of(surface.settings),
                source=_source(kind, split, None, qrels),
                corpus_root=corpus,
                exclude_unresolved=exclude_unresolved,
                on_read=on_read,
            )
        fixed = _fix(surface, name, found, corpus, to) if fix else None
        surface.result(check_as_json(found, fixed), "\n".join(check_lines(name, found, fixed)))
        if not found.usable or (strict and count(found, "warning")):
            raise typer.Exit(NOT_USABLE)

    @command(group, "show")
    def show(surface: Surface, name: NameArgument) -> None:
        """Show what a dataset holds: sizes, kinds, grades, version and content hash."""
        seen = overview(_load_with_progress(surface, name))
        surface.show(dataset_verbs.SHOW, seen, "\n".join(overview_lines(seen)))

    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List the datasets that come with Assay and those that were imported."""
        cards = list(wiring.registry_of(surface.settings).entries())
        found = dataset_verbs.DatasetList(datasets=list_datasets(cards))
        told = dataset_verbs.LIST.to_json(found)
        # Where a file came from and lies is for whoever sits at this machine only.
        for dataset, card in zip([entry for entry in told["datasets"] if not entry["bundled"]], cards, strict=True):
            dataset.update(path=str(card.path), imported_from=card.imported_from)
        surface.result(told, "\n".join(list_lines(told["datasets"])))


def _load_with_progress(surface: Surface, name: str) -> Dataset:
    with _progress(surface) as on_read:
        found = load_dataset(name, registry=wiring.registry_of(surface.settings), on_read=on_read)
    if not found.cases:
        raise NothingMeasured(f"{name} holds no cases", remedy="Give a dataset with at least one query.")
    return found


def _source(kind: str | None, split: str | None, vault: Path | None, qrels: Path | None) -> Source:
    return Source(format=kind, split=split, vault=vault, qrels=qrels)


def _shares(parts: list[str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for part in parts:
        name, _, share = part.partition("=")
        try:
            shares[name] = float(share)
        except ValueError as problem:
            raise BadValue(
                f"part {part!r} is not a name and a share", remedy="Give it as --part test=0.2."
            ) from problem
    return shares


@contextmanager
def _progress(surface: Surface) -> Iterator[Callable[[int], None] | None]:
    """How many documents have been read, on a terminal; silence elsewhere."""
    with show_progress(surface, "documents read:", counted=False) as show:
        yield None if show is None else lambda count: show(count, None, "")


def _fix(surface: Surface, name: str, found: Checked, corpus: Path | None, to: Path | None) -> dict[str, Any]:
    """Move what can be moved, and keep the copy."""
    if found.dataset is None:
        return {"moved": 0, "path": None}
    fixed, applied = apply_relocations(found.dataset, found.unresolved, corpus)
    registry = wiring.registry_of(surface.settings)
    place = keep_fixed(name, fixed, registry=registry, clock=SystemClock(), to=to) if applied else None
    kept = None if place is None else registry.path_of(place)
    if kept is not None and (note := wiring.claim_files(surface.settings, FileKind.DATASET, [kept])):
        surface.note(note)
    moves = [{"case": anchor.case_id, "support": anchor.support, "to": str(move)} for anchor, move in applied]
    return {"moved": len(applied), "left": len(found.unresolved) - len(applied), "moves": moves, "path": place}
