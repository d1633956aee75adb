"""Both sides of a change: the memory's search with it and without it, for shadow runs and merged lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.memory.engine import Engine, Search
from assay.online.interleaving import InterleavedSearch
from assay.records import Scope, SearchRequest, SearchResult
from assay.records.flags import Flag

if TYPE_CHECKING:
    from assay.memory.searching.variants import VariantSearch
    from assay.online.shadow import SearchTreatment


def treatment_of(engine: Engine, change: Flag, *, on: bool, specs: tuple[str, ...] = ()) -> SearchTreatment:
    """Return the memory's search with one change made, or not, run with the history that the other side had.

    `specs` are those of variants that are on besides.
    """
    searched = _side(engine, change, on=on, specs=specs)

    def treatment(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        return searched.search(scope, request, before=before)

    return treatment


def interleave(engine: Engine, change: Flag, specs: tuple[str, ...] = ()) -> Search:
    """Return the memory's search with both sides of a change in one list."""
    merged = InterleavedSearch(
        store=engine.store,
        control=_side(engine, change, on=False, specs=specs).search,
        treatment=treatment_of(engine, change, on=True, specs=specs),
        failures=engine.searcher.failures,
        feature_id=change.name,
        clock=engine.clock,
    )
    return merged.search


def _side(engine: Engine, change: Flag, *, on: bool, specs: tuple[str, ...]) -> VariantSearch:
    others = tuple(spec for spec in specs if spec != change.spec)
    if change.spec:
        return engine.variant((*others, change.spec) if on else others)
    found = engine.variant(others)
    return replace(found, searcher=found.searcher.with_flags(found.searcher.flags.force(change.name, on=on)))
