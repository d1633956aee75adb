"""Export: every memory as JSON lines that lose nothing, or the current ones as Markdown notes to read.

Markdown notes have their properties in front matter and their edges as `[[links]]` there, so that Obsidian shows them
and `assay import` reads them back; versions, states, counts and provenance are only in JSON lines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import uuid4

from assay.errors import InputError
from assay.formats.files import writing
from assay.memory.portable import Exported, export_jsonl
from assay.memory.saving.drafts import RESERVED
from assay.private_files import make_private_folder
from assay.records import Format, MemoryFilter, MemoryRecord, MemoryStatus, Scope
from assay.records.saving import ExportFormat
from assay.storage import Store, Work

PAGE = 500
LONGEST_NAME = 80
_UNSAFE = re.compile(r"[^\w .,()&'-]+")


def export(store: Store, scope: Scope, path: Path, wanted: ExportFormat) -> Exported:
    """Write memories to a path, whole or not at all."""
    if wanted is ExportFormat.JSONL:
        if path.is_dir():
            raise InputError(f"{path} is a folder", remedy="Name a file, such as memories.jsonl.")
        return export_jsonl(store, scope, path)
    return _export_markdown(store, scope, path)


def _export_markdown(store: Store, scope: Scope, path: Path) -> Exported:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} is there and not an empty folder", remedy="Name a folder that is new or empty.")
    with writing(path):
        make_private_folder(path.parent)
        passing = path.parent / f".{path.name}.{uuid4().hex[:8]}.part"
        passing.mkdir(mode=0o700)
        try:
            with store.writing(scope) as work:
                # A folder is not a file that erasure can search: each note is known by itself.
                notes = _names(work)
                for name in notes.values():
                    work.files.note(str(path.resolve() / name), "export")
            with store.reading(scope) as work:
                edges = _write_notes(work, passing, notes)
            passing.replace(path)
        finally:
            shutil.rmtree(passing, ignore_errors=True)
    current = MemoryStatus.CURRENT.value
    return Exported(
        path=str(path), format="markdown", memories=len(notes), by_status={current: len(notes)}, edges=edges
    )


def _names(work: Work) -> dict[str, str]:
    """A file for each current memory: its folder and its title, with a number where two are alike."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for memory in reversed(_current(work)):
        folder = PurePosixPath(*(_safe(part) for part in PurePosixPath(memory.folder).parts))
        stem = _safe(memory.title)
        name, number = str(folder / f"{stem}.md"), 1
        while name.lower() in taken:
            number += 1
            name = str(folder / f"{stem} {number}.md")
        taken.add(name.lower())
        names[memory.id] = name
    return names


def _current(work: Work) -> list[MemoryRecord]:
    found: list[MemoryRecord] = []
    wanted = MemoryFilter(status=MemoryStatus.CURRENT)
    while page := work.memories.matching(wanted, after=found[-1].id if found else None, limit=PAGE):
        found += page
    return found


def _safe(name: str) -> str:
    short = _UNSAFE.sub(" ", name)[:LONGEST_NAME]
    return " ".join(short.split()).strip(". ") or "untitled"


def _write_notes(work: Work, folder: Path, names: Mapping[str, str]) -> int:
    edges = 0
    for memory in _current(work):
        if memory.id not in names:
            continue
        joined = [edge for edge in work.edges.of(memory.id) if edge.source_id == memory.id and edge.target_id in names]
        links = [f"[[{names[edge.target_id].removesuffix('.md')}]]" for edge in joined]
        edges += len(links)
        file = folder / names[memory.id]
        make_private_folder(file.parent)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(_front_matter(memory, links) + _body(memory))
    return edges


def _front_matter(memory: MemoryRecord, links: list[str]) -> str:
    own = {key: value for key, value in memory.metadata.items() if key != RESERVED}
    properties: dict[str, Any] = {
        **own,
        "title": memory.title,
        "tags": list(memory.tags),
        "aliases": list(memory.triggers),
        "created": memory.valid_from.isoformat(),
        "updated": memory.updated_at.isoformat(),
        "tier": memory.tier.value,
        "assay_id": memory.id,
        "related": list(dict.fromkeys(links)),
    }
    # JSON is YAML, so every value is written as JSON: nothing in it can be read as something else.
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in properties.items()
        if value not in ("", [], {}, None)
    ]
    return "\n".join(("---", *lines, "---", "", ""))


def _body(memory: MemoryRecord) -> str:
    body = memory.body if memory.body.endswith("\n") else memory.body + "\n"
    return f"```json\n{body}```\n" if memory.format is Format.JSON else body
