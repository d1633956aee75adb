"""`assay flag list|show|on|off|set|review`: features that can be switched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.surface import Surface, command
from assay.formats.grid import grid

if TYPE_CHECKING:
    from assay.flags import FlagState

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A flag; `assay flag list` has them all.")]
ValueArgument = Annotated[str, typer.Argument(metavar="VALUE", help="on, off, or the percentage that sees it.")]
ShadowOption = Annotated[
    bool | None, typer.Option("--shadow/--no-shadow", help="Whether it also runs unseen, beside what is shown.")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Switch features on and off, and see where each value comes from.", no_args_is_help=True)
    app.add_typer(group, name="flag")

    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List every flag with its state and where that comes from."""
        with wiring.open_engine(surface.settings) as engine:
            states = engine.flag_states(surface.scope)
        rows = [("flag", "state", "from", "meaning"), *(_row(one) for one in states.values())]
        held = [f"{one.flag.name} is held off: {one.held_off}" for one in states.values() if one.held_off]
        surface.result([_as_json(one) for one in states.values()], "\n".join([*grid(rows), *held]))

    @command(group, "show")
    def show(surface: Surface, name: NameArgument) -> None:
        """Show one flag: what it does, its state, since when, and what it takes to graduate."""
        with wiring.open_engine(surface.settings) as engine:
            state = engine.flag_states(surface.scope)[name]
        _tell(surface, state)

    @command(group, "on")
    def on(surface: Surface, name: NameArgument) -> None:
        """Switch a flag on for everybody in this scope."""
        _turn(surface, name, "on")

    @command(group, "off")
    def off(surface: Surface, name: NameArgument) -> None:
        """Switch a flag off."""
        _turn(surface, name, "off")

    @command(group, "set")
    def set_value(surface: Surface, name: NameArgument, value: ValueArgument, shadow: ShadowOption = None) -> None:
        """Give a flag a value, such as 25%, and say whether it runs in the shadow."""
        _turn(surface, name, value, shadow=shadow)

    @command(group, "review")
    def review(surface: Surface, name: NameArgument) -> None:
        """Say that you have looked at what a flag did, so that it may act; see `assay health` first."""
        with wiring.open_engine(surface.settings) as engine:
            state = engine.flags.review(engine.store, surface.scope, name)
        _tell(surface, state)


def _turn(surface: Surface, name: str, value: str, *, shadow: bool | None = None) -> None:
    with wiring.open_engine(surface.settings) as engine:
        store = engine.store
        state = engine.flags.turn(store, surface.scope, name, value, shadow=shadow, checkpoint=store.checkpoints.create)
    _tell(surface, state)


def _tell(surface: Surface, state: FlagState) -> None:
    surface.result(_as_json(state), "\n".join(_lines(state)))


def _lines(state: FlagState) -> Iterator[str]:
    flag = state.flag
    yield f"{flag.name} is {_value(state)} ({_origin(state)})"
    yield f"  {flag.meaning}"
    if state.held_off:
        yield f"  held off: {state.held_off}"
    facts = [
        ("default", "on" if flag.default else "off"),
        ("shadow", "on" if state.shadow else "off"),
        ("owner", flag.owner),
        ("graduates", f"at +{flag.graduation_threshold:g} after {flag.minimum_samples} queries"),
        ("active since", f"{state.activated_at:%Y-%m-%d %H:%M}" if state.activated_at else "not used yet"),
        ("reviewed", f"{state.reviewed_at:%Y-%m-%d %H:%M}" if state.reviewed_at else "not yet"),
    ]
    yield from grid(facts, indent="  ")


def _row(state: FlagState) -> tuple[str, str, str, str]:
    return state.flag.name, _value(state), _origin(state), state.flag.meaning


def _value(state: FlagState) -> str:
    if not state.on:
        return "off"
    on = "on" if state.percent == 100 else f"on for {state.percent} %"
    return f"{on} (held off)" if state.held_off else on


def _origin(state: FlagState) -> str:
    return f"{state.origin} {state.place}".strip()


def _as_json(state: FlagState) -> dict[str, Any]:
    return {
        "name": state.flag.name,
        "meaning": state.flag.meaning,
        "owner": state.flag.owner,
        "default": state.flag.default,
        "percent": state.percent,
        "shadow": state.shadow,
        "origin": state.origin,
        "place": state.place or None,
        "activated_at": state.activated_at.isoformat() if state.activated_at else None,
        "reviewed_at": state.reviewed_at.isoformat() if state.reviewed_at else None,
        "held_off": state.held_off or None,
        "minimum_samples": state.flag.minimum_samples,
        "graduation_threshold": state.flag.graduation_threshold,
    }
