"""Readers of memories that other tools exported. Each yields items, and problems with their line numbers.

- `reading`: what the readers share, and detection of a file's format.
- `json_exports`: plain JSON lines, mem0, and the MCP reference server `server-memory`.
- `chatgpt`: ChatGPT's data export.
- `markdown`: Markdown notes and Obsidian vaults.

Assay's own export is read by `assay.memory.exporting`, because it is restored rather than saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.formats.memory_files import chatgpt, json_exports, markdown
from assay.formats.memory_files.reading import detect
from assay.records.saving import ImportFormat, ImportItem, ImportProblem

__all__ = ["ImportSource", "detect", "open_source"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportSource:
    """A file or folder to import from."""

    path: Path
    format: ImportFormat
    name: str
    """Begins the source ids of formats whose ids are only unique within their file."""
    size: int
    """Bytes of everything that will be read."""

    def read(self) -> Iterator[ImportItem | ImportProblem]:
        """Everything in it, in order."""
        readers = {
            ImportFormat.MEM0: json_exports.read_mem0,
            ImportFormat.SERVER_MEMORY: json_exports.read_server_memory,
            ImportFormat.CHATGPT: chatgpt.read,
            ImportFormat.OBSIDIAN: markdown.read,
            ImportFormat.MARKDOWN: markdown.read,
            ImportFormat.JSONL: json_exports.read_jsonl,
        }
        return readers[self.format](self.path, self.name)


def open_source(path: Path, wanted: ImportFormat = ImportFormat.AUTO, name: str | None = None) -> ImportSource:
    """A file or folder as an import source; its format is found out unless it is given."""
    found = detect(path) if wanted is ImportFormat.AUTO else wanted
    if found in (ImportFormat.OBSIDIAN, ImportFormat.MARKDOWN):
        size = sum(file.stat().st_size for file in markdown.find_notes(path))
    else:
        size = chatgpt.find_file(path).stat().st_size if found is ImportFormat.CHATGPT else path.stat().st_size
    return ImportSource(path=path, format=found, name=name or path.resolve().name, size=size)
