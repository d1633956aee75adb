"""Stores of many millions of chunks, written in bulk: rows of made passages go straight into a closed SQLite file.

`bench.passages.fill` saves through the store's repositories, which takes hours for ten million chunks. Here the real
documents are saved like that and the made ones are rows: a memory is the row of a real one with an id, a source and a
body of its own, and its words are put together from words that were analysed once for every sentence. Nothing is
written to the change log, as if its lines had been forgotten after folding. A made passage has two sentences of two
real ones, about 40 words. Writing that was stopped goes on behind the last batch that was committed.

Vectors need no model (`WordVectors`): each word has a direction, drawn at random from its letters, and a text is the
sum of its words' directions, rare ones counting more. So texts that share rare words are near. A question lies between
the two real passages nearest to its words, nearer to the first.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.embedding.protocol import Progress, SimilarityProfile, Vectors
from assay.memory.engine import Engine
from assay.records.memory import INGESTED_WITH
from assay.settings import Settings
from assay.storage.full_text import tenant_term
from assay.text.terms import bag_of_stems, normalise_phrase, words
from assay.wiring import open_engine
from bench.collections import load
from bench.passages import NOISE, SCOPE, SENTENCE, Material, material, take_in

PER_MEMORY = 4
BATCH = 15_000
"""Memories made at a time."""
COMMITTED = 5
"""Batches in a transaction."""
SENTENCE_WORDS = range(4, 31)
WORDS_IN_MEMORY = 512_000_000
"""Bytes of words that SQLite collects before it writes them; its own default is 1,000,000."""
DIMENSION = 384


class WordVectors:
    """An embedder without a model: the sum of a random direction for each stem, weighed by how rare it is."""

    model = "words-384"
    dimension = DIMENSION
    token_limit = 254
    profile = SimilarityProfile()

    def __init__(self, texts: Sequence[str]) -> None:
        held = Counter(stem for text in texts for stem in set(bag_of_stems(text)))
        self._weights = {stem: np.float32(np.log1p(len(texts) / count)) for stem, count in held.items()}
        self._unknown = np.float32(np.log1p(len(texts)))
        self._directions: dict[str, NDArray[np.float32]] = {}

    def count_tokens(self, text: str) -> int:
        """About as many as there are."""
        return len(text) // 4

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row for each text."""
        made = np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, DIMENSION), np.float32)
        if progress is not None:
            progress(len(texts))
        return made

    def _vector(self, text: str) -> NDArray[np.float32]:
        found = set(bag_of_stems(text)) or {""}
        total = np.zeros(DIMENSION, np.float32)
        for stem in sorted(found):
            total += self._weights.get(stem, self._unknown) * self._direction(stem)
        unit: NDArray[np.float32] = total / np.float32(np.linalg.norm(total))
        return unit

    def _direction(self, stem: str) -> NDArray[np.float32]:
        if stem not in self._directions:
            seed = int.from_bytes(hashlib.sha256(stem.encode()).digest()[:8], "big")
            self._directions[stem] = np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)
        return self._directions[stem]


def word_vectors(data: Path) -> WordVectors:
    """Made of the words of the documents that `take_in` saves."""
    vault = data / "docs_kubernetes" / "vault"
    texts = [path.read_text(encoding="utf-8") for path in sorted(vault.rglob("*.md"))]
    return WordVectors(texts + [f"{one.title}\n{one.text}" for one in load(data, "scifact").documents])


def put_between(vectors: Vectors, real: Vectors) -> Vectors:
    """Vectors of questions, each put between the two real ones that are nearest to it."""
    made = np.empty_like(vectors)
    for place, vector in enumerate(vectors):
        first, second = np.argsort(-(real @ vector))[:2]
        made[place] = real[first] + np.float32(0.5) * real[second]
    return _unit(made)


class Batch(NamedTuple):
    """Rows of some memories, by table."""

    memories: list[tuple[Any, ...]]
    chunks: list[tuple[Any, ...]]
    words: list[tuple[Any, ...]]
    vectors: list[tuple[Any, ...]]
    documents: list[tuple[Any, ...]]


class Templates(NamedTuple):
    """What made rows are like."""

    columns: list[str]
    """Of the table of memories."""
    rows: list[tuple[Any, ...]]
    titles: list[str]
    """Their analysed titles."""


class BulkMaker:
    """Makes batches of rows; a batch depends on its number alone."""

    def __init__(self, real: Material, templates: Templates, *, first_chunk: int, seed: int = 1) -> None:
        self._vectors = real.vectors
        self._model = real.saved[0].model or ""
        self._templates = templates
        self._first_chunk = first_chunk
        self._seed = seed
        self._take_sentences([chunk.text for chunk in real.chunks])

    def _take_sentences(self, texts: Sequence[str]) -> None:
        self._texts: list[str] = []
        self._words: list[str] = []
        begins, counts = [], []
        for text in texts:
            begins.append(len(self._texts))
            sentences = [one.strip() for one in SENTENCE.split(text)]
            fitting = [one for one in sentences if len(words(one)) in SENTENCE_WORDS]
            for one in fitting or [" ".join(text.split()[: SENTENCE_WORDS[-1]])]:
                self._texts.append(one)
                self._words.append(normalise_phrase(one))
            counts.append(len(self._texts) - begins[-1])
        self._begins, self._counts = np.array(begins), np.array(counts)

    def batch(self, number: int, memories: int = BATCH) -> Batch:
        """The rows of one batch."""
        rng = np.random.default_rng([self._seed, number])
        size = memories * PER_MEMORY
        sources = rng.integers(len(self._vectors), size=(size, 2))
        shares = rng.dirichlet([0.6] * 2, size=size).astype(np.float32)
        places = self._begins[sources] + (rng.random((size, 2)) * self._counts[sources]).astype(np.int64)
        blobs = self._mix(sources, shares, rng)
        like = rng.integers(len(self._templates.rows), size=memories).tolist()
        texts = [f"{self._texts[one]} {self._texts[other]}" for one, other in places.tolist()]
        bodies = [f"{self._words[one]} {self._words[other]}" for one, other in places.tolist()]
        first_memory, first = number * BATCH, self._first_chunk + number * BATCH * PER_MEMORY
        ids = [f"m_made{place:09d}" for place in range(first_memory + 1, first_memory + memories + 1)]
        tenant, term, titles = SCOPE.tenant, tenant_term(SCOPE.tenant), self._templates.titles
        return Batch(
            [self._memory(ids[place], like[place], texts, place) for place in range(memories)],
            [
                (first + place, tenant, ids[place // PER_MEMORY], place % PER_MEMORY, len(text) // 4, "", text)
                for place, text in enumerate(texts)
            ],
            [(first + place, term, titles[like[place // PER_MEMORY]], "", body) for place, body in enumerate(bodies)],
            [
                (first + place, self._model, tenant, DIMENSION, f"made:{first + place:09d}", blob)
                for place, blob in enumerate(blobs)
            ],
            [(one, tenant, "bench", "TEXT", "{}") for one in ids],
        )

    def _memory(self, own_id: str, like: int, texts: Sequence[str], place: int) -> tuple[Any, ...]:
        changed = {
            "id": own_id,
            "body": "\n\n".join(texts[place * PER_MEMORY : (place + 1) * PER_MEMORY]),
            "source_id": f"made:{own_id}",
            "rel_path": "",
            "triggers": "[]",
            "learned_triggers": "[]",
            "written_with": INGESTED_WITH,
        }
        row = zip(self._templates.columns, self._templates.rows[like], strict=True)
        return tuple(changed.get(name, value) for name, value in row)

    def _mix(self, sources: NDArray[np.int64], shares: NDArray[np.float32], rng: np.random.Generator) -> list[bytes]:
        mixed: NDArray[np.float32] = shares[:, :1] * self._vectors[sources[:, 0]]
        mixed += shares[:, 1:] * self._vectors[sources[:, 1]]
        noise = rng.standard_normal(mixed.shape, dtype=np.float32)
        mixed = _unit(mixed)
        mixed += np.float32(NOISE) * _unit(noise)
        halves = _unit(mixed).astype("<f2")
        return [row.tobytes() for row in halves]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return vectors


def read_real(folder: Path, data: Path, embedder: WordVectors) -> Material:
    """The real documents, saved in a store of their own the first time."""
    with open_engine(Settings(db=str(folder / "real-words.db")), embedder=embedder) as engine:
        take_in(engine, data)
        return material(engine.store)


def fill_bulk(db: Path, real: Material, size: int) -> None:
    """A store of so many chunks without its index; one that was begun is gone on with."""
    with open_engine(Settings(db=str(db), embedder="none")) as engine:
        with engine.store.reading(SCOPE) as work:
            is_begun = bool(work.memories.count_chunks())
        if not is_begun:
            _save_real(engine, real)
    begun = time.perf_counter()
    for there in add_made(db, real, size):
        spent, busy = time.perf_counter() - begun, time.process_time()
        print(f"{there:,} chunks, {spent:.0f} s (processor {busy:.0f} s)", file=sys.stderr, flush=True)


def _save_real(engine: Engine, real: Material) -> None:
    with engine.store.writing(SCOPE) as work:
        work.vectors.activate(real.saved[0].model or "")
        work.memories.add_many(real.saved)


def add_made(db: Path, real: Material, size: int) -> Generator[int]:
    """Write made passages into a file that nobody has open, until there are so many; yields how many there are."""
    with closing(sqlite3.connect(db, isolation_level=None)) as connection, ThreadPoolExecutor(1) as making:
        templates, first = _begin(connection, real)
        maker = BulkMaker(real, templates, first_chunk=first)
        there = _count(connection)
        wanted = -(-(size - first + 1) // PER_MEMORY)
        total = -(-wanted // BATCH)

        def make(number: int) -> Batch:
            return maker.batch(number, min(BATCH, wanted - number * BATCH))

        numbers = range((there - first + 1) // (BATCH * PER_MEMORY), total)
        coming = making.submit(make, numbers[0]) if numbers else None
        for number in numbers:
            batch = coming.result() if coming is not None else make(number)
            coming = making.submit(make, number + 1) if number + 1 < total else None
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            _write(connection, batch)
            if (number + 1) % COMMITTED == 0 or number + 1 == total:
                connection.execute("COMMIT")
                yield _count(connection)
        connection.execute("INSERT INTO passages_fts (passages_fts, rank) VALUES ('hashsize', 1048576)")
        connection.execute("PRAGMA journal_mode = WAL")


def _begin(connection: sqlite3.Connection, real: Material) -> tuple[Templates, int]:
    for setting in ("journal_mode = TRUNCATE", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -400000"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("INSERT INTO passages_fts (passages_fts, rank) VALUES ('hashsize', ?)", (WORDS_IN_MEMORY,))
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(memories)") if name != "number"]
    rows = connection.execute(
        f"SELECT {', '.join(columns)} FROM memories WHERE number <= ? ORDER BY number",
        (len(real.saved),),
    ).fetchall()
    titles = [normalise_phrase(row[columns.index("title")]) for row in rows]
    return Templates(columns, rows, titles), len(real.chunks) + 1


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT max(number) FROM chunks").fetchone()[0])


def _write(connection: sqlite3.Connection, batch: Batch) -> None:
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(memories)") if name != "number"]
    places = {
        f"memories ({', '.join(columns)})": batch.memories,
        "chunks (number, tenant, memory_id, position, token_count, heading_path, text)": batch.chunks,
        "passages_fts (rowid, tenant, title, triggers, body)": batch.words,
        "vectors (number, model, tenant, dimension, text_hash, vector)": batch.vectors,
        "indexed_documents (memory_id, tenant, chunker, doc_type, skipped)": batch.documents,
    }
    for place, rows in places.items():
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {place} VALUES ({marks})", rows)
