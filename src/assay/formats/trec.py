"""TREC and BEIR files: judgments and runs, read and written.

- TREC qrels and runs.
- BEIR qrels.
- Judgments of either kind.
- Judgments and runs as mappings by id.
- Writing judgments and rankings.
"""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import BadValue, MalformedFile
from assay.formats.blocks import (
    LONGEST_ID,
    SLACK,
    FieldColumn,
    Fields,
    NotANumber,
    Places,
    Words,
    WrongShape,
    float32s,
    keys_of,
    split,
    whole_numbers,
)
from assay.formats.files import Block, blocks, line_error
from assay.records.rankings import LARGEST_GRADE, QrelTable, RunBatch

if TYPE_CHECKING:
    from pathlib import Path

# --- TREC qrels and runs ---
#
# Fields are separated by blanks; lines that begin with `#` and empty lines are passed over. Of a run's line only
# topic, document and score count: the order is decided by score (`metrics.ordering`), as in trec_eval, and whatever
# follows the tag is ignored. Qrels are read whole, runs in batches of complete topics, so that memory does not grow
# with the file. A block that cannot be read as a whole is read again line by line, only to name the first line at
# fault.

_BLANKS = re.compile(rb"[\x01-\x20]+")
_GRADE_SPELT = re.compile(rb"[+-]?[0-9]+")
_QRELS_LINE = "A line of qrels has four fields: topic, iteration, document, grade."
_RUN_LINE = "A line of a run has six fields: topic, Q0, document, rank, score, tag."
_TOPIC, _DOCUMENT, _GRADE, _SCORE = 0, 2, 3, 4
_AT_A_TIME = 1 << 18
"""Judgments among which repeats are looked for at once."""


class QrelColumns(NamedTuple):
    """Where topic, document and grade stand in a line of qrels."""

    width: int
    topic: int
    document: int
    grade: int
    tabs: bool
    expected: str


TREC_QRELS = QrelColumns(4, _TOPIC, _DOCUMENT, _GRADE, tabs=False, expected=_QRELS_LINE)


def read_trec_qrels(path: Path) -> QrelTable:
    """Every judgment of a TREC qrels file."""
    return gather_qrels(path, blocks(path), TREC_QRELS)


def stream_run(path: Path) -> Iterator[RunBatch]:
    """The rankings of a run file in batches of complete topics, for a file in which each topic's lines stand together.

    A topic whose lines stand apart may come back in a later batch; then read the file with `load_run`.
    """
    pending: list[bytes] = []
    offset = 0
    for block in blocks(path):
        pending.append(block.data)
        if _last_topic(block.data) == _first_topic(pending[0]):
            continue  # one long topic is read once, when its end is in sight
        whole = Block(b"".join(pending), offset)
        fields = _run_fields(path, whole)
        if not fields.lines:
            pending, offset = [], offset + len(whole.data)
            continue
        keys, cut = _last_segment(fields)
        if cut:
            yield _batch(path, whole, fields, keys, rows=cut)
        rest = int(fields.starts[cut, _TOPIC]) - SLACK
        pending, offset = [whole.data[rest:]], offset + rest
    yield from _whole_batch(path, Block(b"".join(pending), offset))


def load_run(path: Path) -> Iterator[RunBatch]:
    """The whole run as one batch; its lines may be in any order."""
    return _whole_batch(path, Block(b"".join(block.data for block in blocks(path)), 0))


def gather_qrels(path: Path, source: Iterable[Block], columns: QrelColumns) -> QrelTable:
    """One table of all blocks, topic by topic in the order of their first line."""
    parts = [_qrel_part(path, block, columns) for block in source]
    place: dict[str, int] = {}
    owner = np.concatenate([_owners(part, place) for part in parts] or [np.empty(0, dtype=np.int64)])
    keys = np.concatenate([part.keys for part in parts] or [np.empty(0, dtype=np.uint64)])
    grades = np.concatenate([part.grades for part in parts] or [np.empty(0, dtype=np.int16)])
    del parts
    if (owner[1:] < owner[:-1]).any():
        order = np.argsort(owner, kind="stable")
        owner, keys, grades = owner[order], keys[order], grades[order]
    extra = _find_repeated(owner, keys)
    if extra.size:
        _refuse_contradictions(path, owner, keys, grades, columns)
        owner, keys, grades = (np.delete(column, extra) for column in (owner, keys, grades))
    lengths = np.bincount(owner, minlength=len(place))
    return QrelTable(topics=tuple(place), lengths=lengths, keys=keys, grades=grades, repeated=len(extra))


class _QrelPart(NamedTuple):
    """The judgments of one block."""

    topics: list[str]
    lengths: Places
    keys: Words
    grades: np.ndarray[tuple[int], np.dtype[np.int16]]


def _qrel_part(path: Path, block: Block, columns: QrelColumns) -> _QrelPart:
    try:
        fields = split(block.data, columns.width, tabs=columns.tabs)
        topic, document = _ids(fields, columns.topic), _ids(fields, columns.document)
        grades = whole_numbers(fields.text, fields.field(columns.grade), LARGEST_GRADE)
    except (WrongShape, NotANumber) as problem:
        raise _explain(path, block, columns) from problem
    begin = _segments(keys_of(fields.text, topic))
    lengths = np.diff(begin, append=fields.lines)
    return _QrelPart(_texts(fields, topic, begin), lengths, keys_of(fields.text, document), grades)


def _owners(part: _QrelPart, place: dict[str, int]) -> Places:
    """The topic of every judgment, by its place; new topics get the next one."""
    places = [place.setdefault(topic, len(place)) for topic in part.topics]
    return np.repeat(np.array(places, dtype=np.int64), part.lengths)


def _find_repeated(owner: Places, keys: Words) -> Places:
    """The judgments whose topic and document were judged before. Topics stand together; some are looked at a time."""
    found = [np.empty(0, dtype=np.int64)]
    first = 0
    while first < len(owner):
        near = owner[min(first + _AT_A_TIME, len(owner)) - 1]
        last = int(np.searchsorted(owner, near, side="right"))
        found.append(first + _find_repeated_among(owner[first:last], keys[first:last]))
        first = last
    return np.concatenate(found)


def _find_repeated_among(owner: Places, keys: Words) -> Places:
    mixed = keys ^ (owner.astype(np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15))
    ordered = np.sort(mixed)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, dtype=np.int64)
    order = np.argsort(mixed, kind="stable")
    extra: Places = order[1:][mixed[order[1:]] == mixed[order[:-1]]]
    return extra


def _refuse_contradictions(
    path: Path, owner: Places, keys: Words, grades: np.ndarray[tuple[int], np.dtype[np.int16]], columns: QrelColumns
) -> None:
    """Two grades for one document are nobody's verdict."""
    order = np.lexsort((keys, owner))
    owner, keys, grades = owner[order], keys[order], grades[order]
    same = (owner[1:] == owner[:-1]) & (keys[1:] == keys[:-1])
    if not (same & (grades[1:] != grades[:-1])).any():
        return
    seen: dict[tuple[bytes, bytes], tuple[int, bytes]] = {}
    for line, found in enumerate(_every_line(path, tabs=columns.tabs), start=1):
        if len(found) != columns.width or not _GRADE_SPELT.fullmatch(found[columns.grade]):
            continue  # a comment, an empty line or BEIR's header: everything else has been read already
        pair, grade = (found[columns.topic], found[columns.document]), found[columns.grade]
        before = seen.setdefault(pair, (line, grade))
        if int(before[1]) != int(grade):
            problem = f"topic {_shorten(pair[0])} judges document {_shorten(pair[1])} {int(grade)}"
            raise MalformedFile(
                f"{path}, line {line:,}: {problem}, and line {before[0]:,} judges it {int(before[1])}",
                remedy="Keep one of the two.",
            )


def _every_line(path: Path, *, tabs: bool) -> Iterator[list[bytes]]:
    for block in blocks(path):
        for text in block.data.splitlines():
            yield _cut(text, tabs=tabs)


def _run_fields(path: Path, block: Block) -> Fields:
    try:
        return split(block.data, _SCORE + 2, more=True)
    except WrongShape as problem:
        raise _explain(path, block, None) from problem


def _last_segment(fields: Fields) -> tuple[Words, int]:
    """The topic keys of all lines, and where the last topic begins."""
    keys = keys_of(fields.text, fields.field(_TOPIC))
    begin = _segments(keys)
    return keys, int(begin[-1]) if begin.size else 0


def _whole_batch(path: Path, block: Block) -> Iterator[RunBatch]:
    fields = _run_fields(path, block)
    if fields.lines:
        yield _batch(path, block, fields, keys_of(fields.text, fields.field(_TOPIC)), rows=fields.lines)


def _batch(path: Path, block: Block, fields: Fields, topic_keys: Words, *, rows: int) -> RunBatch:
    fields = fields.first(rows)
    try:
        topic, document = _ids(fields, _TOPIC), _ids(fields, _DOCUMENT)
        scores = float32s(fields.text, fields.field(_SCORE))
    except (WrongShape, NotANumber) as problem:
        raise _explain(path, block, None) from problem
    begin = _segments(topic_keys[:rows])
    topics, lengths = _texts(fields, topic, begin), np.diff(begin, append=rows)
    keys = keys_of(fields.text, document)
    place: dict[str, int] = {}
    owner = [place.setdefault(topic, len(place)) for topic in topics]
    if len(place) < len(topics):
        each = np.repeat(np.array(owner), lengths)
        order = np.argsort(each, kind="stable")
        lengths, keys, scores = np.bincount(each), keys[order], scores[order]
        document = FieldColumn(document.starts[order], document.lengths[order])
    ids = _IdTexts(fields, document, np.cumsum(lengths) - lengths)
    return RunBatch(topics=tuple(place), lengths=lengths, keys=keys, scores=scores, ids=ids)


class _IdTexts:
    """The ids of a batch, cut out of its text when they are read."""

    def __init__(self, fields: Fields, document: FieldColumn, begin: Places) -> None:
        self._raw = fields.raw
        self._field = document
        self._begin = begin

    def __call__(self, row: int) -> Sequence[bytes]:
        first = int(self._begin[row])
        last = int(self._begin[row + 1]) if row + 1 < len(self._begin) else len(self._field.starts)
        starts, lengths = (column[first:last].tolist() for column in self._field)
        return [self._raw[start : start + size] for start, size in zip(starts, lengths, strict=True)]


def _ids(fields: Fields, number: int) -> FieldColumn:
    field = fields.field(number)
    if (field.lengths > LONGEST_ID).any():
        raise WrongShape
    return field


def _segments(keys: Words) -> Places:
    """Where a new topic begins."""
    return np.concatenate([np.zeros(min(1, len(keys)), dtype=np.int64), np.flatnonzero(keys[1:] != keys[:-1]) + 1])


def _texts(fields: Fields, field: FieldColumn, rows: Places) -> list[str]:
    starts, lengths = field.starts[rows].tolist(), field.lengths[rows].tolist()
    return [fields.raw[start : start + size].decode() for start, size in zip(starts, lengths, strict=True)]


def _first_topic(data: bytes) -> bytes:
    return next(iter(data[: 2 * LONGEST_ID].split(None, 1)), b"")


def _last_topic(data: bytes) -> bytes:
    begin = data.rfind(b"\n", 0, len(data) - 1) + 1
    return _first_topic(data[begin:])


def _cut(line: bytes, *, tabs: bool) -> list[bytes]:
    if not tabs and line.lstrip().startswith(b"#"):
        return []
    return [piece for piece in (re.split(rb"[\t\r]", line) if tabs else _BLANKS.split(line)) if piece]


def _explain(path: Path, block: Block, qrels: QrelColumns | None) -> MalformedFile:
    """The first line at fault."""
    place = 0
    for text in block.data.split(b"\n"):
        found = _cut(text, tabs=qrels is not None and qrels.tabs)
        problem = found and (_run_problem(found) if qrels is None else _qrels_problem(found, qrels))
        if problem:
            return line_error(path, block, place, problem, _RUN_LINE if qrels is None else qrels.expected)
        place += len(text) + 1
    return MalformedFile(f"{path} cannot be read", remedy="This is a bug: please report it with the file.")


def _qrels_problem(found: list[bytes], columns: QrelColumns) -> str:
    if len(found) != columns.width:
        return f"has {len(found)} fields, not {columns.width}"
    grade = found[columns.grade]
    if not _GRADE_SPELT.fullmatch(grade):
        return f"the grade {_shorten(grade)} is not a whole number"
    if abs(int(grade)) > LARGEST_GRADE:
        return f"the grade {_shorten(grade)} is beyond {LARGEST_GRADE}"
    return _long_id(found[columns.topic], found[columns.document])


def _run_problem(found: list[bytes]) -> str:
    if len(found) < _SCORE + 2:
        return f"has {len(found)} fields, not {_SCORE + 2}"
    try:
        score = math.nan if b"_" in found[_SCORE] else float(found[_SCORE])
    except ValueError:
        return f"the score {_shorten(found[_SCORE])} is not a number"
    if not math.isfinite(score) or abs(score) > float(np.finfo(np.float32).max):
        return f"the score {_shorten(found[_SCORE])} is not a finite number within float32"
    return _long_id(found[_TOPIC], found[_DOCUMENT])


def _long_id(*ids: bytes) -> str:
    return (
        f"an id is longer than {LONGEST_ID:,} bytes" if any(len(identifier) > LONGEST_ID for identifier in ids) else ""
    )


def _shorten(value: bytes) -> str:
    text = value.decode(errors="replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


# --- BEIR qrels ---

BEIR_QRELS = QrelColumns(
    3, 0, 1, 2, tabs=True, expected="A line of BEIR qrels has three fields between tabs: query-id, corpus-id, score."
)
HEADER = b"query-id\tcorpus-id\tscore\n"
_FIRST_NAMES = (b"query-id", b"query_id", b"queryid", b"qid")


def is_header(line: bytes) -> bool:
    """Whether a first line is the header of BEIR qrels."""
    names = line.strip().lower().split(b"\t")
    return len(names) == BEIR_QRELS.width and names[0] in _FIRST_NAMES


def read_beir_qrels(path: Path) -> QrelTable:
    """Every judgment of a BEIR qrels file."""
    return gather_qrels(path, _without_header(path), BEIR_QRELS)


def _without_header(path: Path) -> Iterator[Block]:
    source = blocks(path)
    first = next(source, Block(b"\n", 0))
    header, _, rest = first.data.partition(b"\n")
    if not is_header(header):
        raise MalformedFile(f"{path} has no header line", remedy="BEIR qrels begin with: query-id, corpus-id, score.")
    yield from chain([Block(rest, len(header) + 1)] if rest else [], source)


# --- Judgments of either kind ---


def read_qrels(path: Path) -> QrelTable:
    """Every judgment of the file."""
    first = next(blocks(path), Block(b"", 0))
    if is_header(first.data.partition(b"\n")[0]):
        return read_beir_qrels(path)
    return read_trec_qrels(path)


def example_document(path: Path) -> str:
    """The document of some judgment, to show what the ids look like."""
    first = next(blocks(path), Block(b"", 0))
    lines = [line for line in first.data.split(b"\n") if line.strip() and not line.startswith(b"#")]
    tabbed = is_header(lines[0]) if lines else False
    fields = lines[1].split(b"\t") if tabbed else lines[0].split()
    return fields[1 if tabbed else 2].decode()


# --- Judgments and runs as mappings by id ---
#
# The columns of `trec` are for measuring millions of lines. Here the same readers decide what is right, and a second,
# simpler pass over the file picks up the ids.

Grades = dict[str, dict[str, int]]
_BLANK_RUN = re.compile(rb"[\x01-\x20]+")
_TABS = re.compile(rb"[\t\r]")


def read_grades(path: Path) -> Grades:
    """Every judgment of TREC or BEIR qrels, topic by topic in the order of their first line."""
    read_qrels(path)  # refuses what cannot be read, with the line and what was expected
    columns = BEIR_QRELS if is_header(_first_line(path)) else TREC_QRELS
    found: Grades = {}
    for line in _lines(path, skip=columns is BEIR_QRELS):
        fields = [field for field in (_TABS if columns.tabs else _BLANK_RUN).split(line) if field]
        if fields and not fields[0].startswith(b"#"):
            topic, document = fields[columns.topic].decode(), fields[columns.document].decode()
            found.setdefault(topic, {})[document] = int(fields[columns.grade])
    return found


def read_scores(path: Path) -> Mapping[str, Mapping[str, float]]:
    """Every ranking of a TREC run, as `write_trec_run` takes them; a document listed twice keeps its better score."""
    found: dict[str, dict[str, float]] = {}
    for batch in load_run(path):
        parts = np.split(batch.scores, np.cumsum(batch.lengths)[:-1])
        for row, topic in enumerate(batch.topics):
            scores = found.setdefault(topic, {})
            for ident, score in zip(batch.ids(row), parts[row].tolist(), strict=True):
                name = ident.decode()
                scores[name] = max(score, scores.get(name, score))
    return found


def _first_line(path: Path) -> bytes:
    return next(blocks(path), Block(b"", 0)).data.partition(b"\n")[0]


def _lines(path: Path, *, skip: bool) -> Iterator[bytes]:
    for block in blocks(path):
        lines = block.data.split(b"\n")
        yield from lines[1:] if skip and block.offset == 0 else lines


# --- Writing judgments and rankings ---

GradesByQuery = Mapping[str, Mapping[str, int]]
Scores = Mapping[str, Mapping[str, float]]


def write_trec_qrels(path: Path, qrels: GradesByQuery) -> None:
    """Write `topic 0 document grade` lines; packed when the name ends with .gz."""
    _write(path, (f"{_id(topic)} 0 {_id(doc)} {grade}\n" for topic, doc, grade in _cells(qrels)))


def write_beir_qrels(path: Path, qrels: GradesByQuery) -> None:
    """Write BEIR's table with its header."""
    rows = (f"{_id(topic, ' ')}\t{_id(doc, ' ')}\t{grade}\n" for topic, doc, grade in _cells(qrels))
    _write(path, ["query-id\tcorpus-id\tscore\n", *rows])


def write_trec_run(path: Path, run: Scores, tag: str) -> None:
    """Write `topic Q0 document rank score tag` lines in descending order of score; every digit is kept."""
    _write(path, (line for topic, scores in run.items() for line in _run_lines(topic, scores, tag)))


def _run_lines(topic: str, scores: Mapping[str, float], tag: str) -> Iterator[str]:
    for rank, (doc, score) in enumerate(sorted(scores.items(), key=lambda item: -item[1]), start=1):
        yield f"{_id(topic)} Q0 {_id(doc)} {rank} {float(score)!r} {_id(tag)}\n"


def _cells(qrels: GradesByQuery) -> Iterator[tuple[str, str, int]]:
    return ((topic, doc, grade) for topic, grades in qrels.items() for doc, grade in grades.items())


def _id(text: str, allowed: str = "") -> str:
    if not text or text.startswith("#") or any(character <= " " and character not in allowed for character in text):
        raise BadValue(
            f"id {text!r} cannot stand in this file", remedy="Use ids without blanks that do not begin with '#'."
        )
    return text


def _write(path: Path, lines: Iterable[str]) -> None:
    if path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8", newline="\n") as packed:
            packed.writelines(lines)
    else:
        with path.open("w", encoding="utf-8", newline="\n") as plain:
            plain.writelines(lines)
