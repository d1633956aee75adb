"""A system for many cases, in a module of its own, which workers can import."""

from __future__ import annotations

from assay.records.evaluations import CaseResult, CaseStatus, Retrieved


class StubCases:
    """A job whose items are numbers and whose results are cases."""

    def open(self) -> StubCases:
        """Nothing to open."""
        return self

    def perform(self, number: int) -> CaseResult:
        """A list that depends on the number."""
        ids = tuple(f"d{(number * step) % 11}" for step in range(1, 6))
        return CaseResult(case_id=f"q{number}", status=CaseStatus.OK, retrieved=Retrieved(ids=ids), total_ms=0.1)

    def close(self) -> None:
        """Nothing to give back."""


def give_up(number: int, why: str) -> CaseResult:
    """A case that no worker could finish."""
    return CaseResult(case_id=f"q{number}", status=CaseStatus.ERROR, error=why)
