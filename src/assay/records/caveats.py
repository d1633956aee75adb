"""A caveat: something a reader must know beside a number before believing it.

Whoever computes a number adds the caveats; a run result, a comparison and a measurement carry them, and every surface
prints them. Programs look at `kind`, `metrics`, `count` and `figures`; people read `sentence`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.records import values
from assay.records.checked import allow, one_of, require


class CaveatKind(StrEnum):
    """What the caveat is about."""

    FAILED_CASES = "failed_cases"
    """Cases in which the system failed or timed out."""
    SKIPPED_CASES = "skipped_cases"
    """Cases that were never tried."""
    SYSTEM_NOTE = "system_note"
    """What the adapter of the system reported, added up over the cases."""
    NO_ANSWERS = "no_answers"
    """The dataset asks for answers and the system gave none."""
    UNTOLD = "untold"
    """Metrics that tables leave out, because the system does not tell what they need."""
    NOT_APPLICABLE = "not_applicable"
    """Cases to which a metric does not apply, and why."""
    NO_JUDGE = "no_judge"
    """A metric needs a judge, and none was asked."""
    JUDGE = "judge"
    """What must be known of a judge: failed verdicts, or that gates may not listen to it."""
    UNJUDGED = "unjudged"
    """Results that nobody judged count as not relevant."""
    SHORT_LISTS = "short_lists"
    """Cases with fewer results than a metric looks at."""
    TIES = "ties"
    """Results of equal score, of which some are relevant and others are not."""
    LABELS = "labels"
    """The labels themselves: weak, made from use, leaking into the documents, running backward."""
    COPIES = "copies"
    """Documents that are in the corpus more than once."""
    REPEATS = "repeats"
    """Something was counted more than once, or once instead of more often."""
    RETRIES = "retries"
    """More requests were made than cases."""
    PARTIAL = "partial"
    """The run covers only a part of the dataset: a sample, or a budget that ended it."""
    PLACEMENT = "placement"
    """Results that could not be placed in the documents."""
    SEAL = "seal"
    """Whether the files of the run are as Assay wrote them."""
    CLUSTERS = "clusters"
    """Cases that belong together and do not count as independent."""
    COST = "cost"
    """What the run cost, and how many cases told nothing of it."""
    LATENCY = "latency"
    """What times include or leave out: cold starts, time-outs, another machine."""
    OTHER = "other"
    """Anything else, such as the notes of a run made by version 0.1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caveat:
    """Something a reader must know beside a number."""

    kind: CaveatKind
    sentence: str
    """For people: what it is, with its counts, and what follows from it."""
    metrics: tuple[str, ...] = ()
    """The metrics concerned; empty: all of them."""
    count: int | None = None
    """How many cases, results or documents are concerned."""
    of: int | None = None
    """Out of how many."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Further numbers by name, for programs."""

    def __post_init__(self) -> None:
        require(self, one_of(CaveatKind), "kind")
        require(self, values.text, "sentence")
        allow(self, values.count, "count", "of")

    def as_json(self) -> dict[str, Any]:
        """The one shape of a caveat on every surface."""
        return {
            "kind": self.kind.value,
            "sentence": self.sentence,
            "metrics": list(self.metrics),
            "count": self.count,
            "of": self.of,
            "figures": dict(self.figures),
        }


def read_caveat(found: Mapping[str, Any] | str) -> Caveat:
    """Read what `Caveat.as_json` gave; a plain sentence is a note of version 0.1."""
    if isinstance(found, str):
        return Caveat(kind=CaveatKind.OTHER, sentence=found)
    return Caveat(**{**found, "metrics": tuple(found.get("metrics", ()))})


def caveats_about(caveats: tuple[Caveat, ...], kind: CaveatKind) -> tuple[Caveat, ...]:
    """Return the caveats of one kind."""
    return tuple(caveat for caveat in caveats if caveat.kind is kind)
