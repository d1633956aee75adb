"""Search by another configuration of the same memory: a variant that is shadowed, tested or served."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.memory.searching.searcher import Blend, Searcher
from assay.records import Channel, FolderMode, Mode, Scope, SearchRequest, SearchResult


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantSearch:
    """A searcher with other options or flags, and what it asks instead of a request that leaves it open."""

    searcher: Searcher
    mode: Mode = Mode.AUTO
    channels: tuple[Channel, ...] | None = None
    folder_mode: FolderMode = FolderMode.OFF

    def search(
        self, scope: Scope, request: SearchRequest, *, before: str | None = None, blend: Blend | None = None
    ) -> SearchResult:
        """Search; what a request says itself stays as the caller said it."""
        return self.searcher.search(scope, self._fill(request), before=before, blend=blend)

    def _fill(self, request: SearchRequest) -> SearchRequest:
        return replace(
            request,
            mode=self.mode if request.mode is Mode.AUTO else request.mode,
            channels=request.channels or self.channels,
            folder_mode=self.folder_mode if request.folder_mode is FolderMode.OFF else request.folder_mode,
        )
