"""The stages of a search, in their order, inside one snapshot of the store."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from assay.embedding.protocol import CrossEncoder
from assay.index import Rows, scores_of
from assay.memory.learning.votes import Praise
from assay.memory.searching import boosts
from assay.memory.searching import channels as graph
from assay.memory.searching.boosts import Booster, NamedBy, Surroundings, combine_boosts, find_named
from assay.memory.searching.candidates import Candidates, Fusing, Gathering, Reach, Scoping, keep_passing
from assay.memory.searching.channels import Ask, Offer, find_cosine_spread, list_added_channels
from assay.memory.searching.current_facts import BEYOND as BEYOND_SHOWN
from assay.memory.searching.current_facts import Placed, arrange_by_time, read_served
from assay.memory.searching.fusion import AggregatedMemories, aggregate, ceiling, floor_of
from assay.memory.searching.hops import (
    COMPARED_RESULTS,
    READ,
    Chain,
    choose_steps,
    drop_answered,
    find_chains,
)
from assay.memory.searching.modes import SearchPlan, plan_mode
from assay.memory.searching.query import ParsedQuery, parse
from assay.memory.searching.raised_notes import RaisedNotes
from assay.memory.searching.relevance import FoundResult, Relevance, find_relevance, fitted_embedder, read_query
from assay.memory.searching.results import COMPARED, Ranked, Ranking, Rules, Shown, finish_results, mmr, rerank_with
from assay.memory.searching.search_setting import Asked, Setting
from assay.memory.searching.tiers import IsDeprecated, Split, is_deprecated, is_never_deprecated, split_deprecated
from assay.memory.searching.trace import Guard, Trace
from assay.memory.searching.trust import BEYOND, Contradictions, Opposed, arrange, look_up
from assay.records import (
    Channel,
    CosineSpread,
    FolderMode,
    FusionMethod,
    HopStep,
    Mode,
)
from assay.records.searching import in_channel_order
from assay.storage import Candidate, StoredFact
from assay.text.terms import stems

#     folder-choice -> candidate -> filter -> fusion -> aggregate -> boost -> rerank
#       -> hops -> current-facts -> trust -> final-rank
#
# When too little was found, `fallback` widens what may be widened and the middle stages run once more: first the
# folders that the search chose by itself, then the channels of quick mode. What the caller asked for is never dropped.


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the stages made."""

    shown: Shown
    ranking: Ranking
    reach: Reach
    weights: dict[str, float]
    fallback: str | None
    cosines: CosineSpread | None


LOOKED_AT = 24
"""Rows that are made at once: one by one they would take twice as long."""
_NOT_MOVED = (None,) * (len(Ranked._fields) - 4)
_new_ranked: Callable[[tuple[object, ...]], Ranked] = partial(tuple.__new__, Ranked)
"""Dozens are made in a search: without the call in Python that a named tuple makes for each."""


class Pipeline:
    """Runs the stages of one search."""

    def __init__(self, asked: Asked, setting: Setting, trace: Trace, guard: Guard) -> None:
        self._asked = asked
        self._request = asked.request
        self._identity = asked.identity
        self._setting = setting
        self._options = setting.options
        self._trace = trace
        self._guard = guard
        self._fusing = self._fusing_of(self._plan)
        self._cosines: CosineSpread | None = None
        self._ask: Ask | None = None
        """What the channels were last asked."""

    def run(self) -> Answer:
        """From the question to the hits."""
        with self._trace.stage("folder-choice") as stage:
            reach = self._scoping.reach(self._request)
            stage.inputs, stage.outputs = reach.folders_known, reach.folders_searched
            stage.detail["excluded"] = list(reach.excluded)
        ranking, reach, reason = self._widen(self._rank(reach, self._plan), reach)
        with self._trace.stage("final-rank", inputs=ranking.found) as stage:
            ranking = ranking._replace(relevance=self._find_relevance(ranking))
            shown = finish_results(self._setting.work, ranking, self._request, self._in_view, self._options)
            stage.outputs = len(shown.hits)
            stage.detail |= {"passages_dropped": shown.fitted.dropped, "tokens_over_budget": shown.fitted.overrun}
            stage.detail |= {"held_back": len(shown.held_back), "below_cut": shown.below_cut}
            stage.detail |= {"below_relevance": shown.below_relevance, "beyond_budget": shown.beyond_budget}
        ran = {str(channel): self._fusing.weights[channel] for channel in in_channel_order(ranking.lists)}
        return Answer(shown=shown, ranking=ranking, reach=reach, weights=ran, fallback=reason, cosines=self._cosines)

    def _rank(self, reach: Reach, plan: SearchPlan) -> Ranking:
        """The stages between what may be looked at and the final list."""
        # Of this plan: a search that falls back asks other channels, and weighs them as those.
        if plan is not self._plan:
            self._fusing = self._fusing_of(plan)
        found = self._gather(reach, plan)
        lists, rows = self._filter(found)
        with self._trace.stage("fusion", inputs=sum(map(len, lists.values()))) as stage:
            fused = self._fusing(lists)
            stage.outputs = len(fused)
        memory_of = rows.memory_numbers
        rules = self._rules(lists, floor_of(fused, memory_of))
        with self._trace.stage("aggregate", inputs=len(fused)) as stage:
            memories = aggregate(
                fused,
                memory_of,
                rules.aggregated,
                rules.coefficient,
                floor=rules.floor,
                position_of=rows.positions.__getitem__,
            )
            stage.outputs = len(memories)
        memories.drop_scoreless()
        boosted = self._boost(memories, rows, found, plan)
        split = split_deprecated(boosted, self._is_deprecated) if rows.has_deprecated else Split(boosted, [])
        # Deprecated results are not reranked: a copy that replaced one must not be spread away from it.
        reranked = self._rerank(split.current, len(memories), plan)
        ranking = Ranking(
            order=(*reranked.order, *split.deprecated),
            found=reranked.found,
            lists=lists,
            compared=found.compared,
            rows=rows,
            rules=rules,
            below_threshold=reranked.below_threshold,
        )
        if plan.hops:
            ranking = self._follow_facts(ranking, memories, reach.passes)
        ranking = self._put_current_first(ranking)
        ranking = self._apply_trust(ranking, memories, reach.passes)
        if not ranking.rows.has_deprecated:
            return ranking
        # Trust may have put a program's note at the very end.
        last = split_deprecated(ranking.order, self._is_deprecated)
        return ranking._replace(order=last.current + last.deprecated)

    def _gather(self, reach: Reach, plan: SearchPlan) -> Candidates:
        channels = self._channels(plan)
        with self._trace.stage("candidate", inputs=len(channels)) as stage:
            ask = Ask(
                work=self._setting.work,
                view=self._setting.view,
                parsed=self._parsed,
                vector=self._asked.vector,
                limit=max(plan.pool, self._request.k),
                wanted=self._request.k,
                allowed=reach.allowed,
                options=self._options,
                channels=channels,
                added_stems=self._weigh_previous_stems(),
            )
            self._ask = ask
            gathering = Gathering(
                ask,
                fusing=self._fusing,
                guard=self._guard,
                reach=reach,
                elapsed_ms=self._trace.elapsed_ms,
                expand=plan.expand and self._is_enabled("query_expansion"),
            )
            found = gathering.gather(channels, full_text_stands_in=self._full_text_stands_in(plan))
            if self._request.explain and Channel.VECTOR in found.lists:
                self._cosines = self._guard.run("cosine spread", ask.work, lambda: find_cosine_spread(ask))
            stage.outputs = len(found.rows)
            for channel, offered in found.lists.items():
                stage.detail[str(channel)] = {"found": len(offered), "duration_ms": found.timings[channel]}
            for channel, compared in found.compared.items():
                told = stage.detail[str(channel)]
                told["compared"] = len(compared)
                told["found"] -= len(compared)
            if found.added_stems:
                stage.detail["added_stems"] = list(found.added_stems)
            if ask.added_stems:
                stage.detail["previous_stems"] = list(ask.added_stems)
        return found

    def _weigh_previous_stems(self) -> Mapping[str, float]:
        """Return the stems of the conversation's previous question, with what they count beside those of this one."""
        previous, view = self._request.previous_query, self._setting.view
        if previous is None:
            return {}
        read = parse(previous, frequency=None if view is None else view.document_frequency)
        return {stem: self._options.previous_weight * times for stem, times in read.stems.items()}

    def _filter(self, found: Candidates) -> tuple[dict[Channel, Offer], Rows]:
        with self._trace.stage("filter", inputs=len(found.rows)) as stage:
            stage.outputs = len(found.passing)
            if found.compared:
                passing = found.passing.memory_numbers.keys()
                stage.detail[COMPARED] = {str(name): len(numbers & passing) for name, numbers in found.compared.items()}
            return keep_passing(found.lists, found.passing.memory_numbers), found.passing

    def _boost(self, memories: AggregatedMemories, rows: Rows, found: Candidates, plan: SearchPlan) -> list[Ranked]:
        """The memories with their boosts, as far down as these can change what is shown or reranked."""
        with self._trace.stage("boost", inputs=len(memories)) as stage:
            booster = Booster(
                self._request,
                self._parsed,
                around=self._surroundings(memories, rows, found),
                enabled=self._is_enabled,
                options=self._options,
                now=self._asked.now,
            )
            boosted = self._boost_from_top(memories, rows, booster, self._places_that_count(plan))
            worths = [place.memory.score * place.factor for place in boosted]
            stage.outputs = len(boosted)
            # Stable: equals keep the order of their base scores.
            order = sorted(range(len(boosted)), key=worths.__getitem__, reverse=True)
            return [boosted[place] for place in order]

    def _boost_from_top(self, memories: AggregatedMemories, rows: Rows, booster: Booster, places: int) -> list[Ranked]:
        """Apply boosts from the top down to the last memory that a boost could bring to the first places."""
        best: list[float] = []
        done: list[Ranked] = []
        most, explain, bound = booster.most(), self._request.explain, self._options.boost_bound
        may_be_deprecated = rows.has_deprecated
        for place, memory in enumerate(memories):
            score = memory.score
            if len(best) == places and score * most < best[0]:
                break
            if place % LOOKED_AT == 0:
                rows.make_rows(memories.best_passages[place : place + LOOKED_AT])
            row = rows[memory.best_number]
            # The boosts themselves are for explanations.
            said = booster.boosts(row) if explain else ()
            factor = combine_boosts(said, bound) if explain else booster.find_factor(row)
            done.append(_new_ranked((memory, row, said, factor, *_NOT_MOVED)))
            if may_be_deprecated and self._is_deprecated(row):
                # It takes none of the first places.
                continue
            (heapq.heappush if len(best) < places else heapq.heappushpop)(best, score * factor)
        return done

    def _places_that_count(self, plan: SearchPlan) -> int:
        """How many of the first places are shown, passed over because the session has them in view, or reranked."""
        shown = self._request.k + len(self._in_view)
        reranks = plan.rerank or self._cross_encoder is not None
        return max(shown, self._options.rerank_depth) if reranks else shown

    def _surroundings(self, memories: AggregatedMemories, rows: Rows, found: Candidates) -> Surroundings:
        work, attention = self._setting.work, self._setting.history.attention()
        near: Sequence[graph.GraphNeighbour] = ()
        if self._is_enabled("causal_boost"):
            near = found.neighbours
            if Channel.GRAPH not in found.lists and self._asked.choice.mode is not Mode.QUICK:
                best = memories[: graph.GRAPH_SEEDS]
                seeds = {rows.memory_ids[memory.best_number]: memory.score for memory in best}
                around = work.edges.around if self._setting.view is None else self._setting.view.around
                near = self._guard.run("causal boost", work, lambda: graph.search_graph(around, seeds)) or ()
        attended: Mapping[str, float] = {}
        if attention and self._is_enabled("session_boost"):
            attended = self._guard.run("session boost", work, lambda: boosts.spread_attention(work, attention)) or {}
        together: Mapping[str, float] = {}
        if attention and self._is_enabled("coactivation"):
            together = boosts.find_together(attention, self._setting.past())
        learned: Mapping[str, Mapping[str, float]] = {}
        if self._is_enabled("learn_from_selection"):
            now = self._asked.now
            learners = rows.find_learners(memories.best_passages)
            learned = self._guard.run("learned triggers", work, lambda: boosts.load_learned(work, learners, now)) or {}
        praises: Mapping[str, Sequence[Praise]] = {}
        if rows.highest_confidence > boosts.NEUTRAL_CONFIDENCE:
            best_rows = [rows[memory.best_number] for memory in memories[: self._options.praised_depth]]
            praises = self._guard.run("votes", work, lambda: boosts.praises(work, best_rows)) or {}
        return Surroundings(
            attention=attended,
            together=together,
            neighbours={neighbour.memory_id: neighbour for neighbour in near},
            learned=learned,
            praises=praises,
            named=self._find_named(memories),
        )

    def _find_named(self, memories: AggregatedMemories) -> Mapping[int, NamedBy]:
        """Return what the first results name by its title."""
        options, work, view = self._options, self._setting.work, self._setting.view
        if not memories or self._asked.choice.mode is Mode.QUICK or not self._is_enabled("named_boost"):
            return {}
        first = memories[: options.named_depth]

        def find() -> Mapping[int, NamedBy]:
            numbers = memories.best_passages[: options.named_depth]
            lines = work.passages.words(numbers) if view is None else view.words(numbers)
            return find_named(first, lines, self._says_nothing, options.named_seeds)

        return self._guard.run("names", work, find) or {}

    def _says_nothing(self, title: str) -> bool:
        """Whether a title says nothing new where it is named: the question holds it, or it is of ordinary words."""
        asked = self._parsed.term_set.issuperset(title.split())
        return asked or graph.is_ordinary(title, self._setting.view, self._options)

    def _rerank(self, order: list[Ranked], found: int, plan: SearchPlan) -> _Reranked:
        with self._trace.stage("rerank", inputs=found) as stage:
            encoder, work = self._cross_encoder, self._setting.work
            reranked: _Reranked | None = None
            if encoder is not None:
                stage.detail["by"] = "cross_encoder"
                reranked = self._guard.run("rerank", work, lambda: self._by_cross_encoder(encoder, order, found))
                # Read after the model was asked: a model that cannot be loaded has no name.
                stage.detail |= {} if reranked is None else {"by": encoder.name, "below": reranked.below_threshold}
            elif plan.rerank and self._is_enabled("mmr"):
                stage.detail["by"] = "mmr"
                spread = self._guard.run("rerank", work, lambda: self._by_mmr(order))
                reranked = None if spread is None else _Reranked(_with_former_ranks(order, spread), found)
            reranked = reranked or _Reranked(order, found)
            stage.outputs = reranked.found
            return reranked

    @cached_property
    def _cross_encoder(self) -> CrossEncoder | None:
        """The cross-encoder that this search is to use."""
        quick = self._asked.choice.mode is Mode.QUICK
        return None if quick or not self._is_enabled("cross_encoder") else self._setting.cross_encoder

    def _by_cross_encoder(self, encoder: CrossEncoder, order: Sequence[Ranked], found: int) -> _Reranked:
        """Order the first results again; with a threshold, only those that reach it are left."""
        depth, threshold = self._options.rerank_depth, self._options.rerank_threshold
        first = order[:depth]
        shown = self._setting.work.passages.read_shown([place.memory.best_number for place in first])
        passages = [shown[place.memory.best_number] for place in first]
        texts = [f"{passage.title}\n{passage.text}" for passage in passages]
        scored = [
            place._replace(rerank_score=score)
            for place, score in rerank_with(encoder, self._request.query, first, texts)
        ]
        if threshold is None:
            return _Reranked(_with_former_ranks(order, [*scored, *order[depth:]]), found)
        kept = [place for place in scored if place.rerank_score is not None and place.rerank_score >= threshold]
        return _Reranked(_with_former_ranks(order, kept), len(kept), len(scored) - len(kept))

    def _by_mmr(self, order: Sequence[Ranked]) -> list[Ranked] | None:
        """Spread what repeats itself, by the best passages' vectors; without vectors nothing is known to."""
        view, top = self._setting.view, order[: self._options.rerank_depth]
        if view is None or view.model is None or not top:
            return None
        best = [place.memory.best_number for place in top]
        page = self._setting.work.vectors.by_numbers(view.model, best)
        if not len(page.numbers):
            return None
        vectors = np.zeros((len(top), page.vectors.shape[1]), dtype=np.float32)
        place = {number: at for at, number in enumerate(best)}
        vectors[[place[number] for number in page.numbers.tolist()]] = page.vectors
        relevance = [place.worth / top[0].worth for place in top]
        spread = mmr(top, relevance, vectors, self._options.mmr_lambda, len(top), alike=self._options.mmr_alike)
        return spread + list(order[len(top) :])

    def _follow_facts(
        self, ranking: Ranking, memories: AggregatedMemories, passes: Callable[[Candidate], bool]
    ) -> Ranking:
        """Put first the facts that answer a question in several steps, one after the other."""
        work = self._setting.work
        with self._trace.stage("hops", inputs=ranking.found) as stage:
            chains = self._guard.run("hops", work, lambda: self._find_chains(ranking)) if self._has_facts else None
            # Most questions have one step: nothing else is looked at for them.
            steps: dict[str, HopStep] = {}
            if chains:
                rank = {place.row.memory_id: at for at, place in enumerate(ranking.order, start=1)}
                raising = RaisedNotes(work, ranking, memories, lambda row: passes(row) and not self._is_deprecated(row))
                chosen = choose_steps(chains, rank.get)
                steps = {memory_id: step for memory_id, step in chosen.items() if raising.may(memory_id)}
            stage.outputs = len(steps)
            stage.detail["steps"] = [f"{step.about}: {step.leads_to}" for step in steps.values()]
        if not steps:
            return ranking
        known = {place.row.memory_id: place for place in ranking.order} | raising.found
        first = [known[memory_id]._replace(step=step) for memory_id, step in steps.items()]
        rest = [place for place in ranking.order if place.row.memory_id not in steps]
        return ranking._replace(order=(*first, *rest), rows=ranking.rows.join(Rows(raising.rows)))

    @cached_property
    def _has_facts(self) -> bool:
        work, view = self._setting.work, self._setting.view
        return bool(self._guard.run("facts", work, work.facts.may_exist if view is None else view.may_have_facts))

    def _find_chains(self, ranking: Ranking) -> list[Chain]:
        work, view, at = self._setting.work, self._setting.view, self._request.filters.as_of
        asked = self._parsed.stems.keys()
        chains = find_chains(
            self._parsed.runs,
            asked,
            may_lead_on=partial((work.facts if view is None else view).may_lead_on, most=READ),
            about=lambda names: work.facts.about(names, most=READ, at=at),
            score=self._measure_facts,
        )
        if not chains:
            return []
        first = ranking.order[:COMPARED_RESULTS]
        shown = work.passages.read_shown([place.row.number for place in first])
        texts = [(place.row.memory_id, shown.get(place.row.number)) for place in first]
        held = {memory_id: stems(f"{text.title}\n{text.text}") for memory_id, text in texts if text is not None}
        return drop_answered(chains, asked, held)

    def _measure_facts(self, facts: Sequence[StoredFact]) -> list[float]:
        """Return how like the question the first passages of the facts' memories are; 0 where there is no vector."""
        work, view, asked = self._setting.work, self._setting.view, self._asked.vector
        if view is None or view.model is None or asked is None:
            return [0.0] * len(facts)
        rows = work.passages.first_candidates(sorted({fact.memory_id for fact in facts}))
        page = work.vectors.by_numbers(view.model, [row.number for row in rows])
        cosines = dict(zip(page.numbers.tolist(), (page.vectors @ asked.values).tolist(), strict=True))
        by_memory = {row.memory_id: cosines.get(row.number, 0.0) for row in rows}
        return [by_memory.get(fact.memory_id, 0.0) for fact in facts]

    def _put_current_first(self, ranking: Ranking) -> Ranking:
        """Read what the first results state, and put the newest statement on a topic above the others."""
        work, view, as_of = self._setting.work, self._setting.view, self._request.filters.as_of
        first = ranking.order[: self._request.k + len(self._in_view) + BEYOND_SHOWN]
        with self._trace.stage("current-facts", inputs=len(first)) as stage:
            ids = [place.row.memory_id for place in first] if self._has_facts else []
            read = self._guard.run("current facts", work, lambda: read_served(work, view, ids, as_of)) if ids else None
            facts = read or []
            # Most results state nothing that another one states otherwise.
            placed = [Placed(place.row.memory_id, ranking.score(place)) for place in first] if facts else []
            arranged = arrange_by_time(placed, facts, self._parsed.stems)
            stage.outputs = len(first)
            stage.detail["moved"] = len(arranged.moves)
        if not arranged.moves:
            return ranking._replace(facts=facts)
        known = {place.row.memory_id: place for place in first}
        moved = [known[memory_id]._replace(current_fact=arranged.moves.get(memory_id)) for memory_id in arranged.order]
        return ranking._replace(order=(*moved, *ranking.order[len(first) :]), facts=facts)

    def _apply_trust(
        self, ranking: Ranking, memories: AggregatedMemories, passes: Callable[[Candidate], bool]
    ) -> Ranking:
        """Add contradictions to the ranking, and put no program's note above a person's note that it contradicts."""
        work, view = self._setting.work, self._setting.view
        ids = [place.row.memory_id for place in ranking.order]
        with self._trace.stage("trust", inputs=len(ids)) as stage:
            stage.outputs = len(ids)
            shown = self._request.k + len(self._in_view)
            found = self._guard.run("trust", work, lambda: look_up(work, ids[: shown + BEYOND], view))
            opposed = [] if found is None else self._find_opposed(found, ranking)
            if found is None or not opposed or not self._is_enabled("trust_ranking"):
                return ranking if found is None else ranking._replace(contradictions=found)
            rows = ranking.rows
            current = [memory for memory in memories if not self._is_deprecated(rows[memory.best_number])]
            raising = RaisedNotes(work, ranking, current, lambda row: passes(row) and not self._is_deprecated(row))
            arranged = arrange(ids, opposed, shown=shown, may_raise=raising.may)
            known = {place.row.memory_id: place for place in ranking.order} | raising.found
            order = [known[memory_id]._replace(trust=arranged.moves.get(memory_id)) for memory_id in arranged.order]
            stage.outputs = len(order)
            stage.detail["moved"] = len(arranged.moves)
            return ranking._replace(order=order, rows=rows.join(Rows(raising.rows)), contradictions=found)

    def _find_opposed(self, found: Contradictions, ranking: Ranking) -> list[Opposed]:
        """Return the pairs that the rule applies to; a person's note that is deprecated outranks nothing."""
        pairs = found.find_opposed(self._setting.work.edges.evidence_of)
        if not pairs:
            return []
        last = {place.row.memory_id for place in ranking.order if self._is_deprecated(place.row)}
        return [pair for pair in pairs if pair.person_id not in last]

    def _find_relevance(self, ranking: Ranking) -> Mapping[str, Relevance]:
        """The relevance of every result that may be shown; empty where it is not known."""
        ask, places = self._ask, ranking.order[: self._request.k + len(self._in_view)]
        if ask is None or ask.view is None or not places or ranking.rules.method is not FusionMethod.CONVEX:
            return {}
        work = self._setting.work
        return self._guard.run("relevance", work, lambda: self._judge_relevance(ask, ranking, places)) or {}

    def _judge_relevance(self, ask: Ask, ranking: Ranking, places: Sequence[Ranked]) -> Mapping[str, Relevance]:
        view, listed = ask.opened_view(), ranking.lists.get(Channel.VECTOR)
        # Cosines of another embedder are on another scale than those that the coefficients were fitted on.
        compared = bool(listed) and view.model == fitted_embedder()
        query = read_query(
            ask.parsed.stems,
            view.document_frequency,
            view.document_count,
            store=(self._cosines or find_cosine_spread(ask)) if compared else None,
            # The nearest alone: what other channels found is further away, and says nothing about the rest.
            cosines=sorted(scores_of(listed or ()), reverse=True)[: ask.limit],
        )
        # As for the relevance cut, a deprecated result that scores best must not make current ones irrelevant.
        current = [place for place in places if place.served_last_from is None] or places
        best = max([place.worth for place in current])
        found = [FoundResult(place.memory, place.worth / best if best else 0.0) for place in places]
        lines = view.words([place.memory.best_number for place in places])
        return dict(zip([place.row.memory_id for place in places], find_relevance(found, query, lines), strict=True))

    def _widen(self, ranking: Ranking, reach: Reach) -> tuple[Ranking, Reach, str | None]:
        """Return the ranking, or a wider one if it has too few results."""
        reasons: list[str] = []
        may_widen = self._request.folder_mode is FolderMode.ON_WITH_FALLBACK
        if may_widen and reach.chosen is not None and self._too_few(ranking, reach):
            reasons.append(f"{ranking.found} found in the chosen folders, so all were searched")
            # What was left out at first was searched after all; what was chosen is no longer what was searched.
            reach = replace(self._scoping.widest(reach.filters), folders_known=reach.folders_known)
            ranking = self._fall_back(reasons[-1], ranking, reach, self._plan)
        quick = self._asked.choice.mode is Mode.QUICK and self._request.channels is None
        if quick and self._too_few(ranking, reach):
            reasons.append(f"{ranking.found} found in quick mode, so every channel was asked")
            every = plan_mode(Mode.FOCUSED, self._options)._replace(full_text=True)
            ranking = self._fall_back(reasons[-1], ranking, reach, every)
        return ranking, reach, "; ".join(reasons) or None

    def _fall_back(self, reason: str, ranking: Ranking, reach: Reach, plan: SearchPlan) -> Ranking:
        with self._trace.stage("fallback", inputs=ranking.found) as stage:
            stage.detail["reason"] = reason
            wider = self._rank(reach, plan)
            stage.outputs = wider.found
            return wider

    def _too_few(self, ranking: Ranking, reach: Reach) -> bool:
        """Whether fewer results were found than needed, and the store has more."""
        view = self._setting.view
        if view is None:
            return False
        wanted = min(self._options.fallback_minimum, self._request.k)
        if ranking.found >= wanted:
            # Counting what a filter lets pass may take a look at all of it.
            return False
        there = view.document_count if reach.chosen is not None or reach.allowed is None else reach.allowed.count
        return ranking.found < min(wanted, there)

    def _rules(self, lists: Mapping[Channel, Offer], floor: float) -> Rules:
        fusing = self._fusing
        return Rules(
            method=fusing.method,
            # With no channel nothing has a score, and nothing is divided.
            ceiling=ceiling(lists, fusing.method, fusing.weights, fusing.rrf_k) or 1.0,
            floor=floor,
            aggregated=self._is_enabled("docscore_aggregation"),
            coefficient=self._options.coefficient,
            bound=self._options.boost_bound,
        )

    def _channels(self, plan: SearchPlan) -> tuple[Channel, ...]:
        wanted = plan.channels if self._request.channels is None else self._request.channels
        silent = set()
        if self._request.channels is None and not self._is_enabled("graph_scoring"):
            silent.add(Channel.GRAPH)
        if self._asked.vector is None:
            silent.add(Channel.VECTOR)
        if self._full_text_stands_in(plan):
            silent.add(Channel.FTS5)
        return tuple(channel for channel in wanted if channel not in silent)

    def _full_text_stands_in(self, plan: SearchPlan) -> bool:
        """Whether `fts5` is asked only if `bm25` fails, because `bm25` finds the same words."""
        needed = plan.full_text or self._parsed.phrases or self._parsed.prefixes
        return not needed and self._request.channels is None

    @cached_property
    def _is_deprecated(self) -> IsDeprecated:
        return is_deprecated if self._is_enabled("tier_boost") else is_never_deprecated

    def _is_enabled(self, flag: str) -> bool:
        return flag not in self._request.without and self._setting.states.enabled(flag, self._identity)

    @cached_property
    def _in_view(self) -> Mapping[str, str]:
        """What the session need not be given again, each with the search that gave it."""
        return self._setting.history.in_view(self._options.in_view)

    @cached_property
    def _plan(self) -> SearchPlan:
        return plan_mode(self._asked.choice.mode, self._options)

    def _fusing_of(self, plan: SearchPlan) -> Fusing:
        asked = plan.channels if self._request.channels is None else self._request.channels
        adaptive = self._is_enabled("adaptive_fusion")
        weights = self._options.weights_for(self._asked.intent, adaptive=adaptive, channels=asked)
        added = {entry.channel: entry.weight for entry in list_added_channels() if entry.weight is not None}
        return Fusing(method=self._options.method, weights={**weights, **added}, rrf_k=self._options.rrf_k)

    @cached_property
    def _parsed(self) -> ParsedQuery:
        view = self._setting.view
        return parse(self._request.query, frequency=None if view is None else view.document_frequency)

    @cached_property
    def _scoping(self) -> Scoping:
        return Scoping(self._setting.work, self._setting.view, self._parsed, self._guard)


class _Reranked(NamedTuple):
    """The results after reranking."""

    order: Sequence[Ranked]
    found: int
    """How many there are in all, also further down."""
    below_threshold: int = 0


def _with_former_ranks(before: Sequence[Ranked], after: Sequence[Ranked]) -> list[Ranked]:
    former = {place.memory.memory: rank for rank, place in enumerate(before, start=1)}
    return [place._replace(reranked_from=former[place.memory.memory]) for place in after]
