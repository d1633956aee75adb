"""Filters of a search as SQL conditions on memories, for an index that PostgreSQL answers from.

- Filters as conditions.
- What an index answers about the passages that pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Result, text

from assay.records import Filters
from assay.storage.repositories.base import Repository
from assay.storage.rows import write_moment

# --- Filters as conditions ---


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageFilter:
    """Which passages may be found, by their memories. Tags and types come as the memories that have them."""

    either: tuple[Filters, ...]
    """A memory passes one of these."""
    without: Filters | None = None
    """And does not pass this."""
    memory_numbers: tuple[int, ...] | None = None
    """And is one of these; None: any."""


def join_memories(within: PassageFilter | None, given: dict[str, Any]) -> tuple[str, str]:
    """Return the join with the memories `m` of passages `p`, and the condition on them; its values go into `given`."""
    if within is None:
        return "", "true"
    return "JOIN memories m ON m.number = p.memory_number AND m.tenant = p.tenant", _condition(within, given)


def _condition(within: PassageFilter, given: dict[str, Any]) -> str:
    parts = ["(" + " OR ".join(_passes(filters, given) for filters in within.either) + ")"]
    if within.without is not None:
        parts.append(f"NOT ({_passes(within.without, given)})")
    if within.memory_numbers is not None:
        given["memory_numbers"] = list(within.memory_numbers)
        parts.append("m.number = ANY(:memory_numbers)")
    return " AND ".join(parts)


def _passes(filters: Filters, given: dict[str, Any]) -> str:
    """The condition of one filter, the same as `assay.index.columns.passes` computes."""
    parts = [_is_current(filters, given)]
    if filters.folder is not None:
        wanted = filters.folder.strip("/")
        same, inside = _give(given, wanted), _give(given, wanted + "/")
        parts.append(f"(btrim(m.folder, '/') = {same} OR starts_with(ltrim(m.folder, '/'), {inside}))")
    if filters.tiers:
        parts.append(f"m.tier = ANY({_give(given, [str(tier) for tier in filters.tiers])})")
    if filters.since is not None:
        parts.append(f"m.valid_from >= {_give(given, write_moment(filters.since))}")
    if filters.until is not None:
        parts.append(f"m.valid_from < {_give(given, write_moment(filters.until))}")
    return "(" + " AND ".join(parts) + ")"


def _is_current(filters: Filters, given: dict[str, Any]) -> str:
    if filters.as_of is None:
        return "true" if filters.include_superseded else "m.superseded_at IS NULL"
    at = _give(given, write_moment(filters.as_of))
    if filters.include_superseded:
        return f"m.valid_from <= {at}"
    return f"m.valid_from <= {at} AND (m.superseded_at IS NULL OR m.superseded_at > {at})"


def _give(given: dict[str, Any], value: Any) -> str:
    """Put a value among the parameters under a name of its own; return the name as SQL has it."""
    name = f"f{len(given)}"
    given[name] = value
    return f":{name}"


# --- What an index answers about the passages that pass ---

_OWN = "FROM passage_stems p {joined} WHERE p.tenant = :tenant AND {condition}"
_SUPERSEDED = text("SELECT EXISTS (SELECT 1 FROM memories WHERE tenant = :tenant AND superseded_at IS NOT NULL)")
_ENDS = text("""
    SELECT (SELECT number FROM chunks WHERE tenant = :tenant ORDER BY number LIMIT 1),
           (SELECT number FROM chunks WHERE tenant = :tenant ORDER BY number DESC LIMIT 1)""")
_OWNERS = text("SELECT number, memory_number FROM passage_stems WHERE tenant = :tenant AND number = ANY(:numbers)")
_MEMORIES = text("SELECT count(*) FROM memories WHERE tenant = :tenant")
_SIZE = text("""
    SELECT pg_total_relation_size('passage_stems') + pg_total_relation_size('passage_stem_counts')""")
SPREAD = 8
"""Evenly spaced numbers tried for each passage of a sample: numbers of other tenants and of deleted passages miss."""


class FilteredPassages(Repository):
    """Passages of one tenant that is indexed in the database, by filter."""

    def has_superseded(self) -> bool:
        """Whether any memory is superseded."""
        return bool(self._connection.execute(_SUPERSEDED, {"tenant": self._tenant}).scalar_one())

    def count(self, within: PassageFilter) -> int:
        """How many passages pass."""
        return int(self._ask("count(*)", within).scalar_one())

    def numbers(self, within: PassageFilter | None) -> list[int]:
        """The numbers of the passages that pass, ascending."""
        return list(self._ask("p.number", within, "ORDER BY p.number").scalars())

    def among(self, numbers: Iterable[int], within: PassageFilter) -> set[int]:
        """Those of these passages that pass."""
        given = {"numbers": list(numbers)}
        return set(self._ask("p.number", within, "AND p.number = ANY(:numbers)", given).scalars())

    def sample_evenly(self, within: PassageFilter | None, most: int) -> list[int]:
        """At most so many passages that pass: every second, third and so on, in the order of numbers."""
        given: dict[str, Any] = {"tenant": self._tenant, "most": most}
        joined, condition = join_memories(within, given)
        statement = text(f"""
            WITH listed AS (
              SELECT p.number, row_number() OVER (ORDER BY p.number) - 1 AS place, count(*) OVER () AS total
              {_OWN.format(joined=joined, condition=condition)})
            SELECT number FROM listed WHERE place % ((total + :most - 1) / :most) = 0 ORDER BY number
        """)  # noqa: S608 - what is put in holds names of parameters only
        return list(self._connection.execute(statement, given).scalars())

    def sample_spread(self, within: PassageFilter | None, most: int) -> list[int]:
        """At most so many passages that pass, at even distances of numbers; fewer where few numbers are theirs.

        It costs the same however many passages there are.
        """
        first, last = self._connection.execute(_ENDS, {"tenant": self._tenant}).one()
        if first is None:
            return []
        step = max((last - first) // (SPREAD * most), 1)
        given = {"numbers": list(range(first, last + 1, step))}
        found = sorted(self._ask("p.number", within, "AND p.number = ANY(:numbers)", given).scalars())
        return found[:: -(-len(found) // most)] if found else []

    def memories_of(self, numbers: Iterable[int]) -> dict[int, int]:
        """The memory number of each of these passages; one that is not there is left out."""
        given = {"tenant": self._tenant, "numbers": list(numbers)}
        return {row[0]: row[1] for row in self._connection.execute(_OWNERS, given)}

    def folders(self, filters: Filters) -> list[tuple[str, int]]:
        """Every folder with the number of its memories that pass, by name."""
        given: dict[str, Any] = {"tenant": self._tenant}
        passing = _passes(filters, given)
        statement = text(f"""
            SELECT m.folder, count(*) FROM memories m WHERE m.tenant = :tenant AND {passing}
            GROUP BY m.folder ORDER BY m.folder
        """)  # noqa: S608 - what is put in holds names of parameters only
        return [(row[0], row[1]) for row in self._connection.execute(statement, given)]

    def count_memories(self) -> int:
        """How many memories there are, superseded ones too."""
        return int(self._connection.execute(_MEMORIES, {"tenant": self._tenant}).scalar_one())

    def stem_bytes(self) -> int:
        """Bytes of the tables of stems, of all tenants together."""
        return int(self._connection.execute(_SIZE).scalar_one())

    def _ask(
        self, columns: str, within: PassageFilter | None, rest: str = "", more: Mapping[str, Any] | None = None
    ) -> Result[Any]:
        given: dict[str, Any] = {"tenant": self._tenant, **(more or {})}
        joined, condition = join_memories(within, given)
        statement = text(f"SELECT {columns} {_OWN.format(joined=joined, condition=condition)} {rest}")
        return self._connection.execute(statement, given)
