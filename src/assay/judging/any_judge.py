"""One shape for all judges, whoever judges: a stored input in, a verdict with its fingerprint out.

`Judging` is what runs, calibration and spot checks ask. Judges that ask a model have this shape by themselves;
`AnyJudge` and the three functions give it to those of the small protocols, such as a built-in judge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from assay.hashing import content_hash
from assay.judging.protocol import AbstentionJudge, CorrectnessJudge, GroundednessJudge
from assay.records.judging import JudgedAnswer, JudgeFingerprint, JudgeInput, JudgeKind, RubricKind, Verdict


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

    def judged(self, given: JudgeInput, *, repeat: int = 0, fresh: bool = False) -> JudgedAnswer:
        """The verdict on one case; `fresh` asks the model even where its reply is kept."""
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

    def judged(
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
