"""What can be evaluated: anything that gives documents for a query.

A `System` may raise, hang or return nonsense: the runner asks it through `boundary.ask`, where each of these becomes an
outcome. What a system cannot tell (which documents it holds, how it came to its list, an answer) it leaves at None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from assay.errors import InputError
from assay.records.answers import GivenAnswer
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved, Seen
from assay.systems.source_code import code_of


class System(ABC):
    """One thing under test. `name` is what tables call it."""

    name: str

    @abstractmethod
    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """Documents for a query, best first, k of them at most."""

    def subject(self) -> Mapping[str, Any]:
        """What it is made of, as plain JSON values: what may differ between two runs that are compared.

        A run is resumed only with an equal subject. Here it is the name and the code of the class; add what else
        decides the results, such as a model or an index.
        """
        return {"system": self.name, "code": code_of(type(self))}

    def answer(self, question: str, case: Case) -> GivenAnswer | None:  # noqa: ARG002 - for those that answer
        """An answer in words; None: it only retrieves, or its answer came with what it retrieved."""
        return None

    def save(self, case: Case) -> Retrieved:
        """Save what a case gives beside the document that is there already; what became of it is in `saved`."""
        raise InputError(
            f"{self.name} cannot save: it only searches, and {case.id} is a save",
            remedy="Run a dataset of questions, or evaluate assay.",
        )

    def seen(self, case: Case, given: Retrieved) -> Seen | None:  # noqa: ARG002 - for those that know
        """How it came to the list it gave for a case; asked when the clock has stopped. None: it cannot tell."""
        return None

    def holds(self, document_ids: Collection[str]) -> frozenset[str] | None:  # noqa: ARG002 - for those that know
        """Which of these documents it has indexed; None: it cannot tell."""
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give everything back. Closing twice is fine."""
