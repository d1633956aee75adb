"""What is fixed before the first case: which cases, which metrics, how deep, and both fingerprints of the run.

The instrument is everything that moves a number besides the system: two runs may be compared when it is equal. The
subject is the system and what it is made of: what may differ.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from assay.errors import BadValue, NotCovered, NothingMeasured
from assay.evaluation.case_metrics import measurable
from assay.evaluation.clusters import clusters_of
from assay.evaluation.default_metrics import default_metrics
from assay.evaluation.floors import floors_of
from assay.evaluation.placement import COPIES, PLACING, copies_in
from assay.evaluation.scoring import instrument_of
from assay.metrics.aggregate import DEFINITIONS
from assay.metrics.catalog import describe_added
from assay.metrics.ordering import TIE_ORDER
from assay.metrics.spec import MetricSpec
from assay.records.asking import Asking
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import RunManifest
from assay.systems.protocol import System

LEAST_K = 10
"""Results asked for when no metric looks further."""
TIMEOUT_S = 60.0
_FEW = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """How to run. What is None is chosen from the dataset."""

    metrics: tuple[MetricSpec, ...] | None = None
    k: int | None = None
    repeats: int = 1
    sample: float | None = None
    seed: int = 0
    timeout_s: float | None = TIMEOUT_S
    name: str = ""
    spec: str = ""
    """The system as it was asked for; empty: its own name."""
    asking: Asking = Asking.LAST
    """What is asked where a question stands in a conversation."""
    instrument: Mapping[str, Any] = field(default_factory=dict)
    """What else moves the numbers, such as cases that were left out."""

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise BadValue(f"repeats {self.repeats} is below 1", remedy="Give 1 or more.")
        if self.sample is not None and not 0.0 < self.sample <= 1.0:
            raise BadValue(f"sample {self.sample} is not a share", remedy="Give a share above 0 and up to 1, as 0.1.")
        if self.k is not None and self.k < 1:
            raise BadValue(f"k {self.k} is below 1", remedy="Give 1 or more.")
        if self.timeout_s is not None and not 0.0 < self.timeout_s < math.inf:
            raise BadValue(f"timeout {self.timeout_s} is not above 0", remedy="Give seconds above 0.")


def plan_run(
    dataset: Dataset, system: System, options: RunOptions, *, run_id: str, at: datetime, host: str
) -> RunManifest:
    """The manifest of a new run."""
    if not dataset.cases:
        raise NothingMeasured(f"{dataset.name} holds no cases", remedy="Give a dataset with at least one query.")
    specs = options.metrics or default_metrics(dataset)
    measurable(specs)
    floors_of(dataset)  # a floor that cannot be asked is refused before the run, not after it
    k = _depth(specs, options.k)
    case_ids = sampled(dataset.cases, options.sample, options.seed)
    asked = set(case_ids)
    return RunManifest(
        run_id=run_id,
        name=options.name or options.spec or system.name,
        dataset=dataset.name,
        dataset_version=dataset.version,
        system=options.spec or system.name,
        instrument=_instrument(dataset, specs, k, options),
        subject=_subject(dataset, system, options),
        metrics=tuple(map(str, specs)),
        k=k,
        repeats=options.repeats,
        sample=options.sample,
        seed=options.seed,
        case_ids=case_ids,
        own_metrics=describe_added(spec.name for spec in specs),
        clusters=clusters_of([case for case in dataset.cases if case.id in asked]),
        started_at=at,
        host=host,
    )


def _depth(specs: Sequence[MetricSpec], asked: int | None) -> int:
    """How many results to ask for; a metric that looks further than asked would measure what was never given."""
    deepest = max((spec for spec in specs), key=lambda spec: spec.cutoff or 0)
    needed = deepest.cutoff or 0
    if asked is None:
        return max(LEAST_K, needed)
    if asked < needed:
        raise BadValue(
            f"{deepest} looks at {needed} results, and k is {asked}",
            remedy=f"Ask for k={needed} or more, or name other metrics.",
        )
    return asked


def _instrument(dataset: Dataset, specs: Sequence[MetricSpec], k: int, options: RunOptions) -> dict[str, Any]:
    made = instrument_of(dataset, k)
    return {
        "dataset": dataset.content_hash,
        "corpus": dataset.corpus_hash,
        "relevance_level": made.relevance_level,
        "ranked_unit": made.ranked_unit,
        "depth": made.depth,
        "absent": made.absent,
        "definitions": DEFINITIONS,
        "tie_order": TIE_ORDER,
        "judge": None,
        "metrics": {str(spec): made.fingerprint(spec) for spec in specs},
        **({"placing": PLACING} if any(case.anchors is not None for case in dataset.cases) else {}),
        **({"copies": COPIES} if copies_in(dataset) else {}),
        **options.instrument,
    }


def _subject(dataset: Dataset, system: System, options: RunOptions) -> dict[str, Any]:
    in_conversations = any(case.history for case in dataset.cases)
    asking = {"asking": options.asking.value} if in_conversations else {}
    return {**system.subject(), "timeout_s": options.timeout_s, **asking, "assay": _version()}


def _version() -> str:
    try:
        return version("assay")
    except PackageNotFoundError:  # run from a folder that was never installed
        return ""


def sampled(cases: Sequence[Case], share: float | None, seed: int) -> tuple[str, ...]:
    """Choose a share of the cases, rounded up, and return their ids in the order of the cases.

    Each kind of case (category, difficulty, intent, whether it can be answered) has its share, by largest remainder, so
    that a sample is not easier than the whole. Within a kind those whose ids hash lowest are chosen: the same ones
    every time.
    """
    if share is None or share == 1.0:
        return tuple(case.id for case in cases)
    kinds: dict[tuple[object, ...], list[str]] = {}
    for case in cases:
        kinds.setdefault((case.category, case.difficulty, case.intent, case.answerable), []).append(case.id)
    groups = [kinds[kind] for kind in sorted(kinds, key=str)]
    places = _shared_out(math.ceil(share * len(cases)), [len(ids) for ids in groups])
    chosen = {
        one
        for ids, count in zip(groups, places, strict=True)
        for one in sorted(ids, key=lambda case_id: _sample_order(case_id, seed))[:count]
    }
    return tuple(case.id for case in cases if case.id in chosen)


def _sample_order(case_id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\x00{case_id}".encode()).digest()


def _shared_out(places: int, sizes: Sequence[int]) -> list[int]:
    """Share places out in proportion to sizes, what is left over to the largest remainders."""
    whole = sum(sizes)
    given = [places * size // whole for size in sizes]
    remainders = sorted(range(len(sizes)), key=lambda at: (-(places * sizes[at] % whole), at))
    for at in remainders[: places - sum(given)]:
        given[at] += 1
    return given


def guard_coverage(dataset: Dataset, system: System, case_ids: Sequence[str]) -> None:
    """Refuse to score a system whose index lacks what the cases need; one that cannot tell is believed."""
    needed = _needed(dataset, case_ids)
    held = system.holds(needed)
    missing = {} if held is None else {one: case for one, case in needed.items() if one not in held}
    if missing:
        few = ", ".join(f"{one} (for {case})" for one, case in list(missing.items())[:_FEW])
        more = f" and {len(missing) - _FEW:,} more" if len(missing) > _FEW else ""
        raise NotCovered(
            f"the index of {system.name} lacks {len(missing):,} of the {len(needed):,} documents that the cases of "
            f"{dataset.name} need: {few}{more}",
            remedy="Index the whole corpus, or take those cases out: their scores would say nothing.",
        )


def _needed(dataset: Dataset, case_ids: Sequence[str]) -> dict[str, str]:
    """Every relevant document, with the first case that needs it."""
    wanted, needed = set(case_ids), dict[str, str]()
    for case in dataset.cases:
        if case.id in wanted:
            for document, grade in case.labels.items():
                if grade >= dataset.relevance_level:
                    needed.setdefault(document, case.id)
    return needed


def tasks_of(dataset: Dataset, manifest: RunManifest) -> list[tuple[Case, int]]:
    """Every case of every repeat, in order."""
    known = {case.id: case for case in dataset.cases}
    return [(known[one], repeat) for repeat in range(manifest.repeats) for one in manifest.case_ids]
