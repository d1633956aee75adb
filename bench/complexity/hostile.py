"""Texts made to be slow to read: repeats, unclosed and nested constructs, and near matches of a regular expression.

Every generator makes a text of about as many characters as it is asked for, and the same one every time.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench.complexity.growth import Make

CHARACTERS = tuple("aA1 \n\t.-_*`\\[](){}<>|#=/:;,'\"&%$@!?+~^é漢\u0301\u200d\u200b\ufe0f\u202e\ufdfa👩")
UNITS = (
    *(
        "1-",
        "a.",
        "a. ",
        "*a ",
        "_a ",
        "**a",
        "eyJ",
        "[[",
        "]]",
        "](",
        "[a](",
        "[a]",
        "[a",
        "![",
        "a ",
        "a\n",
        "a\r\n",
        "\r\n",
    ),
    *(
        "- a\n",
        "> ",
        "> a\n",
        "# a\n",
        "a\n=\n",
        "a\n-\n",
        "a\n---\n",
        "1. a\n",
        "|a",
        "|-",
        "a,",
        "a;",
        "a:",
        "a: ",
        "a: b\n",
        " \n",
    ),
    *(
        "```\n",
        "~~~\n",
        "``",
        "`a`",
        "`` ` ",
        "---\n",
        "...\n",
        "***",
        "<a ",
        "<!--",
        "<a>",
        "</",
        "&#",
        "&a;",
        "\\n",
        '\\"',
        "\\u",
    ),
    *(
        "$a",
        "${a}",
        "{{",
        "{%",
        "sk-",
        "AKIA",
        "secret ",
        "secret=",
        "token is ",
        "aws ",
        "bearer ",
        "password: ",
        "http://",
        "a://a:",
    ),
    *(
        "1,000,",
        "1.",
        "1:",
        "1 ",
        "0x",
        "1e",
        "a@",
        "@a",
        "a/",
        "a/b.",
        "../",
        "a_",
        "a'",
        "a-b ",
        '"a" ',
        '"a',
        'a"',
        "a* ",
        "not ",
    ),
    *(
        "A. ",
        "Aa ",
        "aA",
        "a, and ",
        "and ",
        "is ",
        "the ",
        "ignore ",
        "system: ",
        "<|a|>",
        "between ",
        "x vs ",
        "e\u0301",
        "a\u200d",
    ),
    *(
        "👩\u200d",
        "\ufe0f\ufe0f",
        "漢。",
        "\t-",
        "  ",
        " \t",
        "\n\n",
        "\n ",
        "[1]",
        "[1, ",
        "(?",
        "{1,",
        "<num>",
        "<top>",
        "<title>",
    ),
)
"""What is repeated; single characters beside it."""


class Hostile(NamedTuple):
    """A named generator."""

    name: str
    make: Make


def repeated(unit: str, *, before: str = "", after: str = "") -> Make:
    """`unit` over and over, between a beginning and an end."""

    def make(size: int) -> str:
        return before + unit * max(1, (size - len(before) - len(after)) // len(unit)) + after

    return make


def nested(opening: str, closing: str, inner: str = "a") -> Make:
    """Brackets in brackets."""

    def make(size: int) -> str:
        depth = max(1, (size - len(inner)) // (len(opening) + len(closing)))
        return opening * depth + inner + closing * depth

    return make


def _growing(line: Callable[[int], str]) -> Make:
    """Lines of growing length: the square root of the size decides how many."""

    def make(size: int) -> str:
        return "\n".join(line(depth) for depth in range(int((2 * size) ** 0.5)))[:size]

    return make


def _numbered(pattern: str) -> Make:
    """Many different words or lines."""

    def make(size: int) -> str:
        width = len(pattern.format(number=100_000))
        return "".join(pattern.format(number=100_000 + each) for each in range(size // width + 1))

    return make


STRUCTURES: tuple[Hostile, ...] = (
    Hostile("nested ()", nested("(", ")")),
    Hostile("nested []", nested("[", "]")),
    Hostile("nested {}", nested('{"a":', "}", "1")),
    Hostile("nested [a](", nested("[", "](a)")),
    Hostile("nested ![", nested("![", "](a)")),
    Hostile("nested **", nested("**a ", " a**")),
    Hostile("nested *_", nested("*_", "_*")),
    Hostile("nested <>", nested("<a>", "</a>")),
    Hostile("nested quotes", nested("\"'", "'\"")),
    Hostile("deeper lists", _growing(lambda depth: " " * depth + "- a")),
    Hostile("deeper quotations", _growing(lambda depth: ">" * depth + " a")),
    Hostile("deeper indentation", _growing(lambda depth: " " * depth + "a: b")),
    Hostile("longer code fences", _growing(lambda depth: "`" * depth)),
    Hostile("longer underlines", _growing(lambda depth: "a\n" + "=" * depth)),
    Hostile("unclosed quote", repeated("a ", before='"')),
    Hostile("unclosed code", repeated("a ", before="`")),
    Hostile("unclosed fence", repeated("a\n", before="```\n")),
    Hostile("unclosed link", repeated("a", before="[a](")),
    Hostile("unclosed tag", repeated("a ", before="<a ")),
    Hostile("unclosed comment", repeated("- ", before="<!--")),
    Hostile("unclosed front matter", repeated("a: b\n", before="---\n")),
    Hostile("front matter of lists", repeated("[", before="---\na: ", after="\n---\n")),
    Hostile("front matter of keys", lambda size: "---\n" + _numbered("k{number}: 1\n")(size) + "---\ntext\n"),
    Hostile(
        "front matter of aliases",
        lambda size: "---\n" + _numbered("k{number}: &a{number} [*a{number}]\n")(size) + "---\n",
    ),
    Hostile("unclosed key", repeated("-----BEGIN PRIVATE KEY-----")),
    Hostile("many words", _numbered("w{number} ")),
    Hostile("many lines", _numbered("line {number}\n")),
    Hostile("many sentences", _numbered("The limit of w{number} is {number} seconds. ")),
    Hostile("many names", _numbered("of Name{number} and W{number}, ")),
    Hostile("many headings", _numbered("## Heading {number}\n")),
    Hostile("many keys", lambda size: "{" + _numbered('"k{number}":1,')(size) + '"k100000":1}'),
    Hostile("many keys, the last one twice", lambda size: "{" + _numbered('"k{number}":1,')(size) + '"a":1,"a":1}'),
    Hostile("quoted backslashes", repeated("\\\\", before='a="', after='"')),
    Hostile("many fields", _numbered("k{number}=1&")),
    Hostile("many pairs", _numbered("k{number}=1; ")),
    Hostile("many tags", _numbered("#tag{number} [[note{number}]] ")),
    Hostile("many secrets", _numbered("password=Xy7{number}Qz9 ")),
    Hostile("many references", _numbered("[a{number}]: /b{number}\n")),
    Hostile("long word, then not", repeated("a", after="!")),
    Hostile("spaces, then not", repeated(" ", before="a", after="!")),
    Hostile("blank lines, then not", repeated("\n", before="a", after="!")),
)
"""Texts that are more than repeats."""


def all_hostile() -> tuple[Hostile, ...]:
    """Every generator that fits any text."""
    return (*(Hostile(f"repeat {unit!r}", repeated(unit)) for unit in (*CHARACTERS, *UNITS)), *STRUCTURES)


# The parser of the standard library has no public name since Python 3.11.
_PARSER: Any = importlib.import_module("re._parser")
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_TRIED = "a1 -_./:,;\n\"'A!#*<([{é\x01~"
LONG = 50
"""A repeat that may go on for longer than this can be pumped."""


class Pump(NamedTuple):
    """What leads to a repeat inside a pattern, and what it repeats."""

    before: str
    unit: str


def near_matches(pattern: re.Pattern[Any]) -> Iterator[Hostile]:
    """Texts that a pattern nearly matches: each of its long repeats goes on, and then what has to follow is missing."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = _PARSER.parse(source, pattern.flags & ~re.DEBUG)
    seen: set[tuple[str, str]] = set()
    for pump in _pumps(tree, ""):
        if not pump.unit or pump in seen or len(seen) >= 40:
            continue
        seen.add(pump)
        name = f"{pump.before[-20:]!r} {pump.unit[:20]!r}"
        yield Hostile(f"pump {name}", repeated(pump.unit, before=pump.before))
        yield Hostile(f"pump {name}, then not", repeated(pump.unit, before=pump.before, after="\x01"))
        yield Hostile(f"pump after a word {name}", repeated(pump.unit, before=f"a {pump.before}", after="\x01"))
        if pump.before:
            yield Hostile(f"begin again {name}", repeated(pump.before + pump.unit))
            yield Hostile(f"beginnings {name}", repeated(pump.before))


def _pumps(tree: Any, before: str) -> Iterator[Pump]:
    for code, value in tree:
        name = str(code)
        if name in _REPEATS:
            _, most, inner = value
            if most > LONG:
                yield from (Pump(before, unit) for unit in _alternatives(inner))
            yield from _pumps(inner, before)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from _pumps(branch, before)
        elif name == "SUBPATTERN":
            yield from _pumps(value[3], before)
        elif name == "ATOMIC_GROUP":
            yield from _pumps(value, before)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            yield from _pumps(value[1], before)
        before += _sample_of(code, value)


def _alternatives(tree: Any) -> list[str]:
    """Samples of what is repeated: one for each branch that stands at its top."""
    for code, value in tree:
        if str(code) == "BRANCH":
            return [_sample(branch) for branch in value[1]]
        if str(code) == "IN" and len(tree) == 1:
            return [_member(value), *(["\n"] if _in_set(value, "\n") else [])]
        if str(code) == "SUBPATTERN" and len(tree) == 1:
            return _alternatives(value[3])
    return [_sample(tree)]


def _sample(tree: Any) -> str:
    return "".join(_sample_of(code, value) for code, value in tree)


def _sample_of(code: Any, value: Any) -> str:
    """A text that a part of a pattern matches, as far as it can be told from the part alone."""
    make = _SAMPLES.get(str(code))
    return "" if make is None else make(value)


def _sample_repeat(value: Any) -> str:
    least, most, inner = value
    times: int = min(max(least, 1 if most else 0), 64)
    return _sample(inner) * times


def _member(items: Sequence[tuple[Any, Any]]) -> str:
    """A character of a set; from those that are tried when the set says what it does not hold."""
    for each in _TRIED:
        if _in_set(items, each):
            return each
    first, value = next(item for item in items if str(item[0]) != "NEGATE")
    return chr(value[0]) if str(first) == "RANGE" else chr(value) if str(first) == "LITERAL" else "a"


def _in_set(items: Sequence[tuple[Any, Any]], character: str) -> bool:
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    return any(_holds(item, character) for item in (items[1:] if negated else items)) != negated


def _holds(item: tuple[Any, Any], character: str) -> bool:
    kind, value = str(item[0]), item[1]
    if kind == "LITERAL":
        return bool(ord(character) == value)
    if kind == "RANGE":
        return bool(value[0] <= ord(character) <= value[1])
    name = str(value).replace("NOT_", "")
    return _CATEGORIES[name](character) != ("NOT_" in str(value))


_CATEGORIES: Mapping[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdigit,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda each: each.isalnum() or each == "_",
}
_SAMPLES: Mapping[str, Callable[[Any], str]] = {
    "LITERAL": chr,
    "NOT_LITERAL": lambda value: next(each for each in _TRIED if ord(each) != value),
    "ANY": lambda _: "a",
    "IN": _member,
    **dict.fromkeys(_REPEATS, _sample_repeat),
    "BRANCH": lambda value: _sample(value[1][0]),
    "SUBPATTERN": lambda value: _sample(value[3]),
    "ATOMIC_GROUP": _sample,
}
"""How to make a sample of each kind of part; assertions and anchors take no characters."""
