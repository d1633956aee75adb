"""Plan a run: the budget, and what is fixed before the first case.

- Budgets of money (`1.50`) or time (`90s`, `10m`, `2h`).
- Cases, metrics, depth and the fingerprints of a run.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from assay.errors import BadValue, NotComparable, NotCovered, NothingMeasured
from assay.evaluation.placement import COPIES, PLACING, copies_in
from assay.evaluation.readings import differing, limit_instrument
from assay.evaluation.run_metrics import default_metrics, floors_of, measurable
from assay.evaluation.running.early_stopping import SureAgainst, SurePlan, plan_test
from assay.evaluation.scoring import clusters_of, instrument_of
from assay.extras import DISTRIBUTION
from assay.metrics.aggregate import DEFINITIONS
from assay.metrics.catalog import describe_added
from assay.metrics.ordering import TIE_ORDER
from assay.metrics.spec import parse_specs
from assay.records.datasets import Asking
from assay.records.evaluations import CaseResult, CaseStatus, RunManifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from assay.metrics.spec import MetricSpec
    from assay.records.datasets import Case, Dataset
    from assay.systems.protocol import System

# --- Budgets of money (`1.50`) or time (`90s`, `10m`, `2h`) ---
#
# The next case is taken to cost as much as the dearest so far: better to stop one early than to pay for one too many.
# So is a case that failed before it could tell its cost: it may have been paid for.

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Budget:
    """The most a run may spend; None: as much as it takes."""

    money: float | None = None
    seconds: float | None = None

    @staticmethod
    def parse(text: str) -> Budget:
        """Read a budget as users type it."""
        shape = _TIME.fullmatch(text.strip())
        try:
            amount = float(shape[1] if shape else text)
        except ValueError:
            amount = math.nan
        if not math.isfinite(amount) or amount <= 0:
            raise BadValue(f"the budget {text!r} cannot be read", remedy="Write it like 1.50 (money), 90s, 10m or 2h.")
        return Budget(seconds=amount * _SECONDS[shape[2]]) if shape else Budget(money=amount)


NO_LIMIT = Budget()


class RunSpending:
    """What a run has spent, case by case. Time counts from when this process began; money from the first case ever."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.money = 0.0
        self._dearest = 0.0
        self._slowest = 0.0
        self._known = 0

    def add(self, result: CaseResult) -> None:
        """One more case."""
        self._known += 1
        self._dearest = max(self._dearest, result.cost or 0.0)
        lost = result.cost is None and result.status in (CaseStatus.ERROR, CaseStatus.TIMEOUT)
        self.money += self._dearest if lost else result.cost or 0.0
        self._slowest = max(self._slowest, (result.total_ms or 0.0) / 1000.0)

    def allows_another(self, elapsed_s: float, *, at_work: int = 0) -> bool:
        """Whether one more case like the dearest stays within the budget, beside those `at_work`.

        Before the first case has told its cost, one at a time is allowed.
        """
        money, seconds = self._budget.money, self._budget.seconds
        if seconds is not None and elapsed_s + self._slowest > seconds:
            return False
        if money is None:
            return True
        if at_work and not self._known:
            return False
        return self.money + (at_work + 1) * self._dearest <= money


# --- Cases, metrics, depth and the fingerprints of a run ---
#
# The instrument is everything that moves a number besides the system: two runs may be compared when it is equal. The
# subject is the system and what it is made of: what may differ.

LEAST_K = 10
"""Results requested when no metric looks further."""
TIMEOUT_S = 60.0
_FEW = 5
_TAG = re.compile(r"[\w./:-]{1,64}")


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
    """The system as named by the user; empty: its own name."""
    asking: Asking = Asking.LAST
    """What is sent as the query where a question is part of a conversation."""
    instrument: Mapping[str, Any] = field(default_factory=dict)
    """What else moves the numbers, such as cases that were left out."""
    against: SureAgainst | None = None
    """What the run is compared with while it runs, to stop when that is decided; None: all cases are asked."""
    until_sure: Mapping[str, Any] = field(default_factory=dict)
    """The test that a run was begun with, for a run that goes on; it replaces `against`."""
    commit: str = ""
    """The commit of the code, where that is known."""
    tags: tuple[str, ...] = ()
    """Words to find the run by."""

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise BadValue(f"repeats {self.repeats} is below 1", remedy="Give 1 or more.")
        if self.sample is not None and not 0.0 < self.sample <= 1.0:
            raise BadValue(f"sample {self.sample} is not a share", remedy="Give a share above 0 and up to 1, as 0.1.")
        if self.k is not None and self.k < 1:
            raise BadValue(f"k {self.k} is below 1", remedy="Give 1 or more.")
        if self.timeout_s is not None and not 0.0 < self.timeout_s < math.inf:
            raise BadValue(f"timeout {self.timeout_s} is not above 0", remedy="Give seconds above 0.")
        for tag in self.tags:
            if not _TAG.fullmatch(tag):
                raise BadValue(
                    f"tag {tag!r} cannot be read", remedy="Give up to 64 letters, digits and the signs . _ / : -"
                )


def options_of(there: RunManifest) -> RunOptions:
    """Return how a run was begun, for one that goes on."""
    return RunOptions(
        metrics=parse_specs(there.metrics),
        k=there.k,
        repeats=there.repeats,
        sample=there.sample,
        seed=there.seed,
        timeout_s=there.subject.get("timeout_s"),
        asking=Asking(there.subject.get("asking", Asking.LAST)),
        until_sure=there.until_sure,
    )


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
    case_ids = sample_cases(dataset.cases, options.sample, options.seed)
    asked = set(case_ids)
    instrument = _instrument(dataset, specs, k, options)
    clusters = clusters_of([case for case in dataset.cases if case.id in asked])
    test, case_ids = _plan_test(options, specs, case_ids, clusters, instrument)
    return RunManifest(
        run_id=run_id,
        name=options.name or options.spec or system.name,
        dataset=dataset.name,
        dataset_version=dataset.version,
        system=options.spec or system.name,
        instrument=instrument,
        subject=_subject(dataset, system, options),
        metrics=tuple(map(str, specs)),
        k=k,
        repeats=options.repeats,
        sample=options.sample,
        seed=options.seed,
        case_ids=case_ids,
        own_metrics=describe_added(spec.name for spec in specs),
        clusters=clusters,
        until_sure=test,
        started_at=at,
        host=host,
        commit=options.commit,
        tags=options.tags,
    )


def _plan_test(
    options: RunOptions,
    specs: Sequence[MetricSpec],
    case_ids: tuple[str, ...],
    clusters: Mapping[str, str],
    instrument: Mapping[str, Any],
) -> SurePlan:
    """The sequential test of a run and the order of its cases; without a test, no test and the dataset's order."""
    if options.until_sure:
        first = list(options.until_sure["control"])
        known = set(first)
        return SurePlan(dict(options.until_sure), (*first, *(case for case in case_ids if case not in known)))
    if options.against is None:
        return SurePlan({}, case_ids)
    control = options.against.control
    plan = plan_test(options.against, specs, case_ids, clusters, options.seed)
    deciding = [plan.test["metric"]]
    changed = differing(limit_instrument(control.instrument, deciding), limit_instrument(instrument, deciding))
    if changed:
        raise NotComparable(
            f"the baseline {control.name} was measured with another instrument: {'; '.join(map(str, changed))}",
            remedy="Run the baseline again over the same dataset with the same metrics.",
        )
    return plan


def _depth(specs: Sequence[MetricSpec], asked: int | None) -> int:
    """How many results to request: at least as many as the deepest metric looks at."""
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
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a folder that was never installed
        return ""


def sample_cases(cases: Sequence[Case], share: float | None, seed: int) -> tuple[str, ...]:
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
    places = _apportion(math.ceil(share * len(cases)), [len(ids) for ids in groups])
    chosen = {
        chosen
        for ids, count in zip(groups, places, strict=True)
        for chosen in sorted(ids, key=lambda case_id: _sample_order(case_id, seed))[:count]
    }
    return tuple(case.id for case in cases if case.id in chosen)


def _sample_order(case_id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\x00{case_id}".encode()).digest()


def _apportion(places: int, sizes: Sequence[int]) -> list[int]:
    """Share places out in proportion to sizes, what is left over to the largest remainders."""
    whole = sum(sizes)
    given = [places * size // whole for size in sizes]
    remainders = sorted(range(len(sizes)), key=lambda at: (-(places * sizes[at] % whole), at))
    for at in remainders[: places - sum(given)]:
        given[at] += 1
    return given


def guard_coverage(dataset: Dataset, system: System, case_ids: Sequence[str]) -> None:
    """Refuse to score a system whose index lacks documents the cases need; others are accepted."""
    needed = _find_needed_documents(dataset, case_ids)
    held = system.holds(needed)
    missing = (
        {} if held is None else {identifier: case for identifier, case in needed.items() if identifier not in held}
    )
    if missing:
        few = ", ".join(f"{identifier} (for {case})" for identifier, case in list(missing.items())[:_FEW])
        more = f" and {len(missing) - _FEW:,} more" if len(missing) > _FEW else ""
        raise NotCovered(
            f"the index of {system.name} lacks {len(missing):,} of the {len(needed):,} documents that the cases of "
            f"{dataset.name} need: {few}{more}",
            remedy="Index the whole corpus, or take those cases out: their scores would say nothing.",
        )


def _find_needed_documents(dataset: Dataset, case_ids: Sequence[str]) -> dict[str, str]:
    """Every relevant document, with the first case that needs it."""
    wanted, needed = set(case_ids), dict[str, str]()
    for case in dataset.cases:
        if case.id in wanted:
            for document, grade in case.labels.items():
                if grade >= dataset.relevance_level:
                    needed.setdefault(document, case.id)
    return needed


def tasks_of(manifest: RunManifest) -> Iterator[tuple[str, int]]:
    """Every case of every repeat, in order; where a test may end the run, all repeats of a case follow each other."""
    if manifest.until_sure:
        return ((case_id, repeat) for case_id in manifest.case_ids for repeat in range(manifest.repeats))
    return ((case_id, repeat) for repeat in range(manifest.repeats) for case_id in manifest.case_ids)
