"""Ways to fuse channels, which of them to try, and the logged lists they are tried on.

- One way to fuse: method, weights, RRF constant.
- The candidates to try.
- Weights for one kind of query.
- Logged lists of each case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import BadValue, NothingMeasured
from assay.memory.searching.options import BASE_WEIGHTS, QUICK_SHARE, WEIGHTS, SearchOptions
from assay.metrics.inputs import grades_by_unit
from assay.records import Channel, ChannelCandidates, FusionMethod, Intent
from assay.records.answers import NO_CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from assay.records.datasets import Case
    from assay.systems.assay_engine import AssaySystem, Trail


# --- One way to fuse: method, weights, RRF constant ---

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
        missing = [channel.value for channel in Channel if channel not in self.weights]
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
        changed = [channel for channel in Channel if self.weights[channel] != than.weights[channel]]
        return found | {f"search.weights.{channel.value}": f"{self.weights[channel]:g}" for channel in changed}

    def toml(self, than: FusionChoice) -> list[str]:
        """The same as lines of `assay.toml`."""
        return list(_toml(self.settings(than)))

    def __str__(self) -> str:
        named = " ".join(f"{channel.value} {self.weights[channel]:g}" for channel in Channel)
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
    """A string as TOML writes it."""
    return f'"{text}"'


# --- The candidates to try ---
#
# Weights are drawn evenly on the scale of their logarithms, since halving one and doubling it are equally far. What is
# in force always stands first, so that choosing among the space can always come to "keep it".

FOLD = 8.0
"""A weight is tried from an eighth of what it is to eight times that."""
MOST = 200_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """What may be tried."""

    methods: tuple[FusionMethod, ...] = tuple(FusionMethod)
    rrf_ks: tuple[int, ...] = (10, 30, 60, 100)
    coefficients: tuple[float, ...] = ()
    """Empty: as in force."""
    ranges: Mapping[Channel, tuple[float, float]] = field(default_factory=dict)
    """The least and the most of a weight, where it is not around what is in force."""
    count: int = 2_000

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST:
            raise BadValue(f"{self.count} configurations are not from 1 to {MOST:,}", remedy="Try some thousands.")
        if not self.methods:
            raise BadValue("the space has no method", remedy="Name convex, rrf or both.")
        for channel, (least, most) in self.ranges.items():
            if not 0.0 < least <= most < np.inf:
                raise BadValue(
                    f"the range {least:g} to {most:g} of {channel} cannot be drawn from",
                    remedy="Give two numbers above 0, the lower one first.",
                )


def space_of(incumbent: FusionChoice, space: Space, rng: np.random.Generator) -> list[FusionChoice]:
    """What is in force, then `count` others, each once."""
    ranges = [space.ranges.get(channel, _around(incumbent.weights[channel])) for channel in Channel]
    low, high = np.log(np.array(ranges)).T
    drawn = np.exp(rng.uniform(low, high, size=(space.count, len(Channel))))
    if not space.ranges:
        # Only proportions count; with the sum that is in force, weights can be compared by eye.
        drawn *= sum(incumbent.weights.values()) / drawn.sum(axis=1, keepdims=True)
    coefficients = space.coefficients or (incumbent.coefficient,)
    found: dict[str, FusionChoice] = {}
    for number, weights in enumerate(drawn):
        one = FusionChoice(
            method=space.methods[number % len(space.methods)],
            weights=_readable(weights),
            rrf_k=int(rng.choice(space.rrf_ks)),
            coefficient=float(rng.choice(coefficients)),
        )
        found[repr(one)] = one
    return [incumbent, *(choice for choice in found.values() if choice != incumbent)]


def _around(weight: float) -> tuple[float, float]:
    return weight / FOLD, weight * FOLD


def _readable(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> dict[Channel, float]:
    """Round to three digits: more make no difference, and people read the values in a settings file."""
    return {channel: float(f"{weight:.3g}") for channel, weight in zip(Channel, weights.tolist(), strict=True)}


# --- Weights for one kind of query ---

CHANNELS = tuple(Channel)


def weights_of(choices: Sequence[FusionChoice], intent: Intent, asked: Collection[Channel]) -> NDArray[np.float64]:
    """[choice, channel]: what `SearchOptions.weights_for` gives each of them, all at once, over the sum of its base.

    Only the proportion of weights moves an order; on one scale, equal scores differ from nearly equal ones.
    """
    base = np.array([[choice.weights[channel] for channel in CHANNELS] for choice in choices])
    base /= base.sum(axis=1, keepdims=True)
    weights = base if intent is NEUTRAL else base * _SHIFTS[intent]
    if Channel.BM25 not in asked:
        words = CHANNELS.index(Channel.FTS5)
        weights = weights.copy()
        weights[:, words] = np.maximum(weights[:, words], QUICK_SHARE * weights[:, CHANNELS.index(Channel.BM25)])
    return weights


_SHIFTS = {
    intent: np.array([WEIGHTS[intent][channel] / BASE_WEIGHTS[channel] for channel in CHANNELS]) for intent in Intent
}


# --- Logged lists of each case ---


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedCase:
    """One case with what fusion was given for it."""

    case_id: str
    lists: tuple[ChannelCandidates, ...]
    intent: Intent
    """Whose weights were used."""
    grades: Mapping[str, int]
    """By unit, those judged not relevant too."""
    unit_of: Mapping[str, str]
    """From a passage's id to what is ranked: its document, or the class of equal documents that one belongs to."""

    @property
    def asked(self) -> tuple[Channel, ...]:
        """The channels that gave a list, in the order of fusion."""
        named = {logged.channel for logged in self.lists}
        return tuple(channel for channel in Channel if channel.value in named)


def gather(
    system: AssaySystem, cases: Iterable[Case], *, k: int, on_case: Callable[[int, int], None] | None = None
) -> list[LoggedCase]:
    """Ask every case that has grades, once, and keep what was logged; `on_case` is told how many are done."""
    adaptive = is_adaptive(system)
    graded = [case for case in cases if case.grades]
    logged: list[LoggedCase] = []
    for case in graded:
        logged.append(make_logged_case(case, system.trail(case, k), adaptive=adaptive))
        if on_case is not None:
            on_case(len(logged), len(graded))
    return check_gathered(logged)


def is_adaptive(system: AssaySystem) -> bool:
    """Whether the weights of a search follow its intent."""
    return bool(system.subject()["flags"]["adaptive_fusion"])


def check_gathered(found: list[LoggedCase]) -> list[LoggedCase]:
    """Return the cases, and refuse none."""
    if not found:
        raise NothingMeasured(
            "no case has graded documents, and fusion is tuned on those",
            remedy="Give a dataset with relevance labels, such as hotel or agent-memory.",
        )
    return found


def make_logged_case(case: Case, trail: Trail, *, adaptive: bool) -> LoggedCase:
    """A case and its search, as tuning sees them."""
    classes = case.equivalence or NO_CLASSES
    return LoggedCase(
        case_id=case.id,
        lists=trail.logged.candidates,
        intent=trail.result.intent if adaptive else NEUTRAL,
        grades=grades_by_unit(case.labels, {label: classes.name(label) for label in case.labels}),
        unit_of={
            passage: classes.name(trail.document_of.get(memory_of(passage), memory_of(passage)))
            for offered in trail.logged.candidates
            for passage in offered.ids
        },
    )


def memory_of(passage_id: str) -> str:
    """The memory whose passage this is."""
    return passage_id.rpartition("#")[0]
