"""Validate a dataset: all checks in one list, and what is done about anchors that lead nowhere.

- All checks, worst first.
- Moving anchors, and leaving unresolved cases out of scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.errors import BadValue, MalformedFile, NothingMeasured, UnresolvedAnchors
from assay.evaluation.datasets.anchors import Relocation, Unresolved, find_unresolved_anchors, notes_of
from assay.evaluation.datasets.bundled import REQUIREMENTS, find_bundled, missing_kinds
from assay.evaluation.datasets.checks import (
    Finding,
    Severity,
    backward_grades,
    error,
    find_unlabelled_cases,
    is_unlabelled,
    leaks,
    misfits,
    some,
    warning,
    weak_labels,
    worst_first,
)
from assay.evaluation.datasets.loading import load_dataset
from assay.formats.anchored import read_notes

if TYPE_CHECKING:
    from pathlib import Path

    from assay.evaluation.datasets.formats import Source
    from assay.evaluation.datasets.registry import Registry
    from assay.records.datasets import Case, Dataset

# --- All checks, worst first ---

OnRead = Callable[[int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What a check of files gave."""

    dataset: Dataset | None
    """None where nothing could be read at all."""
    findings: tuple[Finding, ...]
    unresolved: tuple[Unresolved, ...]

    @property
    def usable(self) -> bool:
        """Whether numbers measured on it would be right."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)


def check_dataset(
    dataset: Dataset, corpus_root: Path | None = None, *, exclude_unresolved: bool = False
) -> list[Finding]:
    """Everything that is wrong with a dataset, worst first; anchors are looked up under a folder, if one is given."""
    found = _find_unresolved(dataset, corpus_root)
    return worst_first(_all(dataset, found, exclude_unresolved=exclude_unresolved))


def check_path(
    name_or_path: str,
    *,
    registry: Registry | None = None,
    source: Source | None = None,
    corpus_root: Path | None = None,
    exclude_unresolved: bool = False,
    on_read: OnRead | None = None,
) -> Checked:
    """The same for a dataset by name or path; every part that cannot be read is a finding, not the end."""
    problems: list[Finding] = []

    def collect(problem: MalformedFile) -> None:
        problems.append(_unreadable(problem))

    try:
        dataset = load_dataset(name_or_path, registry=registry, source=source, refuse=collect, on_read=on_read)
    except (MalformedFile, BadValue) as problem:
        return Checked(dataset=None, findings=(*problems, _unreadable(problem)), unresolved=())
    unresolved = _find_unresolved(dataset, corpus_root)
    found = [*problems, *_all(dataset, unresolved, exclude_unresolved=exclude_unresolved)]
    if find_bundled(name_or_path) is None:
        found += _check_unchanged(dataset, name_or_path, registry)
    else:
        found += missing_kinds(dataset, REQUIREMENTS[name_or_path])
    return Checked(dataset=dataset, findings=tuple(worst_first(found)), unresolved=unresolved)


def _all(dataset: Dataset, unresolved: tuple[Unresolved, ...], *, exclude_unresolved: bool) -> Iterator[Finding]:
    yield from misfits(dataset)
    yield from (_anchor_finding(unresolved_anchor, excluded=exclude_unresolved) for unresolved_anchor in unresolved)
    # A note that is saved after another on the same subject repeats its words: that is what it is for.
    yield from leaks(replace(dataset, cases=tuple(case for case in dataset.cases if case.save is None)))
    yield from find_unlabelled_cases(dataset)
    yield from weak_labels(dataset)
    yield from backward_grades(dataset)


def _find_unresolved(dataset: Dataset, corpus_root: Path | None) -> tuple[Unresolved, ...]:
    if corpus_root is None and not dataset.documents:
        return ()
    return tuple(find_unresolved_anchors(dataset, notes_of(dataset, corpus_root)))


def _anchor_finding(unresolved: Unresolved, *, excluded: bool) -> Finding:
    where = f"case {unresolved.case_id}, support {unresolved.support}"
    if unresolved.clear is not None:
        remedy = f"Proposed: {unresolved.clear}; --fix moves it there in a copy."
    elif unresolved.proposals:
        remedy = f"Choose one of: {'; '.join(str(move) for move in unresolved.proposals)}."
    else:
        remedy = "Nothing like it was found; correct the anchor or remove the case."
    if not unresolved.blocks_scoring:
        return warning("snippet-gone", where, unresolved.problem, remedy)
    make = warning if excluded else error
    message = f"{unresolved.problem}; the case is left out" if excluded else unresolved.problem
    return make("unresolved-anchor", where, message, remedy)


def _check_unchanged(dataset: Dataset, asked: str, registry: Registry | None) -> Iterator[Finding]:
    card = registry.card(asked) if registry is not None else None
    if card is not None and card.content_hash != dataset.content_hash:
        yield error(
            "changed",
            f"{card.name} {card.version}",
            f"its content is not what was imported ({card.content_hash[:19]}...)",
            "Import it again under a new version.",
        )


def _unreadable(problem: MalformedFile | BadValue) -> Finding:
    where, colon, message = problem.message.partition(": ")
    if not colon:
        where, message = "file", problem.message
    return error("schema", where, message, problem.remedy)


# --- Moving anchors, and leaving unresolved cases out of scoring ---


@dataclass(frozen=True, kw_only=True, slots=True)
class ForScoring:
    """What of a dataset may be scored."""

    dataset: Dataset
    excluded: tuple[str, ...]
    """Cases left out because an anchor of theirs leads nowhere."""
    unlabelled: tuple[str, ...] = ()
    """Cases left out because they were generated and not reviewed."""

    @property
    def instrument(self) -> Mapping[str, Any]:
        """What a run must keep with its numbers: another choice of cases is another instrument."""
        left_out = {"excluded_unresolved": list(self.excluded), "excluded_unlabelled": list(self.unlabelled)}
        return {name: cases for name, cases in left_out.items() if cases}


def for_scoring(dataset: Dataset, *, exclude_unresolved: bool = False, corpus_root: Path | None = None) -> ForScoring:
    """The cases that may be scored; anchors that lead nowhere block it unless their cases are left out on purpose.

    Generated cases without a label are always left out.
    """
    if not dataset.cases:
        raise NothingMeasured(f"{dataset.name} holds no cases", remedy="Give a dataset with at least one query.")
    dataset, unlabelled = _drop_unlabelled(dataset)
    gone = find_unresolved_anchors(dataset, notes_of(dataset, corpus_root)) if _has_notes(dataset, corpus_root) else ()
    wrong = tuple(
        dict.fromkeys(unresolved_anchor.case_id for unresolved_anchor in gone if unresolved_anchor.blocks_scoring)
    )
    if wrong and not exclude_unresolved:
        raise UnresolvedAnchors(
            f"{len(wrong):,} cases of {dataset.name} have anchors that lead nowhere: {some(wrong)}",
            remedy=f"See `assay dataset check {dataset.name}`; move them with --fix, or give --exclude-unresolved.",
        )
    kept = tuple(case for case in dataset.cases if case.id not in wrong)
    if not kept:
        raise NothingMeasured(
            f"every case of {dataset.name} has an anchor that leads nowhere", remedy="Repair the anchors first."
        )
    chosen = replace(dataset, cases=kept) if wrong else dataset
    return ForScoring(dataset=chosen, excluded=wrong, unlabelled=unlabelled)


def _drop_unlabelled(dataset: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """Return the dataset without its unreviewed cases, and their ids."""
    unlabelled = tuple(case.id for case in dataset.cases if is_unlabelled(case))
    if not unlabelled:
        return dataset, ()
    kept = tuple(case for case in dataset.cases if not is_unlabelled(case))
    if not kept:
        raise NothingMeasured(
            f"all {len(unlabelled):,} cases of {dataset.name} were generated, and none is labelled yet",
            remedy="Look at them first: `assay label`, then `assay label --apply`.",
        )
    return replace(dataset, cases=kept), unlabelled


def apply_relocations(
    dataset: Dataset, found: Iterable[Unresolved], corpus_root: Path | None = None
) -> tuple[Dataset, list[tuple[Unresolved, Relocation]]]:
    """A copy in which every anchor with one clear proposal has moved there, and what was moved.

    Anchors that were looked up under a folder are about its notes: those become the documents of the copy.
    """
    moves = [(anchor, anchor.clear) for anchor in found]
    applied = [(anchor, move) for anchor, move in moves if move is not None]
    by_case: dict[str, dict[int, Relocation]] = {}
    for anchor, move in applied:
        by_case.setdefault(anchor.case_id, {})[anchor.support] = move
    cases = tuple(_move_anchors(case, by_case.get(case.id, {})) for case in dataset.cases)
    documents = dataset.documents if corpus_root is None else tuple(read_notes(corpus_root))
    return replace(dataset, cases=cases, documents=documents), applied


def _move_anchors(case: Case, moves: dict[int, Relocation]) -> Case:
    if case.anchors is None or not moves:
        return case
    supports = tuple(
        replace(support, rel_path=moves[place].rel_path, heading_path=moves[place].heading_path)
        if place in moves
        else support
        for place, support in enumerate(case.anchors.supports)
    )
    return replace(case, anchors=replace(case.anchors, supports=supports))


def _has_notes(dataset: Dataset, corpus_root: Path | None) -> bool:
    """A dataset without documents is about an index somewhere else, whose content is not known here."""
    return corpus_root is not None or bool(dataset.documents)
