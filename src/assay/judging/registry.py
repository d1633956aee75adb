"""The registry of judges, and `@judge`, which adds one of your own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import BadValue
from assay.judging.protocol import AnyJudge, Judging
from assay.records.fields import one_of
from assay.records.judging import (
    AbstentionVerdict,
    CorrectnessVerdict,
    GroundednessVerdict,
    JudgeInput,
    RubricKind,
    Verdict,
    VerdictOutcome,
    no_verdict,
)
from assay.registry import Registry, hash_function

if TYPE_CHECKING:
    from assay.records import Scope

Function = TypeVar("Function", bound=Callable[[JudgeInput], Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeRequest:
    """What a judge is opened with."""

    about: RubricKind
    rubric: str = ""
    """Path of a rubric, for judges that ask a model; empty: the one that comes with Assay."""
    model: str = ""
    """Another model than the settings name."""
    settings: Any
    store: Any
    """Where replies of models are kept."""
    scope: Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeEntry:
    """One judge."""

    name: str
    summary: str
    about: tuple[RubricKind, ...]
    """What it can judge."""
    open: Callable[[JudgeRequest], Judging]


def read_judge(name: str, thing: object) -> JudgeEntry:
    """Refuse a function that was not decorated: what it judges is not known."""
    raise BadValue(f"{thing!r} does not say what it judges", remedy=f"Decorate it: @judge({name!r}, about=...).")


JUDGES: Registry[JudgeEntry] = Registry(
    "judge", group="assay.judges", read=read_judge, builtin=("assay.wiring.judge_kinds",)
)
"""Every judge, by the name that `assay judge run --judge NAME` takes."""


def judge(
    name: str, *, about: RubricKind | str | Sequence[RubricKind | str], summary: str = ""
) -> Callable[[Function], Function]:
    """Register a function as a judge of `groundedness`, `correctness` or `abstention`; it is returned unchanged."""
    given = [about] if isinstance(about, str) else about
    kinds = tuple(one_of(RubricKind)(kind, "about") for kind in given)

    def add(function: Function) -> Function:
        first_line = (inspect.getdoc(function) or "").partition("\n")[0]
        entry = JudgeEntry(
            name=name,
            summary=summary or first_line,
            about=kinds,
            open=lambda request: AnyJudge(
                lambda shown: _ask(function, shown),
                name=name,
                kind="own",
                about=request.about,
                version=hash_function(function),
            ),
        )
        JUDGES.add(name, entry, thing=function)
        return function

    return add


def add_builtin(
    name: str, *, about: Sequence[RubricKind], summary: str
) -> Callable[[Callable[[JudgeRequest], Judging]], Callable[[JudgeRequest], Judging]]:
    """Register a judge that Assay has itself: a function that opens it."""

    def add(opener: Callable[[JudgeRequest], Judging]) -> Callable[[JudgeRequest], Judging]:
        JUDGES.add(name, JudgeEntry(name=name, summary=summary, about=tuple(about), open=opener), thing=opener)
        return opener

    return add


def find_judge(name: str, about: RubricKind) -> JudgeEntry:
    """Return a judge by name; raises if it does not judge this kind."""
    entry = JUDGES.find(name)
    if entry is None:
        every = ", ".join(JUDGES.names())
        raise BadValue(JUDGES.explain_missing(name), remedy=f"There are: {every}.")
    if about not in entry.about:
        kinds = ", ".join(kind.value for kind in entry.about)
        raise BadValue(f"the judge {name} does not judge {about}", remedy=f"Ask it about {kinds}: --about.")
    return entry


def _ask(function: Callable[[JudgeInput], Any], given: JudgeInput) -> Verdict:
    try:
        return _read_verdict(function(given), given.kind)
    except Exception as problem:  # noqa: BLE001 - a judge never raises for what it was given
        reason = f"the judge raised {type(problem).__name__}: {problem}"
        return no_verdict(given.kind, VerdictOutcome.UNAVAILABLE, reason[:1_000])


def _read_verdict(said: object, about: RubricKind) -> Verdict:
    if isinstance(said, (GroundednessVerdict, CorrectnessVerdict, AbstentionVerdict)):
        return said
    if said is None:
        return no_verdict(about, VerdictOutcome.SKIPPED, "the judge gave no verdict")
    if about is RubricKind.ABSTENTION:
        return AbstentionVerdict(abstained=bool(said))
    score = float(said)  # type: ignore[arg-type]  # what is not a number raises, and the reason says so
    if about is RubricKind.GROUNDEDNESS:
        return GroundednessVerdict(score=score)
    return CorrectnessVerdict(score=score)
