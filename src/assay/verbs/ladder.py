"""Verbs on changes that climb the ladder: begin and pause their tests, collect votes, graduate, roll back, watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records.evidence import AbTest
from assay.records.flags import CollectedVotes, LadderList, LadderPage, LadderStep, TrialState, VoteKind, WatchedChanges
from assay.verbs.fields import NAME
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb

if TYPE_CHECKING:
    from assay.online.ladder import Ladder

SEED = 0
"""Of the resamples behind intervals: the same votes give the same numbers each time."""
FeatureId = Annotated[
    str, Field(min_length=1, max_length=128, pattern=NAME, description="A flag; flag.list names them all.")
]
Reason = Annotated[str, Field(min_length=1, max_length=1_000, description="Why, in a sentence that is kept.")]
OptionalReason = Annotated[str, Field(max_length=1_000, description="Why, in a sentence that is kept.")]


class ListRequest(Request):
    """Nothing: every change is listed."""


class FeatureRequest(Request):
    """Which change."""

    feature_id: FeatureId


class StepRequest(Request):
    """Which change takes a step, and why."""

    feature_id: FeatureId
    why: OptionalReason = ""


class BeginRequest(Request):
    """How a test is to be made."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "paired"}]})

    feature_id: FeatureId
    kind: Annotated[
        VoteKind,
        Field(
            description="Where votes come from: paired (shadow runs with judgments), interleaved, or split (half of "
            "the sessions)."
        ),
    ] = VoteKind.PAIRED
    why: OptionalReason = ""


class PauseRequest(Request):
    """Which test to pause, and why."""

    feature_id: FeatureId
    why: Reason = "Paused by hand."


class RollBackRequest(Request):
    """Which change to take back, and why."""

    feature_id: FeatureId
    why: Reason = "Taken back by hand."


def list_changes(caller: Caller, request: ListRequest) -> LadderList:  # noqa: ARG001 - one shape for all verbs
    """Return every change that took a step, with its last one."""
    with caller.engine.store.reading(caller.scope) as work:
        last = tuple(work.ladder_steps.of(name)[-1] for name in work.ladder_steps.features())
    return LadderList(changes=last)


def show(caller: Caller, request: FeatureRequest) -> LadderPage:
    """Return everything known of a change."""
    import numpy as np  # noqa: PLC0415 - only when there is something to compute

    return _ladder(caller).page(caller.scope, request.feature_id, rng=np.random.default_rng(SEED))


def begin(caller: Caller, request: BeginRequest) -> TrialState:
    """Begin a sequential test, or a new attempt after one that ended."""
    trials = _ladder(caller).trials
    return _state(caller, trials.begin(caller.scope, request.feature_id, kind=request.kind, why=request.why.strip()))


def pause(caller: Caller, request: PauseRequest) -> TrialState:
    """Stop taking votes."""
    return _state(caller, _ladder(caller).trials.pause(caller.scope, request.feature_id, request.why))


def resume(caller: Caller, request: StepRequest) -> TrialState:
    """Go on with a paused test and the votes it has."""
    trials = _ladder(caller).trials
    return _state(caller, trials.resume(caller.scope, request.feature_id, why=request.why.strip()))


def collect(caller: Caller, request: FeatureRequest) -> CollectedVotes:
    """Turn what was seen since the last time into votes, and decide what can be decided."""
    # Needs the store, which a client of another machine's server does without.
    from assay.online import interleaving  # noqa: PLC0415

    ladder, engine, feature_id = _ladder(caller), caller.engine, request.feature_id
    votes = interleaving.collect(engine.store, caller.scope, ladder.trials, feature_id, engine.clock)
    step = ladder.decide(caller.scope, feature_id)
    with engine.store.reading(caller.scope) as work:
        test = work.ab_tests.latest(feature_id)
    return CollectedVotes(votes=votes, step=step, no_votes_because=_state(caller, test).no_votes_because)


def graduate(caller: Caller, request: StepRequest) -> LadderStep:
    """Give a change to everybody."""
    return _ladder(caller).graduate(caller.scope, request.feature_id, why=request.why.strip())


def roll_back(caller: Caller, request: RollBackRequest) -> LadderStep:
    """Set a flag back to what it was before it graduated."""
    return _ladder(caller).rollback(caller.scope, request.feature_id, request.why)


def watch(caller: Caller, request: ListRequest) -> WatchedChanges:  # noqa: ARG001 - one shape for all verbs
    """Look after what has graduated, and take back what breaks a guardrail."""
    import numpy as np  # noqa: PLC0415 - only when there is something to compute

    return WatchedChanges(guardrails=_ladder(caller).watch(caller.scope, rng=np.random.default_rng(SEED)))


def _ladder(caller: Caller) -> Ladder:
    from assay import wiring  # noqa: PLC0415 - needs the store, as above

    return wiring.ladder_of(caller.engine)


def _state(caller: Caller, test: AbTest) -> TrialState:
    from assay.online.vote_sources import explain_no_votes  # noqa: PLC0415 - needs the store, as above

    engine = caller.engine
    with engine.store.reading(caller.scope) as work:
        state = engine.flags.states(work).get(test.feature_id)
        because = explain_no_votes(work, test, state, engine.clock.now())
    return TrialState(
        feature_id=test.feature_id,
        attempt=test.attempt,
        kind=VoteKind(test.state_json["kind"]),
        status=test.status,
        votes=test.sample_count,
        no_votes_because=because,
    )


LIST = Verb(
    name="ladder.list",
    summary="List every change that took a step on the ladder, and where it stands.",
    act=acts.FLAG_READ,
    request=ListRequest,
    result=LadderList,
    call=list_changes,
    http=HttpRoute("GET", "/api/tests"),
    command="ladder list",
    client="changes",
    python="Memory.changes",
)
SHOW = Verb(
    name="ladder.show",
    summary="Show everything known of a change: its steps, its test, and the four conditions of graduation.",
    act=acts.FLAG_READ,
    request=FeatureRequest,
    result=LadderPage,
    call=show,
    http=HttpRoute("GET", "/api/tests/{feature_id}", (404,)),
    command="ladder show",
    client="change",
    python="Memory.change",
)
BEGIN = Verb(
    name="ladder.begin",
    summary="Begin a sequential test of a change, or a new attempt after one that ended.",
    act=acts.FEATURE_TEST,
    request=BeginRequest,
    result=TrialState,
    call=begin,
    http=HttpRoute("POST", "/api/tests/{feature_id}/begin", (404, 409)),
    command="ladder begin",
    client="begin_test",
    python="Memory.begin_test",
)
PAUSE = Verb(
    name="ladder.pause",
    summary="Pause the test of a change: it takes no more votes until it is resumed.",
    act=acts.FEATURE_TEST,
    request=PauseRequest,
    result=TrialState,
    call=pause,
    http=HttpRoute("POST", "/api/tests/{feature_id}/pause", (404, 409)),
    command="ladder pause",
    client="pause_test",
    python="Memory.pause_test",
)
RESUME = Verb(
    name="ladder.resume",
    summary="Go on with a paused test and the votes it has.",
    act=acts.FEATURE_TEST,
    request=StepRequest,
    result=TrialState,
    call=resume,
    http=HttpRoute("POST", "/api/tests/{feature_id}/resume", (404, 409)),
    command="ladder resume",
    client="resume_test",
    python="Memory.resume_test",
)
COLLECT = Verb(
    name="ladder.collect",
    summary="Turn what was seen since the last time into votes, and decide what can be decided.",
    act=acts.FEATURE_TEST,
    request=FeatureRequest,
    result=CollectedVotes,
    call=collect,
    http=HttpRoute("POST", "/api/tests/{feature_id}/collect", (404, 409)),
    command="ladder collect",
    client="collect_votes",
    python="Memory.collect_votes",
)
GRADUATE = Verb(
    name="ladder.graduate",
    summary="Give a change to all users; refused while one of the four conditions does not hold.",
    act=acts.FEATURE_TEST,
    request=StepRequest,
    result=LadderStep,
    call=graduate,
    http=HttpRoute("POST", "/api/tests/{feature_id}/graduate", (404, 409)),
    command="ladder graduate",
    client="graduate",
    python="Memory.graduate",
)
ROLL_BACK = Verb(
    name="ladder.roll_back",
    summary="Set a flag back to what it was before it graduated.",
    act=acts.FEATURE_TEST,
    request=RollBackRequest,
    result=LadderStep,
    call=roll_back,
    http=HttpRoute("POST", "/api/tests/{feature_id}/rollback", (404, 409)),
    command="ladder rollback",
    client="roll_back",
    python="Memory.roll_back",
)
WATCH = Verb(
    name="ladder.watch",
    summary="Look after every change that has graduated, and take back what breaks a guardrail.",
    act=acts.FEATURE_TEST,
    request=ListRequest,
    result=WatchedChanges,
    call=watch,
    http=HttpRoute("POST", "/api/tests/watch"),
    command="ladder watch",
    client="watch_changes",
    python="Memory.watch_changes",
)

FAMILY = Family(name="tests", verbs=(LIST, SHOW, BEGIN, PAUSE, RESUME, COLLECT, GRADUATE, ROLL_BACK, WATCH))
