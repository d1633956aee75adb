"""How a score came about, as lines to read: the same sentences on the command line and on pages.

Every line can be repeated by hand: the printed numbers give the printed result again, up to their last digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.records import Explanation, HopStep, RelevanceReason, TrustMove


def find_factor(why: Explanation) -> float:
    """Return what all boosts together multiply a score by, within its bound."""
    factor = math.prod(boost.factor for boost in why.boosts)
    return min(max(factor, 1.0 / why.bound), why.bound)


def format_sum(why: Explanation) -> str:
    """Return the sum that gives a score from its passages, scale and boosts."""
    best, rest = why.passages[0].fused, why.passages[1:]
    base, floor = f"{best:.4f}", ""
    if why.aggregated and rest:
        more = math.fsum(max(part.fused - why.floor, 0.0) for part in rest)
        base = f"({best:.4f} + {why.coefficient:g} * {more:.4f} / sqrt({len(why.passages)}))"
        floor = f", further passages by what is above {why.floor:.4f}" if why.floor else ""
    return f"= {base} / {why.scale:.4f} x {find_factor(why):.3f} = {why.score:.4f}  ({why.method.value}{floor})"


def explain_moves(why: Explanation) -> Iterator[str]:
    """Return a sentence for each stage after fusion that gave a hit another place than its score."""
    if why.reranked_from is not None:
        by = "" if why.rerank_score is None else f" by the cross-encoder, which gave {why.rerank_score:.4f}"
        yield f"reranked from place {why.reranked_from}{by}"
    if why.trust is not None:
        yield explain_trust(why.trust)
    if why.step is not None:
        yield explain_step(why.step)
    if why.current_fact is not None:
        yield f"moved up from place {why.current_fact.from_rank}: {why.current_fact.reason}"
    if why.served_last_from is not None:
        yield explain_served_last(why.served_last_from)


def explain_step(step: HopStep) -> str:
    """Say which step of a chain of facts a hit is."""
    place = "no channel found it" if step.from_rank is None else f"from place {step.from_rank}"
    return f"step {step.hop + 1} of the question: about {step.about}, leads to {step.leads_to} ({place})"


def explain_relevance(why: RelevanceReason) -> str:
    """How a relevance came about, as a sum that can be repeated by hand."""
    clues = "".join(f" {clue.weight:+.3f} x {clue.name} {clue.value:.3f}" for clue in why.clues)
    return f"relevance {why.recompute():.4f} = 1 / (1 + exp(-({why.bias:.3f}{clues})))  ({why.profile})"


def explain_served_last(place: int) -> str:
    """Why a deprecated result is behind all others, as a sentence."""
    return f"served last, from place {place}: its tier is deprecated"


def explain_trust(move: TrustMove) -> str:
    """Why trust moved a result, as a sentence."""
    place = "where no channel found it" if move.from_rank is None else f"place {move.from_rank}"
    if move.raised:
        return f"raised above {move.other_id} from {place}: {move.reason}"
    return f"held below {move.other_id}, from {place}: {move.reason}"
