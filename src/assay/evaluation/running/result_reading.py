"""Read `result.json` as Assay writes it: the outcomes of millions of cases become columns at once.

    content, columns = read_lines(file, order)

A file of any other layout is not read here but as JSON: `read_lines` returns None. Every line is taken account of, so
that a seal over what was read is a seal over the whole file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from json.encoder import encode_basestring
from typing import IO, Any, NamedTuple

import numpy as np

from assay.evaluation.running.json_text import PER_CASE, Plain
from assay.metrics.outcome_columns import CaseOrder, NumberedCases, shrink

_BEGIN = f' "{PER_CASE}": {{\n'.encode()
_MANIFEST, _CASE_IDS = "manifest", "case_ids"
_MANIFEST_BEGIN, _IDS_BEGIN = f' "{_MANIFEST}": {{\n'.encode(), f'  "{_CASE_IDS}": [\n'.encode()
_NEXT_CASE = b"\n   },\n"
"""What stands between two cases."""
_LAST_CASE = b"   }\n"
_READ = 1 << 22
"""Bytes that are read at once."""
_PART = 1 << 14
"""Cases that are read at once."""


class ResultLines(NamedTuple):
    """What the lines of a result hold."""

    content: Plain
    """All fields, with nothing under `per_case`."""
    columns: dict[str, NumberedCases[Any]]
    """The outcomes of the cases by metric, as JSON values."""


class _OtherLayout(Exception):
    """A line is not what Assay writes there."""


def read_lines(file: IO[bytes], order: CaseOrder) -> ResultLines | None:
    """Read a result whose metrics all have the same cases; None: the file has another layout."""
    text, rest, top = _Text(file), list[bytes](), b""
    columns: dict[str, NumberedCases[Any]] = {}
    cases = _Cases(order)
    try:
        while line := text.read_line():
            if line == _BEGIN and not columns:
                columns = dict(_read_metrics(text, cases))
                line = f' "{PER_CASE}": {{}},\n'.encode()
            elif line == _IDS_BEGIN and top == _MANIFEST_BEGIN:
                cases.skip_ids(text)
            if line[1:2] == b'"':
                top = line
            rest.append(line)
        content = json.loads(b"".join(rest))
    except (_OtherLayout, ValueError, TypeError):
        return None
    if not (columns and isinstance(content, dict) and content.get(PER_CASE) == {}):
        return None
    return ResultLines(content, columns) if cases.restore_ids(content) else None


class _Text:
    """A file that is read line by line, or up to a separator many times."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._read, self._at = b"", 0
        """What was read ahead, and how much of it was given."""

    def read_line(self) -> bytes:
        """The next line with its end; empty at the end of the file."""
        end = self._read.find(b"\n", self._at) + 1
        if end:
            line, self._at = self._read[self._at : end], end
            return line
        return self._take_rest() + self._file.readline()

    def read_parts(self, count: int) -> list[bytes]:
        """So many parts that each end in `_NEXT_CASE`, without it."""
        parts, left = list[bytes](), self._take_rest()
        while len(parts) < count:
            *found, left = left.split(_NEXT_CASE, count - len(parts))
            parts += found
            if len(parts) < count:
                more = self._file.read(_READ)
                if not more:
                    raise _OtherLayout
                left += more
        self._read = left
        return parts

    def read_exactly(self, size: int) -> bytes:
        """So many bytes, or what there is."""
        left = self._take_rest()
        self._read = left[size:]
        return left[:size] + self._file.read(max(0, size - len(left)))

    def _take_rest(self) -> bytes:
        rest, self._read, self._at = self._read[self._at :], b"", 0
        return rest


class _Numbers(dict[bytes, int]):
    """Gives every new text the next number."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self)
        return number


class _Cases:
    """The cases that every metric must have, in this order."""

    def __init__(self, order: CaseOrder) -> None:
        self.order = order
        self._skipped = False

    @cached_property
    def _keys(self) -> list[bytes]:
        """The first lines of the cases, `_PART` cases in each text."""
        return [_join_keys(self.order.ids[start : start + _PART]) for start in range(0, len(self.order.ids), _PART)]

    def read(self, text: _Text) -> NumberedCases[Any]:
        """The outcomes of one metric."""
        known, count = _Numbers(), len(self.order.ids)
        numbers = np.empty(count, dtype=np.int32)
        for place, keys in enumerate(self._keys):
            start, stop = place * _PART, min(count, (place + 1) * _PART)
            parts = text.read_parts(stop - start - (stop == count))
            if stop == count:
                parts.append(_read_last(text))
            firsts = keys.split(b"\n")
            if not all(map(bytes.startswith, parts, firsts)):
                raise _OtherLayout
            bodies = map(bytes.removeprefix, parts, firsts)
            numbers[start:stop] = list(map(known.__getitem__, bodies))
        distinct = [json.loads(b"{" + body + b"}") for body in known]
        return NumberedCases(self.order, shrink(numbers, len(distinct)), distinct)

    def skip_ids(self, text: _Text) -> None:
        """Pass over the ids of the manifest, which are those of this order."""
        count = len(self.order.ids)
        for start in range(0, count, _PART):
            part = self.order.ids[start : start + _PART]
            lines = ",\n".join([f"   {encode_basestring(case)}" for case in part])
            expected = f"{lines}{',' if start + _PART < count else ''}\n".encode()
            if text.read_exactly(len(expected)) != expected:
                raise _OtherLayout
        self._skipped = True

    def restore_ids(self, content: Plain) -> bool:
        """Put the ids that were passed over into the content; False: they were not where they should be."""
        if not self._skipped:
            return True
        manifest = content.get(_MANIFEST)
        if not isinstance(manifest, dict) or manifest.get(_CASE_IDS) != []:
            return False
        manifest[_CASE_IDS] = list(self.order.ids)
        return True


def _join_keys(cases: Any) -> bytes:
    return "\n".join([f"   {encode_basestring(case)}: {{" for case in cases]).encode()


def _read_last(text: _Text) -> bytes:
    """The last case of a metric, without its end."""
    lines = [text.read_line()]
    while (line := text.read_line()) != _LAST_CASE:
        if not line:
            raise _OtherLayout
        lines.append(line)
    return b"".join(lines).removesuffix(b"\n")


def _read_metrics(text: _Text, cases: _Cases) -> Iterator[tuple[str, NumberedCases[Any]]]:
    more, seen = True, set[bytes]()
    while more:
        line = text.read_line()
        if not (line.startswith(b'  "') and line.endswith(b": {\n")) or line in seen:
            raise _OtherLayout
        seen.add(line)
        yield json.loads(line[2:-4]), cases.read(text)
        more = _is_followed(text, b"  }")
    if not _is_followed(text, b" }"):
        raise _OtherLayout


def _is_followed(text: _Text, end: bytes) -> bool:
    """Whether another member follows the object that ends here."""
    line = text.read_line().rstrip(b"\n")
    if line.removesuffix(b",") != end:
        raise _OtherLayout
    return line.endswith(b",")
