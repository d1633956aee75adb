"""Readers of memory stores, one module for each kind; `find_reader` chooses by looking.

- `protocol`: what every reader offers.
- `mem0`: mem0's points in Qdrant's local storage, and its history.
- `pickled_points`: pickled points read as data, without `pickle`.
- `server_memory`: JSON lines of the MCP reference server for memory.
- `chroma`: Chroma's SQLite file.
- `langgraph`: LangGraph's store in SQLite.
- `markdown_folders`: Letta's memory blocks, and folders with CLAUDE.md or AGENTS.md.
- `plain_jsonl`: JSON lines of any origin.
"""

from __future__ import annotations

from pathlib import Path

from assay.errors import InputError, MalformedFile
from assay.records.store_audits import StoreKind
from assay.store_audit.readers.chroma import ChromaReader
from assay.store_audit.readers.langgraph import LangGraphReader
from assay.store_audit.readers.markdown_folders import AgentFilesReader, LettaReader, has_agent_files
from assay.store_audit.readers.mem0 import Mem0Reader
from assay.store_audit.readers.plain_jsonl import JsonlReader
from assay.store_audit.readers.protocol import Changes, StoreReader, TextChange
from assay.store_audit.readers.server_memory import ServerMemoryReader

__all__ = ["READERS", "Changes", "StoreReader", "TextChange", "find_reader"]

READERS: tuple[StoreReader, ...] = (
    ChromaReader(),
    LangGraphReader(),
    Mem0Reader(),
    ServerMemoryReader(),
    JsonlReader(),
    LettaReader(),
    AgentFilesReader(),
)
"""In the order in which they are asked: the more particular forms first."""


def find_reader(path: Path, kind: StoreKind = StoreKind.AUTO) -> StoreReader:
    """Return the reader of a kind, or of the kind that a file or folder looks like."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}", remedy="Check the path.")
    if kind is not StoreKind.AUTO:
        return next(reader for reader in READERS if reader.kind is kind)
    if has_agent_files(path):
        return next(reader for reader in READERS if reader.kind is StoreKind.AGENT_FILES)
    found = next((reader for reader in READERS if reader.recognises(path)), None)
    if found is None:
        kinds = ", ".join(kind for kind in StoreKind if kind is not StoreKind.AUTO)
        raise MalformedFile(f"{path} is no store that is known by its look", remedy=f"Name it with --kind: {kinds}.")
    return found
