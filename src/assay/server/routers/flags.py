"""Feature flags: every one as it stands, and switching them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.flags import FlagState
from assay.server.fields import IdInPath, YesNo
from assay.server.routing import Asked, Body, Resource, Result

RESOURCE = Resource("/api/flags", "flags")


class FlagFound(Result):
    """A flag as it stands for this tenant."""

    name: str
    meaning: str
    owner: str
    default: bool
    percent: int = Field(description="How many of a hundred identities see it; 0 is off.")
    shadow: bool
    origin: str
    place: str | None
    activated_at: datetime | None
    reviewed_at: datetime | None
    held_off: str | None = Field(description="Why a flag that is on does nothing yet, and what to do about it.")
    minimum_samples: int
    graduation_threshold: float


class FlagsFound(Result):
    """Every flag."""

    flags: list[FlagFound]


class FlagBody(Body):
    """What the flag is to be."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"percent": 50, "shadow": False}]})

    percent: Annotated[int, Field(strict=True, ge=0, le=100, description="0 is off, 100 is on for everybody.")]
    shadow: Annotated[YesNo | None, Field(description="Whether it also runs unseen; as it was if left out.")] = None


@RESOURCE.get("", acts.FLAG_READ)
def list_flags(asked: Asked) -> FlagsFound:
    """Every flag with its state and where that comes from."""
    return FlagsFound(flags=[_found(one) for one in asked.engine.flag_states(asked.scope).values()])


@RESOURCE.get("/{name}", acts.FLAG_READ, 404)
def get_flag(asked: Asked, name: IdInPath) -> FlagFound:
    """One flag."""
    return _found(asked.engine.flag_states(asked.scope)[name])


@RESOURCE.put("/{name}", acts.FLAG_CHANGE, 404)
def set_flag(asked: Asked, name: IdInPath, body: FlagBody) -> FlagFound:
    """Switch a flag for everybody in the tenant."""
    engine = asked.engine
    return _found(engine.flags.turn(engine.store, asked.scope, name, body.percent, shadow=body.shadow))


@RESOURCE.post("/{name}/review", acts.FLAG_CHANGE, 404)
def review_flag(asked: Asked, name: IdInPath) -> FlagFound:
    """Say that somebody has looked at what a flag did, so that it may act."""
    return _found(asked.engine.flags.review(asked.engine.store, asked.scope, name))


def _found(state: FlagState) -> FlagFound:
    return FlagFound(
        name=state.flag.name,
        meaning=state.flag.meaning,
        owner=state.flag.owner,
        default=state.flag.default,
        percent=state.percent,
        shadow=state.shadow,
        origin=state.origin,
        place=state.place or None,
        activated_at=state.activated_at,
        reviewed_at=state.reviewed_at,
        held_off=state.held_off or None,
        minimum_samples=state.flag.minimum_samples,
        graduation_threshold=state.flag.graduation_threshold,
    )
