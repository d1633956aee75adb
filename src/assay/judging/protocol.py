"""What a judge and an evaluator are: protocols, and one shape that all judges fit.

- Judges of groundedness, correctness and abstention.
- Evaluators of the panel.
- One shape for all judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from assay.hashing import content_hash
from assay.records.judging import (
    AbstentionVerdict,
    CorrectnessVerdict,
    GroundednessVerdict,
    JudgedAnswer,
    JudgeFingerprint,
    JudgeInput,
    JudgeKind,
    RubricKind,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.records.research import Checkpoint, Material, RoleScores

# --- Judges of groundedness, correctness and abstention ---
#
# A judge never raises for what it was given or for what its model did: a verdict without a value says why in its
# `outcome`. The built-in judges and those that ask a model are told apart by `kind`.


class GroundednessJudge(Protocol):
    """Judges whether passages support an answer's claims."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model judge."""
        ...

    def judge(self, question: str, answer: str, passages: Sequence[str]) -> GroundednessVerdict:
        """Judge one answer."""
        ...


class CorrectnessJudge(Protocol):
    """Judges whether an answer is right."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model judge."""
        ...

    def judge(self, question: str, answer: str, passages: Sequence[str], *, reference: str = "") -> CorrectnessVerdict:
        """Judge one answer; a right answer helps where there is one."""
        ...


class AbstentionJudge(Protocol):
    """Judges whether an answer declines to answer."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model judge."""
        ...

    def judge(self, question: str, answer: str) -> AbstentionVerdict:
        """Judge one answer."""
        ...


# --- Evaluators of the panel ---
#
# A built-in evaluator, one that asks a model and one a user wrote all are one. What it returns is checked by the
# record itself; an evaluator that raises is the panel's to handle.


class Evaluator(Protocol):
    """One role at one checkpoint."""

    @property
    def name(self) -> str:
        """What records call it: `builtin` with its version, or the model."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model evaluate."""
        ...

    @property
    def role(self) -> str:
        """Whose view it gives: a `Role`, or `BUILTIN_CHECK` for all of them at once."""
        ...

    @property
    def checkpoint(self) -> Checkpoint:
        """What it can look at."""
        ...

    def evaluate(self, material: Material) -> RoleScores:
        """Score every dimension of the checkpoint."""
        ...


# --- One shape for all judges ---
#
# `Judging` is what runs, calibration and spot checks ask. Judges that ask a model have this shape by themselves;
# `AnyJudge` and the three functions give it to those of the small protocols, such as a built-in judge.


class Judging(Protocol):
    """A judge of one kind of thing."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    @property
    def about(self) -> RubricKind:
        """What it judges."""
        ...

    def fingerprint(self) -> JudgeFingerprint:
        """Everything that moves its verdicts."""
        ...

    def judge_case(self, given: JudgeInput, *, repeat: int = 0, fresh: bool = False) -> JudgedAnswer:
        """Judge one case; `fresh` ignores cached replies."""
        ...


class AnyJudge:
    """A judge that is a function, in the shape that runs ask for."""

    def __init__(
        self,
        verdict: Callable[[JudgeInput], Verdict],
        *,
        name: str,
        kind: JudgeKind,
        about: RubricKind,
        version: str,
    ) -> None:
        self._verdict = verdict
        self._name = name
        self._kind: JudgeKind = kind
        self._about = about
        self._version = version

    @property
    def name(self) -> str:
        """What records call it."""
        return self._name

    @property
    def about(self) -> RubricKind:
        """What it judges."""
        return self._about

    def fingerprint(self) -> JudgeFingerprint:
        """By its name and version: rules have no prompt and no weights."""
        return JudgeFingerprint(
            judge=self._name,
            judge_kind=self._kind,
            rubric=self._about.value,
            rubric_version=self._version,
            prompt_hash=content_hash([self._name, self._version]),
            parser_version="",
        )

    def judge_case(
        self,
        given: JudgeInput,
        *,
        repeat: int = 0,
        fresh: bool = False,  # noqa: ARG002 - rules keep no replies
    ) -> JudgedAnswer:
        """The verdict on one case."""
        return JudgedAnswer(input=given, verdict=self._verdict(given), fingerprint=self.fingerprint(), repeat=repeat)


def judging_groundedness(judge: GroundednessJudge, *, version: str) -> AnyJudge:
    """A groundedness judge in the shape that runs ask for; raise the version when its verdicts move."""
    return AnyJudge(
        lambda given: judge.judge(given.question, given.answer, given.passages),
        name=judge.name,
        kind=judge.kind,
        about=RubricKind.GROUNDEDNESS,
        version=version,
    )


def judging_correctness(judge: CorrectnessJudge, *, version: str) -> AnyJudge:
    """The same for correctness."""
    return AnyJudge(
        lambda given: judge.judge(given.question, given.answer, given.passages, reference=given.reference),
        name=judge.name,
        kind=judge.kind,
        about=RubricKind.CORRECTNESS,
        version=version,
    )


def judging_abstention(judge: AbstentionJudge, *, version: str) -> AnyJudge:
    """The same for abstentions."""
    return AnyJudge(
        lambda given: judge.judge(given.question, given.answer),
        name=judge.name,
        kind=judge.kind,
        about=RubricKind.ABSTENTION,
        version=version,
    )
