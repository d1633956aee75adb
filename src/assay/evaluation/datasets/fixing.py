"""What is done about anchors that lead nowhere: move them in a copy, or leave their cases out and say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import NothingMeasured, UnresolvedAnchors
from assay.evaluation.datasets.anchoring import Relocation, Unresolved, notes_of, unresolved_anchors
from assay.evaluation.datasets.findings import some
from assay.evaluation.datasets.generated import is_unlabelled
from assay.formats.anchored import read_notes
from assay.records.datasets import Case, Dataset


@dataclass(frozen=True, kw_only=True, slots=True)
class ForScoring:
    """What of a dataset may be scored."""

    dataset: Dataset
    excluded: tuple[str, ...]
    """Cases left out because an anchor of theirs leads nowhere."""
    unlabelled: tuple[str, ...] = ()
    """Cases left out because they were generated and nobody has looked at them."""

    @property
    def instrument(self) -> Mapping[str, Any]:
        """What a run must keep with its numbers: another choice of cases is another instrument."""
        left_out = {"excluded_unresolved": list(self.excluded), "excluded_unlabelled": list(self.unlabelled)}
        return {name: cases for name, cases in left_out.items() if cases}


def for_scoring(dataset: Dataset, *, exclude_unresolved: bool = False, corpus_root: Path | None = None) -> ForScoring:
    """The cases that may be scored; anchors that lead nowhere block it unless their cases are left out on purpose.

    Generated cases that nobody has labelled are left out always.
    """
    if not dataset.cases:
        raise NothingMeasured(f"{dataset.name} holds no cases", remedy="Give a dataset with at least one query.")
    dataset, unlabelled = _labelled(dataset)
    gone = unresolved_anchors(dataset, notes_of(dataset, corpus_root)) if _has_notes(dataset, corpus_root) else ()
    wrong = tuple(dict.fromkeys(one.case_id for one in gone if one.blocks_scoring))
    if wrong and not exclude_unresolved:
        raise UnresolvedAnchors(
            f"{len(wrong):,} cases of {dataset.name} have anchors that lead nowhere: {some(wrong)}",
            remedy=f"See `assay dataset check {dataset.name}`; move them with --fix, or give --exclude-unresolved.",
        )
    kept = tuple(one for one in dataset.cases if one.id not in wrong)
    if not kept:
        raise NothingMeasured(
            f"every case of {dataset.name} has an anchor that leads nowhere", remedy="Repair the anchors first."
        )
    chosen = replace(dataset, cases=kept) if wrong else dataset
    return ForScoring(dataset=chosen, excluded=wrong, unlabelled=unlabelled)


def _labelled(dataset: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """Without the cases that nobody has looked at, and which those are."""
    unlabelled = tuple(one.id for one in dataset.cases if is_unlabelled(one))
    if not unlabelled:
        return dataset, ()
    kept = tuple(one for one in dataset.cases if not is_unlabelled(one))
    if not kept:
        raise NothingMeasured(
            f"all {len(unlabelled):,} cases of {dataset.name} were generated, and nobody has labelled them yet",
            remedy="Look at them first: `assay label`, then `assay label --apply`.",
        )
    return replace(dataset, cases=kept), unlabelled


def apply_relocations(
    dataset: Dataset, found: Iterable[Unresolved], corpus_root: Path | None = None
) -> tuple[Dataset, list[tuple[Unresolved, Relocation]]]:
    """A copy in which every anchor with one clear proposal has moved there, and what was moved.

    Anchors that were looked up under a folder are about its notes: those become the documents of the copy.
    """
    moves = [(one, one.clear) for one in found]
    applied = [(one, move) for one, move in moves if move is not None]
    by_case: dict[str, dict[int, Relocation]] = {}
    for one, move in applied:
        by_case.setdefault(one.case_id, {})[one.support] = move
    cases = tuple(_moved(case, by_case.get(case.id, {})) for case in dataset.cases)
    documents = dataset.documents if corpus_root is None else tuple(read_notes(corpus_root))
    return replace(dataset, cases=cases, documents=documents), applied


def _moved(case: Case, moves: dict[int, Relocation]) -> Case:
    if case.anchors is None or not moves:
        return case
    supports = tuple(
        replace(one, rel_path=moves[place].rel_path, heading_path=moves[place].heading_path) if place in moves else one
        for place, one in enumerate(case.anchors.supports)
    )
    return replace(case, anchors=replace(case.anchors, supports=supports))


def _has_notes(dataset: Dataset, corpus_root: Path | None) -> bool:
    """A dataset without documents is about an index somewhere else: nothing here can tell what that holds."""
    return corpus_root is not None or bool(dataset.documents)
