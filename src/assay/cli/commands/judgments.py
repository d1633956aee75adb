"""`assay judgments add|list|collect|grade|status`: grades of what searches found, and which of them count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records import JudgmentSource
from assay.verbs import judgments
from assay.verbs.judgments import JudgmentStatus

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY_ID", help="The search, as `assay search` names it.")]
MemoryArgument = Annotated[str, typer.Argument(metavar="MEMORY_ID", help="The memory that is graded.")]
GradeArgument = Annotated[int, typer.Argument(metavar="GRADE", min=0, max=3, help="0 not relevant, 3 answers it.")]
ConfidenceOption = Annotated[float, typer.Option("--confidence", min=0.0, max=1.0, help="How sure you are.")]
AnnotatorOption = Annotated[str, typer.Option("--annotator", help="Whose grade it is; left out: yours.")]
ModelOption = Annotated[bool, typer.Option("--by-model", help="A model made this grade.")]
QueryOption = Annotated[str | None, typer.Option("--query", metavar="QUERY_ID", help="All of this search.")]
SourceOption = Annotated[JudgmentSource | None, typer.Option("--source", help="Only from there.", case_sensitive=False)]
CursorOption = Annotated[str | None, typer.Option("--cursor", help="Where the page begins, as the last one says.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=200, help="The most lines.")]
MostOption = Annotated[int, typer.Option("--most", metavar="N", min=1, max=500, help="The most pairs to grade.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        help="Grade what searches found, collect what use says, and see which grades count for what.",
        no_args_is_help=True,
    )
    app.add_typer(group, name="judgments")
    _giving(group)
    _reading(group)


def _giving(group: typer.Typer) -> None:
    @command(group, "add")
    def add(  # noqa: PLR0917 - typer reads the options from the signature
        surface: Surface,
        query_id: QueryArgument,
        memory_id: MemoryArgument,
        grade: GradeArgument,
        confidence: ConfidenceOption = 1.0,
        annotator: AnnotatorOption = "",
        by_model: ModelOption = False,
    ) -> None:
        """Grade how relevant a memory is to a search."""
        given = {"query_id": query_id, "memory_id": memory_id, "relevance": grade, "confidence": confidence}
        found = surface.call(judgments.ADD, create=True, judgments=[given], annotator=annotator, by_model=by_model)
        surface.show(judgments.ADD, found, f"{found.kept} grade kept, by {found.annotator or 'you'} ({found.source}).")

    @command(group, "collect")
    def collect(surface: Surface) -> None:
        """Keep what use says of results as judgments: votes, reads, and what the click model makes of them."""
        found = surface.call(judgments.COLLECT, create=True)
        rows = [
            ("validated", str(found.validated), "called useful, or not"),
            ("implicit", str(found.implicit), "read or referred to"),
            ("click_model", str(found.click_model), "used more, or less, than its places explain"),
        ]
        surface.show(judgments.COLLECT, found, "\n".join(grid(rows)))

    @command(group, "grade")
    def grade(surface: Surface, most: MostOption = 100) -> None:
        """Let the model of the settings grade what searches found, pairs that people graded first."""
        found = surface.call(judgments.GRADE, create=True, most=most)
        lines = [f"{found.graded} pairs graded by {found.annotator}, {found.failed} without a grade."]
        lines += [f"  {problem}" for problem in found.problems]
        lines += [] if found.admission is None else [found.admission.sentence]
        surface.show(judgments.GRADE, found, "\n".join(lines))


def _reading(group: typer.Typer) -> None:
    @command(group, "list")
    def list_all(
        surface: Surface,
        query_id: QueryOption = None,
        source: SourceOption = None,
        cursor: CursorOption = None,
        limit: LimitOption = 50,
    ) -> None:
        """List judgments page by page, or all of one search."""
        found = surface.call(judgments.LIST, create=True, query_id=query_id, source=source, cursor=cursor, limit=limit)
        rows = [("search", "memory", "grade", "source", "by", "weight", "when")]
        rows += [
            (
                judgment.query_id,
                judgment.memory_id,
                str(judgment.relevance),
                str(judgment.source),
                judgment.annotator,
                f"{judgment.confidence:g}",
                f"{judgment.created_at:%Y-%m-%d %H:%M}",
            )
            for judgment in found.judgments
        ]
        empty = "No judgments. Grade a result: `assay judgments add QUERY_ID MEMORY_ID GRADE`."
        more = [f"More: --cursor {found.next_cursor}"] if found.next_cursor else []
        surface.show(judgments.LIST, found, "\n".join([*grid(rows), *more]) if found.judgments else empty)

    @command(group, "status")
    def status(surface: Surface) -> None:
        """Show how many judgments each source gave, what reads them, and which models' grades count."""
        found = surface.call(judgments.STATUS, create=True)
        surface.show(judgments.STATUS, found, "\n".join(_status(found)))


def _status(found: JudgmentStatus) -> Iterator[str]:
    yield from grid([("source", "judgments"), *((name, str(count)) for name, count in found.sources.items())])
    yield ""
    yield from grid([("reader", "accepts"), *((name, ", ".join(names)) for name, names in found.readers.items())])
    yield ""
    if not found.models:
        yield "No model has graded anything. A model's grades count while they agree with people's."
    for admission in found.models:
        yield f"{admission.annotator}: {admission.sentence}"
