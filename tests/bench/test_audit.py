"""Planted stores: the same seed gives the same store, and a score counts what was found, missed and wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from bench.audit import Score, match_planted
from bench.audit_stores import AS_OF, KINDS, SHARES, plant, write_store
from bench.audit_texts import HALVES

from assay.records.store_audits import StoreFault, StoreKind
from assay.store_audit.auditor import audit_store, read_store

COUNT = 150


@pytest.mark.parametrize("half", HALVES)
def test_a_planted_store_has_the_shares_it_was_told_and_comes_from_its_seed(half: str) -> None:
    memories = plant(3, 1_000, half, StoreKind.JSONL)
    assert memories == plant(3, 1_000, half, StoreKind.JSONL)
    assert memories != plant(4, 1_000, half, StoreKind.JSONL)
    counts = Counter(fault for memory in memories for fault in memory.faults)
    assert counts == {fault: round(share * 1_000) for fault, share in SHARES.items()}
    assert len(memories) == 1_000
    later = {memory.planted_as: memory.number for memory in memories}
    assert all(later[memory.partner] < memory.number for memory in memories if memory.partner is not None)


def test_the_halves_share_no_template() -> None:
    first, second = ({memory.text for memory in plant(3, 400, half, StoreKind.JSONL)} for half in HALVES)
    assert not first & second


@pytest.mark.parametrize("kind", KINDS)
def test_planted_memories_are_found_again_under_their_keys(kind: StoreKind, tmp_path: Path) -> None:
    memories = plant(3, COUNT, "develop", kind)
    items = read_store(write_store(kind, memories, tmp_path)).items
    matched = match_planted(kind, memories, items)
    assert [matched[item.key].text.strip() for item in items] == [item.text.strip() for item in items]
    assert len(matched) == COUNT


def test_a_score_counts_what_was_found_missed_and_wrong(tmp_path: Path) -> None:
    memories = plant(3, COUNT, "develop", StoreKind.JSONL)
    path = write_store(StoreKind.JSONL, memories, tmp_path)
    audit = audit_store(path, as_of=AS_OF)
    matched = match_planted(StoreKind.JSONL, memories, read_store(path).items)
    score = Score(matched, audit)
    assert score.recall(StoreFault.SECRET) == score.precision(StoreFault.SECRET) == 1.0
    clean = {key: type(memory)(text=memory.text, planted_as=memory.planted_as) for key, memory in matched.items()}
    nothing = Score(clean, audit)
    assert nothing.recall(StoreFault.SECRET) is None
    assert nothing.precision(StoreFault.SECRET) == 0.0
