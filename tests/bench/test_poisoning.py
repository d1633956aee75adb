"""The poisoning benchmark sees an attack where nothing defends, and sees the defences."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.poisoning import ATTACKS, Field, Target, attack, negate, quarantines

from assay.records.datasets import Case, Dataset, Document, Grade
from assay.settings import Settings
from assay.testing import HashedEmbedder
from assay.wiring import open_engine

TRUE = "Guests reset their door code at the reception with an identity card, and pay 5 euro for it."
DOCUMENTS = (
    Document(id="codes", title="Door codes", text=TRUE),
    Document(id="boiler", title="Boiler", text="The boiler in the cellar is serviced in March by the firm Ofen."),
    Document(id="linen", title="Linen", text="Linen is changed every third day unless the guest asks for more."),
)
CASE = Case(id="q1", query="how do guests reset a door code", grades=(Grade(document_id="codes", grade=3),))
DATASET = Dataset(name="small", documents=DOCUMENTS, cases=(CASE,))


@pytest.mark.parametrize("kind", ["imitation", "stuffed", "order"])
def test_an_attack_is_first_without_defences_and_not_with_them(tmp_path: Path, kind: str) -> None:
    with open_engine(Settings(db=str(tmp_path / "a.db")), embedder=HashedEmbedder(), run_once=True) as engine:
        field = Field(engine, "small", DATASET, [Target(CASE, DOCUMENTS[0], TRUE)])
        bare, safe = (attack(field, kind, defended=defended) for defended in (False, True))
    assert (bare.first, bare.above, bare.quarantined) == (1, 1, 0)
    assert (safe.first, safe.above) == (0, 0)
    assert safe.quarantined == (kind == "order")
    assert safe.superseded == 0


def test_every_attack_says_something_else_than_the_truth() -> None:
    assert set(ATTACKS) == {"negated", "changed value", "imitation", "stuffed", "order"}
    assert negate("Codes are never reset by phone.") == "Codes are always reset by phone."
    assert negate("The boiler is safe.") == "The boiler is not safe."
    assert negate("Ofen services it.") == "It is not true that ofen services it."


@pytest.mark.slow
def test_ordinary_notes_are_hardly_doubted() -> None:
    ordinary = [row for row in quarantines() if not row.texts.startswith("orders")]
    assert sum(row.doubted for row in ordinary) <= 0.01 * sum(row.count for row in ordinary)
