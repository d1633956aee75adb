"""A search inside a session, as the session metrics read it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.records import values
from assay.records.checked import require


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionQuery:
    """What one search returned, what it should have, and whether the session had a history."""

    ranking: tuple[str, ...]
    relevant: frozenset[str]
    cold: bool
    """The first query of a new session: no working memory yet."""

    def __post_init__(self) -> None:
        require(self, values.labels, "ranking")
        require(self, values.flag, "cold")
