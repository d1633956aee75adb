"""ChatGPT's data export: `conversations.json`, alone, in its folder or in the ZIP file as it was sent.

A conversation is a tree of messages, because a question can be sent again. The branch that was shown last becomes one
memory, every turn under a heading with its role and time, so that a passage that is found shows its author and time.
Messages of tools and of the system, hidden ones and reasoning are left out.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from assay.errors import InputError, MalformedFile
from assay.formats.files import FREE_UNPACKED, MOST_UNPACKED
from assay.formats.front_matter import read_moment
from assay.formats.memory_files.reading import Element, hash_of, make_item, read_json_list, source_id_of
from assay.records.saving import ImportItem, ImportProblem
from assay.regular_files import open_regular

FILE = "conversations.json"
LONGEST_PART = 200_000
"""Characters of one memory: a longer conversation is cut between turns."""
LARGEST_UNPACKED = 1 << 30
MOST_FILES = 50_000
"""Files in an archive: the list of them is read whole, about a kilobyte of memory for each."""
_ROLES = {"user": "User", "assistant": "Assistant"}
_TEXTS = frozenset({"text", "multimodal_text", "code"})
_PIECE = 1 << 20
_LONGEST_END = 66_000
"""Bytes that hold the end of an archive: its record and the longest comment."""
_HEADING = re.compile(r"^(#{1,4})(?=[ \t])", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~)", re.MULTILINE)


class Turn(NamedTuple):
    """A message of a person or of the model."""

    role: str
    text: str
    at: Any


def find_file(path: Path) -> Path:
    """The file that holds the conversations: the path itself, or the one in a folder."""
    found = path / FILE if path.is_dir() else path
    if not found.is_file():
        raise InputError(f"there is no {FILE} in {path}", remedy="Name the file or the folder of the export.")
    return found


def read(path: Path, name: str) -> Iterator[ImportItem | ImportProblem]:  # noqa: ARG001 - its ids are unique anywhere
    """Every conversation; a long one in several parts."""
    file = find_file(path)
    elements = _unpack(file) if file.suffix.lower() == ".zip" else read_json_list(file, ("conversations",))[1]
    for element in elements:
        yield from _conversation(file.name, element)


def _unpack(file: Path) -> list[Element]:
    try:
        with open_regular(file) as packed, _open_archive(file, packed) as archive:
            inside = next((entry for entry in archive.infolist() if entry.filename.rsplit("/", 1)[-1] == FILE), None)
            if inside is None:
                raise InputError(f"there is no {FILE} in {file}", remedy="Name the ZIP file that ChatGPT sent.")
            _check_size(file, inside)
            with archive.open(inside) as opened:
                # In pieces: read whole, an archive that lies about its size is unpacked before it is found out.
                loaded = json.loads(b"".join(iter(lambda: opened.read(_PIECE), b"")))
    except (zipfile.BadZipFile, ValueError) as problem:
        raise MalformedFile(
            f"{file} cannot be read: {problem}", remedy="Name the ZIP file that ChatGPT sent."
        ) from problem
    conversations = loaded if isinstance(loaded, list) else []
    each = file.stat().st_size // max(1, len(conversations))
    return [Element(conversation, number, each) for number, conversation in enumerate(conversations, start=1)]


def _open_archive(file: Path, packed: BinaryIO) -> zipfile.ZipFile:
    count = _count_files(packed)
    if count > MOST_FILES:
        raise InputError(
            f"{file} holds {count:,} files; at most {MOST_FILES:,} are looked at",
            remedy=f"Unpack {FILE} and name that file.",
        )
    return zipfile.ZipFile(packed)


def _count_files(packed: BinaryIO) -> int:
    """The number of files in an archive, read from its end record; 0 where it is not given."""
    size = packed.seek(0, io.SEEK_END)
    packed.seek(max(0, size - _LONGEST_END))
    tail = packed.read(_LONGEST_END)
    packed.seek(0)
    # An archive of over 65,534 files says so in a record of its own.
    large, small = tail.rfind(b"PK\x06\x06"), tail.rfind(b"PK\x05\x06")
    if large >= 0 and len(tail) >= large + 40:
        return int.from_bytes(tail[large + 32 : large + 40], "little")
    return int.from_bytes(tail[small + 10 : small + 12], "little") if small >= 0 else 0


def _check_size(file: Path, inside: zipfile.ZipInfo) -> None:
    """Refuse what would unpack to too much; `zipfile` never reads beyond the size that an archive declares."""
    if inside.file_size > LARGEST_UNPACKED:
        raise InputError(f"{FILE} in {file} has {inside.file_size:,} bytes", remedy="Unpack and split it.")
    if inside.file_size > max(FREE_UNPACKED, MOST_UNPACKED * inside.compress_size):
        raise InputError(
            f"{FILE} in {file} unpacks to over {MOST_UNPACKED} times its own size",
            remedy="If you trust it, unpack it and name the plain file.",
        )


def _conversation(place: str, element: Element) -> Iterator[ImportItem | ImportProblem]:
    record = element.value
    mapping = record.get("mapping") if isinstance(record, dict) else None
    if not isinstance(mapping, dict):
        detail = "it has no `mapping` of messages"
        yield ImportProblem(
            place=place, line=element.line, reason="not a conversation", detail=detail, size=element.size
        )
        return
    turns = read_turns(record)
    title = str(record.get("title") or "").strip() or "Untitled conversation"
    if not turns:
        yield ImportProblem(
            place=place, line=element.line, reason="no text", detail=f"{title[:60]!r} has no message", size=element.size
        )
        return
    own_id = str(record.get("conversation_id") or record.get("id") or hash_of(record)[-32:])
    parts = _parts(turns)
    for number, part in enumerate(parts, start=1):
        body = "\n\n".join(_write_turn(turn) for turn in part)
        yield make_item(
            place,
            element._replace(size=element.size // len(parts)),
            title=title[:500] if number == 1 else f"{title[:500]} (part {number})",
            body=body,
            folder="chatgpt",
            entity_type="COMMUNICATION_SIGNAL",
            metadata=_metadata(record, own_id, part),
            valid_from=read_moment(part[0].at) or read_moment(record.get("create_time")),
            source_id=source_id_of("chatgpt:", own_id, f"#{number}" if number > 1 else ""),
            source_hash=hash_of([title, body]),
        )


def read_turns(record: Mapping[str, Any]) -> list[Turn]:
    """The turns of a conversation, as it was shown last."""
    return [turn for node in _branch(record, record["mapping"]) if (turn := _turn(node)) is not None]


def _branch(record: Mapping[str, Any], mapping: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the first to the one that was shown last."""
    at = record.get("current_node")
    if at not in mapping:
        leaves = [name for name, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
        at = max(leaves, key=lambda name: _time(mapping[name]), default=None)
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    # A tree that leads back into itself ends where it does.
    while isinstance(at, str) and at in mapping and at not in seen and isinstance(mapping[at], dict):
        seen.add(at)
        found.append(mapping[at])
        at = mapping[at].get("parent")
    return found[::-1]


def _time(node: Mapping[str, Any]) -> float:
    at = (node.get("message") or {}).get("create_time")
    return float(at) if isinstance(at, (int, float)) else 0.0


def _turn(node: Mapping[str, Any]) -> Turn | None:
    """The message of a person or the model; None for everything else."""
    message = node.get("message")
    if not isinstance(message, dict) or (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
        return None
    role = (message.get("author") or {}).get("role")
    content = message.get("content") or {}
    if role not in _ROLES or content.get("content_type", "text") not in _TEXTS:
        return None
    text = "\n\n".join(part.strip() for part in _text_parts(content) if part.strip())
    return Turn(role, text, message.get("create_time")) if text else None


def _text_parts(content: Mapping[str, Any]) -> Iterator[str]:
    for part in content.get("parts") or [content.get("text")]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            yield part["text"] if isinstance(part.get("text"), str) else f"[{part.get('content_type') or 'attachment'}]"


def _parts(turns: list[Turn]) -> list[list[Turn]]:
    parts: list[list[Turn]] = [[]]
    length = 0
    for turn in turns:
        if parts[-1] and length + len(turn.text) > LONGEST_PART:
            parts.append([])
            length = 0
        parts[-1].append(turn)
        length += len(turn.text)
    return parts


def _write_turn(turn: Turn) -> str:
    at = read_moment(turn.at)
    when = "" if at is None else f", {at:%Y-%m-%d %H:%M}"
    return f"## {_ROLES[turn.role]}{when}\n\n{_lower_headings(turn.text)}"


def _lower_headings(text: str) -> str:
    """The text with its own headings two levels lower, so that they stand under the turn's; code is left alone."""
    if not text.startswith("#") and "\n#" not in text:
        return text
    pieces = re.split(r"(^(?:```|~~~).*?(?:^(?:```|~~~)[ \t]*$|\Z))", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if _FENCE.match(piece) else _HEADING.sub(r"##\1", piece) for piece in pieces)


def _metadata(record: Mapping[str, Any], own_id: str, part: list[Turn]) -> dict[str, Any]:
    created, updated = read_moment(record.get("create_time")), read_moment(record.get("update_time"))
    found = {
        "conversation_id": own_id,
        "created": None if created is None else created.isoformat(),
        "updated": None if updated is None else updated.isoformat(),
        "model": record.get("default_model_slug"),
        "turns": len(part),
    }
    return {name: value for name, value in found.items() if value is not None}
