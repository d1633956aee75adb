"""Formats that are called lossless are, and the program that counts would see it if they were not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.round_trips import SAMPLES, compare, try_dataset, try_memories

from assay.evaluation.datasets import load_dataset
from assay.settings import Settings
from assay.testing import HashedEmbedder
from assay.wiring import open_engine


@pytest.mark.parametrize("sample", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_an_export_of_every_imported_format_is_lossless(sample: Path, tmp_path: Path) -> None:
    with open_engine(Settings(db=str(tmp_path / "notes.db")), embedder=HashedEmbedder()) as engine:
        imported, exported, notes = try_memories(engine, sample, tmp_path)
    assert imported.back == exported.out == exported.back == notes.back > 0
    assert (exported.equal, exported.lost) == (exported.fields, {})
    assert "the same bytes" in exported.told
    assert f"'unchanged': {imported.back}" in imported.told


@pytest.mark.parametrize("kind", ["golden", "golden-files", "golden-lines"])
def test_golden_formats_keep_every_field(kind: str) -> None:
    for trip in try_dataset("vault", kind):
        assert (trip.back, trip.equal, trip.lost) == (trip.out, trip.fields, {})


def test_a_lost_field_and_a_lost_record_are_counted() -> None:
    first, second, *_ = load_dataset("hotel").documents
    trip = compare("documents", "none", {"a": first, "b": second}, {"a": replace(first, title="x")})
    assert (trip.out, trip.back, trip.fields - trip.equal, trip.lost) == (2, 1, 1, {"title": 1})
