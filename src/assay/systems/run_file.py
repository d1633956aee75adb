"""A TREC run file as a system: `run:file.trec`. What it holds for a topic is what it returns for the case of that id.

The order is that of scores, ties as everywhere; a case without lines is an empty result, as `assay measure` counts it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import UnknownSystem
from assay.formats.trec import load_run
from assay.hashing import HASH_PREFIX
from assay.metrics.ordering import rank_ids
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.regular_files import open_regular
from assay.systems.protocol import System


class RunFile(System):
    """Replays a run."""

    replays = True

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise UnknownSystem(f"there is no run file {path}", remedy="Give the path of a TREC run: run:FILE.")
        self.name = path.name
        self._hash = HASH_PREFIX + _digest(path)
        self._scores = _scores(path)

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - the file knows topics only
        """The first k of the topic."""
        scores = self._scores.get(case.id, {})
        ids = rank_ids(scores)[:k] if scores else []
        return Retrieved(ids=tuple(ids), scores=tuple(scores[identifier] for identifier in ids))

    def subject(self) -> Mapping[str, Any]:
        """The file's name and content."""
        return {"system": self.name, "kind": "run", "content": self._hash}


def _digest(path: Path) -> str:
    with open_regular(path) as opened:
        digest = hashlib.sha256()
        while piece := opened.read(1 << 20):
            digest.update(piece)
        return digest.hexdigest()


def _scores(path: Path) -> dict[str, dict[str, float]]:
    """Documents with their scores by topic; of a document listed twice the better score counts."""
    found: dict[str, dict[str, float]] = {}
    for batch in load_run(path):
        scores, place = batch.scores.tolist(), 0
        for row, topic in enumerate(batch.topics):
            into = found.setdefault(topic, {})
            for document in (identifier.decode() for identifier in batch.ids(row)):
                into[document] = max(scores[place], into.get(document, scores[place]))
                place += 1
    return found
