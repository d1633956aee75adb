"""A query, taken apart once for all channels: words, stems, quoted phrases, prefixes and runs of words for triggers.

Nothing in a query is an operator. Text in double quotes is a phrase, a word with one `*` at its end is a prefix, and
everything else is words.

A query may have 100,000 characters. Its first 2,048 words are read (`READ_WORDS`), and of those at most 64 different
ones (`MAX_TERMS`) are looked up: the rarest when their frequencies are given, else the first. Phrases, prefixes and
runs of words have caps of their own.

`full_text_query` makes the question for the precise channel. What is quoted or ends in `*` has to be there. Of plain
words all have to be there, or two of the three rarest when the rarer of the two is rare enough for all its matches to
be looked at. Words above the frequency cap are not asked for, nor are words that no passage holds; a passage that lacks
them scores less, it is not lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from types import MappingProxyType

from assay.memory.searching.options import SearchOptions
from assay.storage.full_text import AllOf, AnyOf, FullTextQuery, Phrase, Prefix
from assay.text.terms import stems_of, words

READ_WORDS = 2_048
MAX_TERMS = 64
MAX_PHRASES = 8
LONGEST_PHRASE = 16
"""Words of a quoted phrase that are looked for; a longer one is told apart by its beginning."""
MAX_PREFIXES = 8
SHORTEST_PREFIX = 2
"""A shorter one would match a large part of all words."""
LONGEST_RUN = 8
"""Words in a trigger that can be found in a query."""
MOST_REQUIRED = 16
"""Plain words that all have to be there; beyond them the rarest are asked for."""
RUN_WORDS = 250
"""Runs are made of this many words from the beginning: at most 8 * 250 of them, one question to the database."""

_QUOTED = re.compile(r'"([^"]+)"')
_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"'})

Frequency = Callable[[str], int]
"""How many passages of the tenant hold a term."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedQuery:
    """A query in the terms of the lexical channels."""

    text: str
    words: tuple[str, ...]
    """In order, repeated ones too; at most `READ_WORDS`."""
    terms: tuple[str, ...]
    """The different words that are looked up, in order of appearance, without prefixes."""
    stems: Mapping[str, int]
    """The stems that are looked up, with how often the query says each."""
    phrases: tuple[tuple[str, ...], ...]
    """What was quoted and has more than one word."""
    prefixes: tuple[str, ...]
    runs: tuple[str, ...]
    """Every run of up to `LONGEST_RUN` words, joined as trigger phrases are."""
    term_set: frozenset[str]
    """`terms`, to look a word up in."""
    left_out: int
    """Different stems that the caps left out."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no word at all, as `???` or an emoji."""
        return not self.words


def parse(text: str, *, frequency: Frequency | None = None) -> ParsedQuery:
    """Take a query apart. `frequency` is that of a stem; it is asked only when there are too many."""
    plain = text.translate(_QUOTES)
    found = words(plain)
    read = found[:READ_WORDS]
    of_word = dict(zip(read, stems_of(read), strict=True))
    counts = Counter(of_word[word] for word in read)
    kept = frozenset(_kept(counts, frequency))
    prefixes = _prefixes(plain)
    terms = tuple(word for word in dict.fromkeys(read) if of_word[word] in kept and word not in prefixes)[:MAX_TERMS]
    return ParsedQuery(
        text=text,
        words=tuple(read),
        terms=terms,
        stems=MappingProxyType({stem: times for stem, times in counts.items() if stem in kept}),
        phrases=_phrases(plain),
        prefixes=prefixes,
        runs=tuple(dict.fromkeys(_runs(read[:RUN_WORDS]))),
        term_set=frozenset(terms),
        left_out=len({*counts, *stems_of(found[READ_WORDS:])}) - len(kept),
    )


def full_text_query(
    parsed: ParsedQuery, frequency: Frequency, document_count: int, options: SearchOptions
) -> FullTextQuery | None:
    """The question for the precise channel, or None when there is nothing to ask for.

    `frequency` is that of a word as written. Plain words beside a quoted phrase are not asked for, they only rank.
    """
    required: list[FullTextQuery] = [Phrase(phrase) for phrase in parsed.phrases]
    required += [Prefix(prefix) for prefix in parsed.prefixes]
    plain = None if parsed.phrases else _of_plain_words(parsed, frequency, document_count, options)
    if plain is not None:
        required.append(plain)
    return _all_of(required) if required else None


def _of_plain_words(
    parsed: ParsedQuery, frequency: Frequency, document_count: int, options: SearchOptions
) -> FullTextQuery | None:
    times = {term: found for term in parsed.terms if (found := frequency(term))}
    rarest = sorted(times, key=lambda term: (times[term], term))
    # With nothing but common words, the rarest of them is better than no question.
    usable = [term for term in rarest if times[term] <= options.too_common(document_count)] or rarest[:1]
    if not usable:
        return None
    pairs = [AllOf(pair) for pair in combinations(usable[:3], 2) if times[pair[0]] <= options.full_text_limit]
    every = _all_of(usable[:MOST_REQUIRED])
    return AnyOf([every, *pairs]) if len(usable) > 2 and pairs else every


def _all_of(parts: Sequence[FullTextQuery]) -> FullTextQuery:
    return parts[0] if len(parts) == 1 else AllOf(parts)


def _kept(counts: Counter[str], frequency: Frequency | None) -> Iterable[str]:
    if frequency is None or len(counts) <= MAX_TERMS:
        return list(counts)[:MAX_TERMS]
    # Unknown terms find nothing, so the rarest known ones come first.
    return sorted(counts, key=lambda stem: (not (times := frequency(stem)), times))[:MAX_TERMS]


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    quoted = (tuple(words(found.group(1)))[:LONGEST_PHRASE] for found in _QUOTED.finditer(text))
    return tuple(dict.fromkeys(phrase for phrase in quoted if len(phrase) > 1))[:MAX_PHRASES]


def _prefixes(text: str) -> tuple[str, ...]:
    """The last word before a trailing `*`; `**bold**` and `2*3` are none."""
    starred = (token for token in text.split() if token.endswith("*") and token.count("*") == 1)
    last = (found[-1] for token in islice(starred, READ_WORDS) if (found := words(token)))
    return tuple(dict.fromkeys(word for word in last if len(word) >= SHORTEST_PREFIX))[:MAX_PREFIXES]


def _runs(read: Sequence[str]) -> Iterator[str]:
    for length in range(1, LONGEST_RUN + 1):
        for start in range(len(read) - length + 1):
            yield " ".join(read[start : start + length])
