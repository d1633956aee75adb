"""One query of a run explained, and all lost queries: what was recorded, and what asking the system again showed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from assay.evaluation.placement import place_results
from assay.evaluation.reporting.building import reader_depth
from assay.evaluation.reporting.markdown import choose_query
from assay.evaluation.running.planning import options_of
from assay.evaluation.waterfall import Gold, GoldFate, gold_of, waterfall
from assay.evaluation.why.probing import Lost, Prober
from assay.evaluation.why.reasons import LossEvidence, changes_of, depth_of, is_indexed, judge_loss, list_ends
from assay.evaluation.why.words import CorpusWords, cut_excerpt, shared_words, text_of_gold
from assay.metrics.catalog import Better
from assay.records.evaluations import CaseStatus
from assay.records.explanations import (
    GoldExplanation,
    LossReason,
    LostQueries,
    LostQuery,
    Probing,
    QueryExplanation,
    ShownDocument,
)
from assay.records.fields import plain

if TYPE_CHECKING:
    from assay.evaluation.results import RunResult
    from assay.records.answers import RetrievedChunk
    from assay.records.datasets import Case, Dataset, Document
    from assay.records.evaluations import CaseResult
    from assay.systems.protocol import System

LOST = "lost"
"""What is asked for instead of a query: all that were lost."""
OUTRANKING = 5
"""Results that are named as those that came before a gold item."""
BELOW = 3
"""Results after k that are shown of a query that lost nothing."""
MOST_NOTES = 5
"""Notes beside a table of lost queries, the most frequent."""
_NOBODY = Probing(allowed=0)

Opening = Callable[["Dataset"], AbstractContextManager["System"]]
"""Opens the system of a run for a dataset, and closes it."""
Announce = Callable[[int], None]
"""Told how many calls will be made at most, before the first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeOptions:
    """Whether and how the system is asked again."""

    open_system: Opening
    calls: int
    """For one query at most."""
    announce: Announce = lambda _: None


def explain_run(
    run: RunResult, dataset: Dataset, wanted: str, *, k: int | None = None, probe: ProbeOptions | None = None
) -> QueryExplanation | LostQueries:
    """Explain one query of a run, by id or words, or all that were lost; with `probe` the system is asked again."""
    explainer = Explainer(run, dataset, k=k)
    all_lost = wanted == LOST and LOST not in explainer.case_ids
    chosen = explainer.lost_ids if all_lost else [explainer.find(wanted)]
    probings, notes = _probe(explainer, chosen, probe)
    explained = [explainer.explain(case_id, probings.get(case_id, _NOBODY)) for case_id in chosen]
    if all_lost:
        return _gather_lost(explainer, explained, notes)
    only = explained[0]
    return replace(only, probing=replace(only.probing, notes=(*notes, *only.probing.notes)))


def _probe(
    explainer: Explainer, case_ids: Sequence[str], probe: ProbeOptions | None
) -> tuple[dict[str, Probing], tuple[str, ...]]:
    """Ask the system again about lost queries; notes say what differs from the run."""
    lost = {case_id: question for case_id in case_ids if (question := explainer.question(case_id)) is not None}
    if probe is None:
        return {}, ()
    if not lost:
        return {}, ("no gold item was missed, so the system was not asked again",)
    with probe.open_system(explainer.dataset) as system:
        if not system.replays:
            probe.announce(probe.calls * len(lost))
        prober = Prober(system, explainer.dataset, calls=probe.calls)
        return {case_id: prober.probe(question) for case_id, question in lost.items()}, _note_changes(explainer, system)


def _note_changes(explainer: Explainer, system: System) -> tuple[str, ...]:
    """Say what of the system differs from the run."""
    before, now = explainer.run.manifest.subject, plain(dict(system.subject()))
    changed = [name for name, value in now.items() if before.get(name) != value]
    return (f"the system has changed since the run: {', '.join(changed)}",) if changed else ()


class Explainer:
    """Explains queries of one run from what it recorded."""

    def __init__(self, run: RunResult, dataset: Dataset, *, k: int | None = None) -> None:
        self.run = run
        self.dataset = dataset
        self.k = k or reader_depth(run)
        self._water = waterfall(dataset, run.cases, k=self.k)
        self._cases = {case.id: case for case in dataset.cases}
        first = [case for case in run.cases if case.repeat == 0 and case.case_id in self._cases]
        tried = [case for case in first if case.status is not CaseStatus.SKIPPED]
        self._results = {result.case_id: result for result in place_results(dataset, tried)}
        self._fates: dict[str, list[GoldFate]] = {}
        for fate in self._water.fates:
            self._fates.setdefault(fate.case_id, []).append(fate)
        self._words = CorpusWords(dataset)

    @property
    def case_ids(self) -> tuple[str, ...]:
        """Every query that was asked."""
        return tuple(self._results)

    @property
    def lost_ids(self) -> list[str]:
        """Queries that failed, or show fewer gold items within k than they could."""
        return [case_id for case_id in self._results if self.is_lost(case_id)]

    @property
    def measured(self) -> int:
        """Queries that have gold items, or on which the system failed."""
        return sum(1 for case_id, result in self._results.items() if self._fates.get(case_id) or _failed(result))

    def find(self, wanted: str) -> str:
        """The id of the query that is meant; raises `InputError` where none or several fit."""
        texts = {case_id: self._cases[case_id].query for case_id in self._results}
        return choose_query(texts, wanted, self.run.name)

    def is_lost(self, case_id: str) -> bool:
        """Whether a query failed, or shows fewer gold items within k than it could."""
        fates = self._fates.get(case_id, [])
        return _failed(self._results[case_id]) or sum(fate.found for fate in fates) < min(self.k, len(fates))

    def question(self, case_id: str) -> Lost | None:
        """What to ask the system about a query; None where it missed no gold item, or is a save."""
        case, result = self._cases[case_id], self._results[case_id]
        missed = {fate.item for fate in self._fates.get(case_id, ()) if not fate.found}
        gold = tuple(gold for gold in gold_of(self.dataset, case) if gold.name in missed)
        if not gold or case.save is not None:
            return None
        listed = () if result.retrieved is None else result.retrieved.ids
        return Lost(
            case=case,
            gold=gold,
            listed=listed,
            ranks={fate.item: fate.rank for fate in self._fates[case_id] if fate.rank is not None},
            k=self.run.manifest.k,
            wanted=self.k,
            asking=options_of(self.run.manifest).asking,
            instead=tuple(self._text_of(name) for name in listed[: self.k]),
        )

    def explain(self, case_id: str, probing: Probing = _NOBODY) -> QueryExplanation:
        """Explain a query by its id."""
        case, result = self._cases[case_id], self._results[case_id]
        words = self._words.content_words(case.query)
        shown = list(self._list_shown(case, result, words))
        retrieved = result.retrieved
        stages = () if retrieved is None or retrieved.seen is None else retrieved.seen.stages or ()
        golds = {gold.name: gold for gold in gold_of(self.dataset, case)}
        return QueryExplanation(
            run_id=self.run.run_id,
            query_id=case_id,
            query=case.query,
            status=result.status.value,
            failure=result.error,
            k=self.k,
            values=self._values(case_id),
            lost=self.is_lost(case_id),
            gold=tuple(
                self._explain_gold(golds[fate.item], fate, shown, words, probing)
                for fate in self._fates.get(case_id, ())
            ),
            shown=tuple(shown[: self.k]),
            below=tuple(shown[self.k : self.k + BELOW]),
            stages=tuple((stage.name, stage.entered, stage.left) for stage in stages),
            notes=() if retrieved is None else retrieved.notes,
            probing=probing,
        )

    def _explain_gold(
        self, gold: Gold, fate: GoldFate, shown: Sequence[ShownDocument], words: Sequence[str], probing: Probing
    ) -> GoldExplanation:
        text = text_of_gold(self.dataset, gold)
        depth, searched_to = depth_of(fate, None if fate.failed else len(shown), probing)
        indexed, indexed_by = is_indexed(fate, depth, probing)
        common = shared_words(words, f"{self._title_of(gold)} {text}") if text else ()
        missing = tuple(word for word in words if word not in common) if text else ()
        changes = changes_of(fate.item, probing.calls)
        judged = judge_loss(
            LossEvidence(
                fate=fate,
                water=self._water,
                depth=depth,
                searched_to=searched_to,
                ends=list_ends(probing),
                indexed=indexed,
                changes=changes,
                common=common,
                missing=missing,
                probed=probing.made > 0,
            )
        )
        before = [result for result in shown if not result.gold and (depth is None or result.rank < depth)]
        return GoldExplanation(
            item=fate.item,
            title=self._title_of(gold),
            grade=fate.grade,
            found=fate.found,
            stage=fate.stage.value,
            may_be=tuple(stage.value for stage in fate.between),
            passed={step.value: done for step, done in fate.passed.items()},
            channels=None if fate.channels is None else dict(fate.channels),
            channel_scores=dict(fate.channel_scores),
            fused_rank=fate.fused_rank,
            dropped_by=fate.dropped_by,
            rank=fate.rank,
            score=fate.score,
            depth=depth,
            searched_to=searched_to,
            indexed=indexed,
            indexed_by=indexed_by,
            changes=changes,
            common=common,
            missing=missing,
            outranked_by=() if fate.found else tuple(before[:OUTRANKING]),
            reason=judged.reason,
            suggestion=judged.suggestion,
            text=cut_excerpt(text, words),
        )

    def _list_shown(self, case: Case, result: CaseResult, words: Sequence[str]) -> Iterator[ShownDocument]:
        """The results of the run; of anchored cases its passages."""
        retrieved = result.retrieved
        if retrieved is None:
            return
        gold = gold_of(self.dataset, case)
        names = frozenset(name for item in gold for name in item.names)
        chunks: Sequence[RetrievedChunk | None] = retrieved.passages
        by_passage = case.anchors is not None and bool(chunks)
        ids = [chunk.rel_path for chunk in retrieved.passages] if by_passage else list(retrieved.ids)
        scores = retrieved.scores
        ranks = {fate.rank for fate in self._fates.get(case.id, ()) if fate.rank is not None}
        for rank, name in enumerate(ids, start=1):
            chunk = chunks[rank - 1] if len(chunks) == len(ids) else None
            document = self._documents.get(name)
            text = (chunk.text if chunk is not None else "") or self._text_of(name)
            heading = f" > {chunk.heading_path}" if by_passage and chunk is not None and chunk.heading_path else ""
            yield ShownDocument(
                rank=rank,
                id=f"{name}{heading}",
                title="" if document is None else document.title,
                score=scores[rank - 1] if scores is not None and len(scores) == len(ids) else None,
                grade=case.labels.get(name),
                gold=rank in ranks if by_passage else name in names,
                in_dataset=document is not None,
                text=cut_excerpt(text, words),
                common=shared_words(words, text),
            )

    @cached_property
    def _documents(self) -> dict[str, Document]:
        """The dataset's documents by id, and by path where no id is spelt so."""
        by_path = {document.rel_path: document for document in self.dataset.documents if document.rel_path}
        return {**by_path, **self.dataset.by_id}

    def _text_of(self, name: str) -> str:
        document = self._documents.get(name)
        return "" if document is None else document.text

    def _title_of(self, gold: Gold) -> str:
        document = self.dataset.by_id.get(gold.document_id or "")
        return "" if document is None else document.title

    def _values(self, case_id: str) -> dict[str, float | None]:
        """By metric, without those of which neither end is better."""
        directed = {spec: cases for spec, cases in self.run.scores.items() if spec.entry.better is not Better.NEITHER}
        return {str(spec): cases[case_id].value for spec, cases in directed.items() if case_id in cases}


def _failed(result: CaseResult) -> bool:
    return result.retrieved is None


def _gather_lost(explainer: Explainer, explained: Sequence[QueryExplanation], notes: Sequence[str]) -> LostQueries:
    rows = [_describe_lost(query) for query in explained]
    counts = Counter(row.reason.value for row in rows)
    said = Counter(note for query in explained for note in query.probing.notes).most_common()
    shown = [f"{note} ({count} queries)" if count > 1 else note for note, count in said[:MOST_NOTES]]
    shown += [f"{len(said) - MOST_NOTES} more notes: see single queries"] if len(said) > MOST_NOTES else []
    return LostQueries(
        run_id=explainer.run.run_id,
        k=explainer.k,
        queries=explainer.measured,
        lost=tuple(rows),
        reasons=dict(counts.most_common()),
        allowed=sum(query.probing.allowed for query in explained),
        made=sum(query.probing.made for query in explained),
        notes=(*notes, *shown),
    )


def _describe_lost(query: QueryExplanation) -> LostQuery:
    """One line for the first gold item that was missed."""
    missed = [gold for gold in query.gold if not gold.found]
    first = missed[0] if missed else None
    return LostQuery(
        query_id=query.query_id,
        query=query.query,
        gold="" if first is None else first.item,
        missed=len(missed),
        of=len(query.gold),
        depth=None if first is None else first.depth,
        searched_to=None if first is None else first.searched_to,
        outranked_by=() if first is None else tuple(result.id for result in first.outranked_by),
        reason=LossReason.SYSTEM_FAILED if first is None else first.reason,
        remedy=query.failure if first is None or query.failure else first.suggestion or "",
        calls=query.probing.made,
    )
