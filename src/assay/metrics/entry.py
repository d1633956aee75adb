"""A metric in the catalog: what it is called, what it means, and how it is computed.

`compute` says from what: `FromRanking` from ranked grades of many queries at once, `FromCase` from one case,
`FromCases` from all cases of a run together, `FromRun` from the run as a whole (latency, failures, the index), and
`FromRecord` for a metric that is only known from a stored run. A metric without a way to compute it cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from assay.metrics.ranking import Kernel
from assay.records.judging import RubricKind
from assay.records.outcome import Outcome


class Cutoff(StrEnum):
    """Whether a metric looks at the first k results."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


class Better(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One `name=value` inside the brackets of a metric."""

    name: str
    meaning: str
    default: str
    """In the spelling users type; left out of the printed form."""
    choices: tuple[str, ...] = ()
    """The values it may take; empty when `kind` decides."""
    kind: str = "word"
    """`word`, `whole`, `number`, `share` (a number strictly between 0 and 1)."""


@dataclass(frozen=True, slots=True)
class FromRanking:
    """Computed from ranked grades, for many queries at once."""

    kernel: Kernel


@dataclass(frozen=True, slots=True)
class FromCase:
    """Computed for one case: a function of a `CaseView`."""

    function: Callable[..., Outcome]


@dataclass(frozen=True, slots=True)
class FromCases:
    """Computed over all cases together: a function of every `CaseView`, which gives each case its share."""

    function: Callable[..., dict[str, Outcome]]
    """Outcomes by case id; their mean is the metric."""
    aggregate: Callable[..., Any]
    """Corrects the aggregate, given it, the outcomes and the views: the shares are not independent."""


@dataclass(frozen=True, slots=True)
class FromRun:
    """Computed over the whole run: a function of the spec and of `RunFacts`. It has no value for a single case."""

    function: Callable[..., Outcome]
    needs: Callable[..., Sequence[Any]] = lambda _: ()
    """Metrics that have to be scored for it, given its spec."""


@dataclass(frozen=True, slots=True)
class FromRecord:
    """Known from a stored run only: its package is not installed here, or this version no longer has it."""


Compute: TypeAlias = FromRanking | FromCase | FromCases | FromRun | FromRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricEntry:
    """One metric in the catalog."""

    name: str
    family: str
    summary: str
    formula: str = ""
    lowest: float | None
    """None: unbounded below."""
    highest: float | None
    """None: unbounded above."""
    better: Better
    cutoff: Cutoff
    parameters: tuple[Parameter, ...] = ()
    citation: str = ""
    disagreement: str = ""
    """Where the field computes something else under the same name."""
    example: str = ""
    """A worked case in a sentence or two; a test computes it."""
    compute: Compute
    judged_by: RubricKind | None = None
    """The kind of judge that decides it; None: it needs no judge."""
    code: str = ""
    """Hash of the function of a metric that was added: runs measured with other code are not compared."""
