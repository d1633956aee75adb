"""What adapters of vector stores share: where query vectors come from, and exact search beside the index's own.

A store is named by its place and what it holds there: `PATH#COLLECTION`, with options after a question mark, such as
`PATH#COLLECTION?id=source&text=body`. `id` names the field that has the dataset's document id, `text` the field that
has the passage. Without `id` the store's own ids count.

Query vectors come from the embedding function that the store keeps with the collection, if it keeps one; otherwise from
the embedder of the settings. Vectors of another length than the stored ones are refused with both lengths.

An approximate index may miss neighbours. After the clock has stopped, the first `EXACT_CASES` queries are searched for
exactly too, and what that finds goes into `Seen.exact`: a run prints the share of it that the index found, beside the
times of both.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assay.embedding.protocol import Embedder
from assay.errors import AddressRefused, BadValue, UnknownSystem
from assay.extras import package_version
from assay.network import ANYWHERE, Gatekeeper
from assay.records.datasets import Case
from assay.records.evaluations import VECTOR_SEARCH, Retrieved, Seen
from assay.systems.adapters.options import read_options
from assay.systems.protocol import System
from assay.systems.replies import at_path, read_reply, shape_of

Vector = NDArray[np.float32]
EXACT_CASES = 200
"""Queries that are searched exactly as well: enough for a share with two digits."""
COPIES = 50
"""Further results of exact search that are looked at for being as near as the last one."""
TIE = 1e-5
"""Scores that differ by no more are equal: distances are computed in single precision."""
MOST_COMPARED = 500_000
"""Vectors that are read into memory at most, for exact search in stores that have none of their own."""
EXACT_NOTE = "the store searched exactly; there is no approximate index whose recall could be measured"
EMBEDDING = "embedding"
"""The stage in which the query becomes a vector."""
COSINE, DOT, L2 = "cosine", "dot", "l2"
"""Distances."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreTarget:
    """A store as the user named it."""

    text: str
    """The system as it was named, such as `chroma:./db#notes`."""
    place: str
    name: str
    """The collection, table or index."""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreOpening:
    """What a vector store is opened with."""

    target: StoreTarget
    open_embedder: Callable[[], Embedder]
    """Opens the embedder of the settings; called only where the store has no embedding function of its own."""
    gate: Gatekeeper = ANYWHERE
    stopwatch: Callable[[], float] = time.perf_counter


class StoreHit(NamedTuple):
    """One result of a store."""

    id: str
    score: float
    """Higher is better: a cosine, an inner product, or a distance with a minus sign."""
    text: str = ""


class OwnFunction(NamedTuple):
    """An embedding function that a store keeps with a collection."""

    name: str
    embed: Callable[[str], Any]
    """Makes a vector of a query, or a list with that one vector."""


def read_field(record: Mapping[str, Any] | None, path: str, what: str) -> str:
    """Return a field of what a store keeps with a vector, such as `source` or `metadata.source`."""
    value = at_path(record or {}, path, what=what)
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise BadValue(f"{what} has {shape_of(value)} at {path!r}", remedy="Name a field with text or whole numbers.")
    return str(value)


def read_target(text: str, options: Collection[str] = ("id", "text")) -> StoreTarget:
    """Read `kind:PLACE#NAME?option=value`."""
    kind, _, rest = text.partition(":")
    place, sign, named = rest.rpartition("#")
    name, _, query = named.partition("?")
    if not (place and sign and name):
        raise UnknownSystem(
            f"{text!r} does not name a place and what it holds", remedy=f"Write it like {kind}:PLACE#NAME."
        )
    given = read_options(text, query, options)
    return StoreTarget(text=text, place=place, name=name, options=given)


class StoredVectors:
    """Vectors read out of a store, to be compared with a query one by one."""

    def __init__(self, ids: Sequence[str], vectors: Any, distance: str) -> None:
        self._ids = ids
        self._vectors: Vector = np.asarray(vectors, dtype=np.float32).reshape(len(ids), -1 if ids else 0)
        self._distance = distance
        lengths = np.linalg.norm(self._vectors, axis=1)
        self._lengths = np.where(lengths > 0, lengths, 1.0)

    def nearest(self, vector: Vector, k: int) -> list[StoreHit]:
        """Return the k nearest, best first."""
        if not self._ids:
            return []
        if self._distance == L2:
            scores = -np.square(self._vectors - vector).sum(axis=1)
        else:
            scores = self._vectors @ vector
            scores = scores / self._lengths if self._distance == COSINE else scores
        best = np.argsort(-scores, kind="stable")[:k]
        return [StoreHit(self._ids[place], float(scores[place])) for place in best]


def settle_ties(hits: Sequence[StoreHit], found: Collection[str], k: int) -> tuple[str, ...]:
    """Return the k best ids of an exact search; of those as near as the last one, the ones that were found come first.

    A corpus may hold a text more often than k times. Which of the copies an index returns is not a matter of recall.
    """
    scores: dict[str, float] = {}
    for hit in hits:
        scores.setdefault(hit.id, hit.score)
    best = list(scores)
    if len(best) <= k:
        return tuple(best)
    bound = scores[best[k - 1]]
    rounding = TIE * max(1.0, abs(bound))
    sure = [name for name in best[:k] if scores[name] > bound + rounding]
    tied = [name for name in best if abs(scores[name] - bound) <= rounding]
    chosen = sorted(tied, key=lambda name: name not in found)
    return (*sure, *chosen[: k - len(sure)])


class VectorStore(System):
    """A vector store under test. An adapter opens it, says what it holds, and searches by vector."""

    package: ClassVar[str]
    """What has to be installed."""

    def __init__(self, opening: StoreOpening) -> None:
        self.name = opening.target.text
        self.target = opening.target
        self.gate = opening.gate
        self._clock = opening.stopwatch
        self._asked: dict[str, tuple[Vector, int]] = {}
        self._reading = threading.Lock()
        self._stored: StoredVectors | None = None
        self._own: OwnFunction | None = None
        self._embedder: Embedder | None = None
        self._length: int | None = None
        try:
            self.open()
            self._find_embedder(opening.open_embedder)
        except BaseException:
            self.close()
            raise

    def _find_embedder(self, open_embedder: Callable[[], Embedder]) -> None:
        """Take the store's own embedding function, else the embedder of the settings."""
        self._length = self.dimension()
        self._own = self.own_function()
        if self._own is None:
            self._embedder = open_embedder()
            self._check_length(self._embedder.dimension, self._embedder.model)
        elif self.gate.offline:
            raise AddressRefused(
                f"offline is on, and {self.target.name} embeds queries by its own function {self._own.name!r}, which "
                "may call a service",
                remedy="Switch offline off, or fill a collection with vectors of the embedder of the settings.",
            )

    @abstractmethod
    def open(self) -> None:
        """Open the store. Raises `UnknownSystem` where nothing has that name; then `close` is called."""

    @abstractmethod
    def dimension(self) -> int | None:
        """The length of the stored vectors; None where it is not known, as in an empty collection."""

    @abstractmethod
    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Search as the store does by default, best first."""

    @abstractmethod
    def is_exact(self) -> bool:
        """Whether `search` compares the vector with every stored one."""

    def search_exact(self, vector: Vector, k: int) -> list[StoreHit]:
        """Compare the vector with every stored one, best first. Stores that can do so themselves override this."""
        with self._reading:
            if self._stored is None:
                self._stored = self.read_vectors()
        return self._stored.nearest(vector, k)

    def read_vectors(self) -> StoredVectors:
        """Read every vector out of the store."""
        raise BadValue(f"the vectors of {self.target.name} cannot be read", remedy="Measure without exact search.")

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """What results depend on besides the query vector: the kind of index, the distance, the number of vectors."""

    def own_function(self) -> OwnFunction | None:
        """The embedding function that the store keeps with the collection, if it keeps one."""
        return None

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """Embed the query and search; the times of both are stages of the case."""
        begun = self._clock()
        vector = self._embed(query)
        embedded = self._clock()
        hits = self.search(vector, k)
        stages = {EMBEDDING: (embedded - begun) * 1000.0, VECTOR_SEARCH: (self._clock() - embedded) * 1000.0}
        if len(self._asked) < EXACT_CASES:
            self._asked[case.id] = (vector, k)
        results = [{"id": hit.id, "score": hit.score, "text": hit.text} for hit in hits]
        found = read_reply({"results": results, "stages": stages})
        return replace(found, notes=(*found.notes, EXACT_NOTE)) if self.is_exact() else found

    def seen(self, case: Case, given: Retrieved) -> Seen | None:
        """What an exact search finds for the query that was asked, where the index is approximate."""
        if case.id not in self._asked or self.is_exact():
            return None
        vector, k = self._asked[case.id]
        begun = self._clock()
        hits = self.search_exact(vector, k + COPIES)
        exact_ms = (self._clock() - begun) * 1000.0
        return Seen(exact=settle_ties(hits, given.ids, k), exact_ms=exact_ms)

    def subject(self) -> Mapping[str, Any]:
        """The store, its package, and the model of the query vectors."""
        model = self._own.name if self._own is not None else self._embedder.model if self._embedder else ""
        version = f"{self.package} {package_version(self.package)}"
        return {"system": self.name, "package": version, "embedder": model, "store": dict(self.describe())}

    def _embed(self, query: str) -> Vector:
        if self._embedder is not None:
            return np.asarray(self._embedder.embed([query])[0], dtype=np.float32)
        own = cast("OwnFunction", self._own)
        vector = np.asarray(own.embed(query), dtype=np.float32).reshape(-1)
        self._check_length(len(vector), own.name)
        return vector

    def _check_length(self, length: int, model: str) -> None:
        if self._length is not None and self._length != length:
            raise BadValue(
                f"{self.target.name} holds vectors of {self._length} numbers, and {model} makes vectors of {length}",
                remedy="Name the embedder that filled the store in the settings: embedder.kind, embedder.model, "
                "embedder.url.",
            )


def choose_field(target: StoreTarget, option: str, known: Collection[str], default: str) -> str:
    """Return the field or column that an option names, else the default one."""
    name = target.options.get(option, default)
    if name not in known:
        raise UnknownSystem(
            f"{target.text} has no {name!r} to take the {option} from",
            remedy=f"Add ?{option}=NAME with one of: {', '.join(known) or 'none'}.",
        )
    return name


def refuse_missing(target: StoreTarget, what: str, known: Iterable[str] = ()) -> UnknownSystem:
    """The error for a place or a collection that is not there."""
    there = ", ".join(sorted(known)[:10])
    return UnknownSystem(
        f"{target.text}: {what}", remedy=f"It has: {there}." if there else "Name a store that was filled before."
    )


def refuse_too_many(count: int) -> BadValue:
    """The error for exact search over more vectors than are read into memory."""
    return BadValue(
        f"exact search would read {count:,} vectors into memory, more than {MOST_COMPARED:,}",
        remedy="Measure the recall of the index on a smaller collection.",
    )
