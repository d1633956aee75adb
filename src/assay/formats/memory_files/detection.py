"""Which format a file or folder is, by its name and by how it begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import InputError, MalformedFile
from assay.formats.memory_files.reading import read_json_lines, read_json_list
from assay.records.importing import ImportFormat, ImportProblem
from assay.regular_files import open_regular

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
LINES = frozenset({".jsonl", ".ndjson"})
EXPORT_KIND = "assay-memories"
"""What the first line of Assay's own export says it is."""


def detect(path: Path) -> ImportFormat:
    """The format of a file or folder; refuses what cannot be told."""
    if not path.exists():
        raise InputError(f"there is no file or folder {path}", remedy="Check the path.")
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        formats = ", ".join(one for one in ImportFormat if one is not ImportFormat.AUTO)
        raise MalformedFile(f"{path} is in no format that can be told", remedy=f"Name it with --format: {formats}.")
    return found


def _of_folder(folder: Path) -> ImportFormat | None:
    if (folder / ".obsidian").is_dir():
        return ImportFormat.OBSIDIAN
    if (folder / "conversations.json").is_file():
        return ImportFormat.CHATGPT
    return ImportFormat.MARKDOWN if any(folder.rglob("*.md")) else None


def _of_file(path: Path) -> ImportFormat | None:
    suffix = path.suffix.lower()
    if suffix in MARKDOWN_SUFFIXES:
        return ImportFormat.MARKDOWN
    if suffix == ".zip":
        return ImportFormat.CHATGPT
    if suffix in LINES:
        return _of_lines(path)
    return _of_json(path) if suffix == ".json" else None


def _of_lines(path: Path) -> ImportFormat:
    """By the first line that is an object; a file of bad lines is read as JSONL, which names them all."""
    for found in read_json_lines(path, path.name):
        if not isinstance(found, ImportProblem) and isinstance(found.value, dict):
            return of_record(found.value) or ImportFormat.JSONL
    return ImportFormat.JSONL


def of_record(record: Mapping[str, Any]) -> ImportFormat | None:
    """The format whose record this is; None: no format of its own."""
    if record.get("record") == EXPORT_KIND:
        return ImportFormat.ASSAY
    if record.get("type") in ("entity", "relation"):
        return ImportFormat.SERVER_MEMORY
    if isinstance(record.get("mapping"), dict):
        return ImportFormat.CHATGPT
    return ImportFormat.MEM0 if isinstance(record.get("memory"), str) else None


def _of_json(path: Path) -> ImportFormat | None:
    # The reference server once kept JSON lines in a file called memory.json.
    with open_regular(path) as opened:
        first = opened.readline(1_000_000)
    try:
        record = json.loads(first)
    except ValueError:
        record = None
    if isinstance(record, dict) and record.get("type") in ("entity", "relation"):
        return ImportFormat.SERVER_MEMORY
    members, elements = read_json_list(path, ("results", "memories", "entities"))
    if "entities" in members:
        return ImportFormat.SERVER_MEMORY
    objects = [element.value for element in elements if isinstance(element.value, dict)]
    found = of_record(objects[0]) if objects else None
    return found or (ImportFormat.MEM0 if "results" in members else None)
