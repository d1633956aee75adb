"""Folder choice: from a probe, from names, and none when the evidence is flat."""

from __future__ import annotations

from assay.memory.searching.candidates import FolderEvidence, FolderPick, choose_folders
from assay.memory.searching.query import parse


def evidence(**weights: float) -> list[FolderEvidence]:
    return [FolderEvidence(name, 10, weight) for name, weight in weights.items()]


def test_the_folders_that_hold_most_of_the_evidence_are_chosen() -> None:
    found = choose_folders(parse("quota"), evidence(ops=9.0, notes=0.5, mail=0.5, archive=0.0))
    assert found == FolderPick(("ops",), ("archive", "mail", "notes"))


def test_the_best_folder_comes_first_and_as_many_as_are_needed_are_taken() -> None:
    found = choose_folders(parse("quota"), evidence(a=3.0, b=5.0, c=1.0, d=1.0, e=0.0))
    assert found == FolderPick(("b", "a"), ("c", "d", "e"))


def test_flat_evidence_chooses_nothing() -> None:
    assert choose_folders(parse("quota"), evidence(a=1.0, b=1.0, c=1.0, d=1.0, e=1.0)) is None


def test_a_folder_named_by_the_query_needs_less_evidence() -> None:
    # 0.75 alone is below 80 %; with 0.5 for its name it holds 1.25 of 1.5.
    spread = evidence(deploy=0.75, mail=0.25, notes=0.0)
    assert choose_folders(parse("quota"), spread) is None
    assert choose_folders(parse("how are deployments done"), spread) == FolderPick(("deploy",), ("mail", "notes"))


def test_a_name_alone_can_decide_when_the_probe_finds_nothing() -> None:
    assert choose_folders(parse("deploy"), evidence(deploy=0.0, mail=0.0)) == FolderPick(("deploy",), ("mail",))


def test_without_any_evidence_nothing_is_chosen() -> None:
    assert choose_folders(parse("quota"), evidence(a=0.0, b=0.0)) is None
    assert choose_folders(parse("quota"), []) is None


def test_a_pick_that_holds_most_memories_is_no_pick() -> None:
    assert choose_folders(parse("quota"), [FolderEvidence("all", 70, 9.0), FolderEvidence("few", 30, 0.5)]) is None


def test_the_only_folder_is_never_chosen() -> None:
    assert choose_folders(parse("deploy"), evidence(deploy=9.0)) is None


def test_the_order_of_the_evidence_changes_nothing() -> None:
    rows = evidence(a=3.0, b=5.0, c=1.0, d=1.0, e=0.0)
    assert choose_folders(parse("quota"), rows[::-1]) == choose_folders(parse("quota"), rows)
