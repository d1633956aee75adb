"""A question from plan to answer, and what evaluators say of each step.

`Plan` and its `PlannedQuery` say what will be searched, `Passage` is what was found, `Synthesis` the answer: statements
that each cite passages, or an abstention with its reason. `Material` is what an evaluator is shown at a `Checkpoint`,
`RoleScores` what it gives back. `PlanFeedback` carries a critique to the planner's next attempt. `OWNERS` is the one
place that assigns each dimension to a role.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, one_of, require

MAX_QUESTION = 100_000
"""Characters in one question; as many as in one search."""


class Purpose(StrEnum):
    """Why a query is in a plan."""

    MAIN = "main"
    """The question itself, in words that search well."""
    ASPECT = "aspect"
    """One part of a question that has several."""
    SIDE = "side"
    """One side of a comparison."""
    TIME = "time"
    """The time the question is about."""
    EXCLUSION = "exclusion"
    """The question without what it rules out."""
    VARIANT = "variant"
    """The same in other words."""


class QuestionKind(StrEnum):
    """The shape of answer that a question needs."""

    FACT = "fact"
    DEFINITION = "definition"
    COMPARISON = "comparison"
    PROCEDURE = "procedure"
    REASON = "reason"
    LIST = "list"
    TIME = "time"
    QUANTITY = "quantity"
    YES_NO = "yes_no"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedQuery:
    """One search a plan will make."""

    text: str
    purpose: Purpose = Purpose.MAIN
    aspect: str = ""
    """Which of the plan's aspects it serves; empty: the question as a whole."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", values.text(self.text, "text", longest=MAX_QUESTION, empty=False))
        require(self, one_of(Purpose), "purpose")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How a question will be researched."""

    question: str
    queries: tuple[PlannedQuery, ...]
    kind: QuestionKind = QuestionKind.OPEN
    intent: str = ""
    """In one sentence, what the planner takes the user to want."""
    aspects: tuple[str, ...] = ()
    """Aspects that an answer has to cover."""
    time: tuple[str, ...] = ()
    """The words about time the question has."""
    excluded: tuple[str, ...] = ()
    """What the question rules out."""
    planner: str = "builtin"
    """Who made it: `builtin`, or the model's name."""
    prompt: str = ""
    """`prompt_id@version` of the prompt for the model; empty: rules."""
    fallback: str = ""
    """Why rules made it though a model was to; empty: nothing went wrong."""

    def __post_init__(self) -> None:
        if not self.queries:
            raise BadValue("a plan has no query", remedy="Plan at least one search.")
        require(self, one_of(QuestionKind), "kind")

    @property
    def texts(self) -> tuple[str, ...]:
        """What will be searched."""
        return tuple(query.text for query in self.queries)


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One passage an answer may rest on; its number is the one citations use."""

    number: int
    """From 1."""
    text: str
    memory_id: str = ""
    title: str = ""
    rel_path: str = ""
    heading_path: str = ""
    score: float | None = None
    """As the search gave it; None: not known."""
    channels: Mapping[str, float] = field(default_factory=dict)
    """The score of each channel that found it, on the channel's own scale."""
    standing: float | None = None
    """By how many standard deviations its cosine is above the query's cosines with the whole store, where several
    queries found it the largest; None: it was not compared by meaning."""
    updated_at: datetime | None = None
    superseded: bool = False
    found_as: int | None = None
    """The number that evaluators saw, by rank; None: the same as `number`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One sentence of an answer and the passages it rests on."""

    text: str
    citations: tuple[int, ...]
    """Numbers of passages."""

    def __post_init__(self) -> None:
        require(self, values.text, "text")


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A reference under an answer."""

    number: int
    memory_id: str = ""
    title: str = ""
    rel_path: str = ""
    heading_path: str = ""
    quote: str = ""
    """The words of the passage the answer rests on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Synthesis:
    """An answer: statements that each cite a passage, or an abstention and its reason. Never neither."""

    text: str
    statements: tuple[Statement, ...] = ()
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    reason: str = ""
    """Why there is no answer."""
    confidence: float | None = None
    """How sure the synthesiser is that the passages answer the question, 0 to 1; None: it does not say."""
    synthesiser: str = "builtin"
    prompt: str = ""
    """`prompt_id@version` of the prompt for the model; empty: rules."""
    fallback: str = ""
    """What had to be mended in a model's answer, or why rules made it; empty: nothing went wrong."""

    def __post_init__(self) -> None:
        allow(self, values.share, "confidence")
        if self.abstained:
            self._check_abstention()
        else:
            self._check_citations()

    def _check_abstention(self) -> None:
        if not self.reason.strip() or self.statements or self.citations:
            raise BadValue(
                "an abstention has no reason, or states something", remedy="Give the reason and no statement."
            )

    def _check_citations(self) -> None:
        known = {citation.number for citation in self.citations}
        bare = [
            statement.text
            for statement in self.statements
            if not statement.citations or not set(statement.citations) <= known
        ]
        if bare or not self.statements:
            raise BadValue(
                f"the answer has a statement without a citation: {bare[:1] or 'nothing at all'}",
                remedy="Cite a listed passage for each statement, or abstain.",
            )


class Checkpoint(StrEnum):
    """Where in the pipeline evaluators look."""

    PLAN = "plan"
    RETRIEVAL = "retrieval"
    ANSWER = "answer"


class Dimension(StrEnum):
    """What is scored, from 0 to 1."""

    INTENT_ALIGNMENT = "intent_alignment"
    QUERY_COVERAGE = "query_coverage"
    SCOPE_APPROPRIATENESS = "scope_appropriateness"
    CONTEXT_RECALL = "context_recall"
    CONTEXT_PRECISION = "context_precision"
    SOURCE_QUALITY = "source_quality"
    FAITHFULNESS = "faithfulness"
    RELEVANCE = "relevance"
    FACTUAL_ACCURACY = "factual_accuracy"
    COMPLETENESS = "completeness"
    COHERENCE = "coherence"


class Role(StrEnum):
    """Who scores. Each owns some dimensions and has a view of the others of its checkpoint."""

    INTENT_ANALYST = "intent_analyst"
    COVERAGE_CHECKER = "coverage_checker"
    FAITHFULNESS_JUDGE = "faithfulness_judge"
    QUALITY_ASSESSOR = "quality_assessor"
    FACT_CHECKER = "fact_checker"


BUILTIN_CHECK = "builtin_check"
"""The role of the one evaluator that needs no model: it owns every dimension that it scores."""

DIMENSIONS: Mapping[Checkpoint, tuple[Dimension, ...]] = {
    Checkpoint.PLAN: (Dimension.INTENT_ALIGNMENT, Dimension.QUERY_COVERAGE, Dimension.SCOPE_APPROPRIATENESS),
    Checkpoint.RETRIEVAL: (Dimension.CONTEXT_RECALL, Dimension.CONTEXT_PRECISION, Dimension.SOURCE_QUALITY),
    Checkpoint.ANSWER: (
        Dimension.FAITHFULNESS,
        Dimension.RELEVANCE,
        Dimension.FACTUAL_ACCURACY,
        Dimension.COMPLETENESS,
        Dimension.COHERENCE,
    ),
}
"""What is scored at each checkpoint, heaviest first."""

OWNERS: Mapping[Dimension, Role] = {
    Dimension.INTENT_ALIGNMENT: Role.INTENT_ANALYST,
    Dimension.SCOPE_APPROPRIATENESS: Role.INTENT_ANALYST,
    Dimension.RELEVANCE: Role.INTENT_ANALYST,
    Dimension.QUERY_COVERAGE: Role.COVERAGE_CHECKER,
    Dimension.COMPLETENESS: Role.COVERAGE_CHECKER,
    Dimension.CONTEXT_RECALL: Role.COVERAGE_CHECKER,
    Dimension.FAITHFULNESS: Role.FAITHFULNESS_JUDGE,
    Dimension.CONTEXT_PRECISION: Role.FAITHFULNESS_JUDGE,
    Dimension.COHERENCE: Role.QUALITY_ASSESSOR,
    Dimension.SOURCE_QUALITY: Role.QUALITY_ASSESSOR,
    Dimension.FACTUAL_ACCURACY: Role.FACT_CHECKER,
}
"""Whose score of a dimension enters the aggregate."""


def roles_at(checkpoint: Checkpoint) -> tuple[Role, ...]:
    """Who is present at a checkpoint: the owners of its dimensions, in the order of `Role`."""
    owners = {OWNERS[dimension] for dimension in DIMENSIONS[checkpoint]}
    return tuple(role for role in Role if role in owners)


@dataclass(frozen=True, kw_only=True, slots=True)
class Issue:
    """One thing that is wrong, and what would mend it."""

    issue: str
    fix: str
    terms: tuple[str, ...] = ()
    """The words a fix has to bring in, for a planner that reads no prose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """What an evaluator is shown: everything made so far, and nothing later."""

    checkpoint: Checkpoint
    question: str
    plan: Plan | None = None
    passages: tuple[Passage, ...] = ()
    synthesis: Synthesis | None = None
    now: datetime | None = None
    """The moment of asking, for the age of sources; None: age is not looked at."""

    def __post_init__(self) -> None:
        require(self, one_of(Checkpoint), "checkpoint")
        if self.checkpoint is Checkpoint.PLAN and self.plan is None:
            raise BadValue("material for the plan checkpoint has no plan", remedy="Give the plan.")
        if self.checkpoint is Checkpoint.ANSWER and self.synthesis is None:
            raise BadValue("material for the answer checkpoint has no synthesis", remedy="Give the synthesis.")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceReading:
    """What an evaluator finds of one passage."""

    number: int
    """Of the passage, from 1."""
    about: bool | None = None
    """Whether it is about the question; None: not looked at."""
    share: float | None = None
    """How much of the question it covers, 0 to 1; None: not measured."""
    problems: tuple[str, ...] = ()
    """Why it is a poor source, such as `superseded`, `old` or `repeated`; empty: nothing was found."""

    def __post_init__(self) -> None:
        require(self, values.count, "number")
        allow(self, values.flag, "about")
        allow(self, values.share, "share")
        require(self, values.labels, "problems")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleScores:
    """The scores of one role at one checkpoint, and why a dimension has none."""

    scores: Mapping[Dimension, float]
    """By dimension; one that cannot be measured is left out and named in `not_measured`."""
    confidence: float
    critique: str = ""
    issues: tuple[Issue, ...] = ()
    not_measured: Mapping[Dimension, str] = field(default_factory=dict)
    """Why a dimension has no score, by dimension."""
    sources: tuple[SourceReading, ...] = ()
    """What was found of each passage, where passages were looked at one by one."""

    def __post_init__(self) -> None:
        require(self, values.share, "confidence")
        checked = {one_of(Dimension)(key, "scores"): values.share(score, key) for key, score in self.scores.items()}
        object.__setattr__(self, "scores", checked)
        reasons = {one_of(Dimension)(key, "not_measured"): str(why) for key, why in self.not_measured.items()}
        object.__setattr__(self, "not_measured", reasons)
        both = sorted(set(checked) & set(reasons))
        if both:
            raise BadValue(
                f"{both[0]} has a score and is not measured", remedy="Give a score or the reason for none, not both."
            )


class IterationMode(StrEnum):
    """How the next attempt at a plan is made."""

    TARGETED_FIX = "targeted_fix"
    FULL_REGENERATION = "full_regeneration"
    ALTERNATIVE_APPROACH = "alternative_approach"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanFeedback:
    """The critic's feedback to the planner."""

    previous: Plan
    mode: IterationMode
    failure_type: str = ""
    """`intent_misalignment`, `insufficient_coverage` or `scope_mismatch`."""
    critique: str = ""
    issues: tuple[Issue, ...] = ()
    scores: Mapping[Dimension, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self, one_of(IterationMode), "mode")
