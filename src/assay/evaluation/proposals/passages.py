"""Running text of a document as sentences without markup, each with its place in the file.

- Blocks: paragraphs, list items, rows of tables and definitions; code and directives are left out.
- Inline markup: links, roles and emphasis become the words that a reader sees.
- Sentences: authors wrap lines where an editor is full, so the lines of a block are joined first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from assay.records.datasets import Document
from assay.records.heading_path import SEPARATOR
from assay.records.memory import Markup, markup_of
from assay.text.sections import document_sections

# --- Blocks ---

_BULLET = re.compile(r"[ \t]*+(?:[-*+•]|\d{1,3}[.)]|#\.)[ \t]+")
_FENCE = re.compile(r"[ \t]*+(?:>[ \t]?)?(`{3,}|~{3,}|:{3,})[ \t]*+(\S*)")
_DIRECTIVE = re.compile(r"[ \t]*+\.\.[ \t]+([\w:+.-]+?)::[ \t]*+([^\n]*)")
_RULE_LINE = re.compile(r"[ \t]*+([^\w\s])\1{2,}[ \t]*+")
_MARKUP_LINE = re.compile(
    r"[ \t]*+(?:>|\$ |#|<|!\[|\[[^\]\n]*\]:|\.\.(?:\s|$)|:[\w. -]+:(?:\s|$)|!!!|\?\?\?|%|---|\+--)"
)
_PROSE_DIRECTIVES = frozenset(
    {"note", "warning", "tip", "important", "caution", "hint", "attention", "danger", "admonition", "seealso", "topic"}
)
_DESCRIBED = frozenset(
    {"option", "confval", "setting", "envvar", "function", "method", "class", "attribute", "data", "exception"}
)
"""Directives whose argument is a name and whose body says what it is."""
TAB = "    "


class Block(NamedTuple):
    """Text that belongs together, its lines joined."""

    text: str
    """As it stands in the file, but for white space."""
    term: str = ""
    """What is described: an option, a function, the first cell of a row."""
    is_item: bool = False
    """Whether it is an item of a list or a row of a table."""


class BlockReader:
    """Reads the blocks of a section, line by line."""

    def __init__(self, markup: Markup) -> None:
        self._rst = markup is Markup.RESTRUCTURED_TEXT
        self._markdown = markup is Markup.MARKDOWN
        self._lines: list[str] = []
        self._term = ""
        self._item = False
        self._depth = 0
        self._skipped: int | None = None
        """Indentation of what opened a block that is no prose; deeper lines belong to it."""
        self._body: list[tuple[int, str]] = []
        """Open directives with a prose body: indentation and the name they describe."""
        self._fences: list[bool] = []
        """Open fences; True: code."""
        self._in_list = False
        self._table: list[list[str]] = []

    def read(self, text: str) -> Iterator[Block]:
        """The blocks of a text, in order."""
        for raw in text.splitlines():
            yield from self._line(raw.expandtabs(4))
        yield from self._end()
        yield from self._end_table()

    def _line(self, line: str) -> Iterator[Block]:
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        fence = _FENCE.match(line) if self._markdown else None
        if fence is not None:
            yield from self._end()
            self._fence(fence[2])
            return
        if True in self._fences:
            return
        if not bare:
            yield from self._end()
            return
        if self._skipped is not None:
            if indent > self._skipped:
                return
            self._skipped = None
        yield from self._text_line(line, bare, indent)

    def _fence(self, info: str) -> None:
        if self._fences and not info:
            self._fences.pop()
        else:
            self._fences.append(info.strip("{}") not in _PROSE_DIRECTIVES)

    def _text_line(self, line: str, bare: str, indent: int) -> Iterator[Block]:
        if self._markdown and bare.startswith("|"):
            yield from self._end()
            self._table.append([cell.strip() for cell in bare.strip("|").split("|")])
            return
        yield from self._end_table()
        self._body = [(depth, name) for depth, name in self._body if indent > depth]
        directive = _DIRECTIVE.match(line) if self._rst else None
        if directive is not None:
            yield from self._end()
            self._directive(directive[1], directive[2], indent)
        elif _RULE_LINE.fullmatch(line) or (_MARKUP_LINE.match(line) and not self._continues(bare)):
            yield from self._end()
            self._skipped = indent if self._rst and bare.startswith("..") else None
        elif not self._lines and self._is_code(indent, line):
            self._skipped = max(indent - 1, 0)
        else:
            yield from self._prose(line, bare, indent)

    def _continues(self, bare: str) -> bool:
        """Whether a line goes on with a paragraph, although it begins like markup: a link may be wrapped before `<`."""
        return bool(self._lines) and bare[0] in "<%#" and "`" in self._lines[-1]

    def _directive(self, name: str, argument: str, indent: int) -> None:
        kind = name.rsplit(":", maxsplit=1)[-1]
        if kind in _DESCRIBED:
            self._body.append((indent, argument.split("(", maxsplit=1)[0].strip()))
        elif kind in _PROSE_DIRECTIVES or kind.startswith(("version", "deprecated")):
            self._body.append((indent, ""))
        else:
            self._skipped = indent

    def _is_code(self, indent: int, line: str) -> bool:
        if not indent or self._in_list or _BULLET.match(line):
            return False
        return not self._body if self._rst else indent >= len(TAB)

    def _prose(self, line: str, bare: str, indent: int) -> Iterator[Block]:
        bullet = _BULLET.match(line)
        if bullet is not None:
            yield from self._end()
            self._in_list = True
            bare = line[bullet.end() :].strip()
            self._item, self._depth = True, indent
        elif not self._lines:
            self._in_list = self._in_list and indent > 0
            self._item, self._depth = self._in_list, indent
        elif self._rst and indent > self._depth and len(self._lines) == 1 and not self._item:
            # A line with deeper text under it is the term of a definition.
            self._term = self._lines.pop()
            self._body.append((self._depth, self._term))
            self._depth = indent
        self._lines.append(bare)
        if self._rst and bare.endswith("::"):
            yield from self._end()
            self._skipped = self._depth

    def _end(self) -> Iterator[Block]:
        if self._lines:
            depth, described = self._body[-1] if self._body else (0, "")
            yield Block(" ".join(self._lines), self._term or described, self._item)
            if described:
                # What something is stands in the first paragraph; the others go on about it.
                self._body[-1] = (depth, "")
        self._lines = []
        self._term = ""

    def _end_table(self) -> Iterator[Block]:
        rows, self._table = self._table, []
        if len(rows) < 3 or len(rows[0]) < 2:
            return
        head = [cell.lower() for cell in rows[0]]
        place = next((at for at, cell in enumerate(head) if any(word in cell for word in _TELLING)), None)
        if place:
            for row in rows[2:]:
                if len(row) == len(head) and row[place]:
                    yield Block(row[place], row[0], is_item=True)


_TELLING = ("description", "meaning", "what it", "what happens", "effect", "purpose", "explanation", "does")
"""Words in the heading of the column that says what the first one is."""


# --- Inline markup ---

UNKNOWN = "\x00"
"""Stands for a reference of which only the target is known: no question may hold it."""
_INLINE = (
    (re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{0,300}\)"), UNKNOWN),
    (re.compile(r"\[([^\]\n]{1,200})\](?:\([^)\n]{0,300}\)|\[[^\]\n]{0,100}\])"), r"\1"),
    (
        re.compile(
            r"(?::[\w+.-]{1,30}(?::[\w+.-]{1,30})?:|\{[\w:+.-]{1,40}\})`([^`<\n]{1,200}?) {0,3}<[^>\n]{1,200}>`"
        ),
        r"\1",
    ),
    (re.compile(r"(?:(?::(?:ref|doc)|:std:ref):|\{(?:ref|doc)\})`[^`\n]{1,200}`"), UNKNOWN),
    (
        re.compile(r"(?::[\w+.-]{1,30}(?::[\w+.-]{1,30})?:|\{[\w:+.-]{1,40}\})`~(?:[\w]{1,60}\.){0,8}([^`\n]{1,200})`"),
        r"`\1`",
    ),
    (re.compile(r"(?::[\w+.-]{1,30}(?::[\w+.-]{1,30})?:|\{[\w:+.-]{1,40}\})`!?([^`\n]{1,200})`"), r"`\1`"),
    (re.compile(r"`([^`<\n]{1,200}?) {0,3}<[^>\n]{1,300}>`_{1,2}"), r"\1"),
    (re.compile(r"`([^`\n]{1,200})`_{1,2}"), r"\1"),
    (re.compile(r"\[(?:\^|#)[\w-]{0,40}\]_?"), ""),
    (re.compile(r"\*{1,3}([^*\n]{1,300})\*{1,3}"), r"\1"),
    (re.compile(r"(?<!\w)_{1,2}([^_\s][^_\n]{0,200})_{1,2}(?!\w)"), r"\1"),
    (re.compile(r"(?<=\w)_{1,2}(?=[\s.,;:)]|\Z)"), ""),
    (re.compile(r"</?[a-zA-Z][^>\n]{0,200}>"), ""),
)
_ESCAPED = re.compile(r"\\([^\w\s])")
_CODE = re.compile(r"`{1,2}([^`\n]{1,200}?)`{1,2}")
GLUE = "\u00a0"
"""Joins the words of a code span, which is one word of its sentence."""


def read_words(raw: str) -> str:
    """A text as a reader sees it; the blanks of code spans are no-break spaces."""
    text = _ESCAPED.sub(r"\1", raw)
    for pattern, becomes in _INLINE:
        text = pattern.sub(becomes, text)
    text = _CODE.sub(lambda span: span[1].strip().replace(" ", GLUE), text)
    return " ".join(text.replace("\u2019", "'").split(" ")).strip()


# --- Sentences ---

SHORTEST, LONGEST = 5, 45
"""Words of a sentence that a question is made from."""
_NO_END = frozenset(
    {"e.g.", "i.e.", "etc.", "vs.", "cf.", "no.", "approx.", "resp.", "incl.", "mr.", "ms.", "dr.", "st."}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A sentence of a document."""

    document: Document
    heading_path: str
    raw: str
    """As it stands in the file, but for white space."""
    text: str
    """As a reader sees it."""
    term: str
    """What the block of the sentence describes."""
    is_item: bool
    is_first: bool
    """Whether it is the first sentence of its block."""
    opens_section: bool
    """Whether it is the first sentence under its heading."""
    block: str
    """The text around it."""

    @property
    def heading(self) -> str:
        """The nearest heading; empty where there is none."""
        return self.heading_path.split(SEPARATOR)[-1]

    @property
    def answer(self) -> str:
        """The sentence with plain blanks, for the reference answer."""
        return self.text.replace(GLUE, " ").replace(UNKNOWN, "").strip()


def read_passages(document: Document) -> Iterator[Passage]:
    """The sentences of a document, in order."""
    markup = markup_of(document.rel_path, document.format)
    if document.format.value == "json":
        return
    for section in document_sections(document.text, rel_path=document.rel_path, format=document.format):
        opens = True
        for block in BlockReader(markup).read(section.text[section.opening :]):
            for place, raw in enumerate(split_sentences(block.text)):
                text = read_words(raw)
                if _is_long_enough(text, block):
                    yield Passage(
                        document=document,
                        heading_path=section.heading_path,
                        raw=raw,
                        text=text,
                        term=read_words(block.term),
                        is_item=block.is_item,
                        is_first=place == 0,
                        opens_section=opens,
                        block=block.text,
                    )
                # What a setting is for stands after its default value.
                opens = opens and text.lower().startswith("default")


def _is_long_enough(text: str, block: Block) -> bool:
    """Whether a rule may make something of a sentence; "Default: 16" and descriptions of options are short."""
    length = len(text.split())
    return SHORTEST <= length <= LONGEST or (length > 2 and bool(block.term)) or text.lower().startswith("default")


def split_sentences(text: str) -> list[str]:
    """The sentences of a block."""
    found: list[str] = []
    held: list[str] = []
    for word in text.split():
        held.append(word)
        end = word.rstrip("\"')*_]`")
        if end.endswith((".", "!", "?")) and end.lower().lstrip("(") not in _NO_END and not _is_initial(end):
            found.append(" ".join(held))
            held = []
    return [*found, *([" ".join(held)] if held else [])]


def _is_initial(word: str) -> bool:
    """Whether a word is a list number or an initial, whose stop ends no sentence."""
    return len(word) == 2 and word[0].isalnum() and not word[0].islower()
