"""Inputs and verdicts of judges, their calibration, and the results of a panel.

- Judge inputs, verdicts and calibrations.
- Results of a panel at a checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from assay.errors import BadValue
from assay.hashing import content_hash
from assay.records import values
from assay.records.fields import allow, one_of, require
from assay.records.research import Checkpoint, Issue, IterationMode, SourceReading

# --- Judge inputs, verdicts and calibrations ---
#
# A verdict without a value says why in its `outcome`: a reply that could not be read is not a score of 0, and neither
# is a judge that could not be asked. `JudgedAnswer` is one verdict with everything needed to say later where it came
# from.

JudgeKind = Literal["builtin", "model", "own"]
"""What kind of evaluator it was: built-in rules, a model, or a function that a user added. Part of every record."""
HIGHEST_SCORE = 5.0
"""Of the rubrics that score; the lowest is 0."""


class RubricKind(StrEnum):
    """What is judged."""

    GROUNDEDNESS = "groundedness"
    """Is every claim of the answer supported by the passages?"""
    CORRECTNESS = "correctness"
    """Does the answer address the question rightly?"""
    ABSTENTION = "abstention"
    """Did the answer decline to answer?"""


class VerdictOutcome(StrEnum):
    """What became of one judging."""

    SCORED = "scored"
    UNREADABLE = "unreadable"
    """The judge replied, and no verdict could be read from it, even after one repair request."""
    UNAVAILABLE = "unavailable"
    """The judge could not be reached: its endpoint failed or took too long."""
    SKIPPED = "skipped"
    """The judge was not called: the budget was spent, or there was nothing to judge."""
    CONTESTED = "contested"
    """The judged text carries instructions to the judge, and the verdict moves when they are cut out."""
    VOID = "void"
    """The judge followed a planted instruction in the same run: none of its verdicts there count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroundednessVerdict:
    """Whether an answer is supported by its passages."""

    score: float | None
    """From 0 to 5; None unless the outcome is `scored`."""
    probability: float | None = None
    """How likely every claim is supported, from 0 to 1, where the judge can say."""
    supported_claims: tuple[str, ...] = ()
    unsupported_claims: tuple[str, ...] = ()
    outcome: VerdictOutcome = VerdictOutcome.SCORED
    reason: str = ""

    def __post_init__(self) -> None:
        allow(self, _score, "score")
        allow(self, values.share, "probability")
        _check_verdict(self, self.score is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class CorrectnessVerdict:
    """Whether an answer is right."""

    score: float | None
    """From 0 to 5; None unless the outcome is `scored`."""
    probability: float | None = None
    outcome: VerdictOutcome = VerdictOutcome.SCORED
    reason: str = ""

    def __post_init__(self) -> None:
        allow(self, _score, "score")
        allow(self, values.share, "probability")
        _check_verdict(self, self.score is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class AbstentionVerdict:
    """Whether an answer declines to answer."""

    abstained: bool | None
    """None unless the outcome is `scored`."""
    probability: float | None = None
    """That it abstained."""
    outcome: VerdictOutcome = VerdictOutcome.SCORED
    reason: str = ""

    def __post_init__(self) -> None:
        allow(self, values.flag, "abstained")
        allow(self, values.share, "probability")
        _check_verdict(self, self.abstained is not None)


Verdict = GroundednessVerdict | CorrectnessVerdict | AbstentionVerdict


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeInput:
    """Everything a judge sees of one case. Kept, so that another judge can judge it later."""

    kind: RubricKind
    question: str
    answer: str
    passages: tuple[str, ...] = ()
    reference: str = ""
    """A right answer, where the dataset has one."""

    def __post_init__(self) -> None:
        require(self, one_of(RubricKind), "kind")
        require(self, values.text, "question", "answer", "reference")
        object.__setattr__(self, "passages", tuple(values.text(passage, "passages") for passage in self.passages))

    @property
    def input_hash(self) -> str:
        """Hash of the content; it does not depend on the judge."""
        return content_hash([self.kind.value, self.question, self.answer, list(self.passages), self.reference])

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "kind": self.kind.value,
            "question": self.question,
            "answer": self.answer,
            "passages": list(self.passages),
            "reference": self.reference,
        }

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> JudgeInput:
        """From what was stored."""
        return JudgeInput(**{**stored, "passages": tuple(stored.get("passages", ()))})


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeFingerprint:
    """Which judge it was: everything that moves its verdicts. Two judges are one if and only if these are equal."""

    judge: str
    """What people call it, such as `groundedness by qwen3:14b`."""
    judge_kind: JudgeKind
    rubric: str
    rubric_version: str
    prompt_hash: str
    """Of the whole prompt with its schema."""
    parser_version: str
    model: str = ""
    """Empty for a judge that uses no model."""
    model_digest: str | None = None
    """Digest of the weights, where the server reports it."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """One short name for all of it."""
        return "j_" + content_hash(self.as_json()).split(":")[-1][:16]

    def as_json(self) -> dict[str, Any]:
        """As it is stored, without its id."""
        return {
            "judge": self.judge,
            "judge_kind": self.judge_kind,
            "rubric": self.rubric,
            "rubric_version": self.rubric_version,
            "prompt_hash": self.prompt_hash,
            "parser_version": self.parser_version,
            "model": self.model,
            "model_digest": self.model_digest,
            "parameters": dict(self.parameters),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What asking a model took: every request that was sent, whether anything came of it or not."""

    requests: int = 0
    """Requests sent, retries and repair questions included."""
    failed: int = 0
    """Requests among them that brought no reply."""
    cached: int = 0
    """Replies that were kept from earlier: nothing was sent for them."""
    unmetered: int = 0
    """Replies whose tokens the server did not count."""
    prompt_tokens: int = 0
    """Tokens sent, as the server counted them; those of failed requests are not known."""
    completion_tokens: int = 0
    """Tokens replied, as the server counted them."""
    most_prompt_tokens: int = 0
    """At most this many more were sent in requests that failed or were not counted."""
    most_completion_tokens: int = 0
    """At most this many more were replied to them."""

    def __post_init__(self) -> None:
        require(self, values.count, *USAGE_FIELDS)

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in USAGE_FIELDS})

    @property
    def fresh(self) -> int:
        """Replies that the model gave just now."""
        return self.requests - self.failed

    def as_json(self) -> dict[str, int]:
        """The one shape of it on every surface."""
        return {**{name: getattr(self, name) for name in USAGE_FIELDS}, "fresh": self.fresh}


USAGE_FIELDS = (
    "requests",
    "failed",
    "cached",
    "unmetered",
    "prompt_tokens",
    "completion_tokens",
    "most_prompt_tokens",
    "most_completion_tokens",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedAnswer:
    """One verdict, and where it came from."""

    input: JudgeInput
    verdict: Verdict
    fingerprint: JudgeFingerprint
    raw: tuple[str, ...] = ()
    """Every reply of the judge as it came, readable or not."""
    flags: tuple[str, ...] = ()
    """What was suspicious in the judged text, by name."""
    repeat: int = 0
    latency_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached: bool = False
    served: tuple[str, ...] = ()
    """The models that replied, as the server names them; empty for a judge that uses no model."""
    usage: Usage = field(default_factory=Usage)
    """All that was sent for this verdict, second askings and failed requests included."""

    def __post_init__(self) -> None:
        require(self, values.count, "repeat")
        allow(self, values.finite, "latency_ms")
        allow(self, values.count, "prompt_tokens", "completion_tokens")

    @property
    def score(self) -> float | None:
        """The verdict as one number: 0 to 5, or 1 and 0 for an abstention; None where there is none."""
        return score_of(self.verdict)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredVerdict:
    """One verdict as it is kept: of which run and case, by which judge, over which input."""

    run_id: str
    case_id: str
    repeat: int = 0
    kind: RubricKind
    fingerprint_id: str
    input_hash: str
    outcome: VerdictOutcome
    score: float | None = None
    """0 to 5; for an abstention 1 or 0."""
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Claims, flags, the raw replies, tokens, time."""
    created_at: datetime

    def __post_init__(self) -> None:
        require(self, values.short_label, "run_id", "case_id", "fingerprint_id", "input_hash")
        require(self, values.count, "repeat")
        require(self, one_of(RubricKind), "kind")
        require(self, one_of(VerdictOutcome), "outcome")
        allow(self, values.finite, "score")
        require(self, values.text, "reason")
        require(self, values.json_object, "detail")
        require(self, values.moment, "created_at")


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """How far a judge was found to agree with people, and until when that counts."""

    fingerprint_id: str
    kind: RubricKind
    made_at: datetime
    expires_at: datetime
    labels_hash: str
    """Of the labelled cases it was held against."""
    cases: int
    passed: bool
    """Whether it reached the floor; below it the judge is diagnostic only."""
    figures: Mapping[str, Any]
    """Accuracy, kappa, alpha, self-consistency, biases, corrected means."""
    fingerprint: Mapping[str, Any]

    def __post_init__(self) -> None:
        require(self, values.short_label, "fingerprint_id", "labels_hash")
        require(self, one_of(RubricKind), "kind")
        require(self, values.moment, "made_at", "expires_at")
        require(self, values.count, "cases")
        require(self, values.flag, "passed")
        require(self, values.json_object, "figures", "fingerprint")

    def gates_at(self, moment: datetime) -> bool:
        """Whether a gate may listen to this judge at a moment."""
        return self.passed and self.made_at <= moment < self.expires_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """What a judge of correctness made of answers that are right and wrong on purpose, and until when that counts."""

    fingerprint_id: str
    about: RubricKind
    made_at: datetime
    expires_at: datetime
    cases_hash: str
    """Of the answers it was shown."""
    cases: int
    passed: bool
    figures: Mapping[str, Any]
    """What it accepted of each group, stability, biases, and why it was not certified."""
    fingerprint: Mapping[str, Any]
    """Judge, prompt, model and parameters, with their hashes."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "fingerprint_id", "cases_hash")
        require(self, one_of(RubricKind), "about")
        require(self, values.moment, "made_at", "expires_at")
        require(self, values.count, "cases")
        require(self, values.flag, "passed")
        require(self, values.json_object, "figures", "fingerprint")

    def is_valid_at(self, moment: datetime) -> bool:
        """Whether it passed and counts at a moment."""
        return self.passed and self.made_at <= moment < self.expires_at


def score_of(verdict: Verdict) -> float | None:
    """A verdict as one number: 0 to 5, or 1 and 0 for an abstention; None where there is none."""
    if isinstance(verdict, AbstentionVerdict):
        return None if verdict.abstained is None else float(verdict.abstained)
    return verdict.score


def no_verdict(kind: RubricKind, outcome: VerdictOutcome, reason: str) -> Verdict:
    """A verdict without a value, and why."""
    if kind is RubricKind.ABSTENTION:
        return AbstentionVerdict(abstained=None, outcome=outcome, reason=reason)
    made = GroundednessVerdict if kind is RubricKind.GROUNDEDNESS else CorrectnessVerdict
    return made(score=None, outcome=outcome, reason=reason)


def _check_verdict(record: Verdict, valued: bool) -> None:
    require(record, one_of(VerdictOutcome), "outcome")
    require(record, values.text, "reason")
    if valued != (record.outcome is VerdictOutcome.SCORED):
        raise BadValue(
            f"a verdict is {record.outcome} and has {'a' if valued else 'no'} value",
            remedy="A scored verdict has a value, no other has.",
        )


def _score(value: Any, name: str) -> float:
    number = values.finite(value, name)
    if not 0 <= number <= HIGHEST_SCORE:
        raise BadValue(f"{name} {value!r} is outside 0 to {HIGHEST_SCORE:g}", remedy="Give a number from 0 to 5.")
    return number


# --- Results of a panel at a checkpoint ---
#
# Roles and dimensions are kept as text, since a user may add some. Whatever could not be had is an outcome or a state
# of its own with its reason; no score is made up for it.


class RoleOutcome(StrEnum):
    """What became of asking one role."""

    SCORED = "scored"
    UNREADABLE = "unreadable"
    """It replied, and no scores could be read, even after one repair request."""
    UNAVAILABLE = "unavailable"
    """Its model could not be reached or its budget is spent."""
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    """It raised, or gave what no score can be: a fault of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleResult:
    """One role at one checkpoint."""

    role: str
    evaluator: str
    """Who scored in this role: `builtin-plan/1`, or the model."""
    kind: JudgeKind
    outcome: RoleOutcome = RoleOutcome.SCORED
    scores: Mapping[str, float] = field(default_factory=dict)
    """Empty unless the outcome is `scored`."""
    confidence: float | None = None
    critique: str = ""
    issues: tuple[Issue, ...] = ()
    reason: str = ""
    """Why there are no scores."""
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """Why a dimension has no score, by dimension. Such a dimension counts in no aggregate."""
    sources: tuple[SourceReading, ...] = ()
    """What was found of each passage, where the evaluator looks at them one by one."""
    raw: tuple[str, ...] = ()
    """The model's reply, verbatim."""
    flags: tuple[str, ...] = ()
    """Parts of the material that look like instructions to the evaluator."""
    latency_ms: float = 0.0
    tokens: int | None = None
    prompt: str = ""
    """`prompt_id@version` of the prompt; empty: rules, no prompt."""

    def __post_init__(self) -> None:
        require(self, one_of(RoleOutcome), "outcome")
        allow(self, values.share, "confidence")
        object.__setattr__(self, "scores", {str(key): values.share(score, key) for key, score in self.scores.items()})

    @property
    def scored(self) -> bool:
        """Whether it counts."""
        return self.outcome is RoleOutcome.SCORED


class Trigger(StrEnum):
    """Why a larger model is called."""

    LOW_CONFIDENCE = "low_confidence"
    DISAGREEMENT = "disagreement"
    BORDERLINE = "borderline"
    EXHAUSTED = "exhausted"
    """The last attempt allowed failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EscalationResult:
    """The larger model's review of the panel."""

    triggers: tuple[Trigger, ...]
    outcome: RoleOutcome
    model: str = ""
    """Empty: none is set up."""
    panel_review: str = ""
    trust: Mapping[str, float] = field(default_factory=dict)
    """How far each role is to be trusted, 0 to 1."""
    verdict: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    raw: tuple[str, ...] = ()
    latency_ms: float = 0.0
    tokens: int | None = None
    prompt: str = ""

    @property
    def scored(self) -> bool:
        """Whether its scores take the place of the panel's."""
        return self.outcome is RoleOutcome.SCORED


class PanelState(StrEnum):
    """How many members of a panel its verdict is based on."""

    FULL = "full"
    DEGRADED = "degraded"
    """Some roles gave nothing, and enough did."""
    NO_QUORUM = "no_quorum"
    """Too few roles scored: there is no verdict."""
    NO_CONFIDENCE = "no_confidence"
    """Every owner has a confidence of 0: there is nothing to weigh by, and no verdict."""
    NOT_MEASURED = "not_measured"
    """The roles looked, and none of them can measure any dimension here: there is no verdict."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelVerdict:
    """The verdict of a panel."""

    checkpoint: Checkpoint
    state: PanelState
    results: tuple[RoleResult, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    """Each dimension's score as it counts: the owner's, or the escalation's."""
    spread: Mapping[str, float] = field(default_factory=dict)
    """Between the highest and the lowest role, by dimension."""
    stood_in: tuple[str, ...] = ()
    """Dimensions whose owner gave no score, and which take the score of the others."""
    quiet: tuple[str, ...] = ()
    """Dimensions whose owner had next to no confidence and scored lower than the others; its score counts."""
    not_measured: Mapping[str, str] = field(default_factory=dict)
    """Why a dimension has no score, by dimension: no role could measure it, and it is in no aggregate."""
    aggregate: float | None = None
    confidence: float | None = None
    """Mean of the roles that scored."""
    votes: tuple[int, int] = (0, 0)
    """Roles whose own view passes, and whose does not."""
    triggers: tuple[Trigger, ...] = ()
    escalation: EscalationResult | None = None
    latency_ms: float = 0.0

    @property
    def tied(self) -> bool:
        """As many roles for as against; the aggregate decides all the same."""
        return self.votes[0] == self.votes[1] > 0

    @property
    def contested(self) -> bool:
        """Roles contradict each other, and no larger model decided."""
        return Trigger.DISAGREEMENT in self.triggers and not (self.escalation is not None and self.escalation.scored)

    @property
    def disagreement(self) -> str:
        """Say on what the roles contradict each other; empty where they agree, or where a larger model settled it."""
        if not self.contested and (not self.quiet or (self.escalation is not None and self.escalation.scored)):
            return ""
        told = [self._range(name) for name in self.spread if name in self.quiet or self._apart(name)]
        return f"the evaluators of the {self.checkpoint} disagree: {', '.join(told)}"

    def _apart(self, dimension: str) -> bool:
        return self.contested and self.spread[dimension] == max(self.spread.values())

    def _range(self, dimension: str) -> str:
        given = [result.scores[dimension] for result in self.results if result.scored and dimension in result.scores]
        said = f"{dimension} from {min(given):.2f} to {max(given):.2f}"
        unsure = f" (its owner is unsure of its {self.scores[dimension]:.2f}, which counts all the same)"
        return said + (unsure if dimension in self.quiet else "")

    @property
    def tokens(self) -> int | None:
        """Tokens of every model that was called; None: a model did not report them."""
        asked = [result.tokens for result in self.results if result.kind == "model"]
        asked += [] if self.escalation is None or not self.escalation.model else [self.escalation.tokens]
        known = [tokens for tokens in asked if tokens is not None]
        return sum(known) if len(known) == len(asked) else None


class CheckpointState(StrEnum):
    """What became of a checkpoint."""

    SCORED = "scored"
    SKIPPED = "skipped"
    """It could not be evaluated, and the flow went on."""
    JUDGE_FAILED = "judge_failed"
    """Scores came and could not be read. The flow went on as if it had passed; no pass rate counts it."""
    DISABLED = "disabled"
    """The settings leave it out."""
    NOT_MEASURED = "not_measured"
    """No dimension could be measured by whoever evaluates; the reasons are in the verdict."""
    NO_ANSWER = "no_answer"
    """The question was refused, so there is no answer to evaluate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointResult:
    """One evaluation at a checkpoint, including one that failed or was skipped."""

    checkpoint: Checkpoint
    state: CheckpointState
    passed: bool | None = None
    """None unless it was scored."""
    failed_dimensions: tuple[str, ...] = ()
    """Those below their bar."""
    verdict: PanelVerdict | None = None
    reason: str = ""
    """Why it was not scored, or where scores come from that are not its own."""
    cached: bool = False
    """The same was evaluated before."""
    latency_ms: float = 0.0

    @property
    def score(self) -> float | None:
        """The aggregate, where there is one."""
        return None if self.state is not CheckpointState.SCORED or self.verdict is None else self.verdict.aggregate

    @property
    def scores(self) -> Mapping[str, float]:
        """By dimension; empty unless it was scored."""
        return {} if self.score is None or self.verdict is None else self.verdict.scores

    @property
    def lets_through(self) -> bool:
        """Whether the flow goes on: only a score that was given can stop it."""
        return self.passed is not False


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationDecision:
    """What the critic makes of an attempt that failed."""

    mode: IterationMode
    failure_type: str
    issues: tuple[Issue, ...]
    feedback: str
    """The feedback for the planner."""
    forced: bool = False
    """The mode is not the critic's: after the second failure everything is planned anew."""


# --- Whether a model's grades of memories count ---


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAdmission:
    """What a model's grades of memories are worth, held against people's."""

    annotator: str
    """The model."""
    sentence: str
    """The figures, and what is needed."""
    pairs: int = 0
    """Pairs of question and memory that people graded too."""
    agreement: float | None = None
    """The share of these pairs that both call relevant, or both not; None: there are none."""
    low: float | None = None
    """The lower end of its 95 % interval."""
    high: float | None = None
    kappa: float | None = None
    admitted: bool = False
