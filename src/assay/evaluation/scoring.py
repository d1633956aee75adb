"""Score a run: every metric over every case, with counts, breakdowns, latencies and caveats about labels.

- Clusters of cases that belong together.
- Caveats about the dataset's labels.
- Scoring.
"""

from __future__ import annotations

import statistics as plain_statistics
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, cycle, starmap
from operator import attrgetter
from typing import TYPE_CHECKING

from assay.errors import NothingMeasured
from assay.evaluation import caveats
from assay.evaluation.datasets.checks import describe_weak, leaks, weak_sources
from assay.evaluation.placement import (
    copies_in,
    copy_units,
    find_unplaced,
    join_units,
    place_results,
    placement_caveat,
    refuse_undecided,
)
from assay.evaluation.results import RunResult, sort_by_repeat
from assay.evaluation.run_metrics import (
    NEEDS_ANSWER,
    NEEDS_CITATIONS,
    NEEDS_REFERENCE,
    NEEDS_REFERENCES,
    case_outcome,
    floors_of,
    leading_tier,
)
from assay.evaluation.running.json_text import write_columns
from assay.evaluation.until_sure import describe_stop
from assay.hashing import canonical_json, content_hash, hash_pieces, list_pieces
from assay.metrics import outcomes
from assay.metrics.aggregate import Aggregate, Instrument, aggregate, break_down, group_places
from assay.metrics.anchors import OF_PASSAGES
from assay.metrics.catalog import FromCases, FromRun
from assay.metrics.engine import MeasuredRun, ScoringRules, measure_pairs
from assay.metrics.inputs import CaseView, grades_by_unit, ranking_by_unit, relevant_to, scores_of_ranking
from assay.metrics.operations import TOTAL, TimedCase, failures, latency_by_stage
from assay.metrics.outcome_columns import CaseOrder, OutcomeColumn
from assay.metrics.spec import MetricSpec
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseRun, CaseStatus, Outcome
from assay.records.run_results import Caveat, CaveatKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assay.records.answers import GivenAnswer
    from assay.records.datasets import Case, Dataset, Document
    from assay.records.evaluations import CaseResult, RunManifest


# --- Clusters of cases that belong together ---
#
# Cases that belong together rise and fall together, so they tell less than as many independent ones. Comparisons and
# gates resample and flip whole clusters (`statistics.clusters`); a run carries its clusters in the manifest.

TAG = "cluster:"
"""How a tag that names a cluster begins."""


def clusters_of(cases: Sequence[Case]) -> dict[str, str]:
    """The cluster of each case that shares one with another; empty: all cases stand alone."""
    in_conversations = any(case.history for case in cases)
    keys = [_cluster_key(case, in_conversations=in_conversations) for case in cases]
    sizes = Counter(keys)
    return {case.id: _label(key) for case, key in zip(cases, keys, strict=True) if sizes[key] > 1}


def cluster_caveat(clusters: Mapping[str, str], cases: int) -> list[Caveat]:
    """Say how many cases belong together, and what follows for the numbers."""
    if not clusters:
        return []
    groups = len(set(clusters.values()))
    units = cases - len(clusters) + groups
    return [
        Caveat(
            kind=CaveatKind.CLUSTERS,
            sentence=f"{len(clusters):,} of {cases:,} cases belong together in {groups:,} clusters (sessions, "
            f"conversations, the same question again): comparisons and gates count {units:,} independent units; the "
            "intervals of a single run take cases as independent and are too narrow.",
            count=len(clusters),
            of=cases,
            figures={"clusters": groups, "units": units},
        )
    ]


_CONVERSATION, _QUESTION = "conversation ", "question "


def _cluster_key(case: Case, *, in_conversations: bool) -> str:
    """What cases of one cluster share: its label, with the words themselves where the label has their hash."""
    tagged = next((tag for tag in case.tags if tag.startswith(TAG)), "")
    if tagged:
        return tagged
    if case.session is not None:
        return f"session {case.session.session_id}"
    # A conversation is known by the words it begins with: every later question has them in its history.
    if in_conversations:
        return _CONVERSATION + (case.history[0].text if case.history else case.query)
    # The same words again are the same question: thirty copies of it tell no more than one.
    return _QUESTION + " ".join(case.query.casefold().split())


def _label(key: str) -> str:
    start = next((start for start in (_CONVERSATION, _QUESTION) if key.startswith(start)), "")
    return f"{start}{content_hash(key.removeprefix(start))[-16:]}" if start else key


# --- Caveats about the dataset's labels ---

MOST_CHARACTERS = 5_000_000
"""Searched for leaks in about a second; of larger corpora only the documents that some case judges or names."""
_LEAKS = {
    "query-copied": "the query is copied from a document",
    "query-in-metadata": "the query stands in a document's metadata",
    "answer-in-metadata": "the answer stands in a document's metadata",
    "answer-in-query": "the query holds the answer",
}


def label_caveats(dataset: Dataset, cases: Sequence[Case]) -> Iterator[Caveat]:
    """Weak labels, then leakage, of the cases that were run."""
    weak, judged = weak_sources(cases), sum(len(case.labels) for case in cases)
    if weak:
        yield Caveat(
            kind=CaveatKind.LABELS,
            sentence=f"{describe_weak(weak, judged)}: such labels are weak, and favour the system people used.",
            count=sum(weak.values()),
            of=judged,
        )
    leaked = _find_leaked_cases(dataset, cases)
    if leaked:
        concerned = len({case for found in leaked.values() for case in found})
        parts = ", ".join(f"{_LEAKS.get(code, code)} ({len(found):,})" for code, found in leaked.items())
        yield Caveat(
            kind=CaveatKind.LABELS,
            sentence=f"Leakage in {concerned:,} of {len(cases):,} cases: {parts}. The values may be too high; "
            f"`assay dataset check {dataset.name}` lists the cases.",
            count=concerned,
            of=len(cases),
        )


def _find_leaked_cases(dataset: Dataset, cases: Sequence[Case]) -> dict[str, set[str]]:
    """The cases that each kind of leak concerns. Saves repeat what was saved before: that is what they are for."""
    questions = tuple(case for case in cases if case.save is None)
    found: dict[str, set[str]] = {}
    if questions:
        for finding in leaks(replace(dataset, cases=questions, documents=_documents_searched(dataset, questions))):
            found.setdefault(finding.code, set()).add(finding.where)
    return found


def _documents_searched(dataset: Dataset, cases: Sequence[Case]) -> tuple[Document, ...]:
    if sum(len(document.text) for document in dataset.documents) <= MOST_CHARACTERS:
        return dataset.documents
    named = {name for case in cases for name in case.labels}
    paths = {support.rel_path for case in cases if case.anchors for support in case.anchors.supports}
    return tuple(document for document in dataset.documents if document.id in named or document.rel_path in paths)


def copy_caveats(results: Sequence[CaseResult], units: Mapping[str, Mapping[str, str]]) -> Iterator[Caveat]:
    """In how many cases the list has a document that is in the corpus several times; `units` is by case."""
    concerned = {
        result.case_id
        for result in results
        if result.retrieved is not None and not units.get(result.case_id, {}).keys().isdisjoint(result.retrieved.ids)
    }
    asked = len(Counter(result.case_id for result in results))
    if concerned:
        yield Caveat(
            kind=CaveatKind.COPIES,
            sentence=f"In {len(concerned):,} of {asked:,} cases the list has a judged document that is in the corpus "
            "more than once. A copy counts as the document itself, and both together once.",
            count=len(concerned),
            of=asked,
        )


# --- Scoring ---
#
# Rankings go through `metrics.engine` all at once, anchors and answers case by case. A case that failed is
# `system_failed` under every metric, one that was not tried is `skipped`: neither is 0 and neither is dropped. With
# repeats a case's value is the mean of the repeats that were scored, and how much they vary is kept beside it.

NO_ANSWER = "the question has no answer among the documents"
LAST_TURN = 6
"""From this question of a conversation on, questions are counted together."""
BREAKDOWNS: Mapping[str, Callable[[Case], str | tuple[str, ...]]] = {
    "category": lambda case: case.category,
    "difficulty": lambda case: case.difficulty,
    "tags": lambda case: case.tags,
    "intent": lambda case: "" if case.intent is None else case.intent.value,
    "vault": lambda case: case.vault,
    "turn": lambda case: f"turn {min(case.turn, LAST_TURN)}{'+' * (case.turn >= LAST_TURN)}",
    "session": lambda case: f"turn {case.session.turn}" if case.session is not None and case.session.turn else "",
    "answerable": lambda case: "yes" if case.answerable else "no",
}
_CONTRASTS = frozenset({"turn", "answerable"})
"""Labels that every case has; a breakdown is useful only where they differ."""


def instrument_of(dataset: Dataset, k: int) -> Instrument:
    """What every metric of a run is measured with."""
    return Instrument(
        relevance_level=dataset.relevance_level,
        ranked_unit=dataset.ranked_unit,
        depth=k,
        dataset=dataset.content_hash,
    )


def score_run(
    dataset: Dataset, manifest: RunManifest, cases: Sequence[CaseResult], *, elapsed_s: float | None = None
) -> RunResult:
    """Everything that can be computed from a run. `cases` holds every case of every repeat (`with_skipped`)."""
    sheet = _Sheet(dataset, manifest, tuple(cases))
    _refuse_strangers(sheet)
    scores = {spec: sheet.average(spec) for spec in sheet.specs}
    _refuse_undecided(sheet, scores)
    found = _find_caveats(sheet, scores)
    sheet.forget_rankings()
    runs = [_check_times(case) for case in cases]
    failed = failures(runs)
    rates = {"error_rate": failed.any, "timeout_rate": failed.timeout, "empty_response_rate": failed.empty}
    aggregates = {spec: sheet.aggregate(spec, per_case) for spec, per_case in scores.items()}
    latency = latency_by_stage(runs)
    result = RunResult(
        manifest=manifest,
        cases=sheet.cases,
        scores=scores,
        noise={spec: sheet.noise(spec) for spec in sheet.specs} if manifest.repeats > 1 else {},
        aggregates=aggregates,
        breakdowns=_breakdowns(sheet, scores),
        latency=latency,
        rates=rates,
        floors=floors_of(dataset),
        caveats=(
            *_describe_test(manifest, scores),
            *caveats.bounds_caveat(aggregates),
            *found,
            *cluster_caveat(manifest.clusters, len(manifest.case_ids)),
            *caveats.latency_caveats(sheet.cases, latency.get(TOTAL)),
        ),
        elapsed_s=elapsed_s,
        result_hash=result_hash(sheet.cases, scores),
    )
    return replace(result, caveats=(*result.caveats, *caveats.run_metric_caveats(result.run_metrics)))


def _describe_test(manifest: RunManifest, scores: Mapping[MetricSpec, OutcomeColumn]) -> list[Caveat]:
    """Say what the run's sequential test decided, where it has one."""
    if not manifest.until_sure:
        return []
    return describe_stop(manifest, scores[MetricSpec.parse(manifest.until_sure["metric"])])


def score_metric(
    dataset: Dataset, manifest: RunManifest, cases: Sequence[CaseResult], metric: str = ""
) -> dict[str, Outcome]:
    """Score the cases whose repeats have all ended, under a metric or that of the run's sequential test."""
    ended = Counter(case.case_id for case in cases)
    whole = {case for case, repeats in ended.items() if repeats == manifest.repeats}
    spec = MetricSpec.parse(metric or manifest.until_sure["metric"])
    part = replace(
        manifest,
        metrics=(str(spec),),
        case_ids=tuple(case for case in manifest.case_ids if case in whole),
    )
    sheet = _Sheet(dataset, part, tuple(case for case in cases if case.case_id in whole))
    return dict(sheet.average(spec)) if whole else {}


def measure_further(dataset: Dataset, result: RunResult, specs: Sequence[MetricSpec]) -> dict[MetricSpec, Aggregate]:
    """Measure metrics that a finished run was not asked for, as if it had been."""
    manifest = replace(result.manifest, metrics=tuple(map(str, specs)))
    sheet = _Sheet(dataset, manifest, tuple(result.cases))
    return {spec: sheet.aggregate(spec, sheet.average(spec)) for spec in specs}


def result_hash(cases: Iterable[CaseResult], scores: Mapping[MetricSpec, Mapping[str, Outcome]]) -> str:
    """Hash of the results and scores, independent of times and of the order of cases."""
    ordered = sorted(sorted(cases, key=attrgetter("repeat")), key=attrgetter("case_id"))
    columns = {str(spec): OutcomeColumn.of(of) for spec, of in scores.items()}
    values = write_columns(columns, lambda outcome: canonical_json([outcome.kind.value, outcome.value]))
    return hash_pieces(chain("[", list_pieces(map(_write_found, ordered)), ",", values, "]"))


def _write_found(case: CaseResult) -> str:
    ids = case.retrieved.ids if case.retrieved else None
    return canonical_json((case.case_id, case.repeat, case.status.value, ids))


@dataclass(frozen=True)
class _Sheet:
    """A run with what its metrics need, each computed once."""

    dataset: Dataset
    manifest: RunManifest
    cases: tuple[CaseResult, ...]

    @cached_property
    def asked(self) -> tuple[Case, ...]:
        """The dataset's cases of this run, in the run's order."""
        known = {case.id: case for case in self.dataset.cases}
        return tuple(known[case_id] for case_id in self.manifest.case_ids)

    @cached_property
    def instrument(self) -> Instrument:
        return instrument_of(self.dataset, self.manifest.k)

    @cached_property
    def specs(self) -> tuple[MetricSpec, ...]:
        """Those of the manifest that have a value a case, what others need, and those of answers if there are any."""
        asked = [MetricSpec.parse(text) for text in self.manifest.metrics]
        computes = [(spec, spec.entry.compute) for spec in asked]
        needed = [other for spec, compute in computes if isinstance(compute, FromRun) for other in compute.needs(spec)]
        answers = [MetricSpec.parse(name) for name in self.of_answers] if self._answers else []
        return tuple(dict.fromkeys(spec for spec in [*asked, *needed, *answers] if not spec.is_of_run))

    @property
    def of_answers(self) -> tuple[str, ...]:
        """What the dataset expects of answers, where there are any."""
        return (
            *NEEDS_ANSWER,
            *(NEEDS_REFERENCE if any(case.reference_answer for case in self.asked) else ()),
            *(NEEDS_REFERENCES if any(answer.references for answer in self._answers) else ()),
            *(NEEDS_CITATIONS if any(case.anchors for case in self.asked) else ()),
        )

    @property
    def unanswered(self) -> bool:
        """Whether the dataset expects answers and the system gave none."""
        wanted = any(case.anchors or case.reference_answer for case in self.asked)
        return wanted and not self._answers

    @cached_property
    def _answers(self) -> list[GivenAnswer]:
        return [
            case.retrieved.answer
            for case in self.cases
            if case.retrieved is not None and case.retrieved.answer is not None
        ]

    @cached_property
    def copied(self) -> dict[str, dict[str, str]]:
        """By case: judged documents that are in the corpus more than once, with the id that represents all copies."""
        copies = copies_in(self.dataset)
        return {case.id: copy_units(case, copies) for case in self.asked} if copies else {}

    def units(self, case: Case) -> dict[str, str]:
        """Documents that count as one for a case, declared so or copies of each other."""
        return join_units(_units_of_case(case), self.copied.get(case.id, {}))

    @cached_property
    def order(self) -> CaseOrder:
        return CaseOrder(self.manifest.case_ids)

    @cached_property
    def placed(self) -> tuple[CaseResult, ...]:
        """Every case with what it found placed in the dataset's documents."""
        return place_results(self.dataset, self.cases)

    @cached_property
    def by_repeat(self) -> list[Sequence[CaseResult]]:
        """What became of each case of `asked`, by repeat."""
        count, asked = len(self.asked), cycle(self.manifest.case_ids)
        if len(self.placed) == count * self.manifest.repeats and all(
            result.case_id == case_id and result.repeat == place // count
            for place, (result, case_id) in enumerate(zip(self.placed, asked, strict=False))
        ):
            return [self.placed[first : first + count] for first in range(0, len(self.placed), count)]
        done = sort_by_repeat(reversed(self.placed))
        return [[done[repeat][case.id] for case in self.asked] for repeat in range(self.manifest.repeats)]

    @property
    def ranking_specs(self) -> list[MetricSpec]:
        """The metrics that come from rankings and grades."""
        return [spec for spec in self.specs if spec.is_ranking]

    @cached_property
    def measured(self) -> list[MeasuredRun]:
        """Rankings of each repeat measured, over the cases that came back; empty without ranking metrics."""
        specs = self.ranking_specs
        wanted = tuple(dict.fromkeys([*specs, *caveats.extra_specs(specs)]))
        return [_measure(self, wanted, results) for results in self.by_repeat] if specs else []

    def forget_rankings(self) -> None:
        """Free what was measured: it takes more memory than the outcomes made of it."""
        self.__dict__.pop("measured", None)

    @cached_property
    def unanswerable(self) -> frozenset[str]:
        return frozenset(case.id for case in self.asked if not case.answerable)

    def each(self, spec: MetricSpec, repeat: int) -> OutcomeColumn:
        """What became of every case in one repeat."""
        if spec.is_ranking:
            return self._each_ranked(spec, repeat)
        compute = spec.entry.compute
        together = compute.function(self.came_back(spec, repeat)) if isinstance(compute, FromCases) else None
        return OutcomeColumn.make(
            self.order,
            (
                _explain_no_result(result)
                or (case_outcome(spec, case, result, self.dataset) if together is None else together[case.id])
                for case, result in zip(self.asked, self.by_repeat[repeat], strict=True)
            ),
        )

    def _each_ranked(self, spec: MetricSpec, repeat: int) -> OutcomeColumn:
        measured = self.measured[repeat]
        whole = len(measured.topics) == len(self.asked)
        found = OutcomeColumn.of_scores(self.order if whole else CaseOrder(measured.topics), measured.scores[spec])
        # Where a case without an answer has grades nevertheless, they count; otherwise that is why it has no value.
        if self.unanswerable and any(outcome.value is None for outcome in found.distinct):
            found = OutcomeColumn.make(found.order, starmap(self._explain_no_value, found.items()))
        if whole:
            return found
        given = found.each()
        return OutcomeColumn.make(
            self.order, (_explain_no_result(result) or next(given) for result in self.by_repeat[repeat])
        )

    def _explain_no_value(self, case: str, outcome: Outcome) -> Outcome:
        unanswered = outcome.value is None and case in self.unanswerable
        return outcomes.not_applicable(NO_ANSWER) if unanswered else outcome

    def came_back(self, spec: MetricSpec, repeat: int) -> list[CaseView]:
        """The cases of one repeat for which the system gave something."""
        return [
            CaseView(spec, case, result.retrieved, self.dataset)
            for case, result in zip(self.asked, self.by_repeat[repeat], strict=True)
            if result.retrieved is not None
        ]

    def aggregate(self, spec: MetricSpec, per_case: OutcomeColumn) -> Aggregate:
        """One metric over the run."""
        whole = aggregate(per_case.scores(spec), self.instrument)
        compute = spec.entry.compute
        if not isinstance(compute, FromCases):
            return whole
        corrected: Aggregate = compute.aggregate(whole, per_case, self.came_back(spec, 0))
        return corrected

    @cached_property
    def _repeated(self) -> dict[MetricSpec, list[OutcomeColumn]]:
        return {spec: [self.each(spec, repeat) for repeat in range(self.manifest.repeats)] for spec in self.specs}

    def average(self, spec: MetricSpec) -> OutcomeColumn:
        """Over the repeats of each case."""
        repeats = self._repeated[spec]
        if len(repeats) == 1:
            return repeats[0]
        together = zip(*(repeat.each() for repeat in repeats), strict=True)
        return OutcomeColumn.make(self.order, map(_mean, together))

    def noise(self, spec: MetricSpec) -> dict[str, float]:
        """The standard deviation of each case over its repeats, where two or more were scored."""
        values = {case.id: [outcomes[case.id].value for outcomes in self._repeated[spec]] for case in self.asked}
        known = {case: [value for value in of if value is not None] for case, of in values.items()}
        return {case: plain_statistics.stdev(of) for case, of in known.items() if len(of) > 1}


def _units_of_case(case: Case) -> dict[str, str]:
    if case.equivalence is None:
        return {}
    return {member: min(group) for group in case.equivalence.classes for member in group}


def _measure(sheet: _Sheet, specs: Sequence[MetricSpec], results: Sequence[CaseResult]) -> MeasuredRun:
    topics = sheet.order.ids
    if any(result.retrieved is None for result in results):
        topics = [result.case_id for result in results if result.retrieved is not None]
    pairs = (
        _pair(sheet, case, result.retrieved.ids)
        for case, result in zip(sheet.asked, results, strict=True)
        if result.retrieved is not None
    )
    rules = ScoringRules(level=sheet.dataset.relevance_level, depth=sheet.manifest.k)
    return measure_pairs(topics, pairs, specs, rules)


def _pair(sheet: _Sheet, case: Case, ids: Sequence[str]) -> tuple[dict[str, int], dict[str, float]]:
    """What is judged for a case and what it retrieved, in the units that count."""
    unit_of = sheet.units(case)
    if not unit_of:
        return case.labels, scores_of_ranking(ids)
    return grades_by_unit(case.labels, unit_of), scores_of_ranking(ranking_by_unit(ids, unit_of))


def _explain_no_result(result: CaseResult) -> Outcome | None:
    """Why a case has no value under any metric; None when the system gave results."""
    if result.status is CaseStatus.SKIPPED:
        return outcomes.skipped("the case was not tried")
    return outcomes.system_failed(result.error or str(result.status)) if result.retrieved is None else None


def _mean(repeats: Sequence[Outcome]) -> Outcome:
    values = [repeat.value for repeat in repeats if repeat.value is not None]
    return Outcome.scored(plain_statistics.fmean(values)) if values else repeats[0]


def _breakdowns(
    sheet: _Sheet, scores: Mapping[MetricSpec, OutcomeColumn]
) -> dict[str, dict[str, dict[MetricSpec, Aggregate]]]:
    found: dict[str, dict[str, dict[MetricSpec, Aggregate]]] = {}
    labels = dict(BREAKDOWNS)
    labels["tier"] = partial(leading_tier, dataset=sheet.dataset)
    for label, of in labels.items():
        given = [of(case) for case in sheet.asked]
        if not any(given) or (label in _CONTRASTS and len(set(given)) == 1):
            continue
        parts, members = found.setdefault(label, {}), group_places(given)
        for spec, per_case in scores.items():
            for value, part in break_down(per_case.scores(spec), members, sheet.instrument).items():
                parts.setdefault(value, {})[spec] = part
    return found


def _check_times(result: CaseResult) -> TimedCase:
    """The case itself where its times need no check: millions of records would be made for nothing."""
    if not result.stages and (result.total_ms or 0.0) >= 0.0:
        return result
    return CaseRun(status=result.status, total_ms=result.total_ms, stages=result.stages)


def _refuse_strangers(sheet: _Sheet) -> None:
    """Nothing at all was returned, or no id of it is one of the dataset's: 0 would be a lie."""
    found = [result.retrieved for result in sheet.cases if result.retrieved is not None]
    if found and not any(result.ids or result.passages or result.answer for result in found):
        raise NothingMeasured(
            f"{sheet.manifest.name} returned nothing for any case of {sheet.dataset.name}",
            remedy="Ask it by hand first; of a run file, compare its topics with the ids of the cases.",
        )
    given = next((result.ids[0] for result in found if result.ids), None)
    judged = {grade.document_id for case in sheet.asked for grade in case.grades}
    known = judged | sheet.dataset.by_id.keys()
    if given is not None and judged and not any(identifier in known for result in found for identifier in result.ids):
        raise NothingMeasured(
            f"no document that {sheet.manifest.name} returned is one of {sheet.dataset.name}",
            remedy=f"It returned {given!r}, the dataset has {min(judged)!r}: make their ids the same.",
        )


def _refuse_undecided(sheet: _Sheet, scores: Mapping[MetricSpec, OutcomeColumn]) -> None:
    """Too many results could not be placed, and no grades say anything in their place."""
    anchored = any(spec.name in OF_PASSAGES for spec in scores)
    graded = (per_case for spec, per_case in scores.items() if spec.is_ranking)
    if anchored and not any(outcome.value is not None for per_case in graded for outcome in per_case.distinct):
        refuse_undecided(sheet.manifest.name, sheet.dataset, sheet.placed, find_unplaced(sheet.placed, scores))


def _find_caveats(sheet: _Sheet, scores: Mapping[MetricSpec, OutcomeColumn]) -> list[Caveat]:
    """What must be known beside the numbers, the most weighty first."""
    return [
        *caveats.case_caveats(sheet.cases),
        *([placement_caveat(unplaced)] if (unplaced := find_unplaced(sheet.placed, scores)) is not None else []),
        *caveats.sample_caveat(sheet.manifest, len(sheet.dataset.cases)),
        *caveats.left_out_caveats(sheet.manifest.instrument),
        *label_caveats(sheet.dataset, sheet.asked),
        *copy_caveats(sheet.cases, sheet.copied),
        *_ranking_caveats(sheet),
        *([caveats.no_answer_caveat(sheet.of_answers)] if sheet.unanswered else []),
        *caveats.untold_caveats(scores),
        *caveats.missing_value_caveats(scores),
    ]


def _ranking_caveats(sheet: _Sheet) -> list[Caveat]:
    """Of the first repeat; the others have the same questions."""
    if not sheet.measured or not any(case.grades for case in sheet.asked):
        return []
    tied = sum(
        result.retrieved is not None
        and result.retrieved.scores is not None
        and caveats.has_mixed_ties(result.retrieved, relevant_to(case, sheet.dataset))
        for case, result in zip(sheet.asked, sheet.by_repeat[0], strict=True)
    )
    rule = "here the order in which the system gave them counts"
    # What was found for a question without an answer is not relevant, judged or not: it cannot change a metric.
    no_answer = {case.id for case in sheet.asked if not case.answerable and not relevant_to(case, sheet.dataset)}
    measured = sheet.measured[0]
    if no_answer:
        measured = measured.take([place for place, topic in enumerate(measured.topics) if topic not in no_answer])
    given = len(sheet.measured[0].topics)
    return [
        *(caveats.ranking_caveats(measured, sheet.ranking_specs) if len(measured.topics) else []),
        *([caveats.tie_caveat(tied, given, rule=rule)] if tied else []),
    ]
