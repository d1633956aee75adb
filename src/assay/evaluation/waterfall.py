"""Where gold evidence was lost on its way to the reader: the answer to "why is recall low?".

Each gold item passes the same steps in the same order: indexed, offered by a channel, inside the scope, kept by fusion,
shown, shown within k, cited, answered rightly. `trace` states for every step whether the item passed it, did not, or
whether that is not known, and `Fate.stage` is the first step it did not pass. What a system does not report is never
guessed: an item that is gone and whose first doubtful step lies before the first certain loss is `not known`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from assay.evaluation.placement import copies_in, copy_units, place_results
from assay.metrics.anchors import matches, may_match
from assay.records.answers import GoldSupport, RetrievedChunk
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved, Seen, SeenStage
from assay.records.heading_path import SEPARATOR
from assay.systems.reported_steps import FUSION_STAGES, SCOPE_STAGES


class EvidenceStep(StrEnum):
    """One step on the way, by what an item that passed it is."""

    INDEXED = "indexed"
    CANDIDATE = "a candidate"
    IN_SCOPE = "in scope"
    FUSED = "kept by fusion"
    SHOWN = "shown"
    WITHIN_K = "within k"
    CITED = "cited"
    RIGHT = "answered rightly"


class LossStage(StrEnum):
    """What became of one gold item."""

    NOT_INDEXED = "not indexed"
    NOT_A_CANDIDATE = "never a candidate"
    OUT_OF_SCOPE = "filtered by scope"
    LOST_IN_FUSION = "lost in fusion"
    LOST_IN_RERANK = "lost in rerank or truncation"
    BELOW_K = "shown below k"
    NOT_CITED = "retrieved, not cited"
    ANSWER_WRONG = "cited, answer wrong"
    NOT_KNOWN = "not known"
    SYSTEM_FAILED = "the system failed"
    REACHED = "reached"


LOSSES = {
    EvidenceStep.INDEXED: LossStage.NOT_INDEXED,
    EvidenceStep.CANDIDATE: LossStage.NOT_A_CANDIDATE,
    EvidenceStep.IN_SCOPE: LossStage.OUT_OF_SCOPE,
    EvidenceStep.FUSED: LossStage.LOST_IN_FUSION,
    EvidenceStep.SHOWN: LossStage.LOST_IN_RERANK,
    EvidenceStep.WITHIN_K: LossStage.BELOW_K,
    EvidenceStep.CITED: LossStage.NOT_CITED,
    EvidenceStep.RIGHT: LossStage.ANSWER_WRONG,
}
"""What an item is called that did not pass a step."""
RETRIEVAL = tuple(step for step in EvidenceStep if step not in (EvidenceStep.CITED, EvidenceStep.RIGHT))
"""The steps of every system; only those that answer have the other two."""

_PROVING = frozenset(RETRIEVAL) - {EvidenceStep.IN_SCOPE}

Passed = Mapping[EvidenceStep, bool | None]
"""Whether an item passed each step; None: not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldFate:
    """One gold item of one case: which steps it passed, and at which rank each list had it."""

    case_id: str
    item: str
    grade: int | None = None
    """None: anchored evidence has no grades."""
    passed: Passed
    channels: Mapping[str, int | None] | None = None
    """Its rank in each channel's list, None where the channel did not offer it; all None: not reported."""
    channel_scores: Mapping[str, float] = field(default_factory=dict)
    """What each channel that offered it gave it, where the system reports that."""
    fused_rank: int | None = None
    dropped_by: str = ""
    """The stage that took it out, as the system calls it; empty: none, or not reported."""
    rank: int | None = None
    """Where it was shown, from 1."""
    score: float | None = None
    """What it was shown with; None: not shown, or without scores."""
    failed: bool = False
    """The system gave nothing for the case at all."""

    @property
    def stage(self) -> LossStage:
        """The first step it did not pass, `not known` where that is open, `reached` where it passed all that apply."""
        if self.failed:
            return LossStage.SYSTEM_FAILED
        first = next((step for step, done in self.passed.items() if not done), None)
        if first is None or (self.passed[first] is None and not self.between):
            return LossStage.REACHED
        return LossStage.NOT_KNOWN if self.passed[first] is None else LOSSES[first]

    @property
    def between(self) -> tuple[LossStage, ...]:
        """Where it may have been lost: one stage, or several when it is not known which; nothing when it was not."""
        steps = list(self.passed)
        lost = next((place for place, step in enumerate(steps) if self.passed[step] is False), None)
        if lost is None:
            return ()
        return tuple(LOSSES[step] for step in steps[: lost + 1] if self.passed[step] is not True)

    def came_past(self, step: EvidenceStep) -> bool | None:
        """Whether it passed a step and all before it; None: not known."""
        way = list(EvidenceStep)
        until = {self.passed.get(earlier) for earlier in way[: way.index(step) + 1]}
        if self.failed or False in until:
            return False
        return None if None in until else True

    @property
    def found(self) -> bool:
        """Whether it was shown within k, used by an answer or not."""
        return self.passed.get(EvidenceStep.WITHIN_K) is True


@dataclass(frozen=True, kw_only=True, slots=True)
class Waterfall:
    """Every gold item of a run."""

    k: int
    fates: tuple[GoldFate, ...]
    untried: int = 0
    """Gold items of cases that were never run; they are in no count."""
    steps: tuple[EvidenceStep, ...] = RETRIEVAL
    """The steps that apply to this system."""

    @property
    def lost(self) -> dict[LossStage, int]:
        """How many items ended at each stage, the order of the way; `reached` is not among them."""
        found = Counter(fate.stage for fate in self.fates)
        return {stage: found[stage] for stage in LossStage if stage is not LossStage.REACHED and found[stage]}

    @property
    def missed(self) -> tuple[GoldFate, ...]:
        """The items that were not shown within k."""
        return tuple(fate for fate in self.fates if not fate.found)

    def count_reached(self, step: EvidenceStep) -> int:
        """How many items certainly passed a step and all before it."""
        return sum(1 for fate in self.fates if fate.came_past(step) is True)

    def doubtful(self, step: EvidenceStep) -> int:
        """How many items may have come past a step or may not."""
        return sum(1 for fate in self.fates if fate.came_past(step) is None)


def waterfall(
    dataset: Dataset, results: Iterable[CaseResult], *, k: int, right: Mapping[str, bool] | None = None
) -> Waterfall:
    """Follow every gold item of a run; of repeats the first counts.

    `right` states by case whether its answer was judged right; cases missing in it are not known.
    """
    first = place_results(dataset, [result for result in results if result.repeat == 0])
    cases = {case.id: case for case in dataset.cases}
    known = [(cases[result.case_id], result) for result in first if result.case_id in cases]
    tried = [(case, result) for case, result in known if result.status is not CaseStatus.SKIPPED]
    fates = [
        fate for case, result in tried for fate in trace(dataset, case, result, k=k, right=(right or {}).get(case.id))
    ]
    answered = any(result.retrieved is not None and result.retrieved.answer is not None for result in first)
    untried = sum(len(gold_of(dataset, case)) for case, result in known if result.status is CaseStatus.SKIPPED)
    return Waterfall(k=k, fates=tuple(fates), untried=untried, steps=tuple(EvidenceStep) if answered else RETRIEVAL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gold:
    """One thing a case needs: a document, or a place in one."""

    name: str
    document_id: str | None
    """None: no document of the dataset has the file that the evidence names."""
    grade: int | None = None
    rel_path: str = ""
    """Of the document, where it has one."""
    support: GoldSupport | None = None
    copies: tuple[str, ...] = ()
    """Documents with the same text, which count as this one."""

    @property
    def names(self) -> frozenset[str]:
        """What a system may call it: the document's id, its path, and those of its copies."""
        return frozenset(name for name in (self.document_id, self.rel_path, *self.copies) if name)


def gold_of(dataset: Dataset, case: Case) -> tuple[Gold, ...]:
    """What a case needs: its gold supports, else the documents graded relevant, best first."""
    if case.anchors is not None:
        return tuple(_gold_of_support(dataset, support) for support in case.anchors.supports) if case.answerable else ()
    relevant = [(grade, name) for name, grade in case.labels.items() if grade >= dataset.relevance_level]
    units = copy_units(case, copies_in(dataset))
    return tuple(
        Gold(
            name=name,
            document_id=name,
            grade=grade,
            rel_path=_path_of(dataset, name),
            copies=tuple(document for document, unit in units.items() if document != name and unit == units.get(name)),
        )
        for grade, name in sorted(relevant, key=lambda item: (-item[0], item[1]))
    )


def _path_of(dataset: Dataset, name: str) -> str:
    return dataset.by_id[name].rel_path if name in dataset.by_id else ""


def _gold_of_support(dataset: Dataset, support: GoldSupport) -> Gold:
    place = support.rel_path + (SEPARATOR + support.heading_path if support.heading_path else "")
    holder = next((document.id for document in dataset.documents if document.rel_path == support.rel_path), None)
    return Gold(name=place, document_id=holder, rel_path=support.rel_path, support=support)


def trace(
    dataset: Dataset, case: Case, result: CaseResult, *, k: int, right: bool | None = None
) -> tuple[GoldFate, ...]:
    """The fate of each gold item of one case."""
    return tuple(_fate(case, gold, result, k=k, right=right) for gold in gold_of(dataset, case))


def _fate(case: Case, gold: Gold, result: CaseResult, *, k: int, right: bool | None) -> GoldFate:
    retrieved = result.retrieved
    if retrieved is None:
        return GoldFate(case_id=case.id, item=gold.name, grade=gold.grade, passed={}, failed=True)
    seen, rank = retrieved.seen or Seen(), rank_of(gold, retrieved)
    told: dict[EvidenceStep, bool | None] = {
        **_before_the_list(seen, gold),
        EvidenceStep.SHOWN: _may_be_shown(gold, retrieved) if rank is None else True,
        EvidenceStep.WITHIN_K: _may_be_shown(gold, retrieved) if rank is None else rank <= k,
        **_in_the_answer(gold, retrieved, right),
    }
    dropping = _dropping_stage(seen, gold) if rank is None else None
    return GoldFate(
        case_id=case.id,
        item=gold.name,
        grade=gold.grade,
        passed=_consistent(told),
        channels=None if seen.channels is None else {name: _place(gold, ids) for name, ids in seen.channels.items()},
        channel_scores=_channel_scores(seen, gold),
        fused_rank=None if seen.fused is None else _place(gold, seen.fused),
        dropped_by="" if dropping is None else dropping.name,
        rank=rank,
        score=None if rank is None else _score_at(retrieved, rank),
    )


def rank_of(gold: Gold, retrieved: Retrieved) -> int | None:
    """Where a gold item stands in what was retrieved, from 1; passages must have been placed. None: it is not there."""
    support = gold.support
    if support is None:
        ranks = (_first_place({copy}, retrieved.ids) for copy in (gold.document_id, *gold.copies) if copy)
        return min((rank for rank in ranks if rank is not None), default=None)
    hits = (rank for rank, chunk in enumerate(retrieved.passages, start=1) if matches(chunk, support))
    return next(hits, None)


def _score_at(retrieved: Retrieved, rank: int) -> float | None:
    """The score at a rank; passages may be more than the documents that have scores."""
    return retrieved.scores[rank - 1] if retrieved.scores is not None and rank <= len(retrieved.scores) else None


def _channel_scores(seen: Seen, gold: Gold) -> dict[str, float]:
    places = {name: _place(gold, ids) for name, ids in (seen.channels or {}).items()}
    scores = seen.channel_scores or {}
    return {name: scores[name][place - 1] for name, place in places.items() if place is not None and name in scores}


def _dropping_stage(seen: Seen, gold: Gold) -> SeenStage | None:
    """The first stage that took an item out."""
    return next((stage for stage in seen.stages or () if gold.names & set(stage.dropped or ())), None)


def _may_be_shown(gold: Gold, retrieved: Retrieved) -> bool | None:
    """None where a result that could not be placed may be the gold item, else that it was not shown."""
    support = gold.support
    return None if support is not None and any(may_match(chunk, support) for chunk in retrieved.passages) else False


def _place(gold: Gold, ids: Sequence[str]) -> int | None:
    return _first_place(gold.names, ids)


def _first_place(names: Collection[str], ids: Sequence[str]) -> int | None:
    return next((place for place, name in enumerate(ids, start=1) if name in names), None)


def _before_the_list(seen: Seen, gold: Gold) -> dict[EvidenceStep, bool | None]:
    """What the system reported of the steps before its list."""
    out = None if seen.excluded is None else bool(gold.names & set(seen.excluded))
    offered = _was_offered(seen, gold)
    # A scope may be asked for inside the channels: what it took out was not theirs to offer.
    told = {
        EvidenceStep.INDEXED: None if seen.indexed is None else bool(gold.names & set(seen.indexed)),
        EvidenceStep.CANDIDATE: True if out else offered,
        EvidenceStep.IN_SCOPE: None if out is None else not out,
        EvidenceStep.FUSED: _was_fused(seen, gold, offered=offered),
    }
    if gold.support is None:
        return told
    # A list of documents tells of a place in one only when the document is not there.
    return {step: done if done is False or step is EvidenceStep.IN_SCOPE else None for step, done in told.items()}


def _was_offered(seen: Seen, gold: Gold) -> bool | None:
    """Whether some channel had an item; None where that is not reported, or the list was cut where it is kept."""
    if _dropping_stage(seen, gold) is not None:
        return True
    if seen.channels is None:
        return None
    offered = any(_place(gold, ids) is not None for ids in seen.channels.values())
    return offered or (None if seen.cut else False)


def _was_fused(seen: Seen, gold: Gold, *, offered: bool | None) -> bool | None:
    """Whether fusion kept an item. A stage after fusion can only drop what fusion kept."""
    if seen.fused is not None:
        return _place(gold, seen.fused) is not None or (None if seen.cut else False)
    dropping = _dropping_stage(seen, gold)
    if dropping is not None:
        return dropping.name not in SCOPE_STAGES | FUSION_STAGES
    fusions = [stage for stage in seen.stages or () if stage.name in FUSION_STAGES]
    if seen.stages is not None and all(stage.dropped is not None for stage in fusions):
        return offered or None  # every stage is listed, and none of them dropped it before the list
    # Where one channel is all there is, nothing is fused.
    return True if offered and seen.names_all_channels and len(seen.channels or ()) == 1 else None


def _in_the_answer(gold: Gold, retrieved: Retrieved, right: bool | None) -> dict[EvidenceStep, bool | None]:
    answer = retrieved.answer
    if answer is None:
        return {}
    return {
        EvidenceStep.CITED: any(_is_of(reference, gold) for reference in answer.references),
        EvidenceStep.RIGHT: right,
    }


def _is_of(reference: RetrievedChunk, gold: Gold) -> bool:
    """Whether a reference is to a gold item: its place, or the document by id, by path or by one of its chunks."""
    if gold.support is not None:
        return matches(reference, gold.support)
    names = (reference.chunk_id, reference.chunk_id.rpartition(":chunk:")[0], reference.rel_path)
    return gold.document_id in names or (bool(gold.rel_path) and reference.rel_path == gold.rel_path)


def _consistent(told: Mapping[EvidenceStep, bool | None]) -> dict[EvidenceStep, bool | None]:
    """An item that passed a step of retrieval has passed those before it, reported or not.

    Not to be among what a scope took out is no proof of anything before it.
    """
    proof = [place for place, step in enumerate(told) if step in _PROVING and told[step]]
    last = max(proof, default=-1)
    return {step: True if place < last else done for place, (step, done) in enumerate(told.items())}
