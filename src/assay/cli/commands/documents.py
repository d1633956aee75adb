"""Commands that read and write files of memories: ingest, import, export.

- `assay ingest`: take files and folders into the memory.
- `assay import`: take in memories that another tool, or Assay itself, has exported.
- `assay export`: write the memories to a file that loses nothing, or to a folder of Markdown notes.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.progress import has_terminal, show_progress
from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption, open_executor
from assay.extras import install_command
from assay.formats.document_text import NO_READER
from assay.formats.grid import grid
from assay.presentation.wording import count_of
from assay.records.saving import ExportFormat, ImportFormat, ImportReport, IngestReport
from assay.verbs import documents
from assay.verbs.verb import Progress

if TYPE_CHECKING:
    from assay.memory.ingesting import Step
    from assay.work.jobs import Executor


# --- `assay ingest`: take files and folders into the memory ---

FAULTS_SHOWN = 20
HEARTBEAT_S = 5.0
"""Seconds between two lines about a long run under --watch."""
INGEST_INCOMPLETE = 2
"""The exit code under --strict when something could not be taken."""

PathsArgument = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders; JSONL too.")]
RootOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="What paths are kept relative to. Default: this folder.")
]
GlobOption = Annotated[
    list[str], typer.Option("--glob", metavar="PATTERN", help="Take what matches, such as '*.md'; may repeat.")
]
LinksOption = Annotated[
    bool, typer.Option("--follow-links", help="Follow links out of a named folder, anywhere inside the root.")
]
IngestGateOption = Annotated[bool, typer.Option("--gate", help="Compare each document with the memory, as a save is.")]
PruneOption = Annotated[bool, typer.Option("--prune", help="Supersede what the disk no longer has.")]
ConversationOption = Annotated[
    bool, typer.Option("--conversation", help="Read the files as chats: a memory for each turn.")
]
IngestStrictOption = Annotated[bool, typer.Option("--strict", help="Exit 2 when anything could not be taken.")]
WatchOption = Annotated[bool, typer.Option("--watch", help="Go on taking in what changes, until Ctrl-C.")]
IntervalOption = Annotated[float, typer.Option(metavar="SECONDS", help="How often --watch looks.", min=0.1)]


def register_ingest(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "ingest")
    def ingest(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        paths: PathsArgument,
        root: RootOption = None,
        glob: GlobOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        follow_links: LinksOption = False,
        gate: IngestGateOption = False,
        prune: PruneOption = False,
        conversation: ConversationOption = False,
        strict: IngestStrictOption = False,
        watch: WatchOption = False,
        interval: IntervalOption = 2.0,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
    ) -> None:
        """Take in documents: new and changed ones only, in batches that survive an interruption."""
        request: dict[str, Any] = {
            "paths": paths,
            "root": root,
            "globs": glob,
            "follow_links": follow_links,
            "gate": gate,
            "prune": prune,
            "conversation": conversation,
        }
        with open_executor(surface, processes, cluster) as executor:
            if watch:
                _watch(surface, interval, request, executor)
                return
            with _telling_what_is_kept() as keep, show_progress(surface, "taking in", in_bytes=True) as show:
                report = surface.call(
                    documents.INGEST, create=True, progress=_both(keep, show), executor=executor, **request
                )
        surface.show(documents.INGEST, report, "\n".join(_format_ingest(report)))
        if strict and report.faults:
            raise typer.Exit(INGEST_INCOMPLETE)


def _watch(surface: Surface, interval: float, request: dict[str, Any], executor: Executor | None) -> None:
    """Take in what changes until Ctrl-C. It has no result, so it is no verb; each report is shown as the verb's is."""
    from assay.memory.ingesting.run import watch  # noqa: PLC0415 - the extra "memory"

    def tell(report: IngestReport) -> None:
        surface.show(documents.INGEST, report, "\n".join(_format_ingest(report)))

    def wait() -> bool:
        return threading.Event().wait(interval)

    paths = request.pop("paths")
    silent = surface.common.json or surface.common.quiet
    if not silent:
        names = ", ".join(map(str, paths))
        sys.stderr.write(f"Taking in {names}, then looking for changes every {interval:g} s. Ctrl-C ends it.\n")
    # Lines in a log, a bar on a terminal; the bar goes when a report is printed.
    watched = has_terminal(surface)
    beat = None if silent or watched else _heartbeat(time.monotonic)
    embedder = None if executor is None else wiring.spread_embedder(surface.settings, executor)
    with wiring.open_engine(surface.settings, embedder=embedder) as engine, _telling_what_is_kept() as keep:
        passes = _Passes(surface)
        progress = _both(keep, passes.show if watched else beat)

        def on_file(step: Step) -> None:
            progress(step.size, step.of_size, str(step))

        def on_report(report: IngestReport) -> None:
            passes.end()
            tell(report)

        try:
            watch(engine.ingester, surface.scope, paths, wait=wait, on_report=on_report, on_file=on_file, **request)
        finally:
            passes.end()


class _Passes:
    """A bar for each pass of `--watch` that takes something in: shown at its first file, gone at its end."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._held = ExitStack()
        self._show: Progress | None = None

    def show(self, done: float, of: float | None, what: str) -> None:
        """Show how far the pass is."""
        if self._show is None:
            self._show = self._held.enter_context(show_progress(self._surface, what, in_bytes=True))
        if self._show is not None:
            self._show(done, of, what)

    def end(self) -> None:
        """Remove the bar, if there is one."""
        self._held.close()
        self._show = None


def _both(first: Progress, second: Progress | None) -> Progress:
    def tell(done: float, of: float | None, what: str) -> None:
        first(done, of, what)
        if second is not None:
            second(done, of, what)

    return tell


@contextmanager
def _telling_what_is_kept() -> Iterator[Progress]:
    """Tell whoever interrupts a run what of it is durable."""
    last = "Nothing was kept yet"

    def keep(done: float, of: float | None, what: str) -> None:
        nonlocal last
        last = f"Kept: {describe(done, of, what)}"

    try:
        yield keep
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{last}. The same command goes on from there.\n")
        raise


def describe(done: float, of: float | None, what: str) -> str:
    """Return how far a run is, in words; `done` and `of` are bytes."""
    return f"{what}, {done / 1e6:.1f} of {(of or done) / 1e6:.1f} MB"


def _heartbeat(now: Callable[[], float]) -> Progress:
    """Write a line about a long run every few seconds."""
    last_line = now()

    def beat(done: float, of: float | None, what: str) -> None:
        nonlocal last_line
        if now() - last_line >= HEARTBEAT_S:
            last_line = now()
            sys.stderr.write(f"{describe(done, of, what)}\n")

    return beat


def _format_ingest(report: IngestReport) -> Iterator[str]:
    fates = ", ".join(f"{count:,} {fate}" for fate, count in report.fates.items()) or "nothing to take"
    yield f"{report.files:,} files, {report.documents:,} documents: {fates}"
    if report.chunk_tokens is not None:
        spread = report.chunk_tokens
        yield f"{report.chunks:,} chunks, tokens {spread.shortest} to {spread.longest}, median {spread.median}"
    for reason, count in report.chunks_skipped.items():
        yield f"{count:,} chunks not embedded: {reason}"
    if report.masked:
        yield f"{report.masked:,} secrets masked"
    if reasons := report.skipped.reasons:
        yield "passed over: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    if unread := report.skipped.reasons.get(NO_READER):
        yield f"{unread:,} PDF files were left out. Install their reader, and ingest again: {install_command('pdf')}"
    yield from (f"  {fault}" for fault in report.faults[:FAULTS_SHOWN])
    if len(report.faults) > FAULTS_SHOWN:
        yield f"  and {len(report.faults) - FAULTS_SHOWN:,} more; --json has them all"
    yield from _missing_file_lines(report)
    yield from grid([("seconds", *(f"{name} {value:.2f}" for name, value in report.seconds.items()))])


def _missing_file_lines(report: IngestReport) -> Iterator[str]:
    if report.pruned:
        yield f"{len(report.pruned):,} no longer on disk, superseded: {_few(report.pruned)}"
    elif report.missing:
        yield f"{len(report.missing):,} no longer on disk, kept (supersede them: --prune): {_few(report.missing)}"


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


# --- `assay import`: take in memories that another tool, or Assay itself, has exported ---

PROBLEMS_SHOWN = 20
IMPORT_INCOMPLETE = 2
"""The exit code under --strict when something was not imported whole."""

ImportPathArgument = Annotated[Path, typer.Argument(metavar="FILE|FOLDER", help="What was exported.")]
ImportFormatOption = Annotated[ImportFormat, typer.Option("--format", help="Which tool wrote it; auto finds out.")]
UserOption = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only this user's memories (mem0).")]
FolderOption = Annotated[str, typer.Option("--folder", metavar="FOLDER", help="Put everything below this folder.")]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="What the file is known by next time. Default: its own name."),
]
ImportGateOption = Annotated[bool, typer.Option("--gate", help="Compare each memory with what is there, as a save is.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")]
ImportStrictOption = Annotated[bool, typer.Option("--strict", help="Exit 2 when anything was not imported whole.")]


def register_import(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "import")
    def import_(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        path: ImportPathArgument,
        format: ImportFormatOption = ImportFormat.AUTO,  # noqa: A002 - the option's own word
        user: UserOption = None,
        folder: FolderOption = "",
        source: SourceOption = None,
        gate: ImportGateOption = False,
        dry_run: DryRunOption = False,
        strict: ImportStrictOption = False,
    ) -> None:
        """Import memories from mem0, MCP server-memory, ChatGPT, Obsidian, Markdown, JSONL or an Assay export.

        The same file again changes nothing, so an interrupted import is simply run again.
        """
        with show_progress(surface, "importing", in_bytes=True) as progress:
            report = surface.call(
                documents.IMPORT,
                create=True,
                progress=progress,
                path=path,
                format=format,
                user=user,
                folder=folder,
                source=source,
                gate=gate,
                dry_run=dry_run,
            )
        surface.show(documents.IMPORT, report, "\n".join(_format_import(report)))
        if strict and report.problems:
            raise typer.Exit(IMPORT_INCOMPLETE)


def _format_import(report: ImportReport) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {fate}" for fate, count in report.counts.items()) or "nothing to import"
    would = "would be: " if report.dry_run else ""
    yield f"{report.format}, {report.total:,} {'memory' if report.total == 1 else 'memories'}: {would}{counts}"
    if report.edges:
        yield (
            f"{report.edges:,} edges made of links and relations"
            if report.format != "assay"
            else (f"{report.edges:,} edges restored")
        )
    if report.users:
        yield "users: " + ", ".join(f"{user} {count:,}" for user, count in report.users.items())
    if report.masked:
        yield f"{report.masked:,} secrets masked"
    for name, reasons in (("skipped", report.skipped), ("imported without a part", report.incomplete)):
        if reasons:
            yield f"{name}: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    yield from (f"  {problem}" for problem in report.problems[:PROBLEMS_SHOWN])
    if len(report.problems) > PROBLEMS_SHOWN:
        yield f"  and {len(report.problems) - PROBLEMS_SHOWN:,} more; --json has them all"
    yield from report.notes


# --- `assay export`: write the memories to a file that loses nothing, or to a folder of Markdown notes ---

ExportPathArgument = Annotated[
    Path, typer.Argument(metavar="PATH", help="The file to write; with markdown, a new folder.")
]
ExportFormatOption = Annotated[
    ExportFormat, typer.Option("--format", help="jsonl: everything, to import again. markdown: current notes, to read.")
]


def register_export(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "export")
    def export(surface: Surface, path: ExportPathArgument, format: ExportFormatOption = ExportFormat.JSONL) -> None:  # noqa: A002 - the option's own word
        """Export memories: as JSONL with every version, state, edge and date, or as Markdown notes.

        What is written is complete, or nothing is; only its owner can read it. `assay import` reads both.
        """
        exported = surface.call(documents.EXPORT, path=path, format=format)
        states = ", ".join(f"{count:,} {status}" for status, count in exported.by_status.items()) or "none"
        counts = f"{count_of(exported.memories, 'memory')} ({states}) and {count_of(exported.edges, 'edge')}"
        surface.show(documents.EXPORT, exported, f"wrote {counts} to {exported.path}")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_ingest(app)
    register_import(app)
    register_export(app)
