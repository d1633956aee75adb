"""The notes that every tenant begins with in the tests of parity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.verbs.files import Files

from assay.records import EdgeKind, Scope, make_draft

TEXTS = {
    "tea": ("Tea", "Green tea is steeped for two minutes at eighty degrees."),
    "oven": ("Oven", "The oven is polled every five seconds because pushes are lost behind NAT."),
    "router": ("Router", "The router sits in the cellar next to the meter."),
}


class Notes(NamedTuple):
    """What was saved, by name."""

    ids: Mapping[str, str]
    files: Files


def fill(engine: Any, scope: Scope, files: Files) -> Notes:
    """Save the notes as a program's, so that every caller may change them."""
    files.claim(engine, scope)
    ids = {}
    for name, (title, body) in TEXTS.items():
        draft = make_draft(title=title, body=body, tags=("house",), written_with="test", automated=True)
        ids[name] = str(engine.saver.save(scope, draft).memory_id)
    engine.link(scope, ids["router"], EdgeKind.CAUSED, ids["oven"], strength=0.5, evidence="it drops pushes")
    return Notes({**ids, **{name: run.run_id for name, run in files.runs.items()}, **files.paths}, files)
