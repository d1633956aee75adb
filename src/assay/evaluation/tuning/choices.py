"""One way to fuse, as a value: method, weights, RRF's constant and what further passages add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from assay.errors import BadValue
from assay.memory.searching.options import BASE_WEIGHTS, SearchOptions
from assay.records import Channel, FusionMethod, Intent

NEUTRAL = Intent.UNDERSTAND
"""The intent that shifts no weight: its weights are the base of all others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FusionChoice:
    """How lists become one. `weights` is the base that intents shift."""

    method: FusionMethod = FusionMethod.CONVEX
    weights: Mapping[Channel, float] = field(default_factory=lambda: BASE_WEIGHTS)
    rrf_k: int = 60
    coefficient: float = 0.3

    def __post_init__(self) -> None:
        missing = [one.value for one in Channel if one not in self.weights]
        if missing:
            raise BadValue(f"there is no weight for {', '.join(missing)}", remedy="Give every channel a weight.")

    @property
    def values_key(self) -> tuple[FusionMethod, int]:
        """What votes are worth hangs on this alone; RRF's constant is nothing to convex fusion."""
        return self.method, self.rrf_k if self.method is FusionMethod.RRF else 0

    def settings(self, than: FusionChoice) -> dict[str, str]:
        """The settings that lead from another choice to this one, by key."""
        found = {"search.fusion": self.method.value} if self.method is not than.method else {}
        if self.method is FusionMethod.RRF and self.rrf_k != than.rrf_k:
            found["search.rrf_k"] = str(self.rrf_k)
        if self.coefficient != than.coefficient:
            found["search.coefficient"] = f"{self.coefficient:g}"
        changed = [one for one in Channel if self.weights[one] != than.weights[one]]
        return found | {f"search.weights.{one.value}": f"{self.weights[one]:g}" for one in changed}

    def toml(self, than: FusionChoice) -> list[str]:
        """The same as lines of `assay.toml`."""
        return list(_toml(self.settings(than)))

    def __str__(self) -> str:
        named = " ".join(f"{one.value} {self.weights[one]:g}" for one in Channel)
        constant = f" k={self.rrf_k}" if self.method is FusionMethod.RRF else ""
        return f"{self.method.value}{constant}: {named}"


def choice_of(options: SearchOptions) -> FusionChoice:
    """What is in force."""
    return FusionChoice(
        method=options.method,
        weights=dict(options.weights[NEUTRAL]),
        rrf_k=options.rrf_k,
        coefficient=options.coefficient,
    )


def _toml(settings: Mapping[str, str]) -> Iterator[str]:
    sections: dict[str, list[str]] = {}
    for key, value in settings.items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append(f"{name} = {value if value[0].isdigit() else repr_toml(value)}")
    for section in sorted(sections):
        yield f"[{section}]"
        yield from sections[section]


def repr_toml(text: str) -> str:
    """A word as TOML writes it."""
    return f'"{text}"'
