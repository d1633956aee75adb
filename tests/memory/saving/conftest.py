"""What the tests of saving ask for: a saver over a store on each back end, with words for vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.flags import Flags
from assay.index import Indexes, IndexOptions
from assay.memory.saving import Saver
from assay.records import Draft, Scope
from assay.storage import Store
from assay.testing import FixedClock, HashedEmbedder
from assay.text.chunking import Chunker

MakeSaver = Callable[..., Saver]


def draft(title: str = "API rate limit", body: str = "The API allows 100 requests per minute.", **given: Any) -> Draft:
    return Draft(title=title, body=body, **given)


@pytest.fixture
def flags(clock: FixedClock) -> Flags:
    return Flags(clock=clock)


@pytest.fixture
def indexes(store: Store, clock: FixedClock) -> Iterator[Indexes]:
    found = Indexes(store, None, clock=clock, options=IndexOptions(background=False))
    yield found
    found.close()


@pytest.fixture
def make_saver(store: Store, indexes: Indexes, flags: Flags, clock: FixedClock, scope: Scope) -> MakeSaver:
    """Savers over the one store; reconsolidation is activated without copying the store each time."""
    flags.turn(store, scope, "reconsolidation", "on", checkpoint=lambda name: None)

    def make(embedder: Embedder | None = None, *, with_embedder: bool = True, **changed: Any) -> Saver:
        words = embedder or HashedEmbedder()
        given = {
            "store": store,
            "embedder": words if with_embedder else None,
            "indexes": indexes,
            "flags": flags,
            "chunker": Chunker(words.count_tokens, words.token_limit),
            "clock": clock,
        }
        return Saver(**{**given, **changed})

    return make


@pytest.fixture
def saver(make_saver: MakeSaver) -> Saver:
    return make_saver()


@pytest.fixture
def enforced(flags: Flags, store: Store, scope: Scope, clock: FixedClock) -> None:
    """The gate's word counts: its warn-only period is over and was looked at."""
    flags.activate(store, scope, "save_quality_gate")
    clock.advance(days=15)
    flags.review(store, scope, "save_quality_gate")


@pytest.fixture(scope="session")
def bundled() -> Embedder:
    """The real model, loaded once for each worker."""
    return load_bundled()
