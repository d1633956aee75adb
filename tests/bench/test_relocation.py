"""The program that measures relocation: its tampering is honest, and the bundled vault comes home."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bench.relocation import repaired, tamper

from assay.evaluation.datasets import load_dataset
from assay.text.sections import markdown_sections


def test_tampering_knows_where_every_section_went() -> None:
    notes = {one.rel_path: one.text for one in load_dataset("vault").documents}
    tampered = tamper(notes, np.random.default_rng(1))
    assert tampered == tamper(notes, np.random.default_rng(1))
    there = {(path, one.heading_path) for path, text in tampered.notes.items() for one in markdown_sections(text)}
    went = [place for place in tampered.truth.values() if place is not None and place[1]]
    assert all(place in there for place in went)
    assert None in tampered.truth.values()
    assert sum(path not in notes for path in tampered.notes) > len(notes) / 3


def test_nine_anchors_in_ten_of_a_tampered_vault_come_home_and_none_goes_astray(tmp_path: Path) -> None:
    vault = load_dataset("vault")
    notes = {one.rel_path: one.text for one in vault.documents}
    count = repaired(vault, tamper(notes, np.random.default_rng(7)), tmp_path)
    assert count.broken > 100
    assert count.share >= 0.9
    assert count.wrong == 0
