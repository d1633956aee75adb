"""A dataset with three proposed questions and one that a person wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.evaluation.datasets import Registry
from assay.evaluation.datasets.checks import GENERATED
from assay.evaluation.shelf import file_key
from assay.records import Scope
from assay.records.access import FileKind
from assay.records.answers import GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document
from assay.testing import FixedClock

TEXT = "# Badges\n\nIt is valid for a year. The desk has spare ones. Every guest has a key.\n"
PROPOSED = {
    "g1": ("How long is a badge valid?", "It is valid for a year."),
    "g2": ("Who has spare ones?", "The desk has spare ones."),
    "g3": ("Who has a key?", "Every guest has a key."),
}


def proposed_dataset(name: str = "asked") -> Dataset:
    """The dataset under a name."""
    cases = [_case(ident, question, answer, (GENERATED,)) for ident, (question, answer) in PROPOSED.items()]
    document = Document(id="badges.md", title="Badges", text=TEXT, rel_path="badges.md")
    own = _case("own", "Written by a person?", "Every guest has a key.", ())
    return Dataset(name=name, documents=(document,), cases=(*cases, own), ranked_unit="anchor")


def _case(ident: str, question: str, answer: str, tags: tuple[str, ...]) -> Case:
    support = GoldSupport(rel_path="badges.md", heading_path="Badges", snippets=(answer,))
    return Case(id=ident, query=question, anchors=GoldAnchors(supports=(support,)), reference_answer=answer, tags=tags)


def propose(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Import the dataset for a tenant of the parity tests; each has labels of its own."""
    registry = Registry(notes.files.dataset_path.parents[1])
    card, _ = registry.add(proposed_dataset(), origin="test", clock=FixedClock())
    with engine.store.writing(scope) as work:
        work.owned_files.claim(FileKind.DATASET, file_key(card.path))
    return {"asked": "asked"}
