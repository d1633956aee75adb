"""Searching: from a question to explained hits.

Read `searcher` first, then `pipeline` (the stages in their order) and `channels/` (the five ways of finding passages).
Pure arithmetic: `intent`, `modes` and `query` read the question; `precise` and `scales` make scores; `fusion`,
`aggregation`, `boosts`, `rerank` and `budget` make the order; `folders` and `expansion` narrow and widen; `options` has
every number. What a search leaves behind: `trace`, `telemetry` with `proxy`, `explain`, `logging`; `pinned` comes with
every result.
"""

from assay.memory.searching.options import SearchOptions
from assay.memory.searching.rerank import CrossEncoder
from assay.memory.searching.searcher import Observer, Searcher

__all__ = ["CrossEncoder", "Observer", "SearchOptions", "Searcher"]
