"""`assay flag list|show|on|off|set|review`: features that can be switched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records.flags import Flag, FlagState
from assay.verbs import flags as flag_verbs

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A flag; `assay flag list` has them all.")]
ValueArgument = Annotated[str, typer.Argument(metavar="VALUE", help="on, off, or the percentage that sees it.")]
ShadowOption = Annotated[
    bool | None, typer.Option("--shadow/--no-shadow", help="Whether it also runs unseen, beside what is shown.")
]
GraduatesOption = Annotated[
    bool | None,
    typer.Option(
        "--graduates-itself/--person-graduates",
        help="Whether it is given to everybody as soon as all conditions hold, or a person decides.",
    ),
]
WhyOption = Annotated[str | None, typer.Option("--why", help="Kept in the audit log.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Switch features on and off, and see where each value comes from.", no_args_is_help=True)
    app.add_typer(group, name="flag")

    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List every flag with its state and where that comes from."""
        found = surface.call(flag_verbs.LIST, create=True)
        rows = [("flag", "state", "from", "meaning"), *(_row(state) for state in found.flags)]
        held = [f"{state.flag.name} is held off: {state.held_off}" for state in found.flags if state.held_off]
        surface.show(flag_verbs.LIST, found, "\n".join([*grid(rows), *held]))

    @command(group, "show")
    def show(surface: Surface, name: NameArgument) -> None:
        """Show one flag: what it does, its state, since when, and what it takes to graduate."""
        _tell(surface, surface.call(flag_verbs.SHOW, create=True, name=name))

    @command(group, "on")
    def on(surface: Surface, name: NameArgument) -> None:
        """Switch a flag on for all callers in this scope."""
        _turn(surface, name, "on")

    @command(group, "off")
    def off(surface: Surface, name: NameArgument) -> None:
        """Switch a flag off."""
        _turn(surface, name, "off")

    @command(group, "set")
    def set_value(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        name: NameArgument,
        value: ValueArgument,
        shadow: ShadowOption = None,
        graduates_itself: GraduatesOption = None,
        why: WhyOption = None,
    ) -> None:
        """Give a flag a value, such as 25%, and say whether it runs in the shadow."""
        _turn(surface, name, value, shadow=shadow, graduates_itself=graduates_itself, why=why)

    @command(group, "review")
    def review(surface: Surface, name: NameArgument) -> None:
        """Say that you have looked at what a flag did, so that it may act; see `assay health` first."""
        _tell(surface, surface.call(flag_verbs.REVIEW, create=True, name=name))


def _turn(
    surface: Surface,
    name: str,
    value: str,
    *,
    shadow: bool | None = None,
    graduates_itself: bool | None = None,
    why: str | None = None,
) -> None:
    from assay.flags import percent_of  # noqa: PLC0415 - the extra "memory"

    percent = percent_of(value, f"the flag {name}")
    state = surface.call(
        flag_verbs.SET,
        create=True,
        name=name,
        percent=percent,
        shadow=shadow,
        graduates_itself=graduates_itself,
        why=why,
    )
    _tell(surface, state)


def _tell(surface: Surface, state: FlagState) -> None:
    surface.show(flag_verbs.SHOW, state, "\n".join(_lines(state)))


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
        ("graduates", f"at +{flag.graduation_threshold:g} after {flag.minimum_samples} queries, {_by_whom(flag)}"),
        ("active since", f"{state.activated_at:%Y-%m-%d %H:%M}" if state.activated_at else "not used yet"),
        ("changed", f"{state.updated_at:%Y-%m-%d %H:%M}" if state.updated_at else "not yet"),
        ("reviewed", f"{state.reviewed_at:%Y-%m-%d %H:%M}" if state.reviewed_at else "not yet"),
    ]
    yield from grid(facts, indent="  ")


def _by_whom(flag: Flag) -> str:
    return "by itself" if flag.graduates_itself else "when a person says so"


def _row(state: FlagState) -> tuple[str, str, str, str]:
    return state.flag.name, _value(state), _origin(state), state.flag.meaning


def _value(state: FlagState) -> str:
    if not state.on:
        return "off"
    on = "on" if state.percent == 100 else f"on for {state.percent} %"
    return f"{on} (held off)" if state.held_off else on


def _origin(state: FlagState) -> str:
    return f"{state.origin} {state.place}".strip()
