"""How Assay came to a list, asked once the clock has stopped: from the query log, and by searching once more without.

The log has each channel's candidates as they were fused. What the session's boost and the query's expansion are worth
is measured in pairs: the same search, in the same state, without the one thing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assay.memory.engine import Engine
from assay.memory.searching import modes
from assay.memory.searching.fusion import replay
from assay.memory.searching.options import SearchOptions
from assay.records import Channel, Scope, SearchRequest
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import Seen
from assay.records.evidence import ChannelCandidates, LoggedQuery
from assay.records.searching import SearchResult

_RRF_K = 60


class Searched(NamedTuple):
    """One search of a run."""

    request: SearchRequest
    result: SearchResult


@dataclass(frozen=True, kw_only=True)
class Telling:
    """Tells of searches over one dataset."""

    engine: Engine
    scope: Scope
    dataset: Dataset
    held: frozenset[str]
    """The documents in the store."""
    document: Callable[[str], str]
    """From a memory's id to its document's."""

    def seen(self, case: Case, searched: Searched) -> Seen:
        """Everything that can be told of the search for a case."""
        request, result = searched
        logged = self._logged(result.query_id)
        about = self._about(case)
        with_history = bool(request.working_memory)
        return Seen(
            indexed=tuple(one for one in about if one in self.held),
            channels={one.channel: tuple(self._best_scores(one)) for one in logged.candidates},
            channel_scores={one.channel: tuple(self._best_scores(one).values()) for one in logged.candidates},
            excluded=tuple(one for one in about if self._shut_out(one, result.excluded_folders)),
            shut_out=tuple(one for one in about if self._shut_out(one, _chosen_against(result))),
            fused=self._documents(_fused(logged, result)),
            unboosted=self._unboosted(request) if with_history else None,
            only_expanded=self._only_expanded(searched) if self._expands(request, result) else None,
            tokens_saved=result.tokens_saved if with_history else None,
        )

    def _logged(self, query_id: str) -> LoggedQuery:
        self.engine.store.log.flush()
        with self.engine.store.reading(self.scope) as work:
            return work.queries.get(query_id)

    def _again(self, request: SearchRequest, flag: str) -> SearchResult:
        return self.engine.searcher.search(self.scope, replace(request, without=(*request.without, flag)))

    def _unboosted(self, request: SearchRequest) -> tuple[str, ...]:
        return tuple(self.document(one) for one in self._again(request, "session_boost").ids)

    def _expands(self, request: SearchRequest, result: SearchResult) -> bool:
        identity = request.session_id or self.scope.principal
        planned = modes.plan(result.mode, SearchOptions()).expand
        return planned and self.engine.flag_states(self.scope).enabled("query_expansion", identity)

    def _only_expanded(self, searched: Searched) -> tuple[str, ...]:
        plain = self._logged(self._again(searched.request, "query_expansion").query_id)
        found = {one for offered in plain.candidates for one in self._documents(offered.ids)}
        return tuple(one for one in map(self.document, searched.result.ids) if one not in found)

    def _about(self, case: Case) -> tuple[str, ...]:
        """The documents a case is about: those graded, and those its anchors stand in."""
        places = {one.rel_path for one in case.anchors.supports} if case.anchors else set()
        anchored = [one.id for one in self.dataset.documents if one.rel_path in places] if places else []
        return tuple(dict.fromkeys([*case.labels, *anchored]))

    def _shut_out(self, document: str, folders: Collection[str]) -> bool:
        folder = self.dataset.by_id[document].folder if document in self.dataset.by_id else ""
        return any(folder == one or folder.startswith(f"{one}/") for one in folders)

    def _documents(self, passage_ids: Iterable[str]) -> tuple[str, ...]:
        """Documents of passages (`memory#position`), each at its first place."""
        return tuple(dict.fromkeys(self._of_passage(one) for one in passage_ids))

    def _of_passage(self, passage_id: str) -> str:
        return self.document(passage_id.rpartition("#")[0])

    def _best_scores(self, offered: ChannelCandidates) -> Mapping[str, float]:
        """Each document at its first place, with the score it has there."""
        best: dict[str, float] = {}
        for passage_id, score in zip(offered.ids, offered.scores, strict=True):
            best.setdefault(self._of_passage(passage_id), score)
        return best


def _chosen_against(result: SearchResult) -> Sequence[str]:
    """The folders that the choice of folders left out, before anything was widened."""
    return next((one.detail.get("excluded", ()) for one in result.stages if one.name == "folder-choice"), ())


def _fused(logged: LoggedQuery, result: SearchResult) -> list[str]:
    weights = {Channel(name): weight for name, weight in result.weights.items()}
    rrf_k = (logged.fusion_weights or {}).get("rrf_k", _RRF_K)
    candidates: tuple[ChannelCandidates, ...] = logged.candidates
    return [one.number for one in replay(candidates, result.fusion, weights, rrf_k)]
