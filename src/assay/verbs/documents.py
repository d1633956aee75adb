"""Take in files and folders, import and export memories: verbs on files of this machine, in Python and at its terminal.

No server and no agent may have a file opened by naming its path, so these verbs have no route and no tool.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from assay.access import acts
from assay.records.saving import Exported, ExportFormat, ImportFormat, ImportReport, IngestReport
from assay.verbs.fields import YesNo
from assay.verbs.verb import Caller, Family, Request, Verb

if TYPE_CHECKING:
    from assay.memory.ingesting import Step

MOST_PATHS = 100_000
MOST_GLOBS = 1_000
Label = Annotated[str, Field(min_length=1, max_length=1_000)]


class IngestRequest(Request):
    """Which files to take in, and how."""

    paths: Annotated[
        tuple[Path, ...], Field(min_length=1, max_length=MOST_PATHS, description="Files and folders; JSONL too.")
    ]
    root: Annotated[
        Path | None, Field(description="The folder that paths are kept relative to; the current one if left out.")
    ] = None
    globs: Annotated[
        tuple[str, ...], Field(max_length=MOST_GLOBS, description="Take only what matches one, such as *.md.")
    ] = ()
    follow_links: Annotated[
        YesNo, Field(description="Follow links out of a named folder, anywhere inside the root.")
    ] = False
    gate: Annotated[YesNo, Field(description="Compare each document with the memory, as a save is.")] = False
    prune: Annotated[YesNo, Field(description="Supersede what is no longer on disk.")] = False
    conversation: Annotated[
        YesNo, Field(description="Read the files as chats: a memory for each turn, found by the turns around it too.")
    ] = False


class ImportRequest(Request):
    """What to import, and how."""

    path: Annotated[Path, Field(description="The file or folder that was exported.")]
    format: Annotated[ImportFormat, Field(description="Which tool wrote it; auto finds out.")] = ImportFormat.AUTO
    user: Annotated[Label | None, Field(description="Import only this user's memories (mem0).")] = None
    folder: Annotated[str, Field(max_length=1_000, description="Put everything below this folder.")] = ""
    source: Annotated[
        Label | None, Field(description="What the file is known by next time; its own name if left out.")
    ] = None
    gate: Annotated[YesNo, Field(description="Compare each memory with the stored ones, as a save is.")] = False
    dry_run: Annotated[YesNo, Field(description="Say what would be done, and write nothing.")] = False


class ExportRequest(Request):
    """Where to write the memories, and how."""

    path: Annotated[Path, Field(description="The file to write; with markdown, a new folder.")]
    format: Annotated[
        ExportFormat, Field(description="jsonl: everything, to import again. markdown: current notes, to read.")
    ] = ExportFormat.JSONL


def ingest(caller: Caller, request: IngestRequest) -> IngestReport:
    """Take in files and folders: what is new or changed, in batches that survive an interruption."""

    def tell(step: Step) -> None:
        caller.progress(step.size, step.of_size, str(step))

    return caller.engine.ingest(
        caller.scope,
        request.paths,
        root=request.root,
        globs=request.globs,
        follow_links=request.follow_links,
        gate=request.gate,
        prune=request.prune,
        conversation=request.conversation,
        on_file=tell,
    )


def import_memories(caller: Caller, request: ImportRequest) -> ImportReport:
    """Import memories that another tool, or Assay itself, has exported; the same file again changes nothing."""
    from assay.memory.importing import ImportOptions  # noqa: PLC0415 - needs the store, which a client does without

    return caller.engine.import_memories(
        caller.scope,
        request.path,
        format=request.format,
        source=request.source,
        options=ImportOptions(user=request.user, folder=request.folder, gate=request.gate, dry_run=request.dry_run),
        on_progress=lambda done, total: caller.progress(done, total, "importing"),
    )


def export_memories(caller: Caller, request: ExportRequest) -> Exported:
    """Write every memory to a file that loses nothing, or the current ones to a folder of Markdown notes."""
    return caller.engine.export_memories(caller.scope, request.path, format=request.format)


INGEST = Verb(
    name="memory.ingest",
    summary="Take in documents: new and changed ones only, in batches that survive an interruption.",
    act=acts.MEMORY_TAKE_IN,
    request=IngestRequest,
    result=IngestReport,
    call=ingest,
    command="ingest",
    python="Memory.ingest",
)

IMPORT = Verb(
    name="memory.import",
    summary="Import memories from mem0, MCP server-memory, ChatGPT, Obsidian, Markdown, JSONL or an Assay export.",
    act=acts.MEMORY_TAKE_IN,
    request=ImportRequest,
    result=ImportReport,
    call=import_memories,
    command="import",
    python="Memory.import_memories",
)

EXPORT = Verb(
    name="memory.export",
    summary="Export memories: as JSONL with every version, state, edge and date, or as Markdown notes.",
    act=acts.FILE_WRITE,
    request=ExportRequest,
    result=Exported,
    call=export_memories,
    command="export",
    python="Memory.export_memories",
)

FAMILY = Family(name="documents", verbs=(INGEST, IMPORT, EXPORT))
