"""Whether a dataset can be trusted: every check in one list, worst first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import BadValue, MalformedFile
from assay.evaluation.datasets.anchoring import Unresolved, notes_of, unresolved_anchors
from assay.evaluation.datasets.bundled import REQUIREMENTS, bundled_path, missing_kinds
from assay.evaluation.datasets.findings import Finding, Severity, error, warning, worst_first
from assay.evaluation.datasets.generated import unlabelled_cases
from assay.evaluation.datasets.labels import backward_grades, weak_labels
from assay.evaluation.datasets.leakage import leaks
from assay.evaluation.datasets.loading import load_dataset
from assay.evaluation.datasets.registering import Source
from assay.evaluation.datasets.registry import Registry
from assay.evaluation.datasets.structure import misfits
from assay.records.datasets import Dataset

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
        return not any(one.severity is Severity.ERROR for one in self.findings)


def check_dataset(
    dataset: Dataset, corpus_root: Path | None = None, *, exclude_unresolved: bool = False
) -> list[Finding]:
    """Everything that is wrong with a dataset, worst first; anchors are looked up under a folder, if one is given."""
    found = _unresolved(dataset, corpus_root)
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
    unresolved = _unresolved(dataset, corpus_root)
    found = [*problems, *_all(dataset, unresolved, exclude_unresolved=exclude_unresolved)]
    if bundled_path(name_or_path) is None:
        found += _changed(dataset, name_or_path, registry)
    else:
        found += missing_kinds(dataset, REQUIREMENTS[name_or_path])
    return Checked(dataset=dataset, findings=tuple(worst_first(found)), unresolved=unresolved)


def _all(dataset: Dataset, unresolved: tuple[Unresolved, ...], *, exclude_unresolved: bool) -> Iterator[Finding]:
    yield from misfits(dataset)
    yield from (_anchor_finding(one, excluded=exclude_unresolved) for one in unresolved)
    # A note that is saved after another on the same subject repeats its words: that is what it is for.
    yield from leaks(replace(dataset, cases=tuple(case for case in dataset.cases if case.save is None)))
    yield from unlabelled_cases(dataset)
    yield from weak_labels(dataset)
    yield from backward_grades(dataset)


def _unresolved(dataset: Dataset, corpus_root: Path | None) -> tuple[Unresolved, ...]:
    if corpus_root is None and not dataset.documents:
        return ()
    return tuple(unresolved_anchors(dataset, notes_of(dataset, corpus_root)))


def _anchor_finding(one: Unresolved, *, excluded: bool) -> Finding:
    where = f"case {one.case_id}, support {one.support}"
    if one.clear is not None:
        remedy = f"Proposed: {one.clear}; --fix moves it there in a copy."
    elif one.proposals:
        remedy = f"Choose one of: {'; '.join(str(move) for move in one.proposals)}."
    else:
        remedy = "Nothing like it was found; correct the anchor or remove the case."
    if not one.blocks_scoring:
        return warning("snippet-gone", where, one.problem, remedy)
    make = warning if excluded else error
    message = f"{one.problem}; the case is left out" if excluded else one.problem
    return make("unresolved-anchor", where, message, remedy)


def _changed(dataset: Dataset, asked: str, registry: Registry | None) -> Iterator[Finding]:
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
