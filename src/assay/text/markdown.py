"""Markdown as sections: every heading opens one, and its path names the headings above it.

Only headings of the document itself count, ATX or setext; what looks like one in code, a list or a quotation does not.
Front matter is text, never structure. Broken Markdown is still Markdown: nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from assay.records import heading_path

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
    """What stands under one heading, up to the next. The texts of all sections, joined, are the body."""

    heading_path: str
    start: int
    """Where it begins in the body, in characters."""
    text: str
    """With the heading itself."""
    opening: int = 0
    """How many characters of the text are the heading."""

    @property
    def is_bare(self) -> bool:
        """Whether nothing stands under the heading."""
        return not self.text[self.opening :].strip()


class _Heading(NamedTuple):
    level: int
    name: str
    start: int
    end: int


def sections(body: str) -> list[Section]:
    """The sections of a Markdown text, in order."""
    front = front_matter_end(body)
    headings = list(_headings(body, front))
    starts = [0, front, *(one.start for one in headings)]
    paths = ["", "", *_paths(headings)]
    openings = [0, 0, *(one.end - one.start for one in headings)]
    ends = [*starts[1:], len(body)]
    made = map(_section, [body] * len(starts), paths, starts, ends, openings)
    return [one for one in made if one.text]


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
            name = _plain(tokens[position + 1])[:MAX_HEADING]
            yield _Heading(int(token.tag[1:]), name, lines[first], lines[min(after, len(lines) - 1)])


@lru_cache(maxsize=64)
def _block_parser(needed: frozenset[str]) -> MarkdownIt:
    """A parser with these rules for blocks, and without inline markup, which is most of the cost and moves no boundary.

    It is made once for each choice of rules and not changed afterwards, so all threads share it.
    """
    return MarkdownIt("commonmark").disable(["inline", *sorted(_RULES.keys() - needed)])


def _plain(inline: Token) -> str:
    """A heading as it is read: without emphasis, code marks and link targets."""
    if _UNMARKED.fullmatch(inline.content):
        return inline.content
    children = _INLINE.parseInline(inline.content[: 4 * MAX_HEADING])[0].children or []
    return "".join(one.content or " " * one.type.endswith("break") for one in children)


def _paths(headings: list[_Heading]) -> Iterator[str]:
    above: list[_Heading] = []
    for one in headings:
        above = [*(other for other in above if other.level < one.level), one]
        yield heading_path.normalise(heading_path.SEPARATOR.join(other.name for other in above))
