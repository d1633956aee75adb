"""The parts of documents that say something, each with its most telling sentence.

A sentence tells much when its words are rare in the other documents: what stands everywhere identifies nothing. It is
taken as it stands in the file, but for line breaks, so that it can be looked up as an anchor.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.records import heading_path
from assay.records.datasets import Document
from assay.text.sectioning import document_sections
from assay.text.terms import words

SHORTEST, LONGEST = 5, 45
"""Words of a sentence that can be asked about."""
_SENTENCE = re.compile(r"(?:[^.!?]|[.!?](?!\s|$))+(?:[.!?]+|$)")
_MARKUP = re.compile(r"^\s*+(?:[|>#]|```|---|\[.*\]:|!\[|\.\.(?:\s|$)|:[\w -]+:(?:\s|$)|(\W)\1{2,}\s*$)")
_CODE = re.compile(r"^(?: {3,}|\t)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_EMPHASIS = re.compile(r"[*_`]{1,3}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """One part of a document with the sentence that tells most."""

    document: Document
    heading_path: str
    sentence: str
    """As it stands in the file."""
    worth: float
    steps: bool
    """Whether it is a list of things to do."""
    text: str

    @property
    def heading(self) -> str:
        """What the part is called; its document's title where it has no heading."""
        return self.heading_path.split(heading_path.SEPARATOR)[-1] if self.heading_path else self.document.title


def telling(documents: Sequence[Document]) -> list[Telling]:
    """The part with its best sentence, for every part of every document that has one."""
    seen_in = Counter(word for one in documents for word in set(words(one.text)))
    rarity = {word: math.log((1 + len(documents)) / (1 + count)) + 1e-3 for word, count in seen_in.items()}
    return [found for one in documents for found in _of_document(one, rarity)]


def plain(sentence: str) -> str:
    """A sentence without bullet and emphasis."""
    return _EMPHASIS.sub("", _BULLET.sub("", sentence)).strip()


def _of_document(document: Document, rarity: Mapping[str, float]) -> Iterator[Telling]:
    for path, text in _parts(document):
        scored = [(_worth(one, rarity), one) for one in _sentences(text)]
        if scored:
            worth, sentence = max(scored, key=lambda one: one[0])
            lines = [line for line in text.splitlines() if line.strip()]
            steps = sum(bool(re.match(r"\s*\d+[.)]\s", line)) for line in lines) >= 3
            yield Telling(
                document=document, heading_path=path, sentence=sentence, worth=worth, steps=steps, text=text.strip()
            )


def _parts(document: Document) -> Iterator[tuple[str, str]]:
    for one in document_sections(document.text, rel_path=document.rel_path, format=document.format):
        yield one.heading_path, one.text[one.opening :]


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        for found in _SENTENCE.findall(paragraph):
            if SHORTEST <= len(words(found)) <= LONGEST:
                yield found.strip()


def _paragraphs(text: str) -> Iterator[str]:
    """Running text, each paragraph and list item on one line: authors wrap lines where an editor is full."""
    gathered: list[str] = []
    fenced = code = False
    for line in [*text.splitlines(), ""]:
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        markup = fenced or fence or _MARKUP.match(line)
        if gathered and (markup or not line.strip() or _BULLET.match(line)):
            yield " ".join(gathered)
            gathered = []
        # An indented line is code, unless it continues a paragraph or a list item.
        code = not gathered and bool(_CODE.match(line)) and not _BULLET.match(line)
        if line.strip() and not markup and not code:
            gathered.append((line if gathered else _BULLET.sub("", line)).strip())


def _worth(sentence: str, rarity: Mapping[str, float]) -> float:
    told = set(words(sentence))
    return sum(rarity.get(word, 0.0) for word in told) / math.sqrt(len(told) + 4)
