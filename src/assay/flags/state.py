"""The current value of each flag, and its source: environment over settings file over stored row over default.

`Flags.states(work)` reads every row of the tenant in one query; callers that need it several times keep what it
returned. Rows are written by `turn`, `activate`, `review`, `define` and `remove`, each with a line in the audit log.

A *variant* is a flag that a user defines: another configuration of search, or another system, under a name. It is
switched, shadowed and tested like any flag.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from assay.clock import Clock
from assay.errors import AssayError, CheckpointFailed, InputError, RecordNotFound, SettingError
from assay.flags.registry import FLAGS, Override, find_flag, percent_of
from assay.records import Scope
from assay.records.flags import Flag, FlagState
from assay.storage import Store, Work

NEEDS_CHECKPOINT = "reconsolidation"
"""It rewrites what is there, so a copy is taken before it begins."""

HELD_OFF = "flag.held_off"
"""The line of the audit log with the reason why a flag that is on has no effect yet."""

TakeCheckpoint = Callable[[str], object]
RECENT = timedelta(days=1)
"""How old a checkpoint may be that is used again instead of a new copy of the whole store, of every tenant."""


class FlagStates(Mapping[str, FlagState]):
    """Every flag of one tenant at one moment, by name."""

    def __init__(self, states: Mapping[str, FlagState]) -> None:
        self._states = dict(states)
        self._same_for_all = {name: state.on for name, state in states.items() if state.percent in (0, 100)}
        """Most flags are on or off for everybody, and a search asks for a dozen."""

    def enabled(self, name: str, identity: str = "") -> bool:
        """Whether this identity sees the flag."""
        known = self._same_for_all.get(name)
        return self[name].enabled(identity) if known is None else known

    def __getitem__(self, name: str) -> FlagState:
        return self._states[name if name in self._states else find_flag(name).name]

    @property
    def variants(self) -> tuple[FlagState, ...]:
        """The variants among them, by name."""
        return tuple(state for _, state in sorted(self._states.items()) if state.flag.spec)

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


class Flags:
    """Reads and writes flags. Made once from the settings' overrides."""

    def __init__(
        self,
        overrides: Mapping[str, Override] | None = None,
        *,
        clock: Clock,
        unavailable: Mapping[str, str] | None = None,
    ) -> None:
        """Take overrides by flag, and by flag why its feature cannot work here and what to do about it."""
        self._overrides = {find_flag(name).name: override for name, override in (overrides or {}).items()}
        self._unavailable = {find_flag(name).name: reason for name, reason in (unavailable or {}).items()}
        self._clock = clock
        self._last: tuple[Sequence[Any], FlagStates] | None = None
        """Rows, and what they came to: every search reads them, and they hardly ever change."""
        self._first_use = threading.Lock()
        self.written = 0
        """How often something was written through these flags: what was read before may have changed since."""

    def force(self, name: str, *, on: bool) -> Flags:
        """Return these flags with one fixed, regardless of stored rows: a treatment beside its control."""
        return self.override({name: Override(100 if on else 0, "treatment", name)})

    def override(self, overrides: Mapping[str, Override]) -> Flags:
        """Return these flags with some fixed, regardless of stored rows."""
        return Flags({**self._overrides, **overrides}, clock=self._clock, unavailable=self._unavailable)

    def states(self, work: Work) -> FlagStates:
        """Every flag as this unit of work sees it: one query."""
        rows, last = work.flags.all(), self._last
        if last is None or last[0] != rows:
            by_name = {row.name: row for row in rows}
            flags = {**FLAGS, **{row.name: _variant(row.name, row.spec) for row in rows if row.spec}}
            last = rows, FlagStates({name: self._state(flag, by_name.get(name)) for name, flag in flags.items()})
            self._last = last
        return last[1]

    def describe(self, work: Work) -> FlagStates:
        """Every flag as a person should see it: also whether one that is on is held off, and why."""
        states = dict(self.states(work))
        state = states[NEEDS_CHECKPOINT]
        if state.on and state.activated_at is None:
            newest = next(iter(work.audit.entries(target=NEEDS_CHECKPOINT, limit=1)), None)
            if newest is not None and newest.action == HELD_OFF:
                states[NEEDS_CHECKPOINT] = replace(state, held_off=str(newest.detail["because"]))
        for name, reason in self._unavailable.items():
            if states[name].on or states[name].shadow:
                states[name] = replace(states[name], held_off=reason)
        return FlagStates(states)

    def enabled(self, seen: FlagStates | Work, name: str, identity: str = "") -> bool:
        """Whether this identity sees the flag, by what was read before or by reading now."""
        states = seen if isinstance(seen, FlagStates) else self.states(seen)
        return states.enabled(name, identity)

    def turn(
        self,
        store: Store,
        scope: Scope,
        name: str,
        value: str | bool | int | None,
        *,
        shadow: bool | None = None,
        graduates_itself: bool | None = None,
        checkpoint: TakeCheckpoint | None = None,
        why: str = "",
    ) -> FlagState:
        """Switch a flag for a tenant; None leaves the value, the shadow, or who lets it graduate, as it is.

        `why` is kept in the audit log.
        Switching reconsolidation on takes a checkpoint first, or refuses. Unless `checkpoint` is given, one of the
        last day is used again: an admin who switches to and fro must not fill the disk with copies of every tenant.
        """
        given = None if value is None else percent_of(value, f"the flag {name}")
        self._refuse_when_overridden(name)
        if given and name == NEEDS_CHECKPOINT:
            _take(checkpoint or partial(self._find_or_take, store))
        with store.writing(scope) as work:
            before = self.states(work)[name]
            if given and before.flag.is_outside:
                raise InputError(
                    f"the variant {name} is another system ({before.flag.spec}), which cannot be served",
                    remedy=f"Compare it with past searches: `assay shadow replay {name}`.",
                )
            percent = before.percent if given is None else given
            activated = before.activated_at or (self._clock.now() if percent else None)
            shadow = before.shadow if shadow is None else shadow
            alone = before.flag.graduates_itself if graduates_itself is None else graduates_itself
            self._put(work, before, percent=percent, shadow=shadow, activated_at=activated, graduates_itself=alone)
            detail: dict[str, Any] = {"before": before.percent, "after": percent, "shadow": shadow}
            if graduates_itself is not None:
                detail["graduates_itself"] = alone
            if why:
                detail["why"] = why
            work.audit.append("flag.turn", before.flag.name, detail)
            return self.states(work)[name]

    def define(self, store: Store, scope: Scope, name: str, spec: str) -> FlagState:
        """Keep a variant under a name; one that is there stays as it is switched, and changes what it searches as."""
        if name in FLAGS:
            raise InputError(f"{name} is a flag of Assay", remedy="Give the variant another name.")
        with store.writing(scope) as work:
            row = work.flags.get(name)
            if row is not None and row.spec is None:
                raise InputError(f"{name} is stored as a flag", remedy="Give the variant another name.")
            kept = {column: getattr(row, column, None) for column in _COLUMNS}
            self._write(work, name, **{**kept, "spec": spec})
            work.audit.append("variant.define", name, {"spec": spec, "before": None if row is None else row.spec})
            return self.states(work)[name]

    def remove(self, store: Store, scope: Scope, name: str) -> None:
        """Delete a variant; what was measured of it is kept."""
        with store.writing(scope) as work:
            row = work.flags.get(name)
            if name in FLAGS or row is None or row.spec is None:
                raise RecordNotFound(f"there is no variant {name!r}", remedy="`assay variant list` names them all.")
            work.flags.remove(name)
            self.written += 1
            work.audit.append("variant.remove", name, {"spec": row.spec})

    def activate(self, store: Store, scope: Scope, name: str, *, checkpoint: TakeCheckpoint | None = None) -> FlagState:
        """Write down that a flag is in use from now on, unless that was done before.

        A flag that is on by default has no row until it is first used. For reconsolidation any checkpoint there is
        will do; when there is none, one is taken first. If none can be taken, the flag is held off: that is written
        down, so that every surface can say it, and `CheckpointFailed` is raised.
        """
        with store.reading(scope) as work:
            state = self.states(work)[name]
        if not state.on or state.activated_at is not None:
            return state
        if name == NEEDS_CHECKPOINT:
            # The first saves come together: one of them copies the store, and the others wait for the copy.
            with self._first_use:
                self._take_first(store, scope, checkpoint or store.checkpoints.create)
        with store.writing(scope) as work:
            state = self.states(work)[name]
            if state.activated_at is None:
                self._put(work, state, activated_at=self._clock.now())
                work.audit.append("flag.activate", name, {"origin": state.origin})
            return self.states(work)[name]

    def refuse_unavailable(self, name: str) -> None:
        """Refuse a flag whose feature cannot work here: a trial of it would compare a search with itself."""
        reason = self._unavailable.get(name)
        if reason is not None:
            problem, _, remedy = reason.partition(". ")
            raise SettingError(f"the flag {name} can change nothing: {problem}", remedy=remedy)

    def _find_or_take(self, store: Store, name: str) -> None:
        """Take a checkpoint unless there is one of the last day."""
        if not any(self._clock.now() - made.created_at < RECENT for made in store.checkpoints.list()):
            store.checkpoints.create(name)

    def _take_first(self, store: Store, scope: Scope, checkpoint: TakeCheckpoint) -> None:
        """Take the first checkpoint of a store; the reason of a failure is in the audit log until it succeeds."""
        try:
            _take(lambda name: store.checkpoints.list() or checkpoint(name))
        except CheckpointFailed as problem:
            because = explain_hold(problem)
            with store.writing(scope) as work:
                newest = next(iter(work.audit.entries(target=NEEDS_CHECKPOINT, limit=1)), None)
                if newest is None or newest.action != HELD_OFF or newest.detail["because"] != because:
                    work.audit.append(HELD_OFF, NEEDS_CHECKPOINT, {"because": because})
            raise

    def review(self, store: Store, scope: Scope, name: str) -> FlagState:
        """Write down that a person has looked at what a flag did, such as the gate's would-be rejections."""
        with store.writing(scope) as work:
            state = self.states(work)[name]
            if state.activated_at is None:
                raise InputError(
                    f"the flag {name} has not been in use here, so there is nothing to review",
                    remedy="Review it after it has been on for a while.",
                )
            self._put(work, state, reviewed_at=self._clock.now())
            work.audit.append("flag.review", name, {"activated_at": state.activated_at.isoformat()})
            return self.states(work)[name]

    def _state(self, flag: Flag, row: Any | None) -> FlagState:
        percent, origin, place = self._choose_value(flag, row)
        if row is not None and row.graduates_itself is not None:
            flag = replace(flag, graduates_itself=row.graduates_itself)
        return FlagState(
            flag=flag,
            percent=percent,
            origin=origin,
            place=place,
            shadow=flag.shadow if row is None or row.shadow is None else row.shadow,
            activated_at=None if row is None else row.activated_at,
            reviewed_at=None if row is None else row.reviewed_at,
            updated_at=None if row is None else row.updated_at,
        )

    def _choose_value(self, flag: Flag, row: Any | None) -> tuple[int, str, str]:
        if (override := self._overrides.get(flag.name)) is not None:
            return override.percent, override.layer, override.place
        if row is not None and row.enabled is not None:
            rollout = flag.rollout_percent if row.rollout_percent is None else row.rollout_percent
            return (rollout if row.enabled else 0), "stored", row.updated_by
        return (flag.rollout_percent if flag.default else 0), "default", ""

    def _put(self, work: Work, before: FlagState, *, percent: int | None = None, **changed: Any) -> None:
        """Write a flag's whole row: what is not given stays as it was, and a default stays a default."""
        row = work.flags.get(before.flag.name)
        kept = {name: getattr(row, name, None) for name in _COLUMNS}
        if percent is not None:
            changed |= {"enabled": percent > 0, "rollout_percent": percent or None}
        self._write(work, before.flag.name, **{**kept, **changed})

    def _write(self, work: Work, name: str, **columns: Any) -> None:
        work.flags.put(name, **columns)
        self.written += 1

    def _refuse_when_overridden(self, name: str) -> None:
        if (override := self._overrides.get(name)) is not None:
            raise SettingError(
                f"the flag {name} is set by the {override.layer} ({override.place}), which wins over the store",
                remedy="Change or remove it there.",
            )


_COLUMNS = ("enabled", "rollout_percent", "shadow", "activated_at", "reviewed_at", "spec", "graduates_itself")


def _variant(name: str, spec: str) -> Flag:
    return Flag(name=name, meaning=f"Searches as {spec}.", owner="variant", default=False, spec=spec)


def _take(checkpoint: TakeCheckpoint) -> None:
    try:
        checkpoint("before reconsolidation")
    except AssayError as problem:
        raise CheckpointFailed(
            f"no checkpoint could be taken before reconsolidation: {problem.message}", remedy=problem.remedy
        ) from problem


def explain_hold(problem: AssayError) -> str:
    """Return why a flag is held off, with the remedy: the same text on every surface."""
    return f"{problem.message}. {problem.remedy}"
