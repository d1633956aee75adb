"""JSON files that people edit: strict parsing, line numbers for problems, and checked keys.

- The keys of one JSON object, taken by name.
- Strict parsing, with the line of each element.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.files import blocks
from assay.records.fields import first_repeated

if TYPE_CHECKING:
    from pathlib import Path

# --- The keys of one JSON object, taken by name ---

T = TypeVar("T")
_MISSING = object()


class Keys:
    """One object being read. Values themselves are checked by the record that is made from them."""

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, dict):
            raise BadValue(f"{what} is {kind_of(value)}", remedy="Write it as a JSON object: {...}.")
        self._left = dict(value)
        self._what = what
        self._known: list[str] = []

    def need(self, name: str) -> Any:
        """The value of a key that must be there."""
        value = self.take(name, _MISSING)
        if value is _MISSING:
            there = ", ".join(sorted(self._left)) or "none"
            raise BadValue(f"{self._what} has no {name!r}", remedy=f"Add the key {name!r}; its keys are: {there}.")
        return value

    def take(self, name: str, default: Any = None) -> Any:
        """The value of a key that may be there."""
        self._known.append(name)
        return self._left.pop(name, default)

    def present_values(self, **names: str) -> dict[str, Any]:
        """The values of those keys that are there and not null, under other names."""
        found = {field: self.take(name) for field, name in names.items()}
        return {field: value for field, value in found.items() if value is not None}

    def check_none_left(self) -> None:
        """Refuse keys that were not taken: a key with a typo must not look like it was read."""
        for name in self._left:
            near = difflib.get_close_matches(name, self._known, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise BadValue(
                f"{self._what} has the key {name!r}, which is not known",
                remedy=f"{hint}Known are: {', '.join(sorted(set(self._known)))}.",
            )


def a_list(value: Any, what: str, of: Callable[[Any], T]) -> tuple[T, ...]:
    """Every element of a list, each made by `of`."""
    if not isinstance(value, list):
        raise BadValue(f"{what} is {kind_of(value)}", remedy="Write it as a JSON list: [...].")
    return tuple(of(element) for element in value)


def an_object(value: Any, what: str) -> dict[str, Any]:
    """A JSON object as it is."""
    if not isinstance(value, dict):
        raise BadValue(f"{what} is {kind_of(value)}", remedy="Write it as a JSON object: {...}.")
    return value


def texts(value: Any, what: str) -> tuple[str, ...]:
    """A list of texts; the record checks each."""
    return tuple(value) if isinstance(value, list) else a_list(value, what, lambda item: item)


def a_moment(value: Any, what: str) -> datetime:
    """A date or time; one without a zone is read as UTC."""
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError) as problem:
        raise BadValue(f"{what} {value!r} is not a date or time", remedy="Write 2026-01-31T12:00:00Z.") from problem
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null" if value is None else type(value).__name__)


# --- Strict parsing, with the line of each element ---
#
# What RFC 8259 does not allow is refused (NaN, Infinity, comments, a comma too many), and so is a key given twice,
# which most readers settle in silence. `read_object` and `read_list` read a whole file, `read_lines` streams one value
# a line.

LARGEST = 1 << 30
"""Bytes in a file that is read whole."""
LONGEST_LINE = 64_000_000
"""Bytes in one line of a file that is streamed: a document of 16,000,000 characters fits, however they are written."""
_BLANK = re.compile(r"[ \t\n\r]*")


class Placed(NamedTuple):
    """A value and its place in the file."""

    value: Any
    path: Path
    line: int

    def error(self, problem: str, expected: str) -> MalformedFile:
        """The error for this value."""
        return MalformedFile(f"{self.path}, line {self.line:,}: {problem}", remedy=expected)


Refuse = Callable[[MalformedFile], None]
"""What happens with a part that cannot be read: its error is raised, or collected by the caller."""


def raise_it(problem: MalformedFile) -> None:
    """The usual way: the first part that cannot be read ends the reading."""
    raise problem


def build_or_refuse(place: Placed, make: Callable[[Any], Any], refuse: Refuse) -> Any:
    """What `make` gives for a value, or None once its mistake was refused with file and line."""
    try:
        return make(place.value)
    except MalformedFile as problem:
        refuse(problem)
    except InputError as problem:
        refuse(place.error(problem.message, problem.remedy))
    return None


def read_object(path: Path) -> dict[str, Placed]:
    """The members of the object that a file holds; the elements of a list among them are placed one by one."""
    text = read_text(path)
    try:
        return dict(_Walk(text, path).members())
    except json.JSONDecodeError as problem:
        raise _explain(path, text, problem.pos, problem.msg) from problem


def read_list(path: Path) -> list[Placed]:
    """The elements of the list that a file holds."""
    text = read_text(path)
    try:
        return _Walk(text, path).whole_list()
    except json.JSONDecodeError as problem:
        raise _explain(path, text, problem.pos, problem.msg) from problem


def read_text(path: Path) -> str:
    """A whole file, plain or gzipped, as the UTF-8 it must be."""
    data = b"".join(block.data for block in blocks(path, longest=LARGEST, largest=LARGEST))
    return data.decode().removesuffix("\n")


def read_lines(path: Path, refuse: Refuse = raise_it) -> Iterator[Placed]:
    """The value of every line that is not blank."""
    line = 0
    for block in blocks(path, longest=LONGEST_LINE):
        if block.data.isspace():
            line += block.data.count(b"\n")
            continue
        for text in block.data.decode().split("\n")[:-1]:
            line += 1
            if text.strip():
                yield from _one_line(text, path, line, refuse)


def line_decoder(refuse_constant: Callable[[str], Any]) -> Callable[[bytes], Any]:
    """A quick `json.loads` for lines of a file; `refuse_constant` is called with NaN, Infinity and -Infinity.

    `json.loads` makes a decoder for each call and guesses the encoding, which takes longer than reading a short line.
    """
    decode = json.JSONDecoder(parse_constant=refuse_constant).decode

    def load(line: bytes) -> Any:
        # Without NUL, and beginning with ASCII, it can be neither UTF-16 nor UTF-32, and has no byte order mark.
        if line[:1].isascii() and b"\x00" not in line:
            return decode(line.decode("utf-8", "surrogatepass"))
        return json.loads(line, parse_constant=refuse_constant)

    return load


def one_line(value: Any) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def to_indented_json(value: Any) -> str:
    """A value as JSON for readers."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _one_line(text: str, path: Path, line: int, refuse: Refuse) -> Iterator[Placed]:
    place = Placed(None, path, line)
    try:
        yield place._replace(value=_DECODER.decode(text))
    except json.JSONDecodeError as problem:
        refuse(place.error(_describe(problem.msg, problem.colno), _remedy(text, problem.pos)))
    except _NotStrict as problem:
        refuse(place.error(problem.message, problem.remedy))
    except (ValueError, RecursionError) as problem:
        refuse(place.error(f"cannot be read as JSON: {problem}", "Is it one JSON value a line?"))


class _NotStrict(Exception):
    """What other readers would let pass."""

    def __init__(self, message: str, *, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = first_repeated(name for name, _ in pairs)
        raise _NotStrict(f"has the key {twice!r} twice", remedy="Keep one of the two.")
    return found


def _constant(name: str) -> float:
    raise _NotStrict(f"holds {name}, which is not JSON", remedy="A value that could not be computed is left out.")


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NotStrict(f"holds {text[:40]}, which is not a finite number", remedy="Give a number below 1.8e308.")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_constant, parse_float=_real)


class _Walk:
    """Walks through the outermost object of a text, because `json` does not report positions."""

    def __init__(self, text: str, path: Path) -> None:
        self._text = text
        self._path = path
        self._at = 0
        self._counted = (0, 1)

    def members(self) -> Iterator[tuple[str, Placed]]:
        seen: set[str] = set()
        self._expect("{", "Expecting an object")
        while not self._next_is("}", first=not seen):
            if self._char() != '"':
                raise json.JSONDecodeError("Expecting a key in double quotes", self._text, self._at)
            start = self._at
            key, self._at = _DECODER.raw_decode(self._text, self._at)
            if key in seen:
                raise self._place_of(start).error(f"has the key {key!r} twice", "Keep one of the two.")
            seen.add(key)
            self._expect(":", "Expecting ':'")
            yield key, self._value()
        self._end()

    def whole_list(self) -> list[Placed]:
        found = list(self._elements())
        self._end()
        return found

    def _end(self) -> None:
        self._skip()
        if self._at != len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, self._at)

    def _value(self) -> Placed:
        self._skip()
        place = self._place_of(self._at)
        return place._replace(value=list(self._elements()) if self._char() == "[" else self._decode(place))

    def _elements(self) -> Iterator[Placed]:
        self._expect("[", "Expecting a list")
        first = True
        while not self._next_is("]", first=first):
            first = False
            place = self._place_of(self._at)
            yield place._replace(value=self._decode(place))

    def _decode(self, place: Placed) -> Any:
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except _NotStrict as problem:
            raise place.error(problem.message, problem.remedy) from problem
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError) as problem:
            raise place.error(f"cannot be read as JSON: {problem}", "Is it a value that JSON can hold?") from problem
        return value

    def _next_is(self, end: str, *, first: bool) -> bool:
        """Whether the list or object ends here; passes over the comma between two parts."""
        self._skip()
        if self._char() == end and first:
            self._at += 1
            return True
        if first:
            return False
        if self._char() == end:
            self._at += 1
            return True
        self._expect(",", f"Expecting ',' or '{end}'")
        self._skip()
        if self._char() == end:
            raise json.JSONDecodeError("Illegal trailing comma", self._text, self._at)
        return False

    def _expect(self, character: str, problem: str) -> None:
        self._skip()
        if self._char() != character:
            raise json.JSONDecodeError(problem, self._text, self._at)
        self._at += 1

    def _skip(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _char(self) -> str:
        return self._text[self._at : self._at + 1]

    def _place_of(self, at: int) -> Placed:
        """Lines are counted from the last place on: elements come in order."""
        before, line = self._counted
        self._counted = (at, line + self._text.count("\n", before, at))
        return Placed(None, self._path, self._counted[1])


def _explain(path: Path, text: str, at: int, problem: str) -> MalformedFile:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Placed(None, path, line).error(_describe(problem, column), _remedy(text, at))


def _describe(problem: str, column: int) -> str:
    return f"is not JSON: {problem.removesuffix(' at')} at column {column}"


def _remedy(text: str, at: int) -> str:
    near = text[at : at + 200].lstrip(" \t,")
    if near.startswith(("//", "/*", "#")):
        return "JSON has no comments: remove it."
    return "Write it as JSON (RFC 8259) in UTF-8."
