"""Key overlays: a versioned file of corrections to the answer key of a public set.

    {"format": "assay-key-overlay/1", "set": "locomo", "version": "2025-01",
     "source": "where the corrections come from",
     "corrections": [{"question": "locomo_0_qa1", "wrong": "wrong evidence", "evidence": ["D1:14"],
                      "answer": "2022", "note": "why", "source": "errors_conv_0.json"}]}

An overlay never changes the set that systems are filled with and asked about: rankings are made once, and scored with
both keys. `convert_audit` makes an overlay of the files of LoCoMo's audit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import InputError, MalformedFile
from assay.hashing import content_hash
from assay.referee.sets.files import need, read_json
from assay.referee.sets.locomo import split_evidence
from assay.referee.sets.values import MemorySet

FORMAT = "assay-key-overlay/1"
WRONG_EVIDENCE = "wrong evidence"
WRONG_ANSWER = "wrong answer"
AMBIGUOUS = "ambiguous"
_AUDIT_KINDS = {
    "WRONG_CITATION": WRONG_EVIDENCE,
    "AMBIGUOUS": AMBIGUOUS,
}
"""What the audit calls an error and what is wrong then; every other kind means that the answer is wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """What is wrong with the key of one question, and what is right."""

    question: str
    wrong: str
    """`wrong answer`, `wrong evidence` or `ambiguous`."""
    answer: str = ""
    """The corrected answer; empty: the answer stays."""
    evidence: tuple[str, ...] | None = None
    """The corrected evidence; None: it stays."""
    note: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class KeyOverlay:
    """Corrections for one set."""

    set: str
    version: str
    source: str
    corrections: tuple[Correction, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {
            "format": FORMAT,
            "set": self.set,
            "version": self.version,
            "source": self.source,
            "corrections": [_correction_json(correction) for correction in self.corrections],
        }

    @property
    def hash(self) -> str:
        """Return one hash of the corrections."""
        return content_hash(self.as_json())

    def apply(self, memory_set: MemorySet) -> MemorySet:
        """Return the set with the corrected key; corrections of questions it does not have are left out."""
        if memory_set.name != self.set:
            raise InputError(
                f"the overlay is for {self.set}, and the set is {memory_set.name}",
                remedy="Give the overlay of the set.",
            )
        by_question = {correction.question: correction for correction in self.corrections}
        questions = []
        for question in memory_set.questions:
            correction = by_question.get(question.id)
            if correction is None:
                questions.append(question)
                continue
            evidence = question.evidence if correction.evidence is None else correction.evidence
            questions.append(replace(question, evidence=evidence, answer=correction.answer or question.answer))
        return replace(memory_set, questions=tuple(questions))

    def describe(self, memory_set: MemorySet) -> str:
        """Say how much of the set's key is corrected."""
        known = [correction for correction in self.corrections if correction.question in memory_set.by_question]
        answers = sum(correction.wrong == WRONG_ANSWER for correction in known)
        evidence = sum(
            correction.evidence is not None
            and set(correction.evidence) != set(memory_set.by_question[correction.question].evidence)
            for correction in known
        )
        return (
            f"Key overlay {self.version} ({self.source}): {len(known)} of {len(memory_set.questions)} questions, "
            f"{answers} with a wrong answer, {evidence} with other evidence."
        )


def _correction_json(correction: Correction) -> dict[str, Any]:
    evidence = None if correction.evidence is None else list(correction.evidence)
    return {
        "question": correction.question,
        "wrong": correction.wrong,
        "answer": correction.answer,
        "evidence": evidence,
        "note": correction.note,
        "source": correction.source,
    }


def load_overlay(path: Path) -> KeyOverlay:
    """Read an overlay from a file."""
    content = read_json(path)
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise MalformedFile(f"{path} is not a key overlay ({FORMAT})", remedy="Make one with `assay bench overlay`.")
    return read_overlay(content, path)


def read_overlay(content: Mapping[str, Any], path: Path) -> KeyOverlay:
    """Read an overlay from the content of a file."""
    corrections = tuple(
        Correction(
            question=str(need(entry, "question", path)),
            wrong=str(need(entry, "wrong", path)),
            answer=str(entry.get("answer") or ""),
            evidence=None if entry.get("evidence") is None else tuple(map(str, entry["evidence"])),
            note=str(entry.get("note") or ""),
            source=str(entry.get("source") or ""),
        )
        for entry in need(content, "corrections", path)
    )
    return KeyOverlay(
        set=str(need(content, "set", path)),
        version=str(need(content, "version", path)),
        source=str(need(content, "source", path)),
        corrections=corrections,
    )


def write_overlay(path: Path, overlay: KeyOverlay) -> None:
    """Write an overlay to a file."""
    path.write_text(json.dumps(overlay.as_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def convert_audit(folder: Path, *, version: str) -> KeyOverlay:
    """Make an overlay of LoCoMo's audit: one file a chat, each a list of errors."""
    paths = sorted(folder.glob("errors_conv_*.json"))
    if not paths:
        raise InputError(
            f"{folder} has no file errors_conv_*.json", remedy="Name the folder that holds the audit's files."
        )
    return KeyOverlay(
        set="locomo",
        version=version,
        source="LoCoMo audit",
        corrections=tuple(_convert(entry, path) for path in paths for entry in read_json(path)),
    )


def _convert(entry: Mapping[str, Any], path: Path) -> Correction:
    return Correction(
        question=str(need(entry, "question_id", path)),
        wrong=_AUDIT_KINDS.get(str(need(entry, "error_type", path)), WRONG_ANSWER),
        answer=str(entry.get("correct_answer") or ""),
        evidence=split_evidence(entry.get("correct_evidence") or []) or None,
        note=str(entry.get("reasoning") or ""),
        source=path.name,
    )
