"""Mappings in memory to ranked grades.

Python hands over whole rows at a time (`struct`, `bytes`, `map`), because two million calls would cost more than
everything behind them. What no ranking can be made of (NaN, a grade of 1.5) is refused with its topic and document.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue
from assay.metrics.columns import Judged
from assay.metrics.few_judged import Sided, rank_few
from assay.metrics.ordering import UNJUDGED, Rows, rank_grades
from assay.records.rankings import LARGEST_GRADE

Row = Mapping[str, float]
"""What one topic retrieved: a score for each document."""
Marks = Mapping[str, int]
"""What is judged of one topic: a grade for each document."""
_NO_VERDICT = 255
_FEW = 4
"""Judgments are few where there are so many results for each."""
_NEAR = 64
"""Topics read at a time before they are asked a second time; 64 was quickest of 1, 8, 64, 512 and all."""
_LARGEST_SCORE = float(np.finfo(np.float32).max)


class Gathered(NamedTuple):
    """Rankings and judgments of some topics."""

    grades: NDArray[np.int16]
    """In ranked order, one ranking a row, padded."""
    lengths: NDArray[np.int64]
    judged: Judged


class _Walked(NamedTuple):
    """What was read from the results."""

    scores: NDArray[np.float32]
    """Of every result."""
    found: NDArray[np.float32]
    """Of every document asked for, NaN where it was not retrieved."""


def gather(results: Sequence[Row], judgments: Sequence[Marks], topics: Sequence[str]) -> Gathered:
    """Rank some topics, given what each retrieved and what is judged of it."""
    judged = Judged(lengths_of(judgments), _judged_grades(judgments, topics))
    lengths = lengths_of(results)
    few = judged.lengths.sum() * _FEW <= lengths.sum()
    walked = _walked(results, judgments if few else (), topics)
    if few:
        return Gathered(_rank_few(results, judgments, walked, judged), lengths, judged)
    return Gathered(_rank_all(results, judgments, walked.scores, judged), lengths, judged)


def _rank_all(
    results: Sequence[Row], judgments: Sequence[Marks], scores: NDArray[np.float32], judged: Judged
) -> NDArray[np.int16]:
    """Ask the judgments for every result."""
    grades = _grades(results, judgments, judged.grades)
    return rank_grades(Rows(lengths_of(results), scores, grades, lambda row: list(results[row])))


def _rank_few(results: Sequence[Row], judgments: Sequence[Marks], walked: _Walked, judged: Judged) -> NDArray[np.int16]:
    """Ask the results for every judged document."""
    scores, found = walked
    used = np.flatnonzero(~np.isnan(found) & (judged.grades >= 0))
    topic = np.repeat(np.arange(len(results)), judged.lengths)[used]
    lengths = lengths_of(results)
    ranked = rank_few(Sided(lengths, scores, topic, found[used], judged.grades[used]))
    for row in ranked.undecided.tolist():
        end = int(lengths[: row + 1].sum())
        own = Judged(judged.lengths[row : row + 1], judged.grades)
        here = slice(row, row + 1), slice(end - int(lengths[row]), end)
        alone = _rank_all(results[here[0]], judgments[here[0]], scores[here[1]], own)
        ranked.grades[row, : alone.shape[1]] = alone[0]
    return ranked.grades


def lengths_of(mappings: Sequence[Row | Marks]) -> NDArray[np.int64]:
    """How long each is."""
    return np.fromiter(map(len, mappings), dtype=np.int64, count=len(mappings))


def _walked(results: Sequence[Row], asking: Sequence[Marks], topics: Sequence[str]) -> _Walked:
    """Read every score, and those of the documents asked for soon after their topic was read."""
    packers = {length: struct.Struct(f"{length}f").pack for length in {*map(len, results), *map(len, asking)}}
    absent = repeat(math.nan)
    scores, found = list[bytes](), list[bytes]()
    try:
        for first in range(0, len(results), _NEAR):
            rows, wanted = results[first : first + _NEAR], asking[first : first + _NEAR]
            scores += [packers[len(row)](*row.values()) for row in rows]
            found += [packers[len(one)](*map(row.get, one, absent)) for row, one in zip(rows, wanted, strict=False)]
    except (struct.error, TypeError, OverflowError) as problem:
        raise _bad_score(results, topics) from problem
    walked = _Walked(_float32(scores), _float32(found))
    if not np.isfinite(walked.scores).all():
        raise _bad_score(results, topics)
    return walked


def _float32(packed: Sequence[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(packed), dtype=np.float32)


def _judged_grades(judgments: Sequence[Marks], topics: Sequence[str]) -> NDArray[np.int16]:
    try:  # nearly always: small whole numbers
        return np.frombuffer(b"".join([bytes(row.values()) for row in judgments]), dtype=np.uint8).astype(np.int16)
    except (TypeError, ValueError):
        return _any_judged_grades(judgments, topics)


def _any_judged_grades(judgments: Sequence[Marks], topics: Sequence[str]) -> NDArray[np.int16]:
    try:
        found = np.fromiter(chain.from_iterable([row.values() for row in judgments]), dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise _bad_grade(judgments, topics) from problem
    # NaN equals nothing, so it fails the first of these.
    if not ((found == np.rint(found)) & (np.abs(found) <= LARGEST_GRADE)).all():
        raise _bad_grade(judgments, topics)
    return found.astype(np.int16)


def _grades(results: Sequence[Row], judgments: Sequence[Marks], judged: NDArray[np.int16]) -> NDArray[np.int16]:
    """The grade of every result, `UNJUDGED` without one. A negative grade is no verdict."""
    pairs = zip(results, judgments, strict=True)
    if judged.min(initial=0) >= 0 and judged.max(initial=0) < _NO_VERDICT:
        try:
            packed = b"".join([bytes(map(known.get, row, repeat(_NO_VERDICT))) for row, known in pairs])
        except TypeError:  # grades such as 2.0: right, but not for bytes
            return _any_grades(results, judgments)
        grades = np.frombuffer(packed, dtype=np.uint8).astype(np.int16)
        grades[grades == _NO_VERDICT] = UNJUDGED
        return grades
    return _any_grades(results, judgments)


def _any_grades(results: Sequence[Row], judgments: Sequence[Marks]) -> NDArray[np.int16]:
    pairs = zip(results, judgments, strict=True)
    found = chain.from_iterable([map(known.get, row, repeat(UNJUDGED)) for row, known in pairs])
    grades = np.fromiter(found, dtype=np.float64).astype(np.int16)
    return np.maximum(grades, UNJUDGED)


def _bad_score(results: Sequence[Row], topics: Sequence[str]) -> BadValue:
    for topic, row in zip(topics, results, strict=True):
        for document, score in row.items():
            if not _is_number(score) or not abs(score) <= _LARGEST_SCORE:
                return _refused(topic, document, "score", score, "a finite number within float32")
    return BadValue("a score cannot be read", remedy="Give {topic: {document: score}}.")


def _bad_grade(judgments: Sequence[Marks], topics: Sequence[str]) -> BadValue:
    for topic, row in zip(topics, judgments, strict=True):
        for document, grade in row.items():
            if not _is_number(grade) or np.rint(grade) != grade or abs(grade) > LARGEST_GRADE:
                return _refused(topic, document, "grade", grade, f"a whole number up to {LARGEST_GRADE}")
    return BadValue("a grade cannot be read", remedy="Give {topic: {document: grade}}.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number))


def _refused(topic: str, document: str, what: str, value: object, wanted: str) -> BadValue:
    return BadValue(f"topic {topic!r}, document {document!r}: the {what} is {value!r}", remedy=f"Give {wanted}.")
