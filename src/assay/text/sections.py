"""Documents in sections: Markdown, reStructuredText and JSON.

- Markdown: each heading opens a section.
- reStructuredText: each title opens a section.
- JSON as readable lines.
- Sections of a document by its kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from assay.errors import BadValue
from assay.records import heading_path
from assay.records.memory import Format, Markup, markup_of

# --- Markdown: each heading opens a section ---
#
# Only headings of the document itself count, ATX or setext; what looks like one in code, a list or a quotation does
# not. Front matter is text, never structure. Broken Markdown is still Markdown: nothing here raises.

MAX_HEADING = 200
"""Characters of one heading that go into a path."""

_NEWLINE = re.compile(r"\r\n?|\n")
# A rule at the top of a document also begins with dashes: front matter goes on with a key, and is not endless.
_FRONT_MATTER = re.compile(
    r"""\A---[ \t]*(?:\r\n?|\n)
    (?=[\w"'-][^:\r\n]*:(?:\s|\Z))
    (?:[^\r\n]*(?:\r\n?|\n)){1,1000}?
    (?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)""",
    re.VERBOSE,
)
_RULES = {
    "code": re.compile(r"\t|[ ]{4}"),
    "fence": re.compile(r"```|~~~"),
    "blockquote": re.compile(r">"),
    "hr": re.compile(r"[*_-]"),
    "list": re.compile(r"[-+*]|\d[.)]"),
    "reference": re.compile(r"\]:"),
    "html_block": re.compile(r"<"),
    "heading": re.compile(r"#"),
    "lheading": re.compile(r"[=-]"),
}
"""What a text must have for a rule of the parser to find anything. A rule that cannot is left out, which saves time."""
_MAY_HEAD = re.compile(r"(?:\A|[\r\n])[ \t]*+(?:#|(?:=++|-++)[ \t]*+(?:[\r\n]|\Z))")
"""A line that could be a heading or underline one. A text without such a line has no heading, and is not parsed."""
_UNMARKED = re.compile(r"[^\W_]++(?: [^\W_]++)*+")
"""Words alone: nothing in a heading like this is markup."""
_INLINE = MarkdownIt("commonmark")


class Section(NamedTuple):
    """The text under one heading, up to the next. The texts of all sections, joined, are the body."""

    heading_path: str
    start: int
    """Where it begins in the body, in characters."""
    text: str
    """With the heading itself."""
    opening: int = 0
    """How many characters of the text are the heading."""

    @property
    def is_bare(self) -> bool:
        """Whether there is no text under the heading."""
        return not self.text[self.opening :].strip()


class _Heading(NamedTuple):
    level: int
    name: str
    start: int
    end: int


def markdown_sections(body: str) -> list[Section]:
    """The sections of a Markdown text, in order."""
    front = front_matter_end(body)
    headings = list(_headings(body, front))
    starts = [0, front, *(heading.start for heading in headings)]
    paths = ["", "", *_heading_paths(headings)]
    openings = [0, 0, *(heading.end - heading.start for heading in headings)]
    ends = [*starts[1:], len(body)]
    made = map(_section, [body] * len(starts), paths, starts, ends, openings)
    return [section for section in made if section.text]


def front_matter_end(body: str) -> int:
    """Where the front matter ends; 0 when there is none."""
    found = _FRONT_MATTER.match(body)
    return found.end() if found else 0


def _section(body: str, path: str, start: int, end: int, opening: int) -> Section:
    return Section(path, start, body[start:end], opening)


def _headings(body: str, front: int) -> Iterator[_Heading]:
    text = body[front:]
    if not _MAY_HEAD.search(text):
        return
    lines = [front, *(front + newline.end() for newline in _NEWLINE.finditer(text)), len(body)]
    needed = frozenset(rule for rule, told_by in _RULES.items() if told_by.search(text))
    tokens = _block_parser(needed).parse(text)
    for position, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map is not None:
            first, after = token.map
            name = _heading_text(tokens[position + 1])[:MAX_HEADING]
            yield _Heading(int(token.tag[1:]), name, lines[first], lines[min(after, len(lines) - 1)])


@lru_cache(maxsize=64)
def _block_parser(needed: frozenset[str]) -> MarkdownIt:
    """A parser with these rules for blocks, and without inline markup, which is most of the cost and moves no boundary.

    It is made once for each choice of rules and not changed afterwards, so all threads share it.
    """
    return MarkdownIt("commonmark").disable(["inline", *sorted(_RULES.keys() - needed)])


def _heading_text(inline: Token) -> str:
    """A heading as it is read: without emphasis, code marks and link targets."""
    if _UNMARKED.fullmatch(inline.content):
        return inline.content
    children = _INLINE.parseInline(inline.content[: 4 * MAX_HEADING])[0].children or []
    return "".join(child.content or " " * child.type.endswith("break") for child in children)


def _heading_paths(headings: list[_Heading]) -> Iterator[str]:
    above: list[_Heading] = []
    for heading in headings:
        above = [*(other for other in above if other.level < heading.level), heading]
        yield heading_path.normalise(heading_path.SEPARATOR.join(other.name for other in above))


# --- reStructuredText: each title opens a section ---
#
# A title is a line at the left margin with a line of one punctuation mark under it, at least as long as the title, and
# maybe the same over it. Which mark is which level is not fixed: levels are numbered in the order in which marks first
# appear. Nothing here raises, whatever the text is.

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*\Z")
_ROLE = re.compile(r":[\w.+:-]+:(?=`)")
_TARGET = re.compile(r"[ ]*<[^>`]+>(?=`)")
_MARKS = re.compile(r"`{1,2}_{0,2}|\*{1,2}|\\")


class _Line(NamedTuple):
    text: str
    start: int
    end: int


class _Title(NamedTuple):
    style: tuple[str, bool]
    name: str
    start: int
    end: int


def split_rst(body: str) -> list[Section]:
    """The sections of a reStructuredText, in order. The texts of all sections, joined, are the body."""
    titles = list(_titles(_lines(body)))
    starts = [0, *(title.start for title in titles)]
    ends = [*starts[1:], len(body)]
    openings = [0, *(title.end - title.start for title in titles)]
    paths = ["", *_title_paths(titles)]
    made = [
        Section(path, start, body[start:end], opening)
        for path, start, end, opening in zip(paths, starts, ends, openings, strict=True)
    ]
    return [section for section in made if section.text]


def _lines(body: str) -> list[_Line]:
    found = (_Line(match.group().rstrip(), match.start(), match.end()) for match in _LINE.finditer(body))
    return [line for line in found if line.end > line.start]


def _titles(lines: list[_Line]) -> Iterator[_Title]:
    for place in range(1, len(lines)):
        title, under = lines[place - 1], lines[place]
        if not _is_underlined(title.text, under.text):
            continue
        over = lines[place - 2] if place > 1 else None
        if over is not None and over.text == under.text:
            yield _Title((under.text[0], True), _title_text(title.text), over.start, under.end)
        # A line in the middle of a paragraph is not a title, whatever stands under it.
        elif (over is None or not over.text) and not title.text[0].isspace():
            yield _Title((under.text[0], False), _title_text(title.text), title.start, under.end)


def _is_underlined(title: str, under: str) -> bool:
    long_enough = len(under) >= len(title) or len(under) >= 4
    return bool(title.strip()) and long_enough and bool(_ADORNMENT.match(under)) and not _ADORNMENT.match(title)


def _title_text(title: str) -> str:
    """A title as it is read: without roles, link targets, quotes and emphasis."""
    return _MARKS.sub("", _TARGET.sub("", _ROLE.sub("", title.strip()[: 4 * MAX_HEADING])))[:MAX_HEADING]


def _title_paths(titles: list[_Title]) -> Iterator[str]:
    levels: dict[tuple[str, bool], int] = {}
    above: list[tuple[int, str]] = []
    for title in titles:
        level = levels.setdefault(title.style, len(levels))
        above = [*(other for other in above if other[0] < level), (level, title.name)]
        yield heading_path.normalise(heading_path.SEPARATOR.join(name for _, name in above))


# --- JSON as readable lines ---
#
# `{"owner": {"name": "Ada"}}` becomes `owner.name: Ada`. An item of a list is a block of its own; single values that
# follow one another share one. Keys that occur twice are both kept.


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
            made.append(Block("", "\n".join(line for name, member in members for line in _leaf_lines(name, member))))
        else:
            made += [Block(name, text) for name, member in members for text in _member(name, member)]
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
        yield "\n".join(_leaf_lines(name, value))


def _records(name: str, items: list[Any]) -> Iterator[str]:
    """Each item that has parts by itself; leaves in one run together."""
    for is_leaf, run in groupby(enumerate(items), key=lambda item: _is_leaf(item[1])):
        if is_leaf:
            yield "\n".join(f"{name}: {_spell(item)}" if name else _spell(item) for _, item in run)
        else:
            for position, entry in run:
                yield "\n".join(_leaf_lines(f"{name}[{position}]" if name else "", entry))


def _leaf_lines(name: str, value: Any) -> Iterator[str]:
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


# --- Sections of a document by its kind ---


def document_sections(text: str, *, rel_path: str = "", format: Format = Format.MARKDOWN) -> list[Section]:  # noqa: A002 - the record's own word
    """The sections of a document; plain text and JSON are one, without a heading."""
    markup = markup_of(rel_path, format)
    if markup is Markup.MARKDOWN:
        return markdown_sections(text)
    if markup is Markup.RESTRUCTURED_TEXT:
        return split_rst(text)
    return [Section("", 0, text)] if text else []
