"""Whether a dataset and a run are about one memory: the one place where this is decided.

- Documents of a dataset that a memory holds.
- What a run counts for evaluation cycles, and why it does not count.

A run never searches the store that keeps its row: Assay takes a dataset's documents into a store of their own. So a run
is about this memory when Assay itself searched, as this memory searches, documents that this memory holds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.evaluation.datasets.checks import Severity
from assay.evaluation.datasets.validation import check_dataset
from assay.records.evaluations import CaseStatus
from assay.records.learning import CycleEvidence, cycle_evidence

if TYPE_CHECKING:
    from assay.evaluation.results import RunResult
    from assay.records.datasets import Case, Dataset, Document
    from assay.records.evaluations import RunManifest
    from assay.storage import Work

# --- Documents of a dataset that a memory holds ---

OWN_CORPUS = 0.5
"""The share of a dataset's documents a memory must hold for a run to count as evidence about that memory."""


def find_held(work: Work, documents: Collection[Document]) -> frozenset[str]:
    """Return the ids of the documents that this memory holds: the same id or source, and the same words.

    Ids alone prove nothing: a memory can hold anything under them.
    """
    texts = {document.id: _normalise(document) for document in documents}
    held = set()
    for memory in work.memories.current_texts(sorted(texts)):
        for name in (memory.id, memory.source_id):
            if name is not None and texts.get(name) == " ".join(memory.body.split()):
                held.add(name)
    return frozenset(held)


def _normalise(document: Document) -> str:
    """Return the text as a memory would hold it: a document without one is saved with its title instead."""
    return " ".join(document.text.split()) or " ".join(document.title.split())


def share_held(work: Work, documents: Collection[Document]) -> float:
    """Return the share of a dataset's documents that this memory holds; 0 of none."""
    return len(find_held(work, documents)) / len(documents) if documents else 0.0


def explain_foreign(dataset: str, own_share: float | None) -> str:
    """Return why a dataset does not represent this memory; empty if it does."""
    if own_share is None:
        return f"whether this memory holds the documents of {dataset} was not looked at. Measure it again."
    if own_share >= OWN_CORPUS:
        return ""
    return (
        f"this memory holds {own_share:.0%} of the documents of {dataset}, and {OWN_CORPUS:.0%} are needed."
        " Measure on a dataset of this memory: `assay dataset build`."
    )


# --- What a run counts for evaluation cycles, and why it does not count ---


def evidence_of_run(work: Work, result: RunResult, dataset: Dataset) -> CycleEvidence:
    """Return a run's evidence for evaluation cycles: its questions about this memory, or why there are none."""
    manifest = result.manifest
    asked = set(manifest.case_ids)
    dataset = replace(dataset, cases=tuple(case for case in dataset.cases if case.id in asked))
    held = find_held(work, dataset.documents)
    reason = (
        _explain_system(manifest)
        or explain_foreign(dataset.name, len(held) / len(dataset.documents) if dataset.documents else 0.0)
        or _explain_defects(dataset)
    )
    questions = (
        () if reason else [case.query for case in _find_scored(result, dataset) if _is_about(case, dataset, held)]
    )
    if not reason and not questions:
        reason = f"no scored question of {dataset.name} is about documents that this memory holds."
    return cycle_evidence(
        questions, reason=reason, dataset=manifest.dataset, system=manifest.system, stored_at=work.now()
    )


def _explain_system(manifest: RunManifest) -> str:
    """Return why the system of a run is not this memory's own search; empty if it is."""
    subject = manifest.subject
    if manifest.system.partition(":")[0] != "assay" or subject.get("kind") != "assay":
        return f"it ran {manifest.system}, which is not the search of this memory. Run it with --system assay."
    changed = _list_overrides(subject.get("configuration") or {})
    if changed:
        return f"it searched with {', '.join(changed)}, not as this memory searches. Run it with --system assay."
    return ""


def _list_overrides(configuration: Mapping[str, Any]) -> list[str]:
    """Return what a run changed for all of its searches; modes are chosen search by search, in use too."""
    channels = configuration.get("channels")
    return [
        *([f"channels={'+'.join(channels)}"] if channels else []),
        *(f"{name}={value}" for name, value in sorted((configuration.get("settings") or {}).items())),
        *(f"flags.{name}={value}" for name, value in sorted((configuration.get("flags") or {}).items())),
    ]


def _explain_defects(dataset: Dataset) -> str:
    """Return why a dataset is not admitted; empty if `assay dataset check` finds no error in it."""
    # Cases whose anchors lead nowhere were left out of the run, or it would have been refused.
    wrong = [
        finding for finding in check_dataset(dataset, exclude_unresolved=True) if finding.severity is Severity.ERROR
    ]
    if not wrong:
        return ""
    return f"{dataset.name} does not pass `assay dataset check`: {wrong[0].where}: {wrong[0].message}."


def _find_scored(result: RunResult, dataset: Dataset) -> list[Case]:
    """Return the cases that were answered and that some metric has a value for."""
    answered = {case.case_id for case in result.cases if case.status in {CaseStatus.OK, CaseStatus.EMPTY}}
    valued = {
        case_id
        for outcomes in result.scores.values()
        for case_id, outcome in outcomes.items()
        if outcome.value is not None
    }
    return [case for case in dataset.cases if case.id in answered and case.id in valued]


def _is_about(case: Case, dataset: Dataset, held: Collection[str]) -> bool:
    """Whether everything that answers a case is held by this memory; a case that nothing answers is about nothing."""
    places = {support.rel_path for support in case.anchors.supports} if case.anchors else set()
    wanted = {document for document, grade in case.labels.items() if grade >= dataset.relevance_level}
    if places:
        wanted |= {document.id for document in dataset.documents if document.rel_path in places}
    return bool(wanted) and wanted.issubset(held)
