"""Read `result.json` line by line, as Assay writes it: the outcomes of millions of cases become columns at once.

    content, columns = read_lines(lines, case_ids)

A file of any other layout is not read here but as JSON: `read_lines` returns None. Every line is taken account of, so
that a seal over what was read is a seal over the whole file.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

import numpy as np

from assay.evaluation.running.json_text import PER_CASE, Plain
from assay.metrics.outcome_columns import CaseOrder, NumberedCases

_BEGIN = f' "{PER_CASE}": {{\n'.encode()
_CASE_END = (b"   },\n", b"   }\n")


class ResultLines(NamedTuple):
    """What the lines of a result hold."""

    content: Plain
    """All fields, with nothing under `per_case`."""
    columns: dict[str, NumberedCases[Any]]
    """The outcomes of the cases by metric, as JSON values."""


class _OtherLayout(Exception):
    """A line is not what Assay writes there."""


def read_lines(lines: Iterable[bytes], case_ids: Sequence[str]) -> ResultLines | None:
    """Read the lines of a result whose metrics all have the same cases; None: the file has another layout."""
    order, rest = CaseOrder(case_ids), list[bytes]()
    columns: dict[str, NumberedCases[Any]] = {}
    left = iter(lines)
    try:
        for line in left:
            if line == _BEGIN and not columns:
                columns = dict(_read_metrics(left, order))
                line = f' "{PER_CASE}": {{}},\n'.encode()  # noqa: PLW2901 - what stands for all the lines just read
            rest.append(line)
        content = json.loads(b"".join(rest))
    except (_OtherLayout, ValueError, TypeError):
        return None
    whole = columns and isinstance(content, dict) and content.get(PER_CASE) == {}
    return ResultLines(content, columns) if whole else None


def _read_metrics(lines: Iterator[bytes], order: CaseOrder) -> Iterator[tuple[str, NumberedCases[Any]]]:
    more, seen = True, set[bytes]()
    while more:
        line = next(lines, b"")
        if not (line.startswith(b'  "') and line.endswith(b": {\n")) or line in seen:
            raise _OtherLayout
        seen.add(line)
        yield json.loads(line[2:-4]), _read_cases(lines, order)
        more = _is_followed(lines, b"  }")
    if not _is_followed(lines, b" }"):
        raise _OtherLayout


def _is_followed(lines: Iterator[bytes], end: bytes) -> bool:
    """Whether another member follows the object that ends here."""
    line = next(lines, b"").rstrip(b"\n")
    if line.removesuffix(b",") != end:
        raise _OtherLayout
    return line.endswith(b",")


def _read_cases(lines: Iterator[bytes], order: CaseOrder) -> NumberedCases[Any]:
    """The outcomes of one metric; its cases must be those of the run, in their order."""
    numbers, known = array("i"), dict[bytes, int]()
    last = len(order.ids) - 1
    for place, case in enumerate(order.ids):
        if next(lines, b"") != f"   {encode_basestring(case)}: {{\n".encode():
            raise _OtherLayout
        body = b""
        while (line := next(lines, b"   }\n")) not in _CASE_END:
            body += line
        if line != _CASE_END[place == last]:
            raise _OtherLayout
        numbers.append(known.setdefault(body, len(known)))
    return NumberedCases(order, np.array(numbers, dtype=np.int32), [json.loads(b"{" + body + b"}") for body in known])
