"""Changes on their way up: steps, shadow runs, sequential tests with their paths, and the four conditions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records.fields import plain
from assay.records.flags import LadderStep, VoteKind
from assay.server.fields import IdInPath
from assay.server.routing import Asked, Body, Resource, Result

if TYPE_CHECKING:
    from assay.online.ladder import LadderPage
    from assay.online.trials import TrialStanding

RESOURCE = Resource("/api/tests", "tests")
SEED = 0
"""Of the resamples behind intervals: the same page shows the same numbers each time."""


class StepFound(Result):
    """One step of a change."""

    feature_id: str
    attempt: int
    step: str
    outcome: str
    sentence: str
    detail: dict[str, Any]
    created_at: datetime
    actor: str


class TestsFound(Result):
    """Every change that ever took a step, with its last one."""

    tests: list[StepFound]


class TestFound(Result):
    """A sequential test."""

    attempt: int
    status: str
    decision: str | None = Field(description="How it ended; null while it runs.")
    kind: str
    votes: int
    arms: dict[str, int]
    mean: float | None
    low: float | None
    high: float | None
    log_bound: float
    alpha: float = Field(description="The chance of a false decision that this attempt may spend.")
    repeats: int = Field(description="Searches without a vote, because their query had voted.")
    treatment_better: float | None = Field(
        description="The chance of what treatment_better_means says; null without votes."
    )
    treatment_better_means: str
    sample_ratio_p: float | None = Field(description="The chance of so uneven a split; null for other kinds.")
    withheld: str | None = Field(description="Why the test may not decide yet; null when it may.")
    path: list[tuple[int, float, float]] = Field(description="After each vote: votes, ln K for better, for worse.")


class ConditionFound(Result):
    """One condition of graduation."""

    name: str
    holds: bool | None = Field(description="null: not known yet.")
    sentence: str


class ChangeFound(Result):
    """Everything about one change."""

    feature_id: str
    percent: int
    steps: list[StepFound]
    shadow: dict[str, Any]
    test: TestFound | None
    conditions: list[ConditionFound]
    may_graduate: bool


class BeginBody(Body):
    """How a test is to be made."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "paired"}]})

    kind: Annotated[VoteKind, Field(description="Where votes come from.")] = VoteKind.PAIRED


class WhyBody(Body):
    """Why, in a sentence that is kept."""

    why: Annotated[str, Field(min_length=1, max_length=1_000)] = "By hand."


class TestState(Result):
    """A test after something was done to it."""

    feature_id: str
    attempt: int
    status: str


class Collected(Result):
    """What was new, and what it decided."""

    votes: int
    step: StepFound | None


@RESOURCE.get("", acts.FLAG_READ)
def list_tests(asked: Asked) -> TestsFound:
    """Every change on the ladder, and where it stands."""
    with asked.engine.store.reading(asked.scope) as work:
        last = [work.ladder_steps.of(name)[-1] for name in work.ladder_steps.features()]
    return TestsFound(tests=[step_found(one) for one in last])


@RESOURCE.get("/{feature_id}", acts.FLAG_READ, 404)
def get_test(asked: Asked, feature_id: IdInPath) -> ChangeFound:
    """Everything known of a change: its steps, its test, and the four conditions of graduation."""
    import numpy as np  # noqa: PLC0415 - only when there is something to compute

    return _change(asked.services.ladder.page(asked.scope, feature_id, rng=np.random.default_rng(SEED)))


@RESOURCE.post("/{feature_id}/begin", acts.FEATURE_TEST, 404, 409)
def begin_test(asked: Asked, feature_id: IdInPath, body: BeginBody) -> TestState:
    """Begin a sequential test, or a new attempt after one that ended."""
    test = asked.services.ladder.trials.begin(asked.scope, feature_id, kind=body.kind)
    return TestState(feature_id=feature_id, attempt=test.attempt, status=str(test.status))


@RESOURCE.post("/{feature_id}/pause", acts.FEATURE_TEST, 404, 409)
def pause_test(asked: Asked, feature_id: IdInPath, body: WhyBody) -> TestState:
    """Stop taking votes."""
    test = asked.services.ladder.trials.pause(asked.scope, feature_id, body.why)
    return TestState(feature_id=feature_id, attempt=test.attempt, status=str(test.status))


@RESOURCE.post("/{feature_id}/resume", acts.FEATURE_TEST, 404, 409)
def resume_test(asked: Asked, feature_id: IdInPath) -> TestState:
    """Go on with a paused test and the votes it has."""
    test = asked.services.ladder.trials.resume(asked.scope, feature_id)
    return TestState(feature_id=feature_id, attempt=test.attempt, status=str(test.status))


@RESOURCE.post("/{feature_id}/collect", acts.FEATURE_TEST, 404, 409)
def collect_votes(asked: Asked, feature_id: IdInPath) -> Collected:
    """Turn what was seen since the last time into votes, and decide what can be decided."""
    from assay.online.interleaving import collect  # noqa: PLC0415 - numpy only when there is something to compute

    ladder = asked.services.ladder
    counted = collect(asked.engine.store, asked.scope, ladder.trials, feature_id, asked.engine.clock)
    step = ladder.decide(asked.scope, feature_id)
    return Collected(votes=counted, step=None if step is None else step_found(step))


@RESOURCE.post("/{feature_id}/graduate", acts.FEATURE_TEST, 404, 409)
def graduate_change(asked: Asked, feature_id: IdInPath) -> StepFound:
    """Give a change to everybody; refused while one of the four conditions does not hold."""
    return step_found(asked.services.ladder.graduate(asked.scope, feature_id))


@RESOURCE.post("/{feature_id}/rollback", acts.FEATURE_TEST, 404, 409)
def roll_back_change(asked: Asked, feature_id: IdInPath, body: WhyBody) -> StepFound:
    """Set a flag back to what it was before it graduated."""
    return step_found(asked.services.ladder.rollback(asked.scope, feature_id, body.why))


def step_found(step: LadderStep) -> StepFound:
    """A step as the API gives it."""
    return StepFound.model_validate(plain(step))


def _change(page: LadderPage) -> ChangeFound:
    return ChangeFound(
        feature_id=page.state.flag.name,
        percent=page.state.percent,
        steps=[step_found(one) for one in page.steps],
        shadow=plain(page.shadow),
        test=None if page.standing is None else _test(page.standing),
        conditions=[ConditionFound(**one._asdict()) for one in page.conditions],
        may_graduate=page.may_graduate,
    )


def _test(standing: TrialStanding) -> TestFound:
    limits = standing.interval
    return TestFound(
        attempt=standing.test.attempt,
        status=str(standing.test.status),
        decision=standing.decision,
        kind=str(standing.kind),
        votes=standing.test.sample_count,
        arms=dict(standing.arms),
        mean=standing.mean,
        low=None if limits is None else limits.low,
        high=None if limits is None else limits.high,
        log_bound=standing.test.upper_bound,
        alpha=standing.alpha,
        repeats=standing.repeats,
        treatment_better=standing.chance,
        treatment_better_means=standing.chance_label,
        sample_ratio_p=standing.ratio_p,
        withheld=standing.withheld or None,
        path=list(standing.path),
    )
