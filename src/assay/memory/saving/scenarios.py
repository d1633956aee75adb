"""Labelled saves: pairs of notes of which the second comes after the first, and what should become of it.

Two sets come with the package. The first was looked at while the checks were written; the second was held out, and only
its scores were.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from assay.records import Draft, SaveDecision

FILES = {"development": "save_scenarios.jsonl", "held out": "save_scenarios_held_out.jsonl"}

UPDATES = frozenset(
    {"changed_number", "negation", "update", "version_bump", "date_change", "name_change", "reversed_arguments"}
)
"""Kinds in which the second note says that something is not as the first one has it: losing it is the worst mistake."""
SAME = frozenset({"paraphrase", "restatement"})
APART = frozenset({"both_true", "unrelated"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One labelled save."""

    id: str
    kind: str
    domain: str
    old: Draft
    new: Draft
    expected: tuple[SaveDecision, ...]
    """The best decision first, then others that lose nothing."""
    why: str

    @property
    def forbidden(self) -> frozenset[SaveDecision]:
        """Decisions that would lose something: an update turned away, or a true note hidden."""
        if self.kind in UPDATES or self.kind == "extension":
            return frozenset({SaveDecision.REJECT, SaveDecision.MERGE})
        if self.kind in APART:
            return frozenset(SaveDecision) - {SaveDecision.STORE}
        return frozenset()


def load_scenarios(which: str = "development") -> list[Scenario]:
    """One of the sets of `FILES`, in order."""
    text = resources.files("assay").joinpath("datasets", FILES[which]).read_text(encoding="utf-8")
    return [_scenario(json.loads(line)) for line in text.splitlines()]


def _scenario(row: dict[str, Any]) -> Scenario:
    return Scenario(
        id=str(row["id"]),
        kind=str(row["kind"]),
        domain=str(row["domain"]),
        old=_draft(row["old"]),
        new=_draft(row["new"]),
        expected=tuple(SaveDecision(one) for one in row["expected"]),
        why=str(row["why"]),
    )


def _draft(row: dict[str, Any]) -> Draft:
    return Draft(title=row["title"], body=row["body"], triggers=tuple(row["triggers"]))
