"""How much `assay report --why lost --probe` says of systems that report nothing: `python -m bench.why`.

Two systems are run over the bundled `hotel` and asked again about every query that lost gold within the first 5:

- BM25: a Python function that returns ids and scores.
- trigrams: an HTTP service on this machine, started by this program, that compares runs of three letters.

Neither says anything of candidates or stages. For each lost query the first gold item that was missed is looked at: is
a document named that came before it, is its depth named, and are both true? Truth is the whole ranking of the corpus,
which the explanation never sees. The same is done with a BM25 index that lacks every tenth document: does the
explanation tell gold that is not indexed from gold that is?

Exit code 1 when less than 90 % of the lost queries of a system have both named and right.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import assay
from assay.formats.grid import grid
from assay.records.datasets import Dataset
from assay.records.explanations import LossReason, LostQueries, LostQuery

LEAST = 0.9
K = 5
WITHHELD = 10
"""Every such document, by id, is missing in the last index."""
_WORD = re.compile(r"[a-z0-9]+")
Ranking = list[tuple[str, float]]
Search = Callable[[str, int], Ranking]


@cache
def hotel() -> Dataset:
    """The bundled dataset."""
    return assay.Dataset.load("hotel")


# --- The systems ---


@cache
def count_words() -> dict[str, Counter[str]]:
    """The words of every document."""
    return {document.id: Counter(_words(f"{document.title} {document.text}")) for document in hotel().documents}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def rank_bm25(query: str, k: int, held: frozenset[str] | None = None) -> Ranking:
    """The first k documents by BM25 (k1 1.2, b 0.75) that share a word with the query."""
    counts = {name: words for name, words in count_words().items() if held is None or name in held}
    frequency = Counter(word for words in counts.values() for word in words)
    mean = sum(words.total() for words in counts.values()) / len(counts)
    scores = {}
    for name, words in counts.items():
        norm = 1.2 * (0.25 + 0.75 * words.total() / mean)
        scores[name] = sum(
            math.log(1 + (len(counts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
            * (words[word] * 2.2 / (words[word] + norm))
            for word in set(_words(query))
            if word in words
        )
    return _best(scores, k)


def search_partly(query: str, k: int) -> Ranking:
    """BM25 over an index that lacks some documents."""
    return rank_bm25(query, k, held_documents())


@cache
def held_documents() -> frozenset[str]:
    """The documents of the index that lacks some."""
    ids = sorted(document.id for document in hotel().documents)
    return frozenset(name for place, name in enumerate(ids) if place % WITHHELD)


@cache
def count_trigrams() -> dict[str, Counter[str]]:
    """The runs of three letters of every document."""
    return {name: _trigrams(" ".join(words.elements())) for name, words in count_words().items()}


def _trigrams(text: str) -> Counter[str]:
    return Counter(text[place : place + 3] for place in range(len(text) - 2))


def rank_trigrams(query: str, k: int) -> Ranking:
    """The first k documents by the cosine of their runs of three letters with those of the query."""
    asked = _trigrams(" ".join(_words(query)))
    scores = {
        name: sum(asked[run] * counts[run] for run in asked) / math.sqrt(sum(n * n for n in counts.values()))
        for name, counts in count_trigrams().items()
    }
    return _best(scores, k)


def _best(scores: Mapping[str, float], k: int) -> Ranking:
    ordered = sorted(scores, key=lambda name: (-scores[name], name))
    return [(name, scores[name]) for name in ordered[:k] if scores[name] > 0]


class Service(BaseHTTPRequestHandler):
    """A search service that says nothing but ids and scores."""

    def do_POST(self) -> None:
        """Answer a query."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = rank_trigrams(asked["query"], asked["k"])
        told = json.dumps({"results": [{"id": name, "score": score} for name, score in found]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Start the service on this machine; yields the system's name."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    file = folder / "service.toml"
    file.write_text(f'url = "http://127.0.0.1:{server.server_port}/search"\n', encoding="utf-8")
    try:
        yield f"http:{file}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# --- What is said, and whether it is true ---


class Explained(NamedTuple):
    """What was said of the lost queries of one system."""

    system: str
    found: LostQueries
    outranked: int
    """Lost queries with a document that truly came before the gold item."""
    depth: int
    """Lost queries with the true depth of the gold item."""
    both: int

    @property
    def share(self) -> float:
        """The share of lost queries with both."""
        return self.both / len(self.found.lost)


def explain(system: str, name: str, whole: Search) -> Explained:
    """Run a system, ask it again about what it lost, and compare with its whole ranking."""
    found = explain_lost(system, name)
    outranked, depth = [], []
    for lost in found.lost:
        ids = [ranked for ranked, _ in whole(lost.query, len(hotel().documents))]
        depth.append(lost.depth is not None and lost.gold in ids and ids.index(lost.gold) + 1 == lost.depth)
        outranked.append(_is_outranked(lost, ids))
    both = sum(named and true for named, true in zip(outranked, depth, strict=True))
    return Explained(name, found, sum(outranked), sum(depth), both)


def explain_lost(system: str, name: str) -> LostQueries:
    """Run a system and ask it again about every lost query."""
    run = assay.evaluate(hotel(), system, metrics=f"recall@{K}", k=10, name=name)
    found = assay.why(run, "lost", dataset=hotel(), probe=True)
    if not isinstance(found, LostQueries):
        raise TypeError(f"expected all lost queries, got {type(found).__name__}")
    return found


def _is_outranked(lost: LostQuery, ids: list[str]) -> bool:
    """Whether documents are named, and all of them come before the gold item in the whole ranking."""
    below = ids.index(lost.gold) if lost.gold in ids else len(ids)
    return bool(lost.outranked_by) and all(name in ids[:below] for name in lost.outranked_by)


class IndexClaims(NamedTuple):
    """What was said of gold that is not indexed, and of gold that is."""

    missing: int
    called_missing: int
    held: int
    called_missing_wrongly: int


def check_index_claims(found: LostQueries) -> IndexClaims:
    """Compare what was said of the index with what it holds."""
    held = held_documents()
    missing = [lost for lost in found.lost if lost.gold not in held]
    there = [lost for lost in found.lost if lost.gold in held]
    said = LossReason.SEEMS_NOT_INDEXED
    return IndexClaims(
        len(missing),
        sum(lost.reason is said for lost in missing),
        len(there),
        sum(lost.reason is said for lost in there),
    )


def main() -> int:
    """Print what was said of each system."""
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as service:
        explained = [
            explain("python:bench.why:rank_bm25", "BM25, a Python function", rank_bm25),
            explain(service, "trigrams, an HTTP service", rank_trigrams),
        ]
    head = ["system", "lost", "outranked by", "depth", "both", "calls"]
    rows = [
        [
            one.system,
            f"{len(one.found.lost)} of {one.found.queries}",
            str(one.outranked),
            str(one.depth),
            f"{one.both} ({one.share:.1%})",
            f"{one.found.made:,} of {one.found.allowed:,}",
        ]
        for one in explained
    ]
    sys.stdout.write("\n".join(grid([head, *rows])) + "\n\n")
    for one in explained:
        reasons = ", ".join(f"{count} {reason}" for reason, count in one.found.reasons.items())
        sys.stdout.write(f"{one.system}: {reasons}\n")
    claims = check_index_claims(explain_lost("python:bench.why:search_partly", "BM25 without every tenth"))
    sys.stdout.write(
        f"BM25 without every tenth document: of {claims.missing} gold items that are not indexed "
        f"{claims.called_missing} are said not to be; of {claims.held} that are, {claims.called_missing_wrongly}\n"
    )
    return 0 if all(one.share >= LEAST for one in explained) else 1


if __name__ == "__main__":
    sys.exit(main())
