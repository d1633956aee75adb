"""JSON values of a file one by one, however large the file is.

A file holds values one after the other (JSON Lines), one list, or one object. Lists under the names that the caller
gives are walked element by element, so that one object with a million spans never stands in memory as a whole. A value
that cannot be read is told with its reason, and reading goes on behind it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from assay.records.traces import RejectReason
from assay.traces.reading import RefusedSpan, SpanProblem, malformed, shorten

CHUNK = 1 << 20
LONGEST_VALUE = 4 << 20
"""Characters of one value: a span, or a line of a small file."""
_BLANK = re.compile(r"[ \t\r\n]*")
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_MARK = re.compile(r'["{}\[\]]')
_MARK_OR_LINE = re.compile(r'["{}\[\]]|\n(?=\{)')
"""A bracket, or the beginning of another value on a line of its own."""
_SCALAR = re.compile(r"[^,\]}\r\n]*")
_STRING_END = re.compile(r'["\\]')
_STRING_OR_LINE_END = re.compile(r'["\\\n]')
"""No JSON string goes on behind the end of its line."""
_NEAR_END = 8
"""A problem this near to the end of what was read may only mean that more has to be read."""

Read = Callable[[int], bytes]
"""Reads at most so many bytes; empty at the end."""


class JsonValue(NamedTuple):
    """One value, and the name of the list it is in; empty: it stands by itself."""

    value: Any
    list_name: str


def _refuse_constant(word: str) -> float:
    raise malformed(f"{word} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class _EndOfFile(Exception):
    """The file ended inside a value."""


class _BrokenLine(Exception):
    """A value does not end before the next line begins another one; reading goes on there."""

    def __init__(self, refused: RefusedSpan) -> None:
        super().__init__(refused.sentence)
        self.refused = refused


class JsonStream:
    """Walks through a file of JSON."""

    def __init__(self, read: Read, walked: Collection[str] = (), last: Collection[str] = ()) -> None:
        """`walked` are names of lists to walk through, `last` those of them whose elements are told."""
        self._read = read
        self._walked = frozenset(walked)
        self._last = frozenset(last)
        # Bytes that are not UTF-8 become lone surrogates, which no span may hold: they cost one span, not the file.
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text = ""
        self._at = 0
        self._ended = False

    def values(self) -> Iterator[JsonValue | RefusedSpan]:
        """Every value, or why it cannot be read."""
        while self._peek(_BETWEEN):
            if self._text[self._at] == "[":
                self._at += 1
                continue
            if self._text[self._at] == "]":
                self._at += 1
                continue
            yield from self._outer_value()

    def _outer_value(self) -> Iterator[JsonValue | RefusedSpan]:
        whole = self._try_whole()
        if whole is not None:
            yield whole
            return
        try:
            if self._text[self._at] == "{" and self._walked:
                told = False
                for found in self._walk_object():
                    told = True
                    yield found
                if not told:
                    yield RefusedSpan(RejectReason.MALFORMED, "it is too large to be read whole, and holds no spans")
            else:
                yield self._skip_bad()
        except _EndOfFile:
            self._at = len(self._text)
            yield RefusedSpan(RejectReason.MALFORMED, "the file ends inside a value")
        except _BrokenLine as broken:
            yield broken.refused
        except SpanProblem as problem:
            yield problem.refused
            self._skip_line()

    def _try_whole(self) -> JsonValue | None:
        """A whole value, where all of it fits; None: it is too large, or it cannot be read."""
        wanted = CHUNK
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except (json.JSONDecodeError, SpanProblem, RecursionError) as problem:
                if not self._is_cut_off(problem) or len(self._text) - self._at > LONGEST_VALUE:
                    return None
                if not self._fill(wanted):
                    return None
                wanted *= 2
                continue
            # A number at the end of what was read may go on.
            if end == len(self._text) and not self._ended and self._fill(CHUNK):
                continue
            if end - self._at > LONGEST_VALUE:
                return None
            self._at = end
            return JsonValue(value, "")

    def _is_cut_off(self, problem: Exception) -> bool:
        if not isinstance(problem, json.JSONDecodeError) or self._ended:
            return False
        return problem.msg.startswith("Unterminated string") or problem.pos >= len(self._text) - _NEAR_END

    def _walk_object(self) -> Iterator[JsonValue | RefusedSpan]:
        """Walk through an object; only lists under the walked names are looked at."""
        self._at += 1
        while self._need(_BETWEEN) != "}":
            name = self._take_value()
            if not isinstance(name, str) or self._need(_BLANK) != ":":
                raise malformed(f"there is no name and colon at {shorten(self._text[self._at : self._at + 40])}")
            self._at += 1
            if self._need(_BLANK) == "[" and name in self._walked:
                yield from self._walk_list(name)
            else:
                self._skip_value()
        self._at += 1

    def _walk_list(self, name: str) -> Iterator[JsonValue | RefusedSpan]:
        self._at += 1
        while self._need(_BETWEEN) != "]":
            if name not in self._last and self._text[self._at] == "{":
                yield from self._walk_object()
                continue
            found = self._try_whole()
            yield JsonValue(found.value, name) if found is not None else self._skip_bad()
        self._at += 1

    def _take_value(self) -> Any:
        found = self._try_whole()
        if found is None:
            raise malformed(f"there is no JSON value at {shorten(self._text[self._at : self._at + 40])}")
        return found.value

    def _skip_bad(self) -> RefusedSpan:
        """Go behind a value that was not read, and say why it was not."""
        refused = self._why_bad()
        length = self._skip_value(refused)
        if length > LONGEST_VALUE:
            return RefusedSpan(RejectReason.TOO_LARGE, f"it has {length:,} characters, over {LONGEST_VALUE:,}")
        return refused

    def _why_bad(self) -> RefusedSpan:
        try:
            _DECODER.raw_decode(self._text, self._at)
        except RecursionError:
            return RefusedSpan(RejectReason.TOO_DEEP, "it is nested too deeply")
        except SpanProblem as problem:
            return problem.refused
        except json.JSONDecodeError as problem:
            return RefusedSpan(RejectReason.MALFORMED, f"it is not JSON: {problem.msg}")
        return RefusedSpan(RejectReason.TOO_LARGE, f"it has over {LONGEST_VALUE:,} characters")

    def _skip_value(self, refused: RefusedSpan | None = None) -> int:
        """Go behind a value by its brackets alone, keeping none of it; return its length.

        A value that was refused may lack brackets: it ends where another line begins a value.
        """
        first = self._need(_BLANK)
        if first == '"':
            return self._skip_string(refused)
        if first not in "{[":
            return self._skip_scalar()
        marks = _MARK if refused is None else _MARK_OR_LINE
        depth, length = 0, 0
        while True:
            mark = marks.search(self._text, self._at)
            if mark is None:
                length += len(self._text) - self._at
                self._at = len(self._text)
                if not self._fill(CHUNK):
                    raise _EndOfFile
                continue
            length += mark.start() - self._at
            self._at = mark.start()
            if mark[0] == '"':
                length += self._skip_string(refused)
                continue
            self._at += 1
            if refused is not None and mark[0] == "\n":
                raise _BrokenLine(refused)
            length += 1
            depth += 1 if mark[0] in "{[" else -1
            if depth == 0:
                return length

    def _skip_scalar(self) -> int:
        """Go behind a number or a word, or what stands in its place; return its length."""
        length = 0
        while True:
            match = _SCALAR.match(self._text, self._at)
            end = self._at if match is None else match.end()
            length += end - self._at
            self._at = end
            if end < len(self._text):
                # At least one character, so that reading goes on.
                self._at += length == 0
                return max(length, 1)
            if not self._fill(CHUNK):
                return length

    def _skip_string(self, refused: RefusedSpan | None) -> int:
        """Go behind a string; return its length."""
        ends = _STRING_END if refused is None else _STRING_OR_LINE_END
        self._at += 1
        length = 1
        while True:
            end = ends.search(self._text, self._at)
            if end is None or (end[0] == "\\" and end.start() + 1 >= len(self._text)):
                upto = len(self._text) if end is None else end.start()
                length += upto - self._at
                self._at = upto
                if not self._fill(CHUNK) or self._ended:
                    raise _EndOfFile
                continue
            # A broken line may end behind a backslash, too.
            line_end = self._text.find("\n", end.start(), end.start() + 2)
            if refused is not None and end[0] != '"' and line_end >= 0:
                self._at = line_end + 1
                raise _BrokenLine(refused)
            step = 1 if end[0] == '"' else 2
            length += end.start() + step - self._at
            self._at = end.start() + step
            if step == 1:
                return length

    def _skip_line(self) -> None:
        while True:
            end = self._text.find("\n", self._at)
            if end >= 0:
                self._at = end + 1
                return
            self._at = len(self._text)
            if not self._fill(CHUNK):
                return

    def _need(self, blank: re.Pattern[str]) -> str:
        if not self._peek(blank):
            raise _EndOfFile
        return self._text[self._at]

    def _peek(self, blank: re.Pattern[str]) -> bool:
        """Go behind blanks; whether anything follows."""
        while True:
            match = blank.match(self._text, self._at)
            self._at = self._at if match is None else match.end()
            if self._at < len(self._text):
                return True
            if not self._fill(CHUNK):
                return False

    def _fill(self, size: int) -> bool:
        """Read more, and forget what is behind; whether there was more."""
        if self._ended:
            return False
        piece = self._read(size)
        self._ended = not piece
        self._text = self._text[self._at :] + self._decode(piece, self._ended)
        self._at = 0
        return not self._ended or bool(self._text)
