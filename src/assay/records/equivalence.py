"""Equivalence classes: memories that are interchangeably right. A hit on any member counts, and counts once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from assay.errors import BadValue


@dataclass(frozen=True, kw_only=True, slots=True)
class EquivalenceClasses:
    """Disjoint sets of ids. An id in none of them stands for itself."""

    classes: tuple[frozenset[str], ...] = ()
    _names: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {member: min(group) for group in self.classes for member in group}
        if len(names) != sum(len(group) for group in self.classes):
            raise BadValue("an id is in two equivalence classes", remedy="Join the two classes.")
        object.__setattr__(self, "_names", names)

    def name(self, one: str) -> str:
        """The id that stands for a class: its smallest member."""
        return self._names.get(one, one)

    def names(self, ids: Iterable[str]) -> set[str]:
        """The classes that some ids belong to."""
        return {self.name(one) for one in ids}


NO_CLASSES = EquivalenceClasses()
