"""Files of the MCP reference server for memory: JSON lines with entities, their observations, and relations.

Every observation is a memory of its own, so that one bad observation does not condemn its entity. Relations hold
names and no text; they are checked for their form and left as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.formats.files import write_lines
from assay.formats.memory_files.reading import Element, of_record, read_json_lines
from assay.records.saving import ImportFormat, ImportProblem
from assay.records.store_audits import StoreItem, StoreKind, UnreadEntry
from assay.store_audit.readers.protocol import Changes

SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})


class ServerMemoryReader:
    """Reads files of the MCP reference server for memory."""

    kind = StoreKind.SERVER_MEMORY
    cannot_rewrite = ""

    def recognises(self, path: Path) -> bool:
        """Whether the first line of a file is an entity or a relation."""
        if not path.is_file() or path.suffix.lower() not in SUFFIXES:
            return False
        first = next((line for line in read_json_lines(path, path.name) if isinstance(line, Element)), None)
        return (
            first is not None and isinstance(first.value, dict) and of_record(first.value) is ImportFormat.SERVER_MEMORY
        )

    def files(self, path: Path) -> list[Path]:
        """Return the file."""
        return [path]

    def read(self, path: Path) -> Iterator[StoreItem | UnreadEntry]:
        """Yield every observation."""
        names: dict[str, int] = {}
        for line in read_json_lines(path, path.name):
            if isinstance(line, ImportProblem):
                yield UnreadEntry(place=f"{path.name}:{line.line}", reason=line.reason, detail=line.detail)
            elif isinstance(line.value, dict) and line.value.get("type") == "relation":
                yield from _check_relation(line, path.name)
            else:
                yield from _observations(line, path.name, names)

    def rewrite(self, copy: Path, changes: Changes) -> None:
        """Take observations out of a copy, or change their texts; entities stay, because relations name them."""
        names: dict[str, int] = {}
        lines = []
        # Lines end with a line feed alone: a text may hold other line ends.
        for text in copy.read_bytes().decode("utf-8-sig").split("\n"):
            if not text.strip():
                continue
            try:
                record = json.loads(text)
            except ValueError:
                record = None
            told = record.get("observations") if isinstance(record, dict) else None
            if isinstance(record, dict) and isinstance(told, list) and record.get("type") == "entity":
                prefix = _prefix(record, names)
                record["observations"] = list(_rewrite_list(told, prefix, changes))
                text = json.dumps(record, ensure_ascii=False)  # noqa: PLW2901 - the line as it is written
            lines.append(f"{text}\n")
        write_lines(copy, lines)


def _observations(line: Element, file: str, names: dict[str, int]) -> Iterator[StoreItem | UnreadEntry]:
    place = f"{file}:{line.line}"
    record = line.value
    name = record.get("name") if isinstance(record, dict) and record.get("type") == "entity" else None
    if not isinstance(name, str) or not name.strip():
        yield UnreadEntry(place=place, reason="not an entity or relation", detail="an entity has a name")
        return
    told = record.get("observations")
    if not isinstance(told, list):
        yield UnreadEntry(place=place, reason="no observations", detail=f"{name[:60]!r} has no list of observations")
        return
    prefix = _prefix(record, names)
    kind = record.get("entityType")
    for number, observation in enumerate(told):
        if not isinstance(observation, str) or not observation.strip():
            yield UnreadEntry(place=place, reason="no text", detail=f"observation {number + 1} of {name[:60]!r}")
            continue
        yield StoreItem(
            key=f"{prefix}{number}",
            text=observation,
            title=name[:500],
            place=f"{place}, observation {number + 1} of {name[:60]!r}",
            metadata={"entityType": kind} if isinstance(kind, str) and kind else {},
        )


def _check_relation(line: Element, file: str) -> Iterator[UnreadEntry]:
    missing = [name for name in ("from", "to", "relationType") if not isinstance(line.value.get(name), str)]
    if missing:
        detail = f"without {', '.join(missing)}"
        yield UnreadEntry(place=f"{file}:{line.line}", reason="a relation with a part missing", detail=detail)


def _prefix(record: dict[str, Any], names: dict[str, int]) -> str:
    """Return how keys of an entity begin; a second entity of the same name is told apart."""
    name = str(record.get("name"))
    names[name] = names.get(name, 0) + 1
    return f"{name}#" if names[name] == 1 else f"{name}~{names[name]}#"


def _rewrite_list(told: list[Any], prefix: str, changes: Changes) -> Iterator[Any]:
    for number, observation in enumerate(told):
        change = changes.get(f"{prefix}{number}")
        if change is None:
            yield observation
        elif change.text is not None:
            yield change.text
