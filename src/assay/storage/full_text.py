"""Full text: what can be asked of the words of passages, and how a passage's words are kept.

A question is a tree of words, `Phrase` and `Prefix` under `AllOf`, `AnyOf` and `Within`; each back end writes it in its
own language, every word quoted, so that nothing a user types is ever an operator. Words are those of
`assay.text.terms`, in the question as in the passage, so that both back ends match exactly the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias, TypeVar

from assay.errors import BadValue
from assay.text.terms import LONGEST_PHRASE, normalise_phrase, words

MOST_TERMS = 256
"""Words in one question; whoever builds it keeps the rarest."""
DEEPEST = 16
"""Levels of one question: FTS5's parser has a small stack."""

_Part = TypeVar("_Part")


class Field(StrEnum):
    """Where a word stands."""

    TITLE = "title"
    TRIGGERS = "triggers"
    BODY = "body"
    """The heading path and the text of the passage."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """These words, one right after the other, in one field."""

    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class Prefix:
    """Any word that begins so."""

    word: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part, each in any field."""

    parts: Sequence[FullTextQuery]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part."""

    parts: Sequence[FullTextQuery]


@dataclass(frozen=True, slots=True)
class Within:
    """The part, in this field alone."""

    field: Field
    part: FullTextQuery


FullTextQuery: TypeAlias = str | Phrase | Prefix | AllOf | AnyOf | Within
"""A plain text is one word."""


class AnalysedPassage(NamedTuple):
    """The words of a passage, each field joined by single spaces."""

    number: int
    title: str
    triggers: str
    body: str

    def lines(self) -> str:
        """Its words as one text: a line for each field, and every word between two spaces."""
        return f" {self.title} \n {self.triggers} \n {self.body} "


def analysed_triggers(triggers: Sequence[str]) -> str:
    """The trigger field of a memory. Learned triggers are no part of it, ever."""
    return " ".join(filter(None, map(normalise_phrase, triggers)))


def trigger_phrases(triggers: Iterable[str]) -> list[str]:
    """The phrases that the trigger channel looks up; no longer than what it looks for in a query."""
    found = dict.fromkeys(map(normalise_phrase, triggers))
    return [phrase for phrase in found if phrase and phrase.count(" ") < LONGEST_PHRASE]


def analysed_body(heading_path: str, text: str) -> str:
    """The body field of a passage."""
    return normalise_phrase(f"{heading_path}\n{text}")


def tenant_term(tenant: str) -> str:
    """A term that stands in every passage of a tenant and that no user's word or prefix can be."""
    return "\u00a7" + hashlib.sha256(tenant.encode()).hexdigest()[:32]


def check(query: FullTextQuery) -> None:
    """Refuse what no passage could hold or no engine could parse."""
    asked = list(_words_of(query, 1))
    if len(asked) > MOST_TERMS:
        raise BadValue(f"the question has {len(asked)} words", remedy=f"Ask for at most {MOST_TERMS}.")
    for word in asked:
        if words(word) != [word]:
            raise BadValue(f"{word!r} is not one analysed word", remedy="Take words from assay.text.terms.words.")


def _words_of(query: FullTextQuery, depth: int, *, within: bool = False) -> Iterator[str]:
    if depth > DEEPEST:
        raise BadValue(f"the question is nested deeper than {DEEPEST} levels", remedy="Flatten it.")
    match query:
        case str():
            yield query
        case Prefix(word):
            yield word
        case Phrase(found):
            yield from _some(found)
        case Within(field) if within:
            raise BadValue(f"the field {field} is asked for inside another", remedy="Name one field.")
        case Within(_, part):
            yield from _words_of(part, depth + 1, within=True)
        case AllOf(parts) | AnyOf(parts):
            for part in _some(parts):
                yield from _words_of(part, depth + 1, within=within)


def _some(parts: Sequence[_Part]) -> Sequence[_Part]:
    if isinstance(parts, str) or not parts:
        raise BadValue(f"{parts!r} is not a list with something in it", remedy="Give at least one part.")
    return parts
