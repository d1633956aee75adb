"""The contract that every adapter keeps: ids, scores, order, k, empty, typed errors, timeouts, threads.

`tests/systems/test_adapters.py` runs it over adapters that need no package, `tests/integrations` over all others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from assay.embedding.protocol import Progress, Vectors
from assay.errors import BadValue, UnknownSystem
from assay.records.datasets import Case
from assay.records.evaluations import VECTOR_SEARCH, CaseResult, CaseStatus
from assay.systems.adapters.vector_store import EMBEDDING, EXACT_NOTE, StoreOpening, StoreTarget, read_target
from assay.systems.boundary import Asker, Terms
from assay.systems.protocol import System
from assay.testing import HashedEmbedder
from assay.wiring.adapter_kinds import FRAMEWORKS, SEARCH_ENGINES, STORES

DIMENSION = 64
TEXTS: Mapping[str, str] = {
    "pool": "The swimming pool opens at seven and closes at nine in the evening.",
    "sauna": "The sauna beside the swimming pool is heated from noon.",
    "breakfast": "Breakfast is served in the garden room until half past ten.",
    "parking": "Parking in the garage costs twelve a night; bicycles are free.",
    "pets": "Dogs and other pets are welcome in the ground floor rooms.",
    "o'hara's/Übersicht no. 7": "Umbrellas are lent at the front desk when it rains.",
}
QUERIES = (
    "when does the swimming pool open",
    "where is breakfast served",
    "are dogs welcome",
    "umbrellas when it rains",
)


class ControlledEmbedder(HashedEmbedder):
    """Waits or fails when a test wants it to."""

    def __init__(self, *, dimension: int = DIMENSION) -> None:
        super().__init__(dimension=dimension)
        self.go = threading.Event()
        self.go.set()
        self.broken = False

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.go.wait(timeout=60)
        if self.broken:
            raise RuntimeError("the model is away")
        return super().embed(texts, progress=progress)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self.go.clear()
        try:
            yield
        finally:
            self.go.set()

    @contextmanager
    def failing(self) -> Iterator[None]:
        self.broken = True
        try:
            yield
        finally:
            self.broken = False


EMBEDDER = ControlledEmbedder()
"""Fills every store and embeds every query."""


def vectors(texts: Mapping[str, str]) -> list[list[float]]:
    rows: list[list[float]] = EMBEDDER.embed(list(texts.values())).tolist() if texts else []
    return rows


def nearest(query: str, k: int) -> tuple[str, ...]:
    """What exact search by cosine finds."""
    scores = EMBEDDER.embed(list(TEXTS.values())) @ EMBEDDER.embed([query])[0]
    return tuple(np.array(list(TEXTS))[np.argsort(-scores)][:k].tolist())


@dataclass(frozen=True)
class AdapterCase:
    """One adapter under the contract."""

    kind: str
    fill: Callable[[Path, Mapping[str, str]], str]
    """Makes a system that holds these texts; returns its name."""
    missing: str
    """The name of a system that is not there; `{folder}` is an empty folder, `{filled}` the name of one that is."""
    search: Literal["approximate", "exact", "unknown"] = "unknown"
    scores: bool = True

    def open(self, name: str, embedder: HashedEmbedder = EMBEDDER) -> System:
        made: System
        if self.kind in FRAMEWORKS:
            made = FRAMEWORKS[self.kind].load()(name, Path())
            return made
        opening = StoreOpening(target=self._target(name), open_embedder=lambda: embedder)
        if self.kind in SEARCH_ENGINES:
            made = SEARCH_ENGINES[self.kind].load()(self.kind, opening)
        else:
            made = STORES[self.kind].load()(opening)
        return made

    def _target(self, name: str) -> StoreTarget:
        if self.kind == "faiss":
            place = name.partition(":")[2]
            return StoreTarget(text=name, place=place, name=Path(place).name)
        return read_target(name, ("id", "text", "vector", "by", "auth"))


def ask(system: System, query: str, k: int = 3, timeout_s: float = 60.0) -> CaseResult:
    """Ask as a run does."""
    asker = Asker(system, Terms(k=k, timeout_s=timeout_s, known=TEXTS.keys()))
    try:
        return asker.ask(Case(id=f"case {query}", query=query))
    finally:
        asker.close()


def ids(system: System, query: str, k: int = 3) -> tuple[str, ...]:
    result = ask(system, query, k)
    assert result.status is CaseStatus.OK, result.error
    assert result.retrieved is not None
    return result.retrieved.ids


class AdapterContract:
    """Collected where a subclass gives the fixture `case`."""

    @pytest.fixture
    def filled(self, case: AdapterCase, tmp_path: Path) -> Iterator[System]:
        with closing(case.open(case.fill(tmp_path, TEXTS))) as system:
            yield system

    def test_documents_come_by_their_ids_in_the_order_of_exact_search(self, filled: System) -> None:
        for query in QUERIES:
            assert ids(filled, query, 6) == nearest(query, 6)

    def test_scores_fall_and_there_is_one_for_each_result(self, filled: System, case: AdapterCase) -> None:
        result = ask(filled, QUERIES[0], 6)
        given = result.retrieved
        assert given is not None, result.error
        assert (given.scores is not None) == case.scores
        scores = given.scores or ()
        assert list(scores) == sorted(scores, reverse=True)
        assert len(set(scores)) == len(scores)
        assert not any("scores do not fall" in note for note in given.notes)

    @pytest.mark.parametrize("k", [1, 3, 50])
    def test_there_are_k_results_or_as_many_as_there_are(self, filled: System, k: int) -> None:
        assert ids(filled, QUERIES[1], k) == nearest(QUERIES[1], k)

    def test_nothing_stored_is_nothing_found(self, case: AdapterCase, tmp_path: Path) -> None:
        with closing(case.open(case.fill(tmp_path, {}))) as system:
            result = ask(system, QUERIES[0])
        assert result.retrieved is not None, result.error
        assert result.retrieved.ids == ()

    def test_a_system_that_is_not_there_is_refused_by_name(self, case: AdapterCase, tmp_path: Path) -> None:
        (tmp_path / "filled").mkdir()
        filled = case.fill(tmp_path / "filled", TEXTS)
        name = case.missing.format(folder=tmp_path, filled=filled.partition("#")[0])
        with pytest.raises(UnknownSystem) as refused:
            case.open(name)
        assert "nothing" in refused.value.message
        assert refused.value.remedy

    def test_an_error_becomes_the_outcome_of_the_case(self, filled: System) -> None:
        with EMBEDDER.failing():
            result = ask(filled, QUERIES[0])
        assert result.status is CaseStatus.ERROR
        assert "the model is away" in result.error
        assert ids(filled, QUERIES[0]) == nearest(QUERIES[0], 3)

    def test_a_search_that_hangs_is_a_timeout_and_the_next_works(self, filled: System) -> None:
        ids(filled, QUERIES[1])  # whatever is loaded at first
        with EMBEDDER.waiting():
            assert ask(filled, QUERIES[0], timeout_s=0.2).status is CaseStatus.TIMEOUT
        assert ids(filled, QUERIES[2]) == nearest(QUERIES[2], 3)

    def test_threads_may_ask_at_once(self, filled: System) -> None:
        asked = [QUERIES[number % len(QUERIES)] for number in range(16)]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda query: ids(filled, query), asked))
        assert found == [nearest(query, 3) for query in asked]

    def test_it_says_what_it_is_made_of(self, filled: System, case: AdapterCase, tmp_path: Path) -> None:
        subject = dict(filled.subject())
        assert subject["system"] == filled.name
        assert filled.name.startswith(f"{case.kind}:")

    def test_exact_search_stands_beside_an_approximate_index(self, filled: System, case: AdapterCase) -> None:
        result = ask(filled, QUERIES[0], 4)
        given = result.retrieved
        assert given is not None, result.error
        assert (EXACT_NOTE in given.notes) == (case.search == "exact")
        exact = None if given.seen is None else given.seen.exact
        assert exact == (nearest(QUERIES[0], 4) if case.search == "approximate" else None), given.notes
        if case.search != "unknown":
            assert set(given.stages) == {EMBEDDING, VECTOR_SEARCH}

    def test_vectors_of_another_length_are_refused_with_both(self, case: AdapterCase, tmp_path: Path) -> None:
        if case.kind in FRAMEWORKS:
            return  # they embed by themselves
        name = case.fill(tmp_path, TEXTS)
        with pytest.raises(BadValue, match=f"vectors of {DIMENSION} numbers.*vectors of 32") as refused:
            case.open(name, HashedEmbedder(dimension=32))
        assert "embedder.kind" in refused.value.remedy
        case.open(name).close()  # what was opened before the refusal is released
