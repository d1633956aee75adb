"""How a search is served while variants are on and tests are running.

`find_route` is asked for every search of use. Nearly always nothing is on and nothing runs, and the search goes as
usual. What is on and what runs is read from the store at most once a second, and at once after a change made by this
process: another process's test reaches a server within a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.flags import FlagStates
from assay.hashing import bucket
from assay.records import AbTest, AbTestStatus, Origin, Scope, SearchRequest
from assay.records.evidence import PLANNED_SEARCH
from assay.records.flags import Flag, FlagState, VoteKind

if TYPE_CHECKING:
    from assay.memory.engine import Engine, Search

Interleave = Callable[["Engine", Flag, tuple[str, ...]], "Search"]
"""Returns the search that merges both sides of a change, beside variants that are on."""
READ_AGAIN_S = 1.0
"""How long what was read of variants and tests is used."""
NOT_INTERLEAVED = frozenset({"assay ask", PLANNED_SEARCH, "memory_match_triggers"})
"""Searches whose list nobody sees as a list: there is nothing to credit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServingPlan:
    """What of a tenant's searches is not served as usual."""

    variants: tuple[FlagState, ...] = ()
    """Variants that are on for somebody."""
    interleaved: tuple[Flag, ...] = ()
    """Changes with a running test of interleaved votes."""
    read_at: float = 0.0
    written: int = 0


class Serving:
    """Finds how a search is served."""

    def __init__(self, engine: Engine, interleave: Interleave) -> None:
        self._engine = engine
        self._interleave = interleave
        self._plans: dict[str, ServingPlan] = {}

    def find_route(self, scope: Scope, request: SearchRequest) -> Search | None:
        """Return how a request is searched; None: as usual."""
        if request.origin is not Origin.USE:
            return None
        plan = self._plan(scope)
        if not plan.variants and not plan.interleaved:
            return None
        specs = _specs_for(plan.variants, request.session_id or "")
        change = None if request.tool_name in NOT_INTERLEAVED else _choose(plan.interleaved, request)
        if change is not None:
            return self._interleave(self._engine, change, specs)
        return self._serve(specs) if specs else None

    def _serve(self, specs: tuple[str, ...]) -> Search:
        found = self._engine.variant(specs)
        return replace(found, searcher=found.searcher.with_observers_of(self._engine.searcher)).search

    def _plan(self, scope: Scope) -> ServingPlan:
        known, written = self._plans.get(scope.tenant), self._engine.flags.written
        now = self._engine.clock.monotonic()
        if known is not None and known.written == written and now - known.read_at < READ_AGAIN_S:
            return known
        with self._engine.store.reading(scope) as work:
            states = self._engine.flags.states(work)
            running = work.ab_tests.in_state(AbTestStatus.RUNNING)
        plan = ServingPlan(
            variants=tuple(state for state in states.variants if state.on and not state.flag.is_outside),
            interleaved=tuple(states[test.feature_id].flag for test in running if _is_merged(test, states)),
            read_at=now,
            written=written,
        )
        self._plans[scope.tenant] = plan
        return plan


def _is_merged(test: AbTest, states: FlagStates) -> bool:
    return test.kind == VoteKind.INTERLEAVED and test.decision is None and test.feature_id in states


def _specs_for(variants: Sequence[FlagState], identity: str) -> tuple[str, ...]:
    return tuple(state.flag.spec for state in variants if state.enabled(identity))


def _choose(changes: Sequence[Flag], request: SearchRequest) -> Flag | None:
    """Return the change that a search tests: always the same one in a session."""
    if not changes:
        return None
    return changes[bucket(request.session_id or request.query, "interleaving") % len(changes)]
