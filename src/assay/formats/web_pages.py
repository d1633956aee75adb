"""Web pages as Markdown: the words a reader sees, with their headings, lists, tables and code.

- Characters: the encoding that a page declares.
- Tags and text: a page split in linear time, whatever is broken in it.
- What is kept: scripts, navigation, the header and footer of the site, and forms are left out.

Why `html.parser` is not used: `design/reading-web-pages-and-pdf.md`.
"""

from __future__ import annotations

import codecs
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

# --- Characters ---

_DECLARED_WITHIN = 4_096
"""Bytes at the beginning of a page in which its encoding is looked for."""
_CHARSET = re.compile(rb"<meta\s[^>]{0,500}?charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\A\s{0,99}<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})", re.IGNORECASE)
_LATIN = frozenset({"ascii", "iso8859-1", "cp1252"})
"""What pages call by these names is Windows-1252, as every browser reads it."""
_NOT_OF_PAGES = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})


class UnknownCharacters(ValueError):
    """The bytes of a page cannot be read as text; the message says where, or which encoding is not known."""


def decode_page(content: bytes) -> str:
    """The text of a page by its byte order mark or the encoding it declares, else as UTF-8."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _decode(content, "utf-16")
    if content.startswith(codecs.BOM_UTF8):
        return _decode(content, "utf-8-sig")
    start = content[:_DECLARED_WITHIN]
    declared = _XML_ENCODING.search(start) or _CHARSET.search(start)
    return _decode(content, _codec(declared[1].decode("ascii", "replace")) if declared else "utf-8")


def _codec(declared: str) -> str:
    try:
        name = codecs.lookup(declared).name
    except LookupError as problem:
        raise UnknownCharacters(f"it declares the encoding {declared!r}, which is not known") from problem
    if name in _NOT_OF_PAGES:
        raise UnknownCharacters(f"it declares the encoding {declared!r}, which no page may have")
    # A declaration that could be read as ASCII cannot be in UTF-16 or UTF-32.
    return "utf-8" if name.startswith(("utf-16", "utf-32")) else name


def _decode(content: bytes, codec: str) -> str:
    if codec in _LATIN:
        return _decode_latin(content)
    try:
        return content.decode(codec)
    except UnicodeDecodeError as problem:
        raise UnknownCharacters(f"it is not {codec} at byte {problem.start:,}") from problem
    except (LookupError, ValueError) as problem:
        raise UnknownCharacters(f"it cannot be read as {codec}: {problem}") from problem


def _decode_latin(content: bytes) -> str:
    """Windows-1252; Latin-1 where one of the five bytes occurs that have no character there."""
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:
        return content.decode("latin-1")


# --- Tags and text ---
#
# A tag ends at the first `>` outside a quoted value. Where quotation marks are so broken that no tag would end, it ends
# at the next `>`, for the rest of the page: so no place is looked at twice, and time grows with the length of the page.

_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)>")
_PLAIN_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)([^>]*+)>")
_ATTRIBUTE = re.compile(r"([^\s=/>\"']++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]++)))?+")
_LONG_REFERENCE = re.compile(r"&#0*+[0-9]{8,}+;?")
_RAW = frozenset({"script", "style", "textarea", "xmp", "iframe", "noembed", "noframes"})
"""Elements whose content is not markup; it ends with their own end tag."""
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}
_VOID = frozenset(
    {
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    }
)  # fmt: skip
_SOFT_HYPHEN = "\xad"


class Tag(NamedTuple):
    """A start tag or an end tag."""

    name: str
    """In small letters."""
    written: str
    """Its attributes, as they are written."""
    is_end: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be inside: `<br>`, and `<p/>` as in XHTML."""
        return self.name in _VOID or self.written.endswith("/")

    def attributes(self) -> dict[str, str]:
        """The attributes by name; the first of a name counts."""
        found: dict[str, str] = {}
        for match in _ATTRIBUTE.finditer(self.written):
            found.setdefault(match[1].lower(), html.unescape(match[2] or match[3] or match[4] or ""))
        return found


def split_page(page: str) -> Iterator[Tag | str]:
    """Tags and text of a page, in order; comments, declarations and the content of scripts are left out."""
    place, quoted, last = 0, True, page.rfind(">")
    while (begin := page.find("<", place)) >= 0 and begin < last:
        if begin > place:
            yield read_references(page[place:begin])
        after = page[begin + 1 : begin + 2]
        if after in ("!", "?") or (after == "/" and not page[begin + 2 : begin + 3].isalpha()):
            text, place = _pass_over(page, begin)
            if text:
                yield text
            continue
        match = _TAG.match(page, begin) if quoted else _PLAIN_TAG.match(page, begin)
        if match is None and quoted and after.isascii() and (after.isalpha() or after == "/"):
            quoted = False
            match = _PLAIN_TAG.match(page, begin)
        if match is None:
            yield "<"
            place = begin + 1
            continue
        tag = Tag(match[2].lower(), match[3], bool(match[1]))
        yield tag
        place = match.end()
        if tag.name in _RAW and not tag.is_end and not tag.is_empty:
            end = _RAW_END[tag.name].search(page, place)
            place = len(page) if end is None else end.start()
    if place < len(page):
        yield read_references(page[place:])


def _pass_over(page: str, begin: int) -> tuple[str, int]:
    """The text of a comment, a declaration or a CDATA section that begins here, and where it ends."""
    if page.startswith("<![CDATA[", begin):
        end = page.find("]]>", begin)
        return (page[begin + 9 :], len(page)) if end < 0 else (page[begin + 9 : end], end + 3)
    mark = "-->" if page.startswith("<!--", begin) else ">"
    end = page.find(mark, begin + 2)
    return "", len(page) if end < 0 else end + len(mark)


def read_references(text: str) -> str:
    """A text with `&amp;`, `&#233;` and the like as the characters they stand for; those that are none, as `\ufffd`."""
    if "&" in text:
        text = html.unescape(_LONG_REFERENCE.sub("\ufffd", text))
    return text.replace(_SOFT_HYPHEN, "")


# --- What is kept ---
#
# Where a page says what its content is (`main`), nothing else is taken. Its title is the first heading, unless it has
# a heading of the first level itself. A page that is one large form is read with its form. Tables that only arrange a
# page (with headings, code or tables inside, with one column, or with long cells) are read as text, all others as rows.

_LEFT_OUT = frozenset(
    {
        "audio", "button", "canvas", "datalist", "dialog", "head", "iframe", "input", "nav", "noembed", "noframes",
        "noscript", "object", "script", "search", "select", "style", "svg", "template", "textarea", "video", "xmp",
    }
)  # fmt: skip
_OF_THE_SITE = frozenset({"header", "footer"})
"""Left out unless they belong to an article or a part of the page."""
_PARTS = frozenset({"article", "main", "section"})
_LEFT_OUT_ROLES = frozenset({"banner", "contentinfo", "dialog", "form", "menu", "menubar", "navigation", "search"})
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dir", "div", "dl",
        "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
        "hgroup", "hr", "legend", "li", "main", "menu", "ol", "p", "pre", "section", "summary", "table", "tbody", "td",
        "tfoot", "th", "thead", "tr", "ul",
    }
)  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_ARRANGING = frozenset({*_HEADINGS, "article", "main", "nav", "pre", "section"})
"""What stands in a table only where it arranges the page."""
_LONGEST_CELL = 1_000
_DEEPEST_LIST = 8
_BREAK = "\x00"
"""A line break inside a paragraph, until it is written."""
_LOOKS_LIKE_MARKUP = re.compile(r"#{1,6}(?:\s|\Z)|```|~~~|<|=++\Z|-++\Z|(?:-\s){2,}")
_LANGUAGE = re.compile(r"(?:\A|\s)language-([\w+#.-]{1,30})")


def page_to_markdown(page: str) -> str:
    """What a page says, as Markdown; empty where it says nothing."""
    tokens = list(split_page(page))
    arranging = _find_arranging_tables(tokens)
    written = _Page(arranging).read(tokens)
    return written or _Page(arranging, with_forms=True).read(tokens)


class _Table:
    """What is known of a table before it is written."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.arranges = False
        self.cells = self.most_cells = self.length = 0


def _find_arranging_tables(tokens: Iterable[Tag | str]) -> frozenset[int]:
    """The tables that are no tables, by their number on the page."""
    tables: list[_Table] = []
    inside: list[_Table] = []
    for token in tokens:
        if isinstance(token, str):
            if inside:
                inside[-1].length += len(token)
                inside[-1].arranges |= inside[-1].length > _LONGEST_CELL
        elif token.name == "table" and not token.is_end:
            if inside:
                inside[-1].arranges = True
            inside.append(_Table(len(tables)))
            tables.append(inside[-1])
        elif token.name == "table" and inside:
            inside.pop()
        elif inside and not token.is_end:
            _note_in_table(inside[-1], token.name)
    return frozenset(table.number for table in tables if table.arranges or table.most_cells < 2)


def _note_in_table(table: _Table, name: str) -> None:
    if name in _ARRANGING:
        table.arranges = True
    elif name == "tr":
        table.cells = 0
    elif name in ("td", "th"):
        table.length = 0
        table.cells += 1
        table.most_cells = max(table.most_cells, table.cells)


class _Open(NamedTuple):
    """An element that was begun and has not ended."""

    name: str
    is_left_out: bool
    is_main: bool


class _Block(NamedTuple):
    """A paragraph, heading, item, table or piece of code."""

    text: str
    is_item: bool
    in_main: bool
    level: int
    """Of a heading; else 0."""


class _Page:
    """Writes the blocks of a page as its tags and texts come."""

    def __init__(self, arranging: frozenset[int], *, with_forms: bool = False) -> None:
        self._arranging = arranging
        self._with_forms = with_forms
        self._stack: list[_Open] = []
        self._open: Counter[str] = Counter()
        self._left_out = self._main = self._parts = 0
        self._blocks: list[_Block] = []
        self._inline: list[str] = []
        self._code: int | None = None
        """Where in the paragraph code was begun."""
        self._title: list[str] = []
        self._level = 0
        self._lists: list[int | None] = []
        """The number of the last item of each open list; None: its items have no numbers."""
        self._marker = ""
        self._pre: list[str] | None = None
        self._language = ""
        self._tables = 0
        self._rows: list[list[str]] | None = None

    def read(self, tokens: Iterable[Tag | str]) -> str:
        """The whole page."""
        for token in tokens:
            if isinstance(token, str):
                self._add(token)
            elif token.is_end:
                self._end(token.name)
            else:
                self._start(token)
        self._close(0)
        self._flush()
        return self._write()

    def _write(self) -> str:
        blocks = [block for block in self._blocks if block.in_main] or self._blocks
        if not blocks:
            return ""
        title = _one_line("".join(self._title))
        if title and not any(block.level == 1 for block in blocks):
            blocks = [_Block(f"# {title}", is_item=False, in_main=True, level=1), *blocks]
        pieces = [blocks[0].text]
        for before, block in pairwise(blocks):
            pieces += ["\n" if before.is_item and block.is_item else "\n\n", block.text]
        return "".join([*pieces, "\n"])

    # Elements.

    def _start(self, tag: Tag) -> None:
        name = tag.name
        if name in _BLOCKS:
            # Nobody writes a paragraph into a title or a head: they were not ended.
            for unended in ("title", "head"):
                if self._open[unended]:
                    self._end(unended)
        self._tables += name == "table"
        if self._left_out and not (name == "title" and self._open["head"]):
            if not tag.is_empty:
                self._push(tag, left_out=False)
            return
        if name in _BLOCKS:
            self._flush()
        if tag.is_empty:
            self._add(_BREAK if name == "br" and self._pre is None else "\n" if name == "br" else "")
            return
        left_out = self._is_left_out(tag)
        self._push(tag, left_out=left_out)
        if not left_out:
            self._begin(tag)

    def _push(self, tag: Tag, *, left_out: bool) -> None:
        is_main = tag.name == "main" or ("main" in tag.written and tag.attributes().get("role") == "main")
        self._stack.append(_Open(tag.name, left_out, is_main))
        self._open[tag.name] += 1
        self._left_out += left_out
        self._main += is_main
        self._parts += tag.name in _PARTS

    def _is_left_out(self, tag: Tag) -> bool:
        if tag.name in _LEFT_OUT or (tag.name in _OF_THE_SITE and not self._parts):
            return True
        if tag.name == "form":
            return not self._with_forms
        if not any(word in tag.written for word in ("role", "hidden", "headerlink")):
            return False
        given = tag.attributes()
        is_form = given.get("role") == "form" and self._with_forms
        return (
            (given.get("role") in _LEFT_OUT_ROLES and not is_form)
            or "hidden" in given
            or given.get("aria-hidden") == "true"
            or "headerlink" in given.get("class", "").split()
        )

    def _begin(self, tag: Tag) -> None:
        """What an element means for the text in it."""
        name = tag.name
        if name in _HEADINGS:
            self._level = _HEADINGS[name]
        elif name in _LISTS:
            self._lists.append(0 if name == "ol" else None)
        elif name == "li":
            self._begin_item()
        elif name == "pre":
            self._pre = []
            self._language = self._language_of(tag)
        elif name in _CODE:
            self._language = self._language or self._language_of(tag)
            if self._code is None:
                self._code = len(self._inline)
        elif name == "table":
            self._rows = None if self._tables - 1 in self._arranging else []
        elif self._rows is not None and name in ("tr", "td", "th"):
            self._end_cell()
            if name == "tr" or not self._rows:
                self._rows.append([])

    def _language_of(self, tag: Tag) -> str:
        found = _LANGUAGE.search(tag.attributes().get("class", "")) if "language-" in tag.written else None
        return found[1] if found and self._pre is not None else ""

    def _begin_item(self) -> None:
        if self._lists and self._lists[-1] is not None:
            self._lists[-1] += 1
            self._marker = f"{self._lists[-1]}. "
        else:
            self._marker = "- "

    def _end(self, name: str) -> None:
        """End an element, and those inside it that were not ended; an end tag of nothing is passed over."""
        if not self._open[name]:
            if name in _BLOCKS:
                self._flush()
            return
        place = len(self._stack) - 1
        while self._stack[place].name != name:
            place -= 1
        self._close(place)

    def _close(self, place: int) -> None:
        while len(self._stack) > place:
            opened = self._stack.pop()
            self._open[opened.name] -= 1
            if not self._left_out:
                self._finish(opened.name)
            self._left_out -= opened.is_left_out
            self._main -= opened.is_main
            self._parts -= opened.name in _PARTS

    def _finish(self, name: str) -> None:
        if name == "pre":
            self._end_code()
        elif name in _CODE:
            self._mark_code()
        elif name in ("td", "th", "tr") and self._rows is not None:
            self._end_cell()
        elif name == "table":
            self._end_table()
        elif name in _BLOCKS:
            self._flush()
        if name in _HEADINGS:
            self._level = 0
        elif name in _LISTS and self._lists:
            self._lists.pop()
            self._marker = ""
        elif name == "li":
            self._marker = ""

    # Text.

    def _add(self, text: str) -> None:
        if self._open["title"] and (self._open["head"] or not self._left_out):
            self._title.append(text)
        elif self._left_out:
            return
        elif self._pre is not None:
            self._pre.append(text)
        elif text:
            self._inline.append(text)

    def _flush(self) -> None:
        """End the paragraph, heading or item that was begun."""
        if self._pre is not None:
            return
        if self._rows is not None:
            self._inline.append(" ")
            return
        text = "".join(self._inline)
        self._inline, self._code = [], None
        lines = [line for piece in text.split(_BREAK) if (line := _one_line(piece))]
        if not lines:
            return
        if self._level:
            level, self._level = self._level, 0
            self._put(f"{'#' * level} {' '.join(lines)}", level=level)
            return
        inside = "  " * min(len(self._lists), _DEEPEST_LIST)
        outside = inside[2:] if self._lists else ""
        first = outside + self._marker if self._marker else inside
        texts = [_escape(line) for line in lines]
        is_item, self._marker = bool(self._marker), ""
        self._put(first + f"\n{inside}".join(texts), is_item=is_item)

    def _put(self, text: str, *, is_item: bool = False, level: int = 0) -> None:
        self._blocks.append(_Block(text, is_item, self._main > 0, level))

    def _mark_code(self) -> None:
        """Put marks around code in a paragraph, unless it holds such marks itself."""
        if self._pre is not None or self._code is None or any(self._open[name] for name in _CODE):
            return
        begin, self._code = self._code, None
        text = _one_line("".join(self._inline[begin:]).replace(_BREAK, " "))
        if text and "`" not in text:
            self._inline[begin:] = [f"`{text}`"]

    def _end_code(self) -> None:
        text = "".join(self._pre or ()).strip("\n")
        self._pre = None
        self._code = None
        if not text.strip():
            return
        if self._rows is not None:
            self._inline.append(f" {text} ")
            return
        fence = "```" if "```" not in text else "~~~~" if "~~~~" not in text else ""
        lines = [line.rstrip() for line in text.split("\n")]
        # Text that holds both kinds of fence is indented instead, which is code as well.
        self._put(
            "\n".join([f"{fence}{self._language}", *lines, fence])
            if fence
            else "\n".join(f"    {line}" for line in lines)
        )
        self._language = ""

    # Tables.

    def _end_cell(self) -> None:
        text = _one_line("".join(self._inline).replace(_BREAK, " "))
        self._inline, self._code = [], None
        if text and self._rows is not None:
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append(text.replace("|", "\\|"))

    def _end_table(self) -> None:
        if self._rows is None:
            self._flush()
            return
        self._end_cell()
        rows = [row for row in self._rows if row]
        self._rows = None
        if rows:
            lines = [f"| {' | '.join(row)} |" for row in rows]
            rule = f"|{' --- |' * len(rows[0])}"
            self._put("\n".join([lines[0], rule, *lines[1:]]))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _escape(line: str) -> str:
    """A line of text that Markdown would read as a heading, a fence or the like, so that it is read as text."""
    return f"\\{line}" if _LOOKS_LIKE_MARKUP.match(line) else line
