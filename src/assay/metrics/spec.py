"""`ndcg(gain=exp)@10` as a value: parses, prints back, and is equal when the meaning is equal.

A spec is checked against the catalog when it is made, so one that exists can be computed or is in a stored run.
Parameters at their default are left out, the others are spelt one way (`p=0.80` becomes `p=0.8`) and sorted.
`parse_specs` reads a whole list and reports every mistake at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from assay.errors import UnknownMetric
from assay.metrics import catalog
from assay.metrics.catalog import Cutoff, FromRanking, FromRun, MetricEntry, Parameter

MOST_SPECS = 500
"""Metrics in one list; there are far fewer, but each may come with many cutoffs."""
_SHAPE = re.compile(r"(?P<name>[^\s@()=,]+)(?:\s*+\((?P<inner>[^()]*)\))?(?:\s*+@\s*+(?P<cutoff>\S+))?")
_MARKS = re.compile(r"[(),]")
_REMEDY = "`assay metrics` lists the catalog, `assay metrics NAME` shows one entry."


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricSpec:
    """A metric, its parameters and its cutoff."""

    name: str
    cutoff: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    """Name and value of each parameter that is not at its default, sorted."""

    def __post_init__(self) -> None:
        entry = catalog.find(self.name)
        _check_cutoff(entry, self.cutoff)
        object.__setattr__(self, "parameters", _canonical(entry, self.parameters))

    @classmethod
    def parse(cls, text: str) -> MetricSpec:
        """Read a spec as users type it."""
        shape = _SHAPE.fullmatch(text.strip())
        if shape is None:
            raise UnknownMetric(
                f"cannot read metric {text!r}", remedy="Write it like 'ndcg@10' or 'ndcg(gain=exp)@10'."
            )
        entry = catalog.find(shape["name"])
        inner = _read_parameters(text, shape["inner"])
        return cls(name=entry.name, cutoff=_read_cutoff(text, entry, shape["cutoff"]), parameters=inner)

    @property
    def is_ranking(self) -> bool:
        """Whether it is computed from ranked grades alone."""
        return isinstance(self.entry.compute, FromRanking)

    @property
    def is_of_run(self) -> bool:
        """Whether it has one value for a run and none for a case."""
        return isinstance(self.entry.compute, FromRun)

    @property
    def entry(self) -> MetricEntry:
        """Its entry in the catalog."""
        return catalog.find(self.name)

    def parameter(self, name: str) -> str:
        """The value of a parameter, given or default, in the spelling users type."""
        given = dict(self.parameters)
        return given[name] if name in given else _find_parameter(self.entry, name).default

    def at_defaults(self) -> dict[str, str]:
        """Every parameter with its value, defaults included."""
        return {parameter.name: self.parameter(parameter.name) for parameter in self.entry.parameters}

    def __str__(self) -> str:
        inner = ",".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.name}{f'({inner})' if inner else ''}{'' if self.cutoff is None else f'@{self.cutoff}'}"


def parse_specs(texts: str | Iterable[str]) -> tuple[MetricSpec, ...]:
    """Every spec of a list such as `ndcg@10,recall@5`, each once; all the mistakes in it together."""
    found: dict[MetricSpec, None] = {}
    problems: list[UnknownMetric] = []
    pieces = _pieces(texts)
    if len(pieces) > MOST_SPECS:
        raise UnknownMetric(f"{len(pieces):,} metrics were asked for, over {MOST_SPECS}", remedy="Ask for fewer.")
    for piece in pieces:
        try:
            found[MetricSpec.parse(piece)] = None
        except UnknownMetric as problem:
            problems.append(problem)
    if problems:
        raise _together(problems)
    if not found:
        raise UnknownMetric("no metric was asked for", remedy="Write them like 'ndcg@10,recall@100'.")
    return tuple(found)


def _pieces(texts: str | Iterable[str]) -> list[str]:
    """Cut at commas, but not at those inside brackets."""
    whole = texts if isinstance(texts, str) else ",".join(texts)
    pieces, begin, depth = [], 0, 0
    for found in _MARKS.finditer(whole):
        if found[0] == "," and depth <= 0:
            pieces.append(whole[begin : found.start()])
            begin = found.end()
        depth = max(0, depth + {"(": 1, ")": -1, ",": 0}[found[0]])
    return [piece.strip() for piece in (*pieces, whole[begin:]) if piece.strip()]


def _together(problems: list[UnknownMetric]) -> UnknownMetric:
    remedies = dict.fromkeys(problem.remedy for problem in problems)
    return UnknownMetric("; ".join(problem.message for problem in problems), remedy=" ".join(remedies))


def _read_parameters(text: str, inner: str | None) -> tuple[tuple[str, str], ...]:
    if inner is None or not inner.strip():
        return ()
    pairs = [piece.partition("=") for piece in inner.split(",")]
    if not all(sign and name.strip() and value.strip() for name, sign, value in pairs):
        raise UnknownMetric(
            f"cannot read the parameters of {text!r}", remedy="Write them like '(gain=exp)' or '(p=0.8,unjudged=1)'."
        )
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def _read_cutoff(text: str, entry: MetricEntry, cutoff: str | None) -> int | None:
    if cutoff is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", cutoff) or int(cutoff) == 0:
        raise UnknownMetric(f"cannot read metric {text!r}", remedy=f"Write it like '{entry.name}@10'.")
    return int(cutoff)


def _check_cutoff(entry: MetricEntry, cutoff: int | None) -> None:
    if entry.cutoff is Cutoff.REQUIRED and cutoff is None:
        raise UnknownMetric(f"{entry.name} needs a cutoff", remedy=f"Write it like '{entry.name}@10'.")
    if entry.cutoff is Cutoff.NONE and cutoff is not None:
        raise UnknownMetric(f"{entry.name} takes no cutoff, not @{cutoff}", remedy=f"Write '{entry.name}'.")
    if cutoff is not None and cutoff < 1:
        raise UnknownMetric(f"{entry.name} has the cutoff {cutoff}", remedy=f"Write it like '{entry.name}@10'.")


def _canonical(entry: MetricEntry, given: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    kept: dict[str, str] = {}
    for name, value in given:
        parameter = _find_parameter(entry, name)
        if name in kept:
            raise UnknownMetric(f"{entry.name} gives the parameter {name!r} twice", remedy="Give it once.")
        kept[name] = _spelling(entry, parameter, value)
    defaults = {parameter.name: _spelling(entry, parameter, parameter.default) for parameter in entry.parameters}
    return tuple(sorted((name, value) for name, value in kept.items() if value != defaults[name]))


def _find_parameter(entry: MetricEntry, name: str) -> Parameter:
    known = {parameter.name: parameter for parameter in entry.parameters}
    if name in known:
        return known[name]
    remedy = f"It takes: {', '.join(known)}." if known else "It takes no parameters."
    near = catalog.near(name, known)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise UnknownMetric(f"{entry.name} has no parameter {name!r}", remedy=f"{hint}{remedy}")


def _spelling(entry: MetricEntry, parameter: Parameter, value: str) -> str:
    if parameter.choices:
        return _choice(entry, parameter, value)
    if parameter.kind == "word" or value == parameter.default:
        return value
    number = _number(parameter.kind, value)
    if number is None:
        raise UnknownMetric(
            f"{entry.name}({parameter.name}={value}) is not {_KINDS[parameter.kind]}",
            remedy=f"Write it like '{parameter.name}={parameter.default}'.",
        )
    return repr(number)


_KINDS = {"whole": "a whole number", "number": "a finite number", "share": "a number strictly between 0 and 1"}


def _number(kind: str, value: str) -> float | None:
    try:
        number = int(value) if kind == "whole" else float(value)
    except ValueError:
        return None
    inside = 0.0 < number < 1.0 if kind == "share" else math.isfinite(number)
    return number if inside else None


def _choice(entry: MetricEntry, parameter: Parameter, value: str) -> str:
    if value in parameter.choices:
        return value
    near = catalog.near(value, parameter.choices)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise UnknownMetric(
        f"{entry.name} does not know {parameter.name}={value}",
        remedy=f"{hint}Use one of: {', '.join(parameter.choices)}.",
    )
