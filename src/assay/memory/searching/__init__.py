"""Searching: from a question to explained hits.

Read `searcher` first, then `pipeline`.

- `searcher`: takes a request, returns the result, and logs it.
- `modes`: how much work a search does, by its question and by token pressure.
- `search_setting`: what a search was asked, and what it runs on.
- `pipeline`: runs the stages in their order.
- `options`: every number that steers a search.
- `query`: the words of the question, its intent, and expansion.
- `candidates`: which passages a search may return, and what the channels find.
- `channels`: the five ways of finding passages, and the registry for more.
- `fusion`: from the channels' lists to one score for each memory.
- `boosts`: facts about a memory that raise or lower its score.
- `tiers`: deprecated memories are served last.
- `hops`: facts that answer a question in several steps, one after the other.
- `current_facts`: the newest statement on a topic above the older ones.
- `trust`: no program's note above a person's note that it contradicts.
- `raised_notes`: notes that a rule puts among the results though no channel ranked them high enough.
- `relevance`: the probability that a result is relevant, fitted on labelled searches.
- `highlighting`: which words of a text match a query.
- `results`: reranking, the relevance cut, the token budget and the explanation of each hit.
- `variants`: search by another configuration of the same memory.
- `trace`: the timed stages, and the guard that lets a channel fail without failing the search.
"""

from assay.embedding.protocol import CrossEncoder
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.searcher import Observer, Searcher

__all__ = ["CrossEncoder", "Observer", "SearchOptions", "Searcher"]
