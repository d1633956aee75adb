"""The file of labels: one key press a line, on the disk before the next pair is shown, and never changed again.

Undoing is a line too. What stands is what is left when every line has been followed in order; a torn last line, as a
power cut leaves it, does not count. Several people may write to one file at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from assay.clock import Clock
from assay.errors import MalformedFile
from assay.formats.files import writing
from assay.private_files import make_private_folder, open_private
from assay.records import values
from assay.records.checked import allow, one_of, require
from assay.records.evidence import HIGHEST_GRADE


class Pressed(StrEnum):
    """What a key said."""

    GRADE = "grade"
    SKIP = "skip"
    UNDO = "undo"


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """One key press."""

    case_id: str
    document_id: str
    annotator: str
    at: datetime
    pressed: Pressed
    grade: int | None = None

    def __post_init__(self) -> None:
        require(self, values.short_label, "case_id", "document_id", "annotator")
        require(self, values.moment, "at")
        require(self, one_of(Pressed), "pressed")
        allow(self, values.count, "grade")
        if (self.grade is not None) != (self.pressed is Pressed.GRADE) or (self.grade or 0) > HIGHEST_GRADE:
            raise MalformedFile(
                f"a line says {self.pressed} with the grade {self.grade}",
                remedy=f"A grade is from 0 to {HIGHEST_GRADE}, and nothing else has one.",
            )

    @property
    def key(self) -> tuple[str, str]:
        """What it is about."""
        return self.case_id, self.document_id


class LabelJournal:
    """Reads and adds to one file of labels."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self.path = path
        self._clock = clock

    def add(self, key: tuple[str, str], annotator: str, pressed: Pressed, grade: int | None = None) -> Label:
        """Write one key press down; it is on the disk when this returns."""
        case, document = key
        label = Label(
            case_id=case, document_id=document, annotator=annotator, at=self._clock.now(), pressed=pressed, grade=grade
        )
        line = json.dumps(_fields(label), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        with writing(self.path):
            make_private_folder(self.path.parent)
            descriptor = open_private(self.path, os.O_RDWR | os.O_APPEND)
            try:
                # A torn line before this one must not swallow it.
                os.write(descriptor, b"\n" + line if _is_torn(descriptor) else line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return label

    def labels(self) -> list[Label]:
        """Every key press, in order."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")
        found = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                label = self._read(line, number)
                found += [] if label is None else [label]
        return found

    def _read(self, line: bytes, number: int) -> Label | None:
        try:
            whole = json.loads(line)
        except ValueError:
            return None  # a torn line; nothing that was acknowledged looks like it
        try:
            return _label(whole)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise MalformedFile(
                f"{self.path}, line {number:,} is no label: {problem}",
                remedy="Take the line out, or name another file.",
            ) from problem


def standing(labels: Iterable[Label]) -> dict[str, dict[tuple[str, str], Label]]:
    """By annotator and pair: what was said last and not undone."""
    pressed: dict[str, list[Label]] = {}
    for one in labels:
        own = pressed.setdefault(one.annotator, [])
        if one.pressed is not Pressed.UNDO:
            own.append(one)
        elif own:
            own.pop()
    return {annotator: {one.key: one for one in own} for annotator, own in pressed.items()}


def _is_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _fields(one: Label) -> dict[str, Any]:
    said: dict[str, Any] = {"grade": one.grade} if one.pressed is Pressed.GRADE else {one.pressed.value: True}
    return {
        "case": one.case_id,
        "document": one.document_id,
        **said,
        "annotator": one.annotator,
        "at": one.at.isoformat(),
    }


def _label(whole: Mapping[str, Any]) -> Label:
    pressed = next((one for one in Pressed if one.value in whole), None)
    if pressed is None:
        raise ValueError("it has neither a grade nor a skip nor an undo")
    return Label(
        case_id=whole["case"],
        document_id=whole["document"],
        annotator=whole["annotator"],
        at=datetime.fromisoformat(whole["at"]),
        pressed=pressed,
        grade=whole.get("grade"),
    )
