"""Full-text queries, and the terms of a passage that they match.

A query is a tree of terms, `Phrase` and `Prefix` under `AllOf`, `AnyOf` and `Within`. Each back end translates it to
its own syntax with every term quoted, so that user input never becomes an operator. Terms are made by
`assay.text.terms`, in queries as in passages, so that both back ends match exactly the same.
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
"""Most terms of one query; callers with more keep the rarest."""
DEEPEST = 16
"""Most levels of one query: FTS5's parser has a small stack."""

_Part = TypeVar("_Part")


class Field(StrEnum):
    """The fields of a passage."""

    TITLE = "title"
    TRIGGERS = "triggers"
    BODY = "body"
    """The heading path and the text of the passage."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Matches these terms in this order, next to each other, in one field."""

    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class Prefix:
    """Matches every term with this beginning."""

    word: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Matches if every part matches, each in any field."""

    parts: Sequence[FullTextQuery]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Matches if at least one part matches."""

    parts: Sequence[FullTextQuery]


@dataclass(frozen=True, slots=True)
class Within:
    """Matches a part in one field only."""

    field: Field
    part: FullTextQuery


FullTextQuery: TypeAlias = str | Phrase | Prefix | AllOf | AnyOf | Within
"""A plain string is one term."""


class AnalysedPassage(NamedTuple):
    """The terms of a passage, joined by single spaces in each field."""

    number: int
    title: str
    triggers: str
    body: str

    def lines(self) -> str:
        """Return its terms as one text: one line for each field, with spaces around every term."""
        return f" {self.title} \n {self.triggers} \n {self.body} "


class IndexPassage(NamedTuple):
    """What a lexical index keeps of a passage."""

    number: int
    memory_number: int
    title: str
    triggers: list[str]
    heading_path: str
    text: str
    surroundings: str
    position: int = 0
    token_count: int = 0


def passage_text(passage: IndexPassage, title_repeats: int) -> str:
    """Return the text whose stems a passage is found by: learned triggers are no part, words around it count once."""
    titles = [passage.title] * title_repeats
    around = (" ".join(dict.fromkeys(words(passage.surroundings))),) if passage.surroundings else ()
    return "\n".join((*titles, *passage.triggers, passage.heading_path, passage.text, *around))


def analyse_triggers(triggers: Sequence[str]) -> str:
    """Return the trigger field of a memory, which never contains learned triggers."""
    return " ".join(filter(None, map(normalise_phrase, triggers)))


def trigger_phrases(triggers: Iterable[str]) -> list[str]:
    """Return the phrases that the trigger channel looks up, without those too long for it."""
    found = dict.fromkeys(map(normalise_phrase, triggers))
    return [phrase for phrase in found if phrase and phrase.count(" ") < LONGEST_PHRASE]


def analyse_body(heading_path: str, text: str) -> str:
    """Return the body field of a passage."""
    return normalise_phrase(f"{heading_path}\n{text}")


def tenant_term(tenant: str) -> str:
    """Return a term that every passage of a tenant contains, and that no term or prefix of a user can match."""
    return "\u00a7" + hashlib.sha256(tenant.encode()).hexdigest()[:32]


def check(query: FullTextQuery) -> None:
    """Refuse a query with too many terms, too deep nesting, or terms that no passage can contain."""
    terms = list(_words_of(query, 1))
    if len(terms) > MOST_TERMS:
        raise BadValue(f"the query has {len(terms)} words", remedy=f"Give at most {MOST_TERMS}.")
    for word in terms:
        if words(word) != [word]:
            raise BadValue(f"{word!r} is not one analysed word", remedy="Take words from assay.text.terms.words.")


def _words_of(query: FullTextQuery, depth: int, *, within: bool = False) -> Iterator[str]:
    if depth > DEEPEST:
        raise BadValue(f"the query is nested deeper than {DEEPEST} levels", remedy="Flatten it.")
    match query:
        case str():
            yield query
        case Prefix(word):
            yield word
        case Phrase(found):
            yield from _some(found)
        case Within(field) if within:
            raise BadValue(f"the field {field} is nested inside another field", remedy="Name one field.")
        case Within(_, part):
            yield from _words_of(part, depth + 1, within=True)
        case AllOf(parts) | AnyOf(parts):
            for part in _some(parts):
                yield from _words_of(part, depth + 1, within=within)


def _some(parts: Sequence[_Part]) -> Sequence[_Part]:
    if isinstance(parts, str) or not parts:
        raise BadValue(f"{parts!r} is not a list with something in it", remedy="Give at least one part.")
    return parts
