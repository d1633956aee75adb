"""The scores of a material, by rules or by a model. Every figure of this package comes through here.

- By rules: `scores_of` is the one place that knows how the built-in check is called.
- By a model: the roles that own the dimensions a defect is about.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.embedding.protocol import Embedder
from assay.judging.builtin.evaluators import BuiltinCheck, builtin_checks
from assay.judging.injection import InjectionGuard
from assay.judging.panel import PanelMember
from assay.judging.prompts import prompts_in_use
from assay.judging.roles import model_members
from assay.models.chat import ChatModel
from assay.records.research import DIMENSIONS, OWNERS, Checkpoint, Dimension, Material, Role
from bench.defects.cases import DefectCase
from bench.defects.planting import Defect

Scores = Mapping[Dimension, float | None]
"""By dimension; None: not measured."""

# --- By rules ---


def scores_of(material: Material, embedder: Embedder | None) -> Scores:
    """Score a material without a model; a dimension that is not measured is None."""
    found = _checks_of(embedder)[material.checkpoint].evaluate(material)
    return {dimension: found.scores.get(dimension) for dimension in DIMENSIONS[material.checkpoint]}


Checks = Mapping[Checkpoint, BuiltinCheck]
_checks: dict[int, tuple[Embedder | None, Checks]] = {}
"""By identity of the embedder, which is kept with its checks so that the identity stays its own."""


def _checks_of(embedder: Embedder | None) -> Checks:
    """Return the checks of an embedder; they remember vectors from one material to the next."""
    if id(embedder) not in _checks:
        _checks[id(embedder)] = (embedder, builtin_checks(embedder))
    return _checks[id(embedder)][1]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredCase:
    """A case and its scores."""

    case: DefectCase
    good: Scores
    bad: Scores


def fingerprint(material: Material) -> str:
    """Return a hash of everything in a material: a passage has mappings and cannot be hashed itself."""
    return hashlib.sha256(repr(material).encode()).hexdigest()


def score_cases(
    cases: Sequence[DefectCase],
    score: Callable[[Material, Defect], Scores],
    *,
    report: Callable[[int], None] = lambda _: None,
) -> list[ScoredCase]:
    """Score both materials of every case; a good material that stands in several cases is scored once."""
    known: dict[tuple[str, frozenset[Dimension]], Scores] = {}

    def score_once(material: Material, defect: Defect) -> Scores:
        key = (fingerprint(material), frozenset((*defect.own, *defect.also)))
        if key not in known:
            known[key] = score(material, defect)
        return known[key]

    found = []
    for number, case in enumerate(cases, start=1):
        good, bad = score_once(case.good, case.defect), score_once(case.bad, case.defect)
        found.append(ScoredCase(case=case, good=good, bad=bad))
        report(number)
    return found


# --- By a model ---


@dataclass
class ModelScoring:
    """Asks the roles of the model panel that own the dimensions a defect is about; the others' scores do not count."""

    model: ChatModel
    guard: InjectionGuard
    deadline_s: float
    max_tokens: int = 400
    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """How often a role gave scores, was unreadable, or could not be reached."""

    def __post_init__(self) -> None:
        self._members: Mapping[Checkpoint, Sequence[PanelMember]] = model_members(
            dict.fromkeys(Role, self.model), prompts_in_use({}), guard=self.guard, max_tokens=self.max_tokens
        )

    def __call__(self, material: Material, defect: Defect) -> Scores:
        """Return the owners' scores; what they could not give is not measured."""
        about = {OWNERS[dimension] for dimension in (*defect.own, *defect.also)}
        scores: dict[Dimension, float | None] = {}
        for member in self._members[material.checkpoint]:
            if Role(member.role) not in about:
                continue
            result = member.examine(material, self.deadline_s)
            self.calls += 1
            self.seconds += result.latency_ms / 1000.0
            self.tokens += result.tokens or 0
            self.outcomes[result.outcome.value] += 1
            scores |= {
                dimension: result.scores.get(dimension.value)
                for dimension, owner in OWNERS.items()
                if owner is Role(member.role) and dimension.value in result.scores
            }
        return scores
