"""Statistics of answered questions, patterns in low scores, and comparisons of prompt versions.

- Aggregates, trends and patterns.
- Comparisons of prompt versions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from assay.errors import BadValue
from assay.records import values
from assay.records.evaluations import Interval
from assay.records.research_log import AskedAgain, PromptSplit, PromptVersion, QuestionOutcome

# --- Aggregates, trends and patterns ---
#
# `Aggregates` counts and averages with their intervals, `Trend` does so for each week. `Patterns` are traits of
# questions that go with lower scores, each with a suggestion. `Analysis` has both. `assay.analysis` computes them;
# reading results needs only this module.

LEAST_FDR = 1e-6


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """A score over the sessions that have one."""

    mean: Interval
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class FailedDimension:
    """How often a dimension was below its bar."""

    dimension: str
    sessions: int
    share: float | None
    """Of the sessions in which it was scored; None for a custom dimension, of which only failures are counted."""


@dataclass(frozen=True, slots=True)
class IterationSummary:
    """How many plans were made."""

    mean: float | None
    sessions: Mapping[int, int]
    """By the number of plans."""
    exhausted: Interval | None
    """Share of sessions whose last allowed attempt failed too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Week:
    """One week of sessions."""

    begins: date
    """A Monday, UTC."""
    sessions: int
    judged: int
    passed: int
    pass_rate: float | None
    """None: nothing was judged."""
    score: ScoreSummary | None
    """The overall score; None: no session has one."""
    outcomes: Mapping[QuestionOutcome, int] = field(default_factory=dict)
    """Sessions by outcome; those of earlier versions have none and are not in it."""


class Direction(StrEnum):
    """Where the score goes."""

    RISING = "rising"
    FALLING = "falling"
    UNCLEAR = "unclear"
    """The difference is within what chance gives."""
    TOO_FEW = "too_few"
    """There are no four weeks with scores and some before them."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The weeks, oldest first, and where they lead."""

    weeks: tuple[Week, ...]
    direction: Direction
    change: float | None
    """The mean of the last four weeks minus that of the four before."""
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class OutcomeShare:
    """How many sessions have an outcome."""

    outcome: QuestionOutcome
    sessions: int
    share: Interval | None
    """Of the sessions whose outcome was recorded; None: there are none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregates:
    """What answered questions add up to; a rate of nothing is None."""

    sessions: int
    asked_again: AskedAgain
    """How often the newest of these sessions repeat a question."""
    independent: float
    """How many independent sessions they are worth; what intervals go by."""
    judged: int
    """Passed or failed: what the pass rate is over."""
    passed: int
    skipped: int
    """A checkpoint could not be evaluated; such a session is not in the pass rate."""
    judge_failed: int
    """A checkpoint was let pass because its scores could not be read; not in the pass rate either."""
    pass_rate: Interval | None
    scores: Mapping[str, ScoreSummary | None]
    """`overall`, `plan`, `retrieval`, `answer`."""
    dimensions: Mapping[str, ScoreSummary | None]
    histogram: tuple[int, ...]
    """Overall scores, bins of equal width from 0 to 1."""
    failures: tuple[FailedDimension, ...]
    """The most frequent first."""
    failure_types: Mapping[str, int]
    iterations: IterationSummary
    escalated: Interval | None
    """Share of sessions."""
    severe: int
    regenerated: int
    abstained: int
    withheld: int
    outcomes: tuple[OutcomeShare, ...]
    """Every outcome with its sessions, also those that none has."""
    without_outcome: int
    """Sessions of earlier versions, whose outcome was not recorded."""
    trend: Trend


class TraitKind(StrEnum):
    """What a trait is about."""

    TERM = "term"
    INTENT = "intent"
    TAG = "tag"
    LENGTH = "length"


@dataclass(frozen=True, slots=True, order=True)
class Trait:
    """Something that some questions have and others do not."""

    kind: TraitKind
    name: str
    """The trait as text to read; for a term, its most frequent form."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}" if self.kind is TraitKind.TERM else f"{self.kind}: {self.name}"


class Impact(StrEnum):
    """How much a pattern costs: `high` from a drop of 0.20 or a loss of 0.03 on, `medium` from 0.10 or 0.01 on."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, kw_only=True, slots=True)
class PatternOptions:
    """What counts as a pattern."""

    fdr: float = 0.02
    """Share of the reported patterns that may be chance, in expectation."""
    least_support: int = 8
    """Questions that have the trait, and as many that do not have it."""
    least_drop: float = 0.05
    """How much lower the mean has to be."""

    def __post_init__(self) -> None:
        if not 0.0 < values.finite(self.fdr, "fdr") < 1.0:
            raise BadValue(f"fdr is {self.fdr:g}", remedy="Give a share between 0 and 1, without both.")
        if self.fdr < LEAST_FDR:
            raise BadValue(f"fdr is {self.fdr:g}", remedy=f"Give {LEAST_FDR:g} or more: less takes too many draws.")
        if values.count(self.least_support, "least_support") < 2:
            raise BadValue(f"least_support is {self.least_support}", remedy="Give 2 or more.")
        if math.isnan(self.least_drop) or not 0.0 <= self.least_drop <= 1.0:
            raise BadValue(f"least_drop is {self.least_drop}", remedy="Give a share from 0 to 1.")


@dataclass(frozen=True, slots=True)
class AffectedQuestion:
    """A question of a pattern."""

    text: str
    score: float
    log_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """A sentence to add to a prompt. It is a proposal: nothing but a person changes a prompt."""

    prompt_id: str
    """Which prompt to change."""
    sentence: str
    """What to add to it."""
    by: str = "builtin"
    """Who worded it: the tables, or a model by name."""
    problem: str = ""
    """Why the chosen model did not write the suggestion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pattern:
    """A trait whose questions score lower on one dimension."""

    trait: Trait
    same_as: tuple[Trait, ...]
    """Traits that exactly the same questions have."""
    also: tuple[Trait, ...] = ()
    """Weaker patterns of this dimension that are this one seen from another side."""
    dimension: str
    mean: float
    """Of the questions that have the trait."""
    mean_of_others: float
    drop: float
    """How much lower than the others."""
    effect: float | None
    """The drop in standard deviations (Hedges); None where nothing varies beside it."""
    p: float
    """Before the adjustment."""
    p_adjusted: float
    affected: tuple[AffectedQuestion, ...]
    """Every question that has the trait, the lowest score first."""
    loss: float
    """How much higher the mean over all questions would be if these scored like the others."""
    impact: Impact
    sentence: str
    """What was found, for people."""
    suggestion: Suggestion


@dataclass(frozen=True, kw_only=True, slots=True)
class Patterns:
    """What low scores have in common, and how much was looked at."""

    found: tuple[Pattern, ...]
    """The costliest first."""
    questions: int
    """Distinct ones with a score."""
    sessions: int
    """Of these questions."""
    traits: int
    tested: int
    """Traits times dimensions: what false discoveries were controlled over."""
    options: PatternOptions
    cut: bool = False
    """There are more sessions than patterns were looked for in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Analysis:
    """What answered questions add up to, and what low scores have in common."""

    aggregates: Aggregates
    patterns: Patterns


# --- Comparisons of prompt versions ---
#
# The versions themselves, `PromptVersion` and `PromptSplit`, are in `research_log`, beside the sessions that name
# them.


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptList:
    """Every prompt as it is in use, in the order of the pipeline."""

    prompts: tuple[PromptVersion, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptVersions:
    """Every version of one prompt, the newest first, the bundled one last."""

    versions: tuple[PromptVersion, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptDiff:
    """What changed between two versions of a prompt."""

    diff: str
    """Line by line, as a unified diff; empty: both say the same."""


class PromptVerdict(StrEnum):
    """What the second version is, beside the first."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE_SEEN = "no_difference_seen"
    TOO_FEW = "too_few"
    WITHHELD = "withheld"
    """Too few questions are common to both versions: the difference may come from the questions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptMetric:
    """One metric under both versions; a number that could not be made is None."""

    metric: str
    first: float | None
    second: float | None
    delta: float | None
    """Second minus first."""
    low: float | None
    high: float | None
    p: float | None
    """Valid however often anybody looks; None where questions are not paired."""
    p_adjusted: float | None
    questions: tuple[int, int]
    """With a value, under each version."""
    looked_at: int | None
    """Pairs that the last look took in; None: there was none yet."""
    verdict: PromptVerdict


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptComparison:
    """What sessions came to under two versions of a prompt."""

    first: str
    """As sessions name it: `prompt_id@version`."""
    second: str
    sessions: tuple[int, int]
    questions: tuple[int, int]
    shared: int
    """Questions that both versions answered."""
    paired: bool
    metrics: tuple[PromptMetric, ...]
    caution: str
    """What must be read beside the verdicts, in sentences."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitSide:
    """One version, over the questions it was dealt."""

    key: str
    """As sessions name it."""
    version: int
    sessions: int
    questions: int
    """With an overall score."""
    score: Interval | None
    """Mean of the overall scores; None: no question was scored."""
    pass_rate: Interval | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitStanding:
    """The state of a split: both sides with their scores, and the sequential test of the second against the first."""

    split: PromptSplit
    first: SplitSide
    second: SplitSide
    delta: float | None
    """Second minus first."""
    low: float | None
    high: float | None
    decision: str | None
    """Of the second version: better, worse, or futile; None: it is open."""
    evidence: tuple[float, float]
    """E-values that the second is better, and that it is worse; 40 decides."""
    uneven: str
    """Why the sides cannot have been dealt by chance; empty when they can."""
    withheld: str
    """Why no decision is possible yet, regardless of the evidence; empty when one is."""
    cut: bool
    """There are more sessions than were looked at."""
