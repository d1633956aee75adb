"""`assay dataset build` and `assay dataset generate`: datasets from the query log, and from a user's documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.evaluation.datasets import export_dataset
from assay.evaluation.labelling import FILE_NAME, write_tasks
from assay.evaluation.question_generation import Generated, GenerateOptions, generate
from assay.records.fields import one_of
from assay.wiring.models import has_model, open_model

if TYPE_CHECKING:
    from assay.evaluation.harvesting import Built

ToArgument = Annotated[Path, typer.Argument(metavar="TO", help="The folder to write.")]
PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="A document, or a folder of them.")]
FromLogOption = Annotated[bool, typer.Option("--from-log", help="From the questions of the store's query log.")]
NameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="What to call it; default: as TO is.")]
SizeOption = Annotated[int, typer.Option("--size", metavar="N", help="Questions at most.")]
ByOption = Annotated[str, typer.Option("--by", metavar="HOW", help="newest, frequent or random, within each intent.")]
LabelOption = Annotated[int, typer.Option("--to-label", metavar="N", help="Questions to be labelled by hand.")]
UnjudgedOption = Annotated[
    int | None, typer.Option("--unjudged", metavar="GRADE", help="A grade for what nobody judged; default: none.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of what is drawn.")]
PerOption = Annotated[int, typer.Option("--per-document", metavar="N", help="Questions from one document at most.")]
BuiltinOption = Annotated[bool, typer.Option("--builtin", help="Ask no model, also where one is configured.")]
MostOption = Annotated[int, typer.Option("--most", metavar="N", help="Questions in all at most.")]


def register(group: typer.Typer) -> None:
    """Add the commands to their group."""
    _register_build(group)

    @command(group, "generate")
    def generate(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        path: PathArgument,
        to: ToArgument,
        name: NameOption = None,
        per_document: PerOption = 3,
        most: MostOption = 100,
        builtin: BuiltinOption = False,
    ) -> None:
        """Make questions with gold anchors from documents; none counts until somebody has labelled it."""
        _refuse_what_is_there(to)
        options = GenerateOptions(name=name or _named(to), per_document=per_document, most=most)
        found = _generated(surface, path, options, builtin=builtin)
        export_dataset(found.dataset, to, kind="anchored")
        surface.result(_generated_json(found, to), "\n".join(_generated_lines(found, to)))


def _register_build(group: typer.Typer) -> None:
    @command(group, "build")
    def build(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        to: ToArgument,
        from_log: FromLogOption = False,
        name: NameOption = None,
        size: SizeOption = 200,
        by: ByOption = "newest",
        to_label: LabelOption = 50,
        unjudged: UnjudgedOption = None,
        seed: SeedOption = 0,
    ) -> None:
        """Make a dataset of what was asked in use, with weak labels, and pick questions to label by hand."""
        from assay.evaluation.harvesting import BuildOptions, By  # noqa: PLC0415 - the extra "memory"
        from assay.evaluation.harvesting import build as build_it  # noqa: PLC0415 - the extra "memory"

        if not from_log:
            raise InputError("it is not said what to build from", remedy="Give --from-log.")
        _refuse_what_is_there(to)
        options = BuildOptions(
            name=name or _named(to),
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
        surface.result(_built_json(found, to), "\n".join(_built_lines(found, to)))


def _generated(surface: Surface, path: Path, options: GenerateOptions, *, builtin: bool) -> Generated:
    if builtin or not has_model(surface.settings):
        return generate(path, options)
    # The store keeps what the model replied and cost.
    with wiring.open_store(surface.settings) as store:
        return generate(path, options, model=open_model(surface.settings, store, surface.scope))


def _refuse_what_is_there(to: Path) -> None:
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to} is there already", remedy="Name a folder that is not there, or is empty.")


def _named(to: Path) -> str:
    return to.resolve().name


def _built_json(found: Built, to: Path) -> dict[str, Any]:
    return {
        "path": str(to),
        "harvested": found.harvested,
        "cases": len(found.dataset.cases),
        "graded": found.graded,
        "grades": _sources(found),
        "documents": len(found.dataset.documents),
        "to_label": {"questions": len({one.case_id for one in found.tasks}), "pairs": len(found.tasks)},
        "notes": list(found.notes),
    }


def _sources(found: Built) -> dict[str, int]:
    counts: dict[str, int] = {}
    for case in found.dataset.cases:
        for one in case.grades:
            counts[one.source.value] = counts.get(one.source.value, 0) + 1
    return dict(sorted(counts.items()))


def _built_lines(found: Built, to: Path) -> Iterator[str]:
    told = _built_json(found, to)
    yield f"{told['cases']:,} of {found.harvested:,} questions, {told['documents']:,} documents: {to}"
    sources = ", ".join(f"{count:,} {source}" for source, count in told["grades"].items())
    yield f"{found.graded:,} questions have a grade from use ({sources or 'none'})."
    if found.tasks:
        pairs = told["to_label"]
        yield f"{pairs['questions']:,} questions, {pairs['pairs']:,} candidates are to be labelled: assay label {to}"
    yield from found.notes


def _generated_json(found: Generated, to: Path) -> dict[str, Any]:
    return {
        "path": str(to),
        "cases": len(found.dataset.cases),
        "documents": len(found.dataset.documents),
        "source": found.source,
        "parts": found.parts,
        "thrown_away": found.thrown_away,
        "taken": dict(found.taken),
        "skipped": dict(found.skipped),
    }


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


def _generated_lines(found: Generated, to: Path) -> Iterator[str]:
    cases, documents = len(found.dataset.cases), len(found.dataset.documents)
    yield f"{cases:,} questions from {documents:,} documents, by {found.source.replace(':', ' ')}: {to}"
    for case in found.dataset.cases[:5]:
        yield f"  {case.query}"
    yield f"Documents read: {_kinds(found.taken)}."
    if found.skipped:
        yield f"Files skipped, because Assay does not read them as documents: {_kinds(found.skipped)}."
    if found.thrown_away:
        yield f"{found.thrown_away:,} replies could not be used: none came, or what was quoted does not stand there."
    yield f"None of them counts until somebody has looked at it: assay label {to}"
