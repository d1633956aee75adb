"""The `bm25` channel: a bag of stems against the tenant's own lexical index.

In deep mode the query is expanded: words that its first results share join it with a small weight, and the index is
asked once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.index import View
from assay.memory.searching.channels.ask import Ask, Offer
from assay.memory.searching.expansion import expand
from assay.memory.searching.precise import inverse_frequency
from assay.text.terms import stems


def search(ask: Ask) -> Offer:
    """The passages that share most with the query."""
    view = ask.opened_view()
    asked = {stem: float(times) for stem, times in ask.parsed.stems.items()}
    first = _found(ask, view, asked, ask.limit)
    if not ask.expanded or not first:
        return first
    return _found(ask, view, asked | _added(ask, view, first), ask.limit)


def _found(ask: Ask, view: View, asked: Mapping[str, float], limit: int) -> Offer:
    if not asked:
        return []
    return [(one.number, one.score) for one in view.lexical(asked, limit=limit, allowed=ask.allowed)]


def _added(ask: Ask, view: View, first: Offer) -> dict[str, float]:
    """The terms that expansion adds, without the query's own."""
    options = ask.options
    numbers = [number for number, _ in first[: options.expansion_documents]]
    feedback = [Counter(stems(text)) for text in ask.work.passages.texts(numbers).values()]
    weighed = expand(
        ask.parsed.stems,
        feedback,
        lambda stem: inverse_frequency(view.document_frequency(stem), view.document_count),
        options.expansion_terms,
        options.expansion_weight,
    )
    return {stem: weight for stem, weight in weighed.items() if stem not in ask.parsed.stems}
