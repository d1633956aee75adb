"""Rankings of another version of Assay: its checkout takes a collection in and answers the questions.

`rank_with(checkout, collection, folder)` runs the other version in a process of its own, in the environment that
`make` made in its checkout, or in this one. Only its `src` and its `bench.remembered` are used. Both versions use one
file of vectors, so that a text is embedded once. Rankings are kept in `folder` and read from there the next time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.hashing import content_hash
from bench.collections import Collection
from bench.fusions import SHOWN
from bench.quality import list_moments

WORKER = """
import json, sys, time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from assay.embedding.bundled import load_bundled
from assay.records import Draft, Format, Mode, Origin, Scope, SearchRequest
from assay.settings import Settings
from assay.testing import FixedClock
from assay.wiring import open_engine
from bench.remembered import RememberedEmbedder

job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
embedder = RememberedEmbedder(load_bundled(), Path(job["vectors"]))
drafts = [Draft(title=title, body=text, format=Format.TEXT, source_id=name) for name, title, text in job["documents"]]
document_of, rankings, spent = {}, {}, 0.0
with open_engine(Settings(db=job["db"]), embedder=embedder, clock=FixedClock()) as engine:
    if job["one_by_one"]:
        moments = map(datetime.fromisoformat, job["moments"])
        dated = (replace(draft, valid_from=at) for draft, at in zip(drafts, moments, strict=True))
        saved = ((draft, engine.saver.save(Scope(), draft)) for draft in dated)
    else:
        saved = engine.saver.save_many(Scope(), drafts, batch=200)
    for draft, outcome in saved:
        document_of[str(outcome.memory_id)] = draft.source_id
    engine.indexes.compact(Scope())
    for key, text in job["questions"].items():
        request = SearchRequest(query=text, k=job["shown"], mode=Mode.AUTO, origin=Origin.EVALUATION)
        begun = time.thread_time()
        hits = engine.searcher.search(Scope(), request).hits
        spent += time.thread_time() - begun
        rankings[key] = [document_of[hit.memory_id] for hit in hits]
answer = {"rankings": rankings, "processor_ms": 1000.0 * spent / len(rankings)}
Path(job["answer"]).write_text(json.dumps(answer), encoding="utf-8")
"""


def rank_with(checkout: Path, collection: Collection, folder: Path) -> tuple[Mapping[str, Sequence[str]], float]:
    """Return the documents that another version shows for each question, and its processor time of a search in ms."""
    place = folder / f"old-{collection.name}-{_mark(collection)}"
    answer, job = place.with_suffix(".answer.json"), place.with_suffix(".job.json")
    if not answer.exists():
        for left in folder.glob(f"{place.name}.db*"):  # of a run that was stopped
            if left.is_file():
                left.unlink()
        job.write_text(
            json.dumps(
                {
                    "documents": [
                        (document.id, document.title.strip() or document.id, document.text)
                        for document in collection.documents
                    ],
                    "questions": collection.questions,
                    "one_by_one": collection.one_by_one,
                    "moments": [at.isoformat() for at in list_moments(len(collection.documents))],
                    "shown": SHOWN,
                    "db": str(place.with_suffix(".db")),
                    "vectors": str(folder),
                    "answer": str(answer),
                }
            ),
            encoding="utf-8",
        )
        own = checkout / ".venv" / "bin" / "python"
        python = str(own) if own.exists() else sys.executable
        paths = os.pathsep.join([str(checkout / "src"), str(checkout)])
        # -P: the folder of this program holds another `bench`.
        subprocess.run([python, "-P", "-c", WORKER, str(job)], env={**os.environ, "PYTHONPATH": paths}, check=True)
    read = json.loads(answer.read_text(encoding="utf-8"))
    return read["rankings"], float(read["processor_ms"])


def _mark(collection: Collection) -> str:
    return content_hash([len(collection.documents), sorted(collection.questions)])[-8:]
