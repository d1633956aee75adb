"""Folders of Markdown: memory blocks as Letta writes them, and CLAUDE.md or AGENTS.md with the notes beside them.

A memory is one point of a list with what is indented below it, or one paragraph. Headings, code, tables and front
matter are not memories: they are left as they are. The heading above a memory is its title. Blocks of Letta belong to
one agent; files of instructions are owners of their own, because a note on one project says nothing about another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.formats import front_matter
from assay.formats.files import write_lines
from assay.formats.memory_files.markdown import LARGEST, find_notes
from assay.records.store_audits import StoreItem, StoreKind, UnreadEntry
from assay.regular_files import read_regular
from assay.store_audit.readers.protocol import Changes

AGENT_FILES = frozenset({"claude.md", "agents.md", "claude.local.md", "gemini.md"})
BLOCK_FILES = frozenset({"persona.md", "human.md"})
BLOCK_FOLDERS = frozenset({"blocks", "memory", "memories", "core_memory", "system"})
_HEADING = re.compile(r"^ {0,3}#{1,6}\s(?P<name>.*)$")
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_POINT = re.compile(r"^(?P<indent>\s*)(?P<mark>(?:[-*+]|\d{1,4}[.)])\s+(?:\[[ xX]\]\s+)?)(?P<text>\S.*)$")
_RULE = re.compile(r"^\s{0,3}(?:[-*_]\s*){3,}$")
_TABLE = re.compile(r"^\s*\|")
_COMMENT = re.compile(r"^\s*<!--.*-->\s*$")


class NoteBlock(NamedTuple):
    """A memory of a Markdown file: its lines, counted from 0, and its text without the mark of a list."""

    first: int
    last: int
    text: str
    lead: str
    """What stands before the text in its first line: indentation and the mark of a list."""
    heading: str


class _MarkdownReader:
    """Reads folders of Markdown."""

    cannot_rewrite = ""
    one_owner = False
    """Whether all files belong to one owner."""

    def files(self, path: Path) -> list[Path]:
        """Return every Markdown file."""
        return find_notes(path)

    def read(self, path: Path) -> Iterator[StoreItem | UnreadEntry]:
        """Yield every point and paragraph, file by file."""
        top = path if path.is_dir() else path.parent
        for file in find_notes(path):
            place = file.relative_to(top).as_posix()
            text = _read_text(file)
            if isinstance(text, UnreadEntry):
                yield UnreadEntry(place=place, reason=text.reason, detail=text.detail)
                continue
            created = front_matter.split(text).updated or front_matter.split(text).created
            for number, block in enumerate(find_blocks(text)):
                yield StoreItem(
                    key=f"{place}#{number}",
                    text=block.text,
                    title=block.heading[:500],
                    place=f"{place}:{block.first + 1}",
                    owner="" if self.one_owner else place,
                    created_at=created,
                )

    def rewrite(self, copy: Path, changes: Changes) -> None:
        """Change points and paragraphs of a copy."""
        top = copy if copy.is_dir() else copy.parent
        for file in find_notes(copy):
            place = file.relative_to(top).as_posix()
            text = _read_text(file)
            if isinstance(text, str) and any(key.rpartition("#")[0] == place for key in changes):
                write_lines(file, _rewrite_lines(text, place, changes))


class LettaReader(_MarkdownReader):
    """Reads folders of memory blocks."""

    kind = StoreKind.LETTA
    one_owner = True

    def recognises(self, path: Path) -> bool:
        """Whether a folder has the blocks `human` and `persona`, or a folder of blocks."""
        if not path.is_dir():
            return False
        files = find_notes(path)
        in_blocks = any(file.parent != path and file.parent.name.lower() in BLOCK_FOLDERS for file in files)
        named = {file.name.lower() for file in files}
        return bool(named & BLOCK_FILES) or (path.name.lower() in BLOCK_FOLDERS and bool(files)) or in_blocks


class AgentFilesReader(_MarkdownReader):
    """Reads folders with CLAUDE.md or AGENTS.md, and any other Markdown file or folder."""

    kind = StoreKind.AGENT_FILES

    def recognises(self, path: Path) -> bool:
        """Whether it is a Markdown file, or a folder with one."""
        if path.is_file():
            return path.suffix.lower() in {".md", ".markdown"}
        return path.is_dir() and bool(find_notes(path))


def has_agent_files(path: Path) -> bool:
    """Whether a folder has a file that agents read as instructions."""
    return path.is_dir() and any(file.name.lower() in AGENT_FILES for file in find_notes(path))


def find_blocks(text: str) -> list[NoteBlock]:
    """Return the points and paragraphs of a Markdown text."""
    lines = text.splitlines()
    found: list[NoteBlock] = []
    heading, fenced, at = "", False, _skip_front_matter(text)
    while at < len(lines):
        line = lines[at]
        if _FENCE.match(line):
            fenced = not fenced
        named = _HEADING.match(line)
        if named is not None and not fenced:
            heading = named["name"].strip().rstrip("#").rstrip()
        if fenced or named or _is_left_out(line):
            at += 1
            continue
        end = _find_end(lines, at)
        found.append(_make_block(lines, at, end, heading))
        at = end + 1
    return found


def _is_left_out(line: str) -> bool:
    return not line.strip() or any(pattern.match(line) for pattern in (_FENCE, _RULE, _TABLE, _COMMENT))


def _find_end(lines: list[str], start: int) -> int:
    """Return the last line of the memory that begins at a line: up to a blank line, another point or a heading."""
    point = _POINT.match(lines[start])
    end = start
    while end + 1 < len(lines):
        following = lines[end + 1]
        if _is_left_out(following) or _HEADING.match(following):
            break
        other = _POINT.match(following)
        # What is indented below a point belongs to it; points side by side are memories of their own.
        if other is not None and (point is None or len(other["indent"]) <= len(point["indent"])):
            break
        end += 1
    return end


def _make_block(lines: list[str], first: int, last: int, heading: str) -> NoteBlock:
    point = _POINT.match(lines[first])
    lead = "" if point is None else point["indent"] + point["mark"]
    rest = [line.strip() for line in lines[first + 1 : last + 1]]
    text = "\n".join([lines[first][len(lead) :].strip(), *rest])
    return NoteBlock(first, last, text, lead, heading)


def _skip_front_matter(text: str) -> int:
    body = front_matter.split(text).body
    return len(text.splitlines()) - len(body.splitlines()) if body != text else 0


def _rewrite_lines(text: str, place: str, changes: Changes) -> list[str]:
    lines = text.splitlines()
    for number, block in reversed(list(enumerate(find_blocks(text)))):
        change = changes.get(f"{place}#{number}")
        if change is None:
            continue
        indent = " " * len(block.lead)
        written = [] if change.text is None else change.text.split("\n")
        lines[block.first : block.last + 1] = [
            f"{block.lead if place_in == 0 else indent}{line}" for place_in, line in enumerate(written)
        ]
    return [f"{line}\n" for line in lines]


def _read_text(file: Path) -> str | UnreadEntry:
    try:
        return read_regular(file, largest=LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        return UnreadEntry(place=file.name, reason="not UTF-8", detail=f"byte {problem.start:,}")
    except OSError as problem:
        return UnreadEntry(place=file.name, reason="unreadable", detail=problem.strerror or str(problem))
