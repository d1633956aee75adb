"""A context within a budget: constitutional memories first and whole, then the best of a search."""

from __future__ import annotations

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.errors import BadValue
from assay.records import Draft, Scope, SearchRequest, Tier


def test_a_search_gets_what_the_constitutional_memories_leave(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        law = Draft(title="Law", body="Nobody deploys on a Friday, whatever happens.", tier=Tier.CONSTITUTIONAL)
        engine.saver.save(scope, law)
        for number in range(5):
            body = f"Step {number} of the deploy: " + f"press the button number {number} and wait. " * 6
            engine.saver.save(scope, Draft(title=f"Deploy step {number}", body=body))
        whole = engine.context(scope, SearchRequest(query="deploy step", token_budget=10_000))
        pinned = sum(one.tokens for one in whole.pinned)
        hits = [hit.tokens for hit in whole.hits]
        assert pinned > 0
        assert len(hits) == 5
        assert whole.tokens == pinned + sum(hits)
        assert whole.over_budget == 0
        enough = engine.context(scope, SearchRequest(query="deploy step", token_budget=pinned + hits[0] + hits[1]))
        assert len(enough.hits) == 2
        assert enough.over_budget == 0
        scarce = engine.context(scope, SearchRequest(query="deploy step", token_budget=1))
        assert scarce.pinned == whole.pinned
        assert len(scarce.hits) == 1
        assert scarce.over_budget == scarce.tokens - 1


def test_a_context_without_a_budget_is_refused(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine, pytest.raises(BadValue, match="budget"):
        engine.context(scope, SearchRequest(query="deploy"))
