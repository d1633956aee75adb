"""The `fts5` channel: phrases, all words and prefixes, word for word, in the database's full text.

The database finds, the formula of `precise` ranks, so both back ends give the same order. Words too common to tell
anything are left out of the question to the database, but count in the score.
"""

from __future__ import annotations

from itertools import compress, islice

from assay.memory.searching.channels.ask import Ask, Offer
from assay.memory.searching.precise import Precise, inverse_frequencies
from assay.memory.searching.query import full_text_query
from assay.storage import FullTextQuery

BEYOND_A_FILTER = 5
"""How many times as many matches are read when a filter will leave only some."""


def search(ask: Ask) -> Offer:
    """The passages that hold the query's words."""
    view = ask.view
    # Without an index no frequency is known; the database bounds the time all the same.
    count = 1 if view is None else view.document_count
    times = {term: 1 if view is None else view.word_frequency(term) for term in ask.parsed.terms}
    asked = full_text_query(ask.parsed, times.__getitem__, count, ask.options)
    if asked is None:
        return []
    score = Precise(ask.parsed, inverse_frequencies(ask.parsed, times.__getitem__, count)).score
    found = _matches(ask, asked)
    words = ask.work.passages.words(found) if view is None else view.words(found)
    scored = [(number, score(words[number])) for number in found]
    return sorted(scored, key=lambda one: (-one[1], one[0]))[: ask.limit]


def _matches(ask: Ask, asked: FullTextQuery) -> list[int]:
    """The newest matches that may be offered. The database knows no filter, so it is asked for more than is wanted."""
    limit = ask.options.full_text_limit
    if ask.view is None or ask.allowed is None:
        return ask.work.passages.matching(asked, limit)
    found = ask.work.passages.matching(asked, limit * BEYOND_A_FILTER)
    passing = ask.view.passes(found, ask.allowed)
    return list(islice(compress(found, passing), limit))
