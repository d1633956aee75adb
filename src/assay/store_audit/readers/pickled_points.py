"""Read the data in pickled points of Qdrant's local storage without the `pickle` module.

Whoever can write a store can write any pickle into it, and unpickling runs what the pickle names. This reader knows
the opcodes that carry data. Classes and calls become inert records: nothing is imported and nothing is called. An
opcode that is not known ends the reading of that point with `UnreadablePickle`.

A text can be exchanged in the bytes (`replace_text`): a copy is then repaired without making objects of it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

LARGEST = 64_000_000
"""Bytes of one point."""
SHORTEST_VECTOR = 16
"""Numbers one after the other that are taken for a vector."""
DEEPEST = 50
"""Lists and objects inside each other."""


class UnreadablePickle(ValueError):
    """The bytes hold something other than plain data, or are cut off."""


@dataclass(slots=True)
class InertRecord:
    """A class or an object of a pickle, as data: its name, and what it was made of."""

    name: str
    made_of: Any = ()
    state: Any = None


class TextSpan(NamedTuple):
    """Where the opcode of a text begins and ends."""

    start: int
    end: int
    text: str


class FloatRun:
    """Stands for the numbers of a vector, which nobody needs here."""


@dataclass(slots=True)
class _Machine:
    data: bytes
    at: int = 0
    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    texts: list[TextSpan] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)

    def run(self) -> Any:
        """Read all opcodes and return the value that is left."""
        while True:
            opcode = self.take(1)
            if opcode == b".":
                return self.pop()
            if opcode == b"G":
                self.read_floats()
                continue
            act = _ACTS.get(opcode)
            if act is None:
                raise UnreadablePickle(f"the opcode {opcode!r} at byte {self.at - 1:,}")
            act(self)

    def take(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        if len(found) != count or count < 0:
            raise UnreadablePickle(f"the data end at byte {len(self.data):,}")
        self.at += count
        return found

    def read_floats(self) -> None:
        """Read a run of numbers; a long one is a vector, which has hundreds of them, each of nine bytes."""
        start = self.at - 1
        self.take(8)
        while self.data[self.at : self.at + 1] == b"G":
            self.take(9)
        count = (self.at - start) // 9
        if count >= SHORTEST_VECTOR:
            self.stack.append(FloatRun())
        else:
            self.stack += [struct.unpack_from(">d", self.data, start + 9 * place + 1)[0] for place in range(count)]

    def number(self, form: str) -> Any:
        [found] = struct.unpack(form, self.take(struct.calcsize(form)))
        return found

    def line(self) -> str:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise UnreadablePickle("a name without an end")
        found = self.data[self.at : end]
        self.at = end + 1
        return found.decode("utf-8", "replace")

    def pop(self) -> Any:
        if not self.stack:
            raise UnreadablePickle("nothing is left on the stack")
        return self.stack.pop()

    def skip(self, count: int) -> None:
        self.take(count)

    def drop(self) -> None:
        self.pop()

    def drop_to_mark(self) -> None:
        self.pop_to_mark()

    def pop_to_mark(self) -> list[Any]:
        if not self.marks:
            raise UnreadablePickle("there is no mark")
        place = self.marks.pop()
        found = self.stack[place:]
        del self.stack[place:]
        return found

    def push_text(self, size_form: str) -> None:
        start = self.at - 1
        text = self.take(self.number(size_form)).decode("utf-8", "surrogatepass")
        self.texts.append(TextSpan(start, self.at, text))
        self.stack.append(text)

    def recall(self, place: int) -> None:
        if place not in self.memo:
            raise UnreadablePickle(f"nothing is remembered as {place}")
        self.stack.append(self.memo[place])

    def remember(self, place: int) -> None:
        self.memo[place] = self.stack[-1] if self.stack else None

    def add_pairs(self, pairs: list[Any]) -> None:
        target = self.stack[-1] if self.stack else None
        if not isinstance(target, dict):
            return
        for name, value in zip(pairs[::2], pairs[1::2], strict=False):
            if isinstance(name, str | int | float | bool | None):
                target[name] = value

    def add_values(self, values: list[Any]) -> None:
        target = self.stack[-1] if self.stack else None
        if isinstance(target, list):
            target.extend(values)

    def make(self, count: int) -> None:
        """Put an inert record in the place of a class and what it is called with."""
        given = [self.pop() for _ in range(count)]
        made = given[-1]
        name = made.name if isinstance(made, InertRecord) else "unknown"
        self.stack.append(InertRecord(name, tuple(given[:-1])))

    def set_state(self) -> None:
        state = self.pop()
        if self.stack and isinstance(self.stack[-1], InertRecord):
            self.stack[-1].state = state

    def push_global(self) -> None:
        name, module = self.pop(), self.pop()
        self.stack.append(InertRecord(f"{module}.{name}"))

    def skip_frame(self) -> None:
        self.frames.append(self.at - 1)
        self.take(8)


def _push(value: Callable[[], Any]) -> Callable[[_Machine], None]:
    def act(machine: _Machine) -> None:
        machine.stack.append(value())

    return act


def _number(form: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(machine.number(form))


def _bytes(form: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(machine.take(machine.number(form)))


def _text(form: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.push_text(form)


def _tuple(count: int) -> Callable[[_Machine], None]:
    def act(machine: _Machine) -> None:
        machine.stack.append(tuple([machine.pop() for _ in range(count)][::-1]))

    return act


def _long(machine: _Machine) -> None:
    machine.stack.append(int.from_bytes(machine.take(machine.number("<B")), "little", signed=True))


def _global(machine: _Machine) -> None:
    machine.stack.append(InertRecord(f"{machine.line()}.{machine.line()}"))


_ACTS: Mapping[bytes, Callable[[_Machine], None]] = {
    b"\x80": lambda machine: machine.skip(1),
    b"\x95": _Machine.skip_frame,
    b"(": lambda machine: machine.marks.append(len(machine.stack)),
    b"0": _Machine.drop,
    b"1": _Machine.drop_to_mark,
    b"2": lambda machine: machine.stack.append(machine.stack[-1] if machine.stack else None),
    b"N": _push(lambda: None),
    b"\x88": _push(lambda: True),
    b"\x89": _push(lambda: False),
    b"}": _push(dict),
    b"]": _push(list),
    b")": _push(tuple),
    b"\x8f": _push(list),
    b"J": _number("<i"),
    b"K": _number("<B"),
    b"M": _number("<H"),
    b"\x8a": _long,
    b"\x8c": _text("<B"),
    b"X": _text("<I"),
    b"\x8d": _text("<Q"),
    b"C": _bytes("<B"),
    b"B": _bytes("<I"),
    b"\x8e": _bytes("<Q"),
    b"\x96": _bytes("<Q"),
    b"\x94": lambda machine: machine.remember(len(machine.memo)),
    b"q": lambda machine: machine.remember(machine.number("<B")),
    b"r": lambda machine: machine.remember(machine.number("<I")),
    b"h": lambda machine: machine.recall(machine.number("<B")),
    b"j": lambda machine: machine.recall(machine.number("<I")),
    b"t": lambda machine: machine.stack.append(tuple(machine.pop_to_mark())),
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"\x91": lambda machine: machine.stack.append(machine.pop_to_mark()),
    b"\x90": lambda machine: machine.add_values(machine.pop_to_mark()),
    b"a": lambda machine: machine.add_values([machine.pop()]),
    b"e": lambda machine: machine.add_values(machine.pop_to_mark()),
    b"s": lambda machine: machine.add_pairs([machine.pop(), machine.pop()][::-1]),
    b"u": lambda machine: machine.add_pairs(machine.pop_to_mark()),
    b"c": _global,
    b"\x93": _Machine.push_global,
    b"\x81": lambda machine: machine.make(2),
    b"\x92": lambda machine: machine.make(3),
    b"R": lambda machine: machine.make(2),
    b"b": _Machine.set_state,
}


class PickledPoint(NamedTuple):
    """A point of Qdrant's local storage."""

    point_id: str
    payload: Mapping[str, Any]


def read_point(data: bytes) -> PickledPoint:
    """Return the id and the payload of a pickled point; raise `UnreadablePickle` where there is none."""
    value = _open(data).run()
    fields = _fields_of(value)
    payload = fields.get("payload")
    if not isinstance(payload, dict):
        raise UnreadablePickle("it holds no point with a payload")
    return PickledPoint(str(fields.get("id")), {str(name): _plain(inner, 0) for name, inner in payload.items()})


def replace_text(data: bytes, old: str, new: str) -> bytes:
    """Return the bytes of a pickle with one text in the place of another, wherever it stands as a whole.

    Frames are left out: they are optional, and their lengths would no longer be right.
    """
    machine = _open(data)
    machine.run()
    cuts: list[tuple[int, int, bytes]] = [(start, start + 9, b"") for start in machine.frames]
    encoded = new.encode("utf-8", "surrogatepass")
    written = b"X" + struct.pack("<I", len(encoded)) + encoded
    cuts += [(span.start, span.end, written) for span in machine.texts if span.text == old]
    parts, after = [], 0
    for start, end, instead in sorted(cuts):
        parts += [data[after:start], instead]
        after = end
    return b"".join((*parts, data[after:]))


def _open(data: bytes) -> _Machine:
    if len(data) > LARGEST:
        raise UnreadablePickle(f"{len(data):,} bytes; at most {LARGEST:,} are read")
    return _Machine(data)


def _fields_of(value: Any) -> Mapping[Any, Any]:
    """Return the fields of a pickled object: pydantic keeps them in `__dict__` of the state."""
    state = value.state if isinstance(value, InertRecord) else value
    if not isinstance(state, dict):
        raise UnreadablePickle("it holds no object with fields")
    inner = state.get("__dict__")
    return inner if isinstance(inner, dict) else state


def _plain(value: Any, depth: int) -> Any:
    """Return a value in JSON's own types; what has none is named."""
    if depth > DEEPEST:
        raise UnreadablePickle(f"nested over {DEEPEST} deep")
    if isinstance(value, dict):
        return {str(name): _plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, depth + 1) for inner in value]
    if isinstance(value, InertRecord):
        return f"<{value.name}>"
    return value if isinstance(value, str | int | float | bool | None) else f"<{type(value).__name__}>"
