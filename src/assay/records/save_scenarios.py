"""Labelled saves: pairs of notes of which the second comes after the first, and what should become of it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.records.saving import Draft
from assay.records.writes import SaveDecision

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
