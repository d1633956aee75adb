"""Verbs on variants and shadow runs: define another configuration, compare it with what is served, unseen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.errors import AccessTooLow, InputError
from assay.records.flags import FlagList, FlagState, ShadowList, ShadowSummary
from assay.verbs.fields import NAME
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Surface, Verb

VariantName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=NAME,
        description="A name of its own; the variant is switched and tested under it like a flag.",
    ),
]
FeatureId = Annotated[str, Field(min_length=1, max_length=128, pattern=NAME, description="A flag or a variant.")]


class ListRequest(Request):
    """Nothing: all are listed."""


class DefineRequest(Request):
    """What the variant searches as."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"spec": "assay:search.fusion=rrf"}]})

    name: VariantName
    spec: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1_000,
            description="As `assay run --system` takes it: assay:search.weights.bm25=0.5,flags.mmr=off for another"
            " configuration of this memory. Another system, such as python:pkg.module:search, only on this machine.",
        ),
    ]


class RemoveRequest(Request):
    """Which variant."""

    name: VariantName


class ReplayRequest(Request):
    """Which change, and how many past searches."""

    feature_id: FeatureId
    last: Annotated[
        int, Field(strict=True, ge=1, le=10_000, description="The newest searches of use to ask again, 1 to 10,000.")
    ] = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class RemovedVariant:
    """The variant that is gone; what was measured of it is kept."""

    name: str


def list_variants(caller: Caller, request: ListRequest) -> FlagList:  # noqa: ARG001 - one shape for all verbs
    """Return every variant with its state."""
    return FlagList(flags=caller.engine.flag_states(caller.scope).variants)


def define(caller: Caller, request: DefineRequest) -> FlagState:
    """Keep a variant under a name."""
    from assay.wiring.variants import check_variant  # noqa: PLC0415 - needs the store

    parsed = check_variant(caller.settings, request.name, request.spec)
    if parsed.configuration is None and caller.surface in {Surface.HTTP, Surface.MCP}:
        raise AccessTooLow(
            f"another system ({request.spec}) cannot be named over {caller.surface}",
            remedy=f"On the machine itself: `assay variant add {request.name} {request.spec}`.",
        )
    return caller.engine.flags.define(caller.engine.store, caller.scope, request.name, parsed.text)


def remove(caller: Caller, request: RemoveRequest) -> RemovedVariant:
    """Delete a variant."""
    caller.engine.flags.remove(caller.engine.store, caller.scope, request.name)
    return RemovedVariant(name=request.name)


def shadow_status(caller: Caller, request: ListRequest) -> ShadowList:  # noqa: ARG001 - one shape for all verbs
    """Return what the shadow runs of every change came to that has some, or is in the shadow now."""
    from assay.online.ladder import read_shadows  # noqa: PLC0415 - needs the store

    with caller.engine.store.reading(caller.scope) as work:
        states = caller.engine.flags.states(work)
        found = {name: read_shadows(work, name) for name in states}
    return ShadowList(
        changes={
            name: summary for name, summary in found.items() if summary.runs or summary.dropped or states[name].shadow
        }
    )


def replay(caller: Caller, request: ReplayRequest) -> ShadowSummary:
    """Ask the newest searches of use again, with a change and without it, and compare."""
    from assay import wiring  # noqa: PLC0415 - needs the store

    state = caller.engine.flag_states(caller.scope)[request.feature_id]
    if state.flag.is_outside and caller.surface in {Surface.HTTP, Surface.MCP}:
        raise InputError(
            f"{request.feature_id} is another system ({state.flag.spec}), which a server does not run",
            remedy=f"On the machine itself: `assay shadow replay {request.feature_id}`.",
        )
    return wiring.replay_shadow(caller.engine, caller.settings, caller.scope, request.feature_id, last=request.last)


LIST = Verb(
    name="variant.list",
    summary="List every variant: other configurations and systems that are compared with what is served.",
    act=acts.FLAG_READ,
    request=ListRequest,
    result=FlagList,
    call=list_variants,
    http=HttpRoute("GET", "/api/variants"),
    command="variant list",
    client="variants",
    python="Memory.variants",
)
DEFINE = Verb(
    name="variant.define",
    summary="Define a variant: another configuration of search under a name, to be shadowed, tested and served.",
    act=acts.FLAG_CHANGE,
    request=DefineRequest,
    result=FlagState,
    call=define,
    http=HttpRoute("PUT", "/api/variants/{name}", (404, 409)),
    command="variant add",
    client="define_variant",
    python="Memory.define_variant",
)
REMOVE = Verb(
    name="variant.remove",
    summary="Delete a variant; what was measured of it is kept.",
    act=acts.FLAG_CHANGE,
    request=RemoveRequest,
    result=RemovedVariant,
    call=remove,
    http=HttpRoute("DELETE", "/api/variants/{name}", (404,)),
    command="variant remove",
    client="remove_variant",
    python="Memory.remove_variant",
)
SHADOW = Verb(
    name="shadow.status",
    summary="Show what shadow runs came to, by change, intent and session.",
    act=acts.FLAG_READ,
    request=ListRequest,
    result=ShadowList,
    call=shadow_status,
    http=HttpRoute("GET", "/api/shadow"),
    command="shadow status",
    client="shadow",
    python="Memory.shadow",
)
REPLAY = Verb(
    name="shadow.replay",
    summary="Ask the newest searches of use again, with a change and without it, and compare.",
    act=acts.FEATURE_TEST,
    request=ReplayRequest,
    result=ShadowSummary,
    call=replay,
    http=HttpRoute("POST", "/api/shadow/{feature_id}/replay", (404, 409)),
    command="shadow replay",
    client="replay_shadow",
    python="Memory.replay_shadow",
)

FAMILY = Family(name="variants", verbs=(LIST, DEFINE, REMOVE, SHADOW, REPLAY))
