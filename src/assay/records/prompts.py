"""What the versions of a prompt led to, as every surface shows it: lists, differences, comparisons and splits.

The versions themselves, `PromptVersion` and `PromptSplit`, are in `research_log`, beside the sessions that name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.records.interval import Interval
from assay.records.research_log import PromptSplit, PromptVersion


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
    """Too few questions were asked under both versions: the difference may be that of the questions."""


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
    """Questions that were asked under both."""
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
    """How a split stands: both sides with their scores, and what the sequential test says of the second."""

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
    """Why nothing is decided whatever the evidence; empty when it may be."""
    cut: bool
    """There are more sessions than were looked at."""
