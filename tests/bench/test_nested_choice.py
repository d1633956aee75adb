"""What is chosen for a collection is chosen on the others."""

from __future__ import annotations

import numpy as np
from bench.nested_choice import CHOICES, IN_USE, choose_for, write_tables
from bench.quality_compared import CONVEX, EXPANSION_OFF, NEW, OLD, Measured

from assay.memory.searching import SearchOptions
from assay.records import Channel, Intent


def measured(value: float) -> Measured:
    values = np.full(4, value)
    return Measured(ndcg=values, recall=values, found_all=values, processor_ms=1.0)


def test_a_collection_has_no_part_in_its_own_choice() -> None:
    steady, tempting = CHOICES[3], CHOICES[7]
    values = {name: {one: np.array([0.5]) for one in CHOICES} for name in ("x", "y", "z")}
    for found in values.values():
        found[steady] = np.array([0.6])
    values["x"][tempting] = np.array([0.9])
    assert choose_for("x", values) == steady
    assert choose_for("y", values) == tempting


def test_the_numbers_in_use_are_among_the_candidates() -> None:
    assert IN_USE in CHOICES
    way = IN_USE.as_way()
    assert way.options is not None
    assert way.options["weights"][Intent.UNDERSTAND] == SearchOptions().weights[Intent.UNDERSTAND]


def test_a_candidate_changes_what_it_names() -> None:
    way = CHOICES[0].as_way()
    assert way.options is not None
    assert way.options["weights"][Intent.UNDERSTAND][Channel.BM25] == CHOICES[0].bm25_share
    assert way.options["named_strength"] == CHOICES[0].named_strength
    assert way.flags == (EXPANSION_OFF,)


def test_the_table_compares_with_every_default() -> None:
    names = {OLD: 0.3, CONVEX: 0.4, NEW: 0.5} | {str(choice): 0.6 for choice in CHOICES}
    ways = {title: measured(value) for title, value in names.items()}
    lines = write_tables({"x": ways, "y": ways})
    assert lines[2] == "| chosen on the others | 0.6000 | 0.6000 | 0.6000 |"
    assert lines[3].endswith("+0.3000 [+0.3000, +0.3000] |")
    assert lines[4].startswith(f"| minus {CONVEX} | +0.2000")
    assert lines[-1].startswith(f"In use: {IN_USE}")
