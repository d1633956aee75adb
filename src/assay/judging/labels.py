"""Cases that people judged: one JSON object a line, with the question, the answer, the passages and a label.

    {"id": "a1", "question": "...", "answer": "...", "passages": ["..."], "label": 4}

A label is a score from 0 to 5, or true and false: for an abstention, whether it declined; for a rubric that scores,
whether the answer is good, which is a judge's score of 4 or 5.

A case that is in the file more than once, also under other ids, is one case (`Labels.distinct`): a copy adds nothing
new about a judge.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, BadValue, MalformedFile, NothingMeasured
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import values
from assay.records.judging import HIGHEST_SCORE, JudgeInput, RubricKind
from assay.regular_files import read_regular_text

GOOD_FROM = 4.0
"""The score from which an answer counts as good where labels are yes or no."""
_FIELDS = {"id", "question", "answer", "passages", "reference", "label"}
_REMEDY = 'Write each line as {"id": ..., "question": ..., "answer": ..., "passages": [...], "label": 4}.'


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledCase:
    """One case that people judged."""

    id: str
    input: JudgeInput
    label: float
    """0 to 5; 1 or 0 where labels are yes or no."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """All of them, on one scale."""

    cases: tuple[LabelledCase, ...]
    graded: bool
    """Whether labels are scores from 0 to 5; else yes and no."""

    @property
    def content_hash(self) -> str:
        """Return the hash of inputs and labels, independent of their order."""
        return content_hash(sorted([case.input.input_hash, case.label] for case in self.cases))

    def distinct(self) -> Labels:
        """Return every case once; raise `BadValue` where copies of one case have different labels."""
        kept: dict[str, LabelledCase] = {}
        for case in self.cases:
            first = kept.setdefault(case_key(case.input), case)
            if first.label != case.label:
                labels = f"{first.label:g} and {case.label:g}"
                raise BadValue(
                    f"{first.id!r} and {case.id!r} are the same case with the labels {labels}",
                    remedy="Give each question and answer one label.",
                )
        return Labels(cases=tuple(kept.values()), graded=self.graded)

    def as_label(self, score: float, kind: RubricKind) -> float:
        """A judge's score on the scale of the labels."""
        if self.graded or kind is RubricKind.ABSTENTION:
            return score
        return float(score >= GOOD_FROM)


def case_key(given: JudgeInput) -> str:
    """Return a short hash of question, answer and passages; equal for copies that differ in spaces or case."""
    texts = [given.question, given.answer, *given.passages, given.reference]
    return _short_hash([given.kind.value, *map(_normalise, texts)])


def question_key(question: str) -> str:
    """Return a short hash of a question; the same for copies that differ in spaces or case."""
    return _short_hash([_normalise(question)])


def _normalise(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _short_hash(parts: Sequence[str]) -> str:
    return content_hash(list(parts)).removeprefix(HASH_PREFIX)[:16]


def read_labels(path: Path, kind: RubricKind) -> Labels:
    """The labelled cases of a file."""
    try:
        lines = read_regular_text(path).removeprefix("\ufeff").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise MalformedFile(f"cannot read {path}: {problem}", remedy="Give a JSONL file in UTF-8.") from problem
    found = [_read(line, number, path, kind) for number, line in enumerate(lines, start=1) if line.strip()]
    if not found:
        raise NothingMeasured(f"{path} holds no labelled case", remedy=_REMEDY)
    return _check_scale(found, path)


def _read(line: str, number: int, path: Path, kind: RubricKind) -> tuple[LabelledCase, bool]:
    try:
        told = json.loads(line, parse_constant=_refuse_constant)
        if not isinstance(told, Mapping) or not {"question", "answer", "label"} <= told.keys() <= _FIELDS:
            raise BadValue("it lacks question, answer or label, or has more than is known", remedy=_REMEDY)
        return _parse_case(told, number, kind)
    except (ValueError, AssayError, RecursionError) as problem:
        why = problem.message if isinstance(problem, AssayError) else str(problem)
        raise MalformedFile(f"{path}, line {number:,}: {why[:300]}", remedy=_REMEDY) from problem


def _parse_case(told: Mapping[str, Any], number: int, kind: RubricKind) -> tuple[LabelledCase, bool]:
    label, yes_no = told["label"], isinstance(told["label"], bool)
    score = float(label) if yes_no else values.finite(label, "label")
    if kind is RubricKind.ABSTENTION and not yes_no:
        raise BadValue(f"label {label!r} is not true or false", remedy=_REMEDY)
    if not yes_no and not 0 <= score <= HIGHEST_SCORE:
        raise BadValue(f"label {label!r} is outside 0 to 5", remedy=_REMEDY)
    given = JudgeInput(
        kind=kind,
        question=told["question"],
        answer=told["answer"],
        passages=tuple(_texts(told.get("passages", []))),
        reference=told.get("reference", ""),
    )
    return LabelledCase(id=str(told.get("id", number)), input=given, label=score), yes_no


def _texts(found: Any) -> Sequence[str]:
    if not isinstance(found, list):
        raise BadValue("passages is not a list", remedy=_REMEDY)
    return found


def _check_scale(found: Sequence[tuple[LabelledCase, bool]], path: Path) -> Labels:
    kinds = {yes_no for _, yes_no in found}
    if len(kinds) > 1:
        raise MalformedFile(f"{path} has scores and yes/no labels", remedy="Use one kind of label in a file.")
    ids = [case.id for case, _ in found]
    twice = next((case_id for place, case_id in enumerate(ids) if case_id in ids[:place]), None)
    if twice is not None:
        raise MalformedFile(f"{path} has the id {twice!r} twice", remedy="Give each case an id of its own.")
    return Labels(cases=tuple(case for case, _ in found), graded=not kinds.pop())


def _refuse_constant(name: str) -> float:
    raise BadValue(f"{name} is not a number in JSON", remedy=_REMEDY)
