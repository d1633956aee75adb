"""What spreading near repetitions (`mmr`) is worth where there are any: `python -m bench.near_copies --data DIR`.

`python -m bench.near_copies --data DIR [--cache DIR] [--copies 3]`

HotpotQA's questions need two passages each. Every passage that one of them needs is saved with copies that lack a
sentence and end with another date, as notes are copied and edited. A question is answered when both of its passages, or
copies of them, are among the first results: copies of one passage that fill the list keep the other out. Searched in
deep mode, which spreads repetitions, with and without it; differences are paired by question, with 95 % intervals.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.embedding.registry import EmbedderRequest, find_embedder
from assay.memory.engine import Engine
from assay.records import Mode, Origin, Scope, SearchRequest
from assay.settings import Settings
from assay.testing import FixedClock
from assay.wiring import open_engine
from bench.collections import Collection, Document, load
from bench.fusions import Values
from bench.quality import save
from bench.quality_compared import cut, format_difference
from bench.remembered import RememberedEmbedder

NAME, QUESTIONS, DOCUMENTS = "hotpotqa100", 100, 500
DEPTHS = (5, 10)
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_COPY = "~"


def add_copies(collection: Collection, copies: int) -> Collection:
    """Return the collection with copies of everything that a question needs."""
    needed = {document for grades in collection.judgments.values() for document in grades}
    rng = np.random.default_rng(3)
    documents = [
        version
        for document in collection.documents
        for version in (document, *(_copy(document, copies, rng) if document.id in needed else ()))
    ]
    return replace(collection, name=f"{collection.name}-copies-{copies}", documents=documents)


def _copy(document: Document, copies: int, rng: np.random.Generator) -> Iterator[Document]:
    for number in range(copies):
        sentences = _SENTENCE_END.split(document.text)
        if len(sentences) > 2:
            sentences.pop(int(rng.integers(1, len(sentences))))
        text = f"{' '.join(sentences)} Copied on {number + 3} May 2026."
        yield document._replace(id=f"{document.id}{_COPY}{number}", text=text)


def find_both(
    engine: Engine, collection: Collection, document_of: dict[str, str], *, shown: int, spread: bool
) -> Values:
    """Return 1 for each question whose passages are all among the first results, as themselves or as copies, else 0."""
    found = []
    for key, text in collection.questions.items():
        request = SearchRequest(
            query=text, k=shown, mode=Mode.DEEP, without=() if spread else ("mmr",), origin=Origin.EVALUATION
        )
        hits = engine.searcher.search(Scope(), request).hits
        originals = {document_of[hit.memory_id].split(_COPY)[0] for hit in hits}
        found.append(float(originals.issuperset(collection.judgments[key])))
    return np.array(found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.near_copies", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--cache", type=Path, help="keep vectors here for the next run")
    parser.add_argument("--copies", type=int, default=3, help="copies of each passage that a question needs")
    asked = parser.parse_args(arguments)
    collection = add_copies(cut(load(asked.data, NAME), QUESTIONS, DOCUMENTS), asked.copies)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        embedder = RememberedEmbedder(find_embedder("minilm").load(EmbedderRequest()), asked.cache or Path(temporary))
        settings = Settings(db=str(Path(temporary) / "copies.db"))
        with open_engine(settings, embedder=embedder, clock=FixedClock()) as engine:
            document_of = save(engine, collection)
            print(f"{len(collection.documents):,} documents, {len(collection.questions):,} questions")
            print("| both among the first | without spreading | with it | difference |\n| --- | --- | --- | --- |")
            for shown in DEPTHS:
                without, spread = (
                    find_both(engine, collection, document_of, shown=shown, spread=on) for on in (False, True)
                )
                gain = format_difference([(spread, without)])
                print(f"| {shown} | {without.mean():.2f} | {spread.mean():.2f} | {gain} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
