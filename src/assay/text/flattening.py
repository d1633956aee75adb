"""JSON as readable lines: `key: value`, one line a leaf, in blocks that belong together.

`{"owner": {"name": "Ada"}}` becomes `owner.name: Ada`. An item of a list is a block of its own; single values that
follow one another share one. Keys that occur twice are both kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from assay.errors import BadValue


class Members(tuple[tuple[str, Any], ...]):
    """The members of an object, in order, with keys that occur twice."""

    __slots__ = ()


class Block(NamedTuple):
    """Lines that belong together, under the key they were found at."""

    key: str
    text: str


def blocks(body: str) -> list[Block]:
    """A JSON text as blocks: one for each item of a list, one for each member that is a list or object."""
    value = _parse(body)
    if _is_leaf(value):
        return [Block("", _spell(value))]
    if isinstance(value, list):
        return [Block("", text) for text in _records("", value)]
    made: list[Block] = []
    for is_leaf, members in groupby(value, key=lambda member: _is_leaf(member[1])):
        if is_leaf:
            made.append(Block("", "\n".join(line for name, one in members for line in _lines(name, one))))
        else:
            made += [Block(name, text) for name, one in members for text in _member(name, one)]
    return made


def _parse(body: str) -> Any:
    try:
        return json.loads(body, object_pairs_hook=Members)
    except (ValueError, RecursionError) as problem:
        raise BadValue(f"the body is not JSON: {problem}", remedy="Mend it, or save it as text.") from problem


def _member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from _records(name, value)
    else:
        yield "\n".join(_lines(name, value))


def _records(name: str, items: list[Any]) -> Iterator[str]:
    """Each item that has parts by itself; leaves in one run together."""
    for is_leaf, run in groupby(enumerate(items), key=lambda item: _is_leaf(item[1])):
        if is_leaf:
            yield "\n".join(f"{name}: {_spell(one)}" if name else _spell(one) for _, one in run)
        else:
            for position, one in run:
                yield "\n".join(_lines(f"{name}[{position}]" if name else "", one))


def _lines(name: str, value: Any) -> Iterator[str]:
    """One line a leaf, in document order; a stack, since nesting may be deeper than Python's."""
    waiting = [(name, value)]
    while waiting:
        here, one = waiting.pop()
        if _is_leaf(one):
            yield f"{here}: {_spell(one)}" if here else _spell(one)
        elif isinstance(one, list):
            waiting += [(f"{here}[{position}]", item) for position, item in enumerate(one)][::-1]
        else:
            waiting += [(f"{here}.{key}" if here else key, item) for key, item in one][::-1]


def _is_leaf(value: Any) -> bool:
    return not value or not isinstance(value, (list, Members))


def _spell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "{}" if isinstance(value, Members) else json.dumps(value, ensure_ascii=False)
