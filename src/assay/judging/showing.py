"""How material is shown to a model: between marked lines, cleaned, and without what speaks to the evaluator.

Material that gives orders to whoever evaluates it is shown without them, and flagged: the score is then of what is said
about the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from assay.hashing import content_hash
from assay.judging.injection import Guard, cleaned, enclosed, suspicions, without_orders
from assay.records.panel import RoleResult
from assay.records.research import Dimension, Material, Passage, Plan

LONGEST_PASSAGE = 4_000
"""Characters of one passage that are shown."""
MEANINGS = {
    Dimension.INTENT_ALIGNMENT: "does the plan correctly interpret what the user wants?",
    Dimension.QUERY_COVERAGE: "do the planned queries cover all aspects of the question?",
    Dimension.SCOPE_APPROPRIATENESS: "is the plan neither too narrow nor too broad?",
    Dimension.CONTEXT_RECALL: "do the passages hold everything needed to answer fully?",
    Dimension.CONTEXT_PRECISION: "are the passages relevant to the question?",
    Dimension.SOURCE_QUALITY: "are the sources authoritative, current and credible?",
    Dimension.FAITHFULNESS: "is every statement of the answer supported by the passages it cites?",
    Dimension.RELEVANCE: "does the answer address what the user asked?",
    Dimension.FACTUAL_ACCURACY: "is the information correct?",
    Dimension.COMPLETENESS: "does the answer cover all aspects in sufficient depth?",
    Dimension.COHERENCE: "is the answer logical, organised and readable?",
}
"""What each dimension asks."""


class Shown(NamedTuple):
    """Material as a model sees it."""

    text: str
    flags: tuple[str, ...]
    """What looked as if it spoke to the evaluator."""


def shown_material(material: Material, guard: Guard) -> Shown:
    """Everything made so far, each part between its marked lines."""
    parts = list(_parts(material))
    mark = guard.mark(content_hash([list(part) for part in parts]))
    flags = tuple(dict.fromkeys(flag for _, text in parts for flag in suspicions(text)))
    blocks = [enclosed(label, _safe(text), mark) for label, text in parts]
    return Shown("\n\n".join(blocks), flags)


def shown_passages(passages: Sequence[Passage], guard: Guard) -> Shown:
    """Numbered passages alone, between marked lines."""
    text = passages_text(passages)
    return Shown(enclosed("PASSAGES", _safe(text), guard.mark(content_hash(text))), suspicions(text))


def shown_question(question: str, guard: Guard) -> str:
    """The question alone, between marked lines."""
    return enclosed("QUESTION", cleaned(question).text, guard.mark(content_hash(question)))


def shown_results(results: Sequence[RoleResult], guard: Guard) -> str:
    """What each role said: a critique quotes what it judged, so it stands between marked lines too."""
    text = "\n".join(f"{one.role}: {_said(one)}" for one in results)
    return enclosed("PANEL", _safe(text), guard.mark(content_hash(text)))


def _said(result: RoleResult) -> str:
    if not result.scored:
        return f"no scores: {result.reason}"
    scores = ", ".join(f"{name} {score:.2f}" for name, score in result.scores.items())
    return f"confidence {result.confidence or 0.0:.2f}; {scores}; {result.critique}"


def dimension_lines(dimensions: Sequence[str]) -> str:
    """What is scored, one line each."""
    told = [f"- {name}: {MEANINGS[Dimension(name)]}" if name in MEANINGS else f"- {name}" for name in dimensions]
    return "Score each dimension from 0.0 (not at all) to 1.0 (fully):\n" + "\n".join(told)


def score_properties(dimensions: Sequence[str]) -> dict[str, Any]:
    """The part of a schema that holds one score for each dimension."""
    score = {"type": "number", "minimum": 0, "maximum": 1}
    return {"type": "object", "required": list(dimensions), "properties": dict.fromkeys(dimensions, score)}


def passages_text(passages: Sequence[Passage]) -> str:
    """Numbered as citations name them."""
    return "\n\n".join(f"[{one.number}] {one.title}\n{one.text[:LONGEST_PASSAGE]}" for one in passages) or "(none)"


def _parts(material: Material) -> Iterator[tuple[str, str]]:
    yield "QUESTION", material.question
    if material.plan is not None:
        yield "PLAN", plan_text(material.plan)
    if material.passages:
        yield "PASSAGES", passages_text(material.passages)
    if material.synthesis is not None:
        yield "ANSWER", material.synthesis.text or material.synthesis.reason


def plan_text(plan: Plan) -> str:
    """A plan in lines."""
    lines = [f"intent: {plan.intent}", f"kind: {plan.kind}"]
    lines += [f"query ({one.purpose}): {one.text}" for one in plan.queries]
    lines += [f"rules out: {one}" for one in plan.excluded]
    return "\n".join(lines)


def _safe(text: str) -> str:
    if not suspicions(text):
        return cleaned(text).text
    kept = "\n".join(without_orders(line) for line in text.split("\n"))
    return cleaned(kept).text.strip() or "(it says nothing about the question)"
