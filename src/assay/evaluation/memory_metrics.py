"""Agent-memory metrics over the cases of a run: tiers, sessions, causal chains, and what was superseded.

Tiers, sessions and chains come from the dataset. What the system gives without the session's boost, and what it saved
by not repeating itself, it tells itself; one that does not tell is not measured by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from assay.evaluation.asked import Asked, relevant_to
from assay.evaluation.write_metrics import stale_after_save
from assay.metrics import agent_memory, outcomes
from assay.metrics.agent_memory import Need
from assay.metrics.write_path import stale_served_rate
from assay.records.datasets import Case, Dataset
from assay.records.memory import EdgeKind, Tier
from assay.records.outcome import Outcome
from assay.records.sessions import SessionQuery

NO_SESSION = "the case stands in no session"
NO_HISTORY = "the session has no history"
JUDGED_TIERS = (Tier.CRITICAL, Tier.IMPORTANT, Tier.NORMAL)
"""Those that a gate compares."""
GRADED = "mrr@5,ndcg(gain=exp)@5,ndcg(gain=exp)@10,ndcg(gain=exp)@20"


def default_metrics(dataset: Dataset) -> Iterator[str]:
    """What a dataset of an agent's memory can be measured with beside rankings; nothing for any other dataset."""
    tiers = {one.tier for one in dataset.documents}
    if Tier.CONSTITUTIONAL in tiers:
        yield "constitutional_surfacing@5"
    if tiers - {Tier.NORMAL}:
        yield f"{GRADED},importance_weighted_recall@10,importance_weighted_recall(least=critical,pinned=count)@10"
        yield from (f"tier_precision(tier={one})@5" for one in JUDGED_TIERS if one in tiers)
    if any(case.session is not None for case in dataset.cases):
        yield "cold_start_mrr@10,cold_start_ratio@10,personalisation_lift@10,dedup_tokens_saved"
    if any(case.causal_chain for case in dataset.cases):
        yield "causal_chain_completeness@10"
    if superseded(dataset):
        yield "stale_served_rate@5"


def superseded(dataset: Dataset) -> frozenset[str]:
    """The documents of which the dataset says that another took their place."""
    return frozenset(one.target_id for one in dataset.edges if one.kind is EdgeKind.SUPERSEDES)


def leading_tier(case: Case, dataset: Dataset) -> str:
    """The most important tier among what is relevant to a case; empty where nothing is, or where tiers are not used."""
    if all(one.tier is Tier.NORMAL for one in dataset.documents):
        return ""
    tiers = {dataset.by_id[one].tier for one in relevant_to(case, dataset) if one in dataset.by_id}
    return next((tier.value for tier in Tier if tier in tiers), "")


def session_query(asked: Asked) -> SessionQuery | None:
    """A case as session metrics read it; None where it stands in no session."""
    session = asked.case.session
    if session is None:
        return None
    return SessionQuery(ranking=asked.given.ids, relevant=asked.relevant, cold=not session.working_memory)


def _constitutional(asked: Asked) -> Outcome:
    laws = [one.id for one in asked.dataset.documents if one.tier is Tier.CONSTITUTIONAL]
    need = Need(asked.spec.parameter("need"))
    return agent_memory.constitutional_surfacing(asked.given.ids, laws, asked.k, pinned=asked.given.pinned, need=need)


def _weighted_recall(asked: Asked) -> Outcome:
    known = asked.dataset.by_id
    return agent_memory.importance_weighted_recall(
        asked.given.ids,
        {one: known[one].tier for one in asked.relevant if one in known},
        asked.k,
        pinned=asked.given.pinned if asked.spec.parameter("pinned") == "count" else (),
        least=Tier(asked.spec.parameter("least")),
        classes=asked.classes,
    )


def _tier_precision(asked: Asked) -> Outcome:
    tiers = {one: asked.dataset.by_id[one].tier for one in asked.given.ids if one in asked.dataset.by_id}
    tier = Tier(asked.spec.parameter("tier"))
    return agent_memory.tier_precision(
        asked.given.ids, tiers, asked.relevant, asked.k, tier=tier, classes=asked.classes
    )


def _cold_start(asked: Asked) -> Outcome:
    query = session_query(asked)
    return outcomes.not_applicable(NO_SESSION) if query is None else agent_memory.cold_start_mrr(query, asked.k)


def _in_a_history(compute: Callable[[Asked], Outcome]) -> Callable[[Asked], Outcome]:
    def found(asked: Asked) -> Outcome:
        if asked.case.session is None:
            return outcomes.not_applicable(NO_SESSION)
        return compute(asked) if asked.case.session.working_memory else outcomes.not_applicable(NO_HISTORY)

    return found


def _lift(asked: Asked) -> Outcome:
    plain = asked.seen.unboosted
    if plain is None:
        return outcomes.not_applicable("the system does not say what it gives without the session")
    return agent_memory.personalisation_lift(asked.given.ids, plain, asked.relevant, asked.k)


def _saved(asked: Asked) -> Outcome:
    saved = asked.seen.tokens_saved
    if saved is None:
        return outcomes.not_applicable("the system does not say what it held back")
    return agent_memory.dedup_tokens_saved([saved])


def _chain(asked: Asked) -> Outcome:
    return agent_memory.causal_chain_completeness(
        asked.given.ids, asked.case.causal_chain, asked.k, classes=asked.classes
    )


def _stale(asked: Asked) -> Outcome:
    if asked.case.save is not None:
        return stale_after_save(asked, asked.case.save)
    per_search = asked.spec.parameter("per") == "search"
    return stale_served_rate(asked.given.ids, superseded(asked.dataset), asked.spec.cutoff, per_search=per_search)


METRICS: Mapping[str, Callable[[Asked], Outcome]] = {
    "constitutional_surfacing": _constitutional,
    "importance_weighted_recall": _weighted_recall,
    "tier_precision": _tier_precision,
    "cold_start_mrr": _cold_start,
    "personalisation_lift": _in_a_history(_lift),
    "dedup_tokens_saved": _in_a_history(_saved),
    "causal_chain_completeness": _chain,
    "stale_served_rate": _stale,
}
"""By name; each looks at one case."""
