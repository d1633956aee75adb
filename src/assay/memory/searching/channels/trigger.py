"""The `trigger` channel: memories one of whose trigger phrases stands word for word in the query.

A phrase of n words scores 1 - 1/2^n (.5, .75, .875, ...), since a longer one is less likely to stand there by chance;
a phrase that is the whole query scores 1. A memory scores by its best phrase. A phrase of ordinary words alone does not
fire: it would bring its memory up for queries about anything. Learned triggers are not phrases of this channel; they
are a boost.
"""

from __future__ import annotations

from assay.index import View
from assay.memory.learning.denylist import DENYLIST
from assay.memory.searching.channels.ask import Ask
from assay.memory.searching.options import SearchOptions
from assay.text.terms import stems_of
from assay.text.wording import FUNCTION_WORDS

MOST_JOINING = 3
"""Words of a phrase that stand together by chance when none of them has a content of its own."""


def search(ask: Ask) -> list[tuple[str, float]]:
    """Ids of memories with scores, best first, ties by number."""
    if not ask.parsed.runs:
        return []
    best: dict[tuple[int, str], float] = {}
    ordinary: dict[str, bool] = {}
    for found in ask.work.triggers.matching(ask.parsed.runs):
        if found.phrase not in ordinary:
            ordinary[found.phrase] = is_ordinary(found.phrase, ask.view, ask.options)
        if not ordinary[found.phrase]:
            key = (found.memory_number, found.memory_id)
            best[key] = max(best.get(key, 0.0), phrase_score(found.phrase.count(" ") + 1, len(ask.parsed.words)))
    ranked = sorted(best.items(), key=lambda one: (-one[1], one[0]))[: ask.limit]
    return [(memory_id, score) for (_, memory_id), score in ranked]


def phrase_score(length: int, query_length: int) -> float:
    """What a phrase of so many words is worth in a query of so many."""
    return 1.0 if length >= query_length else 1.0 - 0.5**length


def is_ordinary(phrase: str, view: View | None, options: SearchOptions) -> bool:
    """Whether a normalised phrase says nothing: a word of any sentence or common here, or a few that only join."""
    if options.ordinary_fire:
        return False
    words = phrase.split(" ")
    if len(words) > 1:
        return len(words) <= MOST_JOINING and FUNCTION_WORDS.issuperset(stems_of(words))
    if phrase in DENYLIST:
        return True
    return view is not None and view.word_frequency(phrase) > options.too_ordinary(view.document_count)
