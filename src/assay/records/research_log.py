"""The log of answered questions: sessions, filters, totals, prompts, and the answer a caller gets.

- Sessions, filters, totals, prompts and splits.
- The answer a caller gets, with every attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, one_of, require
from assay.records.judging import CheckpointResult, IterationDecision
from assay.records.research import MAX_QUESTION, Checkpoint, Dimension, Passage, Plan, QuestionKind, Synthesis

# --- Sessions, filters, totals, prompts and splits ---
#
# A session is the line that lists and aggregates read; everything else that happened stands in its trace, a JSON
# object. A score that nobody gave is None, never 0, and a session in which a checkpoint was not scored has no
# `passed`.


class ResearchStatus(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    ABSTAINED = "abstained"
    """The synthesiser found that the passages do not answer the question."""
    WITHHELD = "withheld"
    """There is an answer, and a checkpoint whose fail action is `block` did not let it out."""
    FAILED = "failed"
    """Search itself failed; the answer is an abstention with that reason."""


class QuestionOutcome(StrEnum):
    """What the user got, seen beside what was found; `assay.research.outcomes` decides it."""

    ANSWERED = "answered"
    """There is an answer, and what was found seems to hold it."""
    REFUSED = "refused"
    """There is no answer, and nothing that was found seems to hold one."""
    REFUSED_DESPITE_EVIDENCE = "refused_despite_evidence"
    """There is no answer although a passage that was found seems to hold one."""
    ANSWERED_WITHOUT_EVIDENCE = "answered_without_evidence"
    """There is an answer although nothing that was found seems to hold one."""
    FAILED = "failed"
    """The search failed, the answer was withheld, or none was made."""


class EvaluatedBy(StrEnum):
    """Who scored a session."""

    BUILTIN = "builtin"
    MODEL = "model"
    MIXED = "mixed"
    NOBODY = "nobody"


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchSession:
    """One question from plan to answer, in one line."""

    log_id: str
    created_at: datetime
    question: str
    status: ResearchStatus = ResearchStatus.ANSWERED
    outcome: QuestionOutcome | None = None
    """What the user got, seen beside what was found; None: not recorded, as in stores of earlier versions."""
    kind: QuestionKind = QuestionKind.OPEN
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    retry_of: str | None = None
    """The session whose search was widened."""
    overall_score: float | None = None
    """Follows from the outcome (`assay.research.outcomes`): of an answered question, the mean of the checkpoints that
    were scored, and no higher than one that failed; None: none was scored, or the question failed."""
    plan_score: float | None = None
    retrieval_score: float | None = None
    answer_score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    """The final score of each dimension that has one, custom ones included."""
    failed_dimensions: tuple[str, ...] = ()
    """Those below their bar when they were scored."""
    passed: bool | None = None
    """Whether it was answered and every checkpoint passed; None when one of them was not scored."""
    failure_type: str = ""
    """Of the first attempt at a plan that failed, or of the checkpoint that did; empty: nothing failed."""
    iterations: int = 1
    """Plans that were made."""
    exhausted: bool = False
    """The last attempt allowed failed too, and the best was used."""
    escalated: bool = False
    severe: bool = False
    """Retrieval was flagged to the user."""
    regenerated: bool = False
    """The answer was made a second time."""
    skipped: bool = False
    """A checkpoint could not be evaluated."""
    skip_reason: str = ""
    judge_failed: bool = False
    """A checkpoint was let pass because its scores could not be read."""
    evaluated_by: EvaluatedBy = EvaluatedBy.NOBODY
    latency_ms: float = 0.0
    """From question to answer."""
    evaluation_ms: float = 0.0
    """Of that, what evaluation took."""
    tokens: int | None = None
    """Of every model that evaluated; None: one did not count."""
    prompt_versions: tuple[str, ...] = ()
    """Prompts that were used, each as `prompt_id@version`."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "log_id")
        require(self, values.moment, "created_at")
        object.__setattr__(self, "question", values.text(self.question, "question", longest=MAX_QUESTION, empty=False))
        require(self, one_of(ResearchStatus), "status")
        allow(self, one_of(QuestionOutcome), "outcome")
        require(self, one_of(QuestionKind), "kind")
        require(self, one_of(EvaluatedBy), "evaluated_by")
        require(self, values.labels, "tags", "failed_dimensions", "prompt_versions")
        allow(self, values.short_label, "session_id")
        allow(self, values.identifier, "retry_of")
        allow(self, values.share, "overall_score", "plan_score", "retrieval_score", "answer_score")
        object.__setattr__(self, "scores", {key: values.share(score, key) for key, score in self.scores.items()})
        require(self, values.optional_short_label, "failure_type")
        require(self, values.text, "skip_reason")
        require(self, values.count, "iterations")
        require(self, values.finite, "latency_ms", "evaluation_ms")
        allow(self, values.count, "tokens")
        allow(self, values.flag, "passed")


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResearch:
    """A session with everything that happened in it."""

    session: ResearchSession
    trace: Mapping[str, Any] | None
    """The full record; None: it was erased, and the line was not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionEvaluation:
    """How one question was judged, step by step; a step is None when the record was erased and the line was not."""

    session: ResearchSession
    plan_evaluation: Mapping[str, Any] | None
    retrieval_evaluation: Mapping[str, Any] | None
    answer_evaluation: Mapping[str, Any] | None
    notices: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionPage:
    """Answered questions, newest first."""

    sessions: tuple[ResearchSession, ...]
    next_cursor: str | None
    """Where the next page begins; None on the last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchFilter:
    """Which sessions are meant; what is None or empty does not matter."""

    since: datetime | None = None
    until: datetime | None = None
    """Before this moment."""
    least_score: float | None = None
    most_score: float | None = None
    passed: bool | None = None
    failure_type: str | None = None
    failed_dimension: str | None = None
    escalated: bool | None = None
    skipped: bool | None = None
    judge_failed: bool | None = None
    severe: bool | None = None
    least_iterations: int | None = None
    most_iterations: int | None = None
    status: ResearchStatus | None = None
    outcome: QuestionOutcome | None = None
    kind: QuestionKind | None = None
    session_id: str | None = None
    prompt_version: str | None = None
    """`prompt_id@version`."""
    text: str | None = None
    """Words of the question, as they are written there."""

    def __post_init__(self) -> None:
        allow(self, values.moment, "since", "until")
        allow(self, values.share, "least_score", "most_score")
        allow(self, values.flag, "passed", "escalated", "skipped", "judge_failed", "severe")
        allow(self, values.count, "least_iterations", "most_iterations")
        allow(self, one_of(ResearchStatus), "status")
        allow(self, one_of(QuestionOutcome), "outcome")
        allow(self, one_of(QuestionKind), "kind")
        allow(self, values.label, "failure_type", "failed_dimension", "session_id", "prompt_version", "text")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise BadValue("since is not before until", remedy="Give the earlier moment first.")


class ResearchPage(NamedTuple):
    """Some sessions, newest first, and where the next page begins."""

    sessions: tuple[ResearchSession, ...]
    after: int | None
    """Give this to get the next page; None: there is none."""


class BriefSession(NamedTuple):
    """What alerts read of a session."""

    created_at: datetime
    question: str
    outcome: QuestionOutcome | None
    passed: bool | None


class DayOfTokens(NamedTuple):
    """The tokens of one day, UTC."""

    day: date
    sessions: int
    counted: int
    """Sessions whose tokens were counted."""
    tokens: int


class TimedSession(NamedTuple):
    """How long one session took."""

    day: date
    latency_ms: float


class Spread(NamedTuple):
    """A score over many sessions; only those that have one are counted."""

    count: int  # type: ignore[assignment] # nobody counts equal parts of a spread, which is what a tuple's would do
    total: float
    squares: float
    """Sum of squares, for an interval."""
    least: float | None
    most: float | None

    @property
    def mean(self) -> float | None:
        """None: no session has a score."""
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """How often the same questions were repeated, over the newest sessions of a filter."""

    sessions: int
    """Sessions that were looked at."""
    questions: int
    """Distinct questions among them."""
    same: float
    """The probability that two of these sessions have the same question."""

    def independent(self, sessions: float) -> float:
        """Return how many independent sessions so many are worth when sessions of one question say the same.

        This is Kish's effective number, n squared over the sum of squared repeats, carried over to n sessions.
        """
        return sessions / (1.0 + max(sessions - 1.0, 0.0) * self.same) if sessions else 0.0


class DayOfResearch(NamedTuple):
    """One day of sessions, UTC."""

    day: date
    sessions: int
    judged: int
    """Of these, sessions that passed or failed."""
    passed: int
    score: Spread
    """Overall."""
    outcomes: Mapping[QuestionOutcome, int] = {}
    """Sessions by outcome; those of earlier versions have none and are not in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchTotals:
    """Counts and sums over the sessions of a filter."""

    sessions: int
    judged: int
    """Passed or failed; the rest stays out of the pass rate."""
    passed: int
    skipped: int
    judge_failed: int
    escalated: int
    severe: int
    regenerated: int
    exhausted: int
    abstained: int
    withheld: int
    outcomes: Mapping[QuestionOutcome, int]
    """Sessions by outcome; those of earlier versions have none and are not in it."""
    iterations: Mapping[int, int]
    """Sessions by the number of plans that were made."""
    stages: Mapping[str, Spread]
    """`overall`, `plan`, `retrieval`, `answer`."""
    dimensions: Mapping[Dimension, Spread]
    failed_dimensions: Mapping[str, int]
    failure_types: Mapping[str, int]
    histogram: tuple[int, ...]
    """Overall scores in `BINS` bins of equal width from 0 to 1; 1 is in the last."""
    days: tuple[DayOfResearch, ...]


BINS = 20
"""Bins of the histogram of scores."""
LONGEST_PROMPT = 200_000


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptVersion:
    """One version of a prompt. Version 0 is the bundled one, which is not a row."""

    prompt_id: str
    version: int
    text: str
    created_at: datetime | None
    """None: it came with the program."""
    created_by: str = ""
    note: str = ""
    active: bool = False

    def __post_init__(self) -> None:
        require(self, values.identifier, "prompt_id")
        require(self, values.count, "version")
        object.__setattr__(self, "text", values.text(self.text, "text", longest=LONGEST_PROMPT, empty=False))
        allow(self, values.moment, "created_at")
        require(self, values.optional_label, "created_by", "note")
        require(self, values.flag, "active")

    @property
    def key(self) -> str:
        """As sessions name it."""
        return f"{self.prompt_id}@{self.version}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptSplit:
    """Two versions of a prompt that questions are dealt between, half to each."""

    prompt_id: str
    first: int
    """The version in use."""
    second: int
    began_at: datetime
    created_by: str = ""
    ended_at: datetime | None = None
    """None: questions are still dealt."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "prompt_id")
        require(self, values.count, "first", "second")
        require(self, values.moment, "began_at")
        require(self, values.optional_label, "created_by")
        allow(self, values.moment, "ended_at")
        if self.first == self.second:
            raise BadValue(f"both versions are {self.first}", remedy="Give another version of the prompt.")

    @property
    def keys(self) -> tuple[str, str]:
        """Both versions as sessions name them."""
        return f"{self.prompt_id}@{self.first}", f"{self.prompt_id}@{self.second}"


# --- The answer a caller gets, with every attempt ---


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanAttempt:
    """One plan with its evaluation."""

    number: int
    plan: Plan
    result: CheckpointResult
    made_at: datetime
    decision: IterationDecision | None = None
    """What the critic made of it; None: it passed, or could not be evaluated."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerAttempt:
    """One answer with its evaluation."""

    number: int
    synthesis: Synthesis
    result: CheckpointResult
    made_at: datetime


class NoticeKind(StrEnum):
    """What a user should know beside the answer."""

    SKIPPED = "evaluation_skipped"
    JUDGE_FAILED = "judge_failed"
    SEVERE = "retrieval_severe"
    NOT_PASSED = "not_passed"
    ANSWER_FAILED = "answer_failed"
    """The answer that is shown did not pass, also after it was made again."""
    DISAGREEMENT = "evaluators_disagree"
    WITHHELD = "withheld"
    FALLBACK = "fallback"
    SEARCH = "search_problem"
    NOT_KEPT = "not_kept"


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """One thing a user should know."""

    kind: NoticeKind
    message: str
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchAnswer:
    """An answer with citations or an explicit abstention, and what is known about its quality.

    This is what every surface gives; `TracedAnswer` adds how it came about.
    """

    synthesis: Synthesis
    """What the user gets: with the status `withheld`, an abstention with that reason."""
    session: ResearchSession
    """The question in one line: its log id, how it ended, and its scores."""
    plan: Plan
    passages: tuple[Passage, ...]
    notices: tuple[Notice, ...]
    kept: bool
    """Whether the record is in the store."""

    @property
    def log_id(self) -> str:
        """The id of the session."""
        return self.session.log_id

    @property
    def status(self) -> ResearchStatus:
        """How it ended."""
        return self.session.status

    @property
    def outcome(self) -> QuestionOutcome | None:
        """What the user got, seen beside what was found."""
        return self.session.outcome

    @property
    def text(self) -> str:
        """The answer, or why there is none."""
        return self.synthesis.text or self.synthesis.reason

    @property
    def evaluation(self) -> dict[str, Any]:
        """The scores in short, as every surface shows them."""
        return evaluation_of(self.session)


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedAnswer(ResearchAnswer):
    """An answer with every attempt behind it, where it was made; elsewhere `research.show` reads the record."""

    plan_attempts: tuple[PlanAttempt, ...]
    retrieval: CheckpointResult
    answer_attempts: tuple[AnswerAttempt, ...]
    trace: Mapping[str, Any]
    """The full record, as it is kept and exported."""


def evaluation_of(session: ResearchSession) -> dict[str, Any]:
    """A session's scores in short."""
    names = ("plan_score", "retrieval_score", "answer_score", "overall_score", "passed", "iterations", "escalated")
    return {
        "outcome": None if session.outcome is None else session.outcome.value,
        **{name: getattr(session, name) for name in names},
        "severe": session.severe,
        "regenerated": session.regenerated,
        "judge_failed": session.judge_failed,
        "evaluation_skipped": session.skipped,
        "skip_reason": session.skip_reason,
        "evaluated_by": session.evaluated_by.value,
    }
