"""What every program gives back: figures, and for each promise whether it held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

PATIENCE = 10.0
"""How many times longer something may take on a machine that does much else; what waits for a timeout takes longer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One promise beside what was seen."""

    promise: str
    seen: str
    held: bool
    late: bool = False
    """Not held, and all that is wrong is the time it took: longer than promised, and still no matter of a timeout."""


class Outcome(Protocol):
    """The result of a program: a frozen dataclass that judges itself."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def did(self) -> str:
        """What was done, in one line."""
        ...

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        ...


class Spread(NamedTuple):
    """How a series of measurements lies, in milliseconds."""

    p50_ms: float
    p99_ms: float
    longest_ms: float


def none_of(what: str, found: Sequence[str] | int) -> Check:
    """A promise that something never happens; the first offenders are shown."""
    if isinstance(found, int):
        return Check(promise=f"0 {what}", seen=str(found), held=found == 0)
    shown = "; ".join(found[:3])
    return Check(promise=f"0 {what}", seen=f"{len(found)}" + (f": {shown}" if found else ""), held=not found)


def below(what: str, seen: float, limit: float, unit: str, *, patience: float = PATIENCE) -> Check:
    """A promise that a figure stays under a limit; a time that is not under `patience` times that is not only late."""
    late = unit in ("ms", "s") and limit <= seen < patience * limit
    return Check(promise=f"{what} < {limit:g} {unit}", seen=f"{seen:.1f} {unit}", held=seen < limit, late=late)


def at_least(what: str, seen: int, wanted: int) -> Check:
    """Proof that the program did what it says: a scenario that never happened proves nothing."""
    return Check(promise=f"{what} >= {wanted}", seen=str(seen), held=seen >= wanted)


def broken(outcome: Outcome) -> list[Check]:
    """The promises that were not kept."""
    return [check for check in outcome.checks if not check.held]


def spread(seconds: Sequence[float]) -> Spread:
    """The middle, the slow end and the worst of a series."""
    ordered = sorted(seconds) or [0.0]
    middle, slow = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.50, 0.99))
    return Spread(round(middle * 1000, 2), round(slow * 1000, 2), round(ordered[-1] * 1000, 2))
