"""Verbs on feature flags: list them, show one, switch one, say that one was reviewed."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records.flags import FlagList, FlagState
from assay.verbs.fields import NAME, YesNo
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Surface, Verb

FlagName = Annotated[
    str, Field(min_length=1, max_length=128, pattern=NAME, description="A flag; flag.list names them all.")
]


class ListRequest(Request):
    """Nothing: every flag is listed."""


class ShowRequest(Request):
    """Which flag."""

    name: FlagName


class SetRequest(Request):
    """What the flag is to be."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"percent": 50, "shadow": False}]})

    name: FlagName
    percent: Annotated[
        int | None,
        Field(
            strict=True,
            ge=0,
            le=100,
            description="How many of a hundred identities see it, 0 to 100; 0 is off. Left out: as it was.",
        ),
    ] = None
    shadow: Annotated[YesNo | None, Field(description="Whether it also runs unseen. Left out: as it was.")] = None
    graduates_itself: Annotated[
        YesNo | None,
        Field(
            description="Whether it is given to everybody as soon as all conditions hold, or a person decides. Left"
            " out: as it was."
        ),
    ] = None
    why: Annotated[str, Field(max_length=1_000, description="Why, in a sentence that the audit log keeps.")] = ""


def list_flags(caller: Caller, request: ListRequest) -> FlagList:  # noqa: ARG001 - one shape for all verbs
    """Return every flag with its state and where that comes from."""
    return FlagList(flags=tuple(caller.engine.flag_states(caller.scope).values()))


def show(caller: Caller, request: ShowRequest) -> FlagState:
    """Return one flag."""
    return caller.engine.flag_states(caller.scope)[request.name]


def set_flag(caller: Caller, request: SetRequest) -> FlagState:
    """Switch a flag for everybody in the tenant."""
    store = caller.engine.store
    # A copy holds the rows of every tenant: an admin of one, over HTTP, must not fill the disk with them.
    checkpoint = None if caller.surface is Surface.HTTP else store.checkpoints.create
    # Written as a percentage: the bare number 1 means "on" where flags are read from the environment.
    value = None if request.percent is None else f"{request.percent}%"
    caller.engine.flags.turn(
        store,
        caller.scope,
        request.name,
        value,
        shadow=request.shadow,
        graduates_itself=request.graduates_itself,
        checkpoint=checkpoint,
        why=request.why.strip(),
    )
    # As a person should see it: a flag that is on may have nothing to work with.
    return caller.engine.flag_states(caller.scope)[request.name]


def review(caller: Caller, request: ShowRequest) -> FlagState:
    """Write down that somebody has looked at what a flag did."""
    return caller.engine.flags.review(caller.engine.store, caller.scope, request.name)


LIST = Verb(
    name="flag.list",
    summary="List every feature flag with its state and where that comes from.",
    act=acts.FLAG_READ,
    request=ListRequest,
    result=FlagList,
    call=list_flags,
    http=HttpRoute("GET", "/api/flags"),
    command="flag list",
    client="flags",
    python="Memory.flags",
)
SHOW = Verb(
    name="flag.show",
    summary="Show one feature flag: what it does, its state, since when, and what it takes to graduate.",
    act=acts.FLAG_READ,
    request=ShowRequest,
    result=FlagState,
    call=show,
    http=HttpRoute("GET", "/api/flags/{name}", (404,)),
    command="flag show",
    client="flag",
    python="Memory.flag",
)
SET = Verb(
    name="flag.set",
    summary="Switch a feature flag for everybody in the tenant.",
    act=acts.FLAG_CHANGE,
    request=SetRequest,
    result=FlagState,
    call=set_flag,
    http=HttpRoute("PUT", "/api/flags/{name}", (404,)),
    command="flag set",
    client="set_flag",
    python="Memory.set_flag",
)
REVIEW = Verb(
    name="flag.review",
    summary="Say that somebody has looked at what a flag did, so that it may act.",
    act=acts.FLAG_CHANGE,
    request=ShowRequest,
    result=FlagState,
    call=review,
    http=HttpRoute("POST", "/api/flags/{name}/review", (404,)),
    command="flag review",
    client="review_flag",
    python="Memory.review_flag",
)

FAMILY = Family(name="flags", verbs=(LIST, SHOW, SET, REVIEW))
