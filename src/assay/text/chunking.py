"""From a document to the passages that search ranks: along its structure, within the embedder's limit.

Markdown is cut at headings, and a section that is too long at its blocks, sentences and words; plain text at
paragraphs; JSON by records. Two rules keep chunks worth finding: a heading with nothing under it goes with what
follows, and a short section goes with the next one when that lies under it. The joined chunk has the path of the
section it ends with, which lies under the others, so an anchor to any of them is met. Other sections are never mixed.

Each passage is embedded with its context, its title and headings, so that "It is off by default" can be found. The
limit holds for both together. Chunks do not overlap by default: a caller who receives several passages of one
memory would pay for the same sentence twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from assay.errors import BadValue
from assay.records import Format, heading_path
from assay.text.sections import MAX_HEADING, Section, blocks, markdown_sections

CHUNKER_VERSION = "2"
"""Changes whenever the same text would be cut otherwise or embedded with another context."""
MAX_TITLE = 80
MAX_CONTEXT = 160
"""Characters of title and headings a passage is embedded with: a long path must not crowd out the text."""
SHORT_TOKENS = 24
"""A section below it is joined with the section under it."""
LEAST_ROOM = 16
"""Tokens that must be left for text beside the context; with less, a section is skipped and counted."""
TOKEN_WIDTH = 16
"""Every 16 characters count as at least one token: a tokenizer may count a megabyte without spaces as one."""
BLOCK = 32_000
"""Characters the splitter is given at once; its time grows faster than the text."""
UNBROKEN = 2_000
"""Letters and joiners in a row that are shown to the splitter in parts: its time for them grows with the square."""
_UNBROKEN = re.compile(rf"[^\s\x00-/:-@\[-`{{-\x7f\u2010-\u2027\u2030-\u205e\u3000-\u303f\uff01-\uff0f]{{{UNBROKEN}}}")

COUNTED = 64
"""Number of texts whose token counts are cached, the most recent ones; none is much longer than a passage."""
SEAM = 2
"""Tokens kept free, since text and context together may have more tokens than each alone."""

_Kind = type[MarkdownSplitter] | type[TextSplitter]


class Piece(NamedTuple):
    """One passage of a document."""

    position: int
    text: str
    heading_path: str
    token_count: int
    """Of the text alone, without its context."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunked:
    """A document in passages, and how many were left out, by reason."""

    pieces: list[Piece]
    skipped: dict[str, int] = field(default_factory=dict)
    """Sections by reason. `blank`: nothing visible in it; `context`: title and headings leave no room for its text."""


def build_embedding_text(title: str, path: str, text: str) -> str:
    r"""Return the text to embed for a passage: its headings, then its text. A heading the text opens with comes once.

    >>> build_embedding_text("Guide", "Guide > Install > Linux", "Use the package.")
    'Guide > Install > Linux\n\nUse the package.'
    """
    headings = path.split(heading_path.SEPARATOR) if path else []
    if headings and text.split("\n", 1)[0].lstrip("# ").rstrip("# \r") == headings[-1]:
        headings.pop()
    place = heading_path.SEPARATOR.join(_fitting(" ".join(title.split())[:MAX_TITLE], headings))
    return f"{place}\n\n{text}" if place else text


def _fitting(title: str, headings: list[str]) -> list[str]:
    """The title and as many of the deepest headings as there is room for."""
    kept: list[str] = []
    left = MAX_CONTEXT - len(title)
    for heading in reversed([heading for heading in headings if heading != title]):
        left -= len(heading) + len(heading_path.SEPARATOR)
        if left < 0:
            break
        kept.append(heading)
    return [part for part in (title, *reversed(kept)) if part]


class Chunker:
    """Cuts documents for one embedder: `count_tokens` and `limit` are the embedder's."""

    def __init__(
        self, count_tokens: Callable[[str], int], limit: int, overlap: int = 0, version: str = CHUNKER_VERSION
    ) -> None:
        # A chunk that repeats more than half of the one before says little new, and a text has far more of them.
        if not 0 <= overlap <= limit // 2:
            raise BadValue(
                f"overlap {overlap} is not from 0 to {limit // 2}, half of a chunk", remedy="Let chunks overlap less."
            )
        self.version = f"{version}:{limit}" + (f"+{overlap}" if overlap else "")
        """The algorithm with its limits: equal exactly when the same text is cut alike by the same tokenizer."""
        # The same text is asked for as a section, as what is left of one, and as a passage.
        self._count_tokens = lru_cache(maxsize=COUNTED)(count_tokens)
        self._limit = limit
        self._overlap = overlap
        self._splitters: dict[tuple[_Kind, int], MarkdownSplitter | TextSplitter] = {}

    def chunk(self, title: str, body: str, format: Format = Format.MARKDOWN) -> Chunked:  # noqa: A002 - the record's own word
        """The passages of a document, in order, numbered from 0."""
        skipped: Counter[str] = Counter()
        pieces: list[Piece] = []
        kind = MarkdownSplitter if format is Format.MARKDOWN else TextSplitter
        for part in self._parts(title, body, format):
            room = self._room(title, part.heading_path)
            if not part.text.strip():
                skipped["blank"] += 1
            elif room < LEAST_ROOM:
                skipped["context"] += 1
            else:
                for text in self._cut(part, kind, room):
                    pieces.append(Piece(len(pieces), text, part.heading_path, self._count_tokens(text)))
        return Chunked(pieces=pieces, skipped=dict(skipped))

    def _parts(self, title: str, body: str, kind: Format) -> Iterator[Section]:
        if kind is Format.MARKDOWN:
            yield from self._join_sections(title, markdown_sections(body))
        elif kind is Format.JSON:
            for block in blocks(body):
                yield Section(heading_path.normalise(block.key[:MAX_HEADING]), 0, block.text)
        else:
            yield Section("", 0, body)

    def _join_sections(self, title: str, found: list[Section]) -> Iterator[Section]:
        waiting: Section | None = None
        for section in found:
            if waiting is not None and (joined := self._together(title, waiting, section)):
                waiting = joined
            else:
                if waiting is not None:
                    yield waiting
                waiting = section
        if waiting is not None:
            yield waiting

    def _together(self, title: str, first: Section, then: Section) -> Section | None:
        """Both as one, if the first is not worth a chunk of its own."""
        text = first.text + then.text
        if first.is_bare:
            opening = len(first.text) + then.opening
            fits = self._size(text[:opening].strip()) <= self._limit // 4
        else:
            opening = first.opening
            under = heading_path.lies_under(then.heading_path, first.heading_path)
            fits = under and self._is_short(first) and self._size(text.strip()) <= self._room(title, then.heading_path)
        return Section(then.heading_path, first.start, text, opening) if fits else None

    def _is_short(self, section: Section) -> bool:
        return self._size(section.text[section.opening :].strip()) < SHORT_TOKENS

    def _cut(self, part: Section, kind: _Kind, room: int) -> Iterator[str]:
        whole = part.text.strip()
        if self._size(whole) <= room:
            yield whole
            return
        # The splitter may leave a heading alone in a chunk; kept aside, it opens the first chunk of what it heads.
        head = part.text[: part.opening].strip()
        taken = self._size(head) if head else 0
        if taken > room // 2:
            head, taken, rest = "", 0, part.text
        else:
            rest = part.text[part.opening :]
        splitter = self._splitter(kind, room - taken)
        texts = (text for block in _blocks(rest) for text in _split(splitter, block))
        if head:
            yield f"{head}\n\n{next(texts)}"
        yield from texts

    def _splitter(self, kind: _Kind, capacity: int) -> MarkdownSplitter | TextSplitter:
        key = (kind, capacity)
        if key not in self._splitters:
            overlap = min(self._overlap, capacity // 2)
            self._splitters[key] = kind.from_callback(self._size, capacity, overlap=overlap)
        return self._splitters[key]

    def _room(self, title: str, path: str) -> int:
        return self._limit - SEAM - self._count_tokens(build_embedding_text(title, path, ""))

    def _size(self, text: str) -> int:
        wide = -(-len(text) // TOKEN_WIDTH)
        return wide if wide > self._limit else max(wide, self._count_tokens(text))


def _split(splitter: MarkdownSplitter | TextSplitter, block: str) -> Iterator[str]:
    """The chunks of a block, cut alike and in linear time also where thousands of letters stand without a break.

    For every chunk inside such a stretch the splitter looks at each term to the end of it. So it gets the beginning
    of the stretch only; all chunks but the last are as they would be. It then goes on from the last of these, which is
    cut a second time and left out: how the splitter cuts the end of a stretch depends on its beginning. Where a list or
    a heading follows at once, a cut may still differ, in 2 of 300 random texts.
    """
    shown = UNBROKEN
    given = 0
    while (stretch := _UNBROKEN.search(block)) and stretch.start() + shown < len(block):
        whole = splitter.chunk_indices(block[: stretch.start() + shown])[:-1]
        if len(whole) <= given or whole[-1][0] < stretch.start():
            shown *= 2
            continue
        yield from (text for _, text in whole[given:])
        block = block[whole[-1][0] :]
        given = 1
    yield from splitter.chunks(block)[given:]


def _blocks(text: str) -> Iterator[str]:
    """The text in stretches of bounded length, cut at the best place near each end."""
    start = 0
    while len(text) - start > BLOCK:
        window = text[start : start + BLOCK]
        cuts = (window.rfind(mark, BLOCK // 2) for mark in ("\n\n", "\n", " "))
        end = next((cut for cut in cuts if cut > 0), BLOCK)
        yield window[:end]
        start += end
    yield text[start:]
