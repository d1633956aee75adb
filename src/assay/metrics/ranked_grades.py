"""Join rankings with judgments: the grade of each result, in rank order.

- Hash join of results and judgments.
- Documents that a ranking lists twice.
- A quicker way where judgments are few.
- From mappings in memory to ranked grades.
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
from assay.metrics.ordering import PADDING, UNJUDGED, Rows, rank_grades, sort_keys
from assay.metrics.ranking import JudgedGrades
from assay.records.rankings import LARGEST_GRADE, RunBatch

# --- Hash join of results and judgments ---
#
# The table is open addressing with linear probing. All keys try their place at once; those that find it taken try the
# next, so each round works on fewer. One topic's keys never meet another's, because the topic is mixed into the key.

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]

_EMPTY = -1
_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)
_ROOM = 4
"""Slots for each key: more make the table slower to fill and quicker to ask."""


def with_topic(keys: Keys, topic: Places) -> Keys:
    """Keys of (topic, document) pairs."""
    return keys ^ (topic.astype(np.uint64) * _SPREAD)


def grades_of(asked: Keys, judged: Keys, grades: NDArray[np.int16]) -> NDArray[np.int16]:
    """The grade of every key that was judged; `UNJUDGED` for the others and for negative grades."""
    found = find(asked, judged)
    padded = np.append(np.where(grades < 0, np.int16(UNJUDGED), grades), np.int16(UNJUDGED))
    return padded[found]


def find(asked: Keys, known: Keys) -> Places:
    """The position of each key among the known ones, or -1. The known keys are distinct."""
    table = _fill(known)
    found = np.full(len(asked), _EMPTY, dtype=np.int64)
    left, slots = np.arange(len(asked)), _slots(asked, table)
    while left.size:
        seen = table[slots]
        hit = (seen != _EMPTY) & (known[seen] == asked[left]) if known.size else np.zeros(len(left), dtype=bool)
        found[left[hit]] = seen[hit]
        again = (seen != _EMPTY) & ~hit
        left, slots = left[again], (slots[again] + 1) & (len(table) - 1)
    return found


def _fill(known: Keys) -> NDArray[np.int32]:
    size = 1 << max(4, (len(known) * _ROOM - 1).bit_length())
    table = np.full(size, _EMPTY, dtype=np.int32)
    left, slots = np.arange(len(known), dtype=np.int32), _slots(known, table)
    while left.size:
        free = table[slots] == _EMPTY
        table[slots[free]] = left[free]
        lost = table[slots] != left
        left, slots = left[lost], (slots[lost] + 1) & (size - 1)
    return table


def _slots(keys: Keys, table: NDArray[np.int32]) -> Places:
    return (keys & np.uint64(len(table) - 1)).astype(np.int64)


# --- Documents that a ranking lists twice ---


class Cleaned(NamedTuple):
    """A batch without repeats, and how many results were taken out."""

    batch: RunBatch
    dropped: int


def without_repeats(batch: RunBatch) -> Cleaned:
    """Every document of a topic once."""
    owner = np.repeat(np.arange(len(batch.lengths)), batch.lengths)
    keys = with_topic(batch.keys, owner)
    if not _any_repeat(keys, batch.lengths):
        return Cleaned(batch, 0)
    kept = _best(keys, batch)
    ids, begin = batch.ids, np.cumsum(batch.lengths) - batch.lengths

    def kept_ids(row: int) -> list[object]:
        first = int(begin[row])
        return [document for place, document in enumerate(ids(row), start=first) if kept[place]]

    lengths = np.bincount(owner[kept], minlength=len(batch.lengths))
    clean = RunBatch(
        topics=batch.topics, lengths=lengths, keys=batch.keys[kept], scores=batch.scores[kept], ids=kept_ids
    )
    return Cleaned(clean, int(np.count_nonzero(~kept)))


def _any_repeat(keys: NDArray[np.uint64], lengths: NDArray[np.int64]) -> bool:
    # Many short sorts are quicker than one long one; rankings of equal length allow them.
    even = len(lengths) and len(keys) == len(lengths) * int(lengths[0]) and (lengths == lengths[0]).all()
    ordered = np.sort(keys.reshape(len(lengths), -1) if even else keys[None, :], axis=1)
    return bool((ordered[:, 1:] == ordered[:, :-1]).any())


def _best(keys: NDArray[np.uint64], batch: RunBatch) -> NDArray[np.bool_]:
    """Which result of each document has the better rank; of equal ones the first."""
    order = np.lexsort((sort_keys(batch.scores), keys))
    again = np.append(False, keys[order[1:]] == keys[order[:-1]])
    kept = np.ones(len(keys), dtype=bool)
    kept[order[again]] = False
    return kept


# --- A quicker way where judgments are few ---
#
# The rank of a judged document is the number of results with a better score. Where another result has the very same
# score only ids can tell; those rows are named, and whoever asked ranks them by `ordering.rank_grades`.

_SHIFT = np.uint64(32)


class Sided(NamedTuple):
    """Results and judged results of some topics, one topic after the other."""

    lengths: NDArray[np.int64]
    scores: NDArray[np.float32]
    topic: NDArray[np.int64]
    """Of each judged result."""
    judged_scores: NDArray[np.float32]
    grades: NDArray[np.int16]


class RankedRows(NamedTuple):
    """Grades in ranked order, one ranking a row, padded; and the rows that need their ids."""

    grades: NDArray[np.int16]
    undecided: NDArray[np.int64]


def rank_few(sided: Sided) -> RankedRows:
    """The grades of each row in ranked order."""
    depth = int(sided.lengths.max(initial=0))
    grades = np.full((len(sided.lengths), depth), UNJUDGED, dtype=np.int16)
    if sided.lengths.min(initial=depth) < depth:
        grades[np.arange(depth) >= sided.lengths[:, None]] = PADDING
    ordered, asked = _order_scores(sided), _with_row(sided.topic, sided.judged_scores)
    places = np.searchsorted(ordered, asked)
    starts = np.cumsum(sided.lengths) - sided.lengths
    grades[sided.topic, places - starts[sided.topic]] = sided.grades
    shared = np.append(ordered, np.uint64(0))[places + 1] == asked
    return RankedRows(grades, np.unique(sided.topic[shared]))


def _order_scores(sided: Sided) -> NDArray[np.uint64]:
    """The score of every result, best first within its row, as integers that ascend over all rows."""
    cells = _with_row(np.repeat(np.arange(len(sided.lengths)), sided.lengths), sided.scores)
    if not cells.size or np.ptp(sided.lengths):
        return np.sort(cells)
    # Many short sorts are quicker than one long one; rankings of equal length allow them.
    return np.sort(cells.reshape(len(sided.lengths), -1), axis=1).ravel()


def _with_row(rows: NDArray[np.int64], scores: NDArray[np.float32]) -> NDArray[np.uint64]:
    return rows.astype(np.uint64) << _SHIFT | sort_keys(scores)


# --- From mappings in memory to ranked grades ---
#
# Python hands over whole rows at a time (`struct`, `bytes`, `map`), because two million calls would cost more than
# everything behind them. What no ranking can be made of (NaN, a grade of 1.5) is refused with its topic and document.

Row = Mapping[str, float]
"""What one topic retrieved: a score for each document."""
Marks = Mapping[str, int]
"""What is judged of one topic: a grade for each document."""
_NO_VERDICT = 255
_FEW = 4
"""Judgments are few where there are so many results for each."""
_NEAR = 64
"""Topics read at a time before the second pass over them; 64 was the fastest of 1, 8, 64, 512 and all."""
_LARGEST_SCORE = float(np.finfo(np.float32).max)


class Gathered(NamedTuple):
    """Rankings and judgments of some topics."""

    grades: NDArray[np.int16]
    """In ranked order, one ranking a row, padded."""
    lengths: NDArray[np.int64]
    judged: JudgedGrades


class _Walked(NamedTuple):
    """What was read from the results."""

    scores: NDArray[np.float32]
    """Of every result."""
    found: NDArray[np.float32]
    """The score of every requested document, NaN where it was not retrieved."""


def gather(results: Sequence[Row], judgments: Sequence[Marks], topics: Sequence[str]) -> Gathered:
    """Rank some topics, given what each retrieved and what is judged of it."""
    judged = JudgedGrades(lengths_of(judgments), _grades_of_judgments(judgments, topics))
    lengths = lengths_of(results)
    few = judged.lengths.sum() * _FEW <= lengths.sum()
    walked = _walk_rankings(results, judgments if few else (), topics)
    if few:
        return Gathered(_rank_few(results, judgments, walked, judged), lengths, judged)
    return Gathered(_rank_all(results, judgments, walked.scores, judged), lengths, judged)


def _rank_all(
    results: Sequence[Row], judgments: Sequence[Marks], scores: NDArray[np.float32], judged: JudgedGrades
) -> NDArray[np.int16]:
    """Ask the judgments for every result."""
    grades = _grades(results, judgments, judged.grades)
    return rank_grades(Rows(lengths_of(results), scores, grades, lambda row: list(results[row])))


def _rank_few(
    results: Sequence[Row], judgments: Sequence[Marks], walked: _Walked, judged: JudgedGrades
) -> NDArray[np.int16]:
    """Ask the results for every judged document."""
    scores, found = walked
    used = np.flatnonzero(~np.isnan(found) & (judged.grades >= 0))
    topic = np.repeat(np.arange(len(results)), judged.lengths)[used]
    lengths = lengths_of(results)
    ranked = rank_few(Sided(lengths, scores, topic, found[used], judged.grades[used]))
    for row in ranked.undecided.tolist():
        end = int(lengths[: row + 1].sum())
        own = JudgedGrades(judged.lengths[row : row + 1], judged.grades)
        here = slice(row, row + 1), slice(end - int(lengths[row]), end)
        alone = _rank_all(results[here[0]], judgments[here[0]], scores[here[1]], own)
        ranked.grades[row, : alone.shape[1]] = alone[0]
    return ranked.grades


def lengths_of(mappings: Sequence[Row | Marks]) -> NDArray[np.int64]:
    """How long each is."""
    return np.fromiter(map(len, mappings), dtype=np.int64, count=len(mappings))


def _walk_rankings(results: Sequence[Row], asking: Sequence[Marks], topics: Sequence[str]) -> _Walked:
    """Read every score, and those of requested documents soon after their topic was read."""
    packers = {length: struct.Struct(f"{length}f").pack for length in {*map(len, results), *map(len, asking)}}
    absent = repeat(math.nan)
    scores, found = list[bytes](), list[bytes]()
    try:
        for first in range(0, len(results), _NEAR):
            rows, wanted = results[first : first + _NEAR], asking[first : first + _NEAR]
            scores += [packers[len(row)](*row.values()) for row in rows]
            found += [
                packers[len(judged)](*map(row.get, judged, absent)) for row, judged in zip(rows, wanted, strict=False)
            ]
    except (struct.error, TypeError, OverflowError) as problem:
        raise _bad_score(results, topics) from problem
    walked = _Walked(_float32(scores), _float32(found))
    if not np.isfinite(walked.scores).all():
        raise _bad_score(results, topics)
    return walked


def _float32(packed: Sequence[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(packed), dtype=np.float32)


def _grades_of_judgments(judgments: Sequence[Marks], topics: Sequence[str]) -> NDArray[np.int16]:
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
                return _bad_cell(topic, document, "score", score, "a finite number within float32")
    return BadValue("a score cannot be read", remedy="Give {topic: {document: score}}.")


def _bad_grade(judgments: Sequence[Marks], topics: Sequence[str]) -> BadValue:
    for topic, row in zip(topics, judgments, strict=True):
        for document, grade in row.items():
            if not _is_number(grade) or np.rint(grade) != grade or abs(grade) > LARGEST_GRADE:
                return _bad_cell(topic, document, "grade", grade, f"a whole number up to {LARGEST_GRADE}")
    return BadValue("a grade cannot be read", remedy="Give {topic: {document: grade}}.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number))


def _bad_cell(topic: str, document: str, what: str, value: object, wanted: str) -> BadValue:
    return BadValue(f"topic {topic!r}, document {document!r}: the {what} is {value!r}", remedy=f"Give {wanted}.")
