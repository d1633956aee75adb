"""The word index inside PostgreSQL: stems of passages, how many passages hold each, and BM25 over them.

- What is kept, and for which tenants.
- Write, erase and complete the stems of passages.
- The best passages for weighted stems.

A tenant has a word index here once `begin` was called for it, which `index.kind = database` does. From then on every
write of a chunk writes its stems in the same transaction, so that a search never sees one without the other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from assay.records import MemoryRecord
from assay.storage.full_text import IndexPassage, passage_text, tenant_term
from assay.storage.repositories.base import Repository
from assay.storage.repositories.passage_filters import PassageFilter, join_memories
from assay.text.terms import ANALYSIS_VERSION, bag_of_stems

# --- What is kept, and for which tenants ---
#
# `passage_stems` holds a `tsvector` for each passage. A stem has one position, which is its frequency in the passage,
# with a label for frequencies 1, 2, 3 and more (D, C, B, A): `ts_rank` computes from the label what BM25 gives the
# frequency. `passage_stem_counts` holds how many passages have a stem, and `passage_stem_totals` has a line for each
# tenant that is indexed here.

LABELS = ("D", "C", "B", "A")
"""Of the frequencies 1, 2, 3, and 4 or more."""
MOST_KEPT = 16_383
"""The largest position of a `tsvector`, and so the largest frequency that is kept."""
RANK_OF_ONE = 1.64493406685
"""What `ts_rank` divides the weight of a single position by."""

_OUTERMOST = text("""
    SELECT (SELECT min(tenant) FROM chunks), (SELECT max(tenant) FROM chunks),
           set_config('random_page_cost', :page_cost, true)""")
"""Both are this tenant if no other has passages. Asked before a ranking, so it also sets what a page costs there."""
_PAGE_COST = "1.1"
"""Pages of the word index are in memory. At the default of 4 PostgreSQL reads all stems of some 20,000 passages rather
than those of 3,000, which takes twice as long."""
_TOTALS = text("""
    SELECT passages, tokens, complete, analysis, title_repeats FROM passage_stem_totals WHERE tenant = :tenant""")
_BEGIN = text("""
    INSERT INTO passage_stem_totals (tenant, passages, tokens, complete, analysis, title_repeats)
    VALUES (:tenant, 0, 0, 0, :analysis, :title_repeats)""")
_COMPLETE = text("UPDATE passage_stem_totals SET complete = 1 WHERE tenant = :tenant")
_FORGET = tuple(
    text(f"DELETE FROM {table} WHERE tenant = :tenant")  # noqa: S608 - constants
    for table in ("passage_stems", "passage_stem_counts", "passage_stem_totals")
)
_MISSING = text("""
    SELECT c.number, m.number AS memory_number, m.title, m.triggers, c.heading_path, c.text, m.surroundings
    FROM chunks c JOIN memories m ON m.tenant = c.tenant AND m.id = c.memory_id
    WHERE c.tenant = :tenant AND c.number > :after
      AND NOT EXISTS (SELECT 1 FROM passage_stems p WHERE p.number = c.number)
    ORDER BY c.number LIMIT :limit""")
_WRITE = text("""
    INSERT INTO passage_stems (number, tenant, memory_number, length, stems)
    SELECT number, :tenant, memory_number, length, CAST(stems AS tsvector) FROM unnest(
      CAST(:numbers AS bigint[]), CAST(:memory_numbers AS bigint[]), CAST(:lengths AS bigint[]), CAST(:stems AS text[])
    ) AS given (number, memory_number, length, stems)""")
_COUNT = text("""
    INSERT INTO passage_stem_counts (stem, tenant, passages)
    SELECT stem, :tenant, n FROM unnest(CAST(:stems AS text[]), CAST(:passages AS bigint[])) AS given (stem, n)
    ON CONFLICT (stem, tenant) DO UPDATE SET passages = passage_stem_counts.passages + EXCLUDED.passages""")
_ADD_UP = text("""
    UPDATE passage_stem_totals SET passages = passages + :passages, tokens = tokens + :tokens
    WHERE tenant = :tenant""")
_HELD = text("""
    SELECT u.lexeme, count(*) FROM passage_stems p, unnest(p.stems) u
    WHERE p.tenant = :tenant AND p.number = ANY(:numbers) AND u.lexeme <> :own GROUP BY u.lexeme""")
_ERASE = text("""
    DELETE FROM passage_stems WHERE tenant = :tenant AND number = ANY(:numbers) RETURNING length""")
_DROP_UNUSED = text("""
    DELETE FROM passage_stem_counts WHERE tenant = :tenant AND stem = ANY(:stems) AND passages <= 0""")
_FREQUENCIES = text("""
    SELECT stem, passages FROM passage_stem_counts WHERE tenant = :tenant AND stem = ANY(:stems)""")
_NUMBERS_OF = text("SELECT id, number FROM memories WHERE tenant = :tenant AND id = ANY(:ids)")


_READ_AGAIN = 1_000
"""Passages that are read at a time."""


class StemTotals(NamedTuple):
    """The line about a tenant that is indexed in the database."""

    passages: int
    tokens: int
    complete: bool
    """Whether every passage of the tenant is in the index."""
    analysis: str
    title_repeats: int


class PassageBag(NamedTuple):
    """The stems of one passage."""

    number: int
    memory_number: int
    stems: Sequence[str]


class NewPassage(NamedTuple):
    """A chunk as it was just written, with its memory."""

    memory: MemoryRecord
    piece: Any
    """With `heading_path` and `text`: a `Chunk` or its row."""
    number: int


class StemScores(NamedTuple):
    """Passages that share stems with a query, in columns, and all that BM25 needs."""

    numbers: NDArray[np.int64]
    lengths: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    """A row for each passage, a column for each stem."""


class StemQuery(NamedTuple):
    """A search for stems."""

    weights: Mapping[str, float]
    """Weight times idf of each stem."""
    required: Sequence[str]
    """A passage must hold one of these."""
    together: Sequence[str]
    """And one of these, unless there are none."""
    average: float
    """Mean length of a passage."""
    limit: int
    most: int
    """Passages that are ranked at most; further ones are not looked at."""


class Stems(Repository):
    """The word index of one tenant. PostgreSQL only."""

    @cached_property
    def _is_kept(self) -> bool:
        return self.totals() is not None

    def totals(self) -> StemTotals | None:
        """Return the line about this tenant; None when it is not indexed here, as no tenant on SQLite is."""
        if self._connection.dialect.name == "sqlite":
            return None
        row = self._connection.execute(_TOTALS, {"tenant": self._tenant}).one_or_none()
        return None if row is None else StemTotals(row[0], row[1], bool(row[2]), row[3], row[4])

    def begin(self, title_repeats: int) -> None:
        """Begin to keep the stems of this tenant: from now on, every write of a chunk writes its stems too.

        An index that another version of the analysis made is emptied first.
        """
        found = self.totals()
        if found is not None and (found.analysis, found.title_repeats) != (ANALYSIS_VERSION, title_repeats):
            self.forget()
            found = None
        if found is None:
            given = {"tenant": self._tenant, "analysis": ANALYSIS_VERSION, "title_repeats": title_repeats}
            self._connection.execute(_BEGIN, given)

    def complete(self) -> None:
        """Say that every passage is in the index."""
        self._connection.execute(_COMPLETE, {"tenant": self._tenant})

    def forget(self) -> int:
        """Delete the whole index of this tenant; return how many passages it held."""
        found = self.totals()
        if found is None:
            return 0
        for statement in _FORGET:
            self._connection.execute(statement, {"tenant": self._tenant})
        return found.passages

    # --- Write, erase and complete the stems of passages ---

    def read_missing(self, *, after: int, limit: int) -> list[IndexPassage]:
        """Return passages that the index does not hold yet, in the order of their numbers."""
        rows = self._connection.execute(_MISSING, {"tenant": self._tenant, "after": after, "limit": limit})
        return [IndexPassage(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5], row[6]) for row in rows]

    def write_passages(self, passages: Sequence[IndexPassage]) -> None:
        """Add passages to the index."""
        totals = self.totals()
        if totals is None or not passages:
            return
        repeats = totals.title_repeats
        self._write(
            [PassageBag(row.number, row.memory_number, bag_of_stems(passage_text(row, repeats))) for row in passages]
        )

    def write_chunks(self, rows: Iterable[NewPassage]) -> None:
        """Add chunks that were just written to the index, if the tenant has one here."""
        if not self._is_kept:
            return
        listed = list(rows)
        ids = list({row.memory.id for row in listed})
        given = {"tenant": self._tenant, "ids": ids}
        owners = {row.id: row.number for row in self._connection.execute(_NUMBERS_OF, given)}
        self.write_passages(
            [
                IndexPassage(
                    row.number,
                    owners[row.memory.id],
                    row.memory.title,
                    list(row.memory.triggers),
                    row.piece.heading_path,
                    row.piece.text,
                    row.memory.surroundings,
                )
                for row in listed
            ]
        )

    def rewrite(self, numbers: Sequence[int]) -> None:
        """Read these passages again: what their memories are found by has changed."""
        if not numbers or not self._is_kept:
            return
        self.erase(numbers)
        wanted, after = set(numbers), min(numbers) - 1
        while after < max(wanted) and (rows := self.read_missing(after=after, limit=_READ_AGAIN)):
            self.write_passages([row for row in rows if row.number in wanted])
            after = rows[-1].number

    def erase(self, numbers: Sequence[int]) -> None:
        """Take passages out of the index."""
        if not numbers or not self._is_kept:
            return
        given = {"tenant": self._tenant, "numbers": list(numbers), "own": tenant_term(self._tenant)}
        held: dict[str, int] = {row[0]: row[1] for row in self._connection.execute(_HELD, given)}
        gone = self._connection.execute(_ERASE, given).scalars().all()
        self._count({stem: -count for stem, count in held.items()}, -len(gone), -sum(gone))
        self._connection.execute(_DROP_UNUSED, {"tenant": self._tenant, "stems": list(held)})

    def _write(self, bags: Sequence[PassageBag]) -> None:
        counted = [Counter(bag.stems) for bag in bags]
        lengths = [len(bag.stems) for bag in bags]
        given = {
            "tenant": self._tenant,
            "numbers": [bag.number for bag in bags],
            "memory_numbers": [bag.memory_number for bag in bags],
            "lengths": lengths,
            "stems": [stem_vector(self._tenant, counts) for counts in counted],
        }
        self._connection.execute(_WRITE, given)
        held = Counter(stem for counts in counted for stem in counts)
        self._count(held, len(bags), sum(lengths))

    def _count(self, held: Mapping[str, int], passages: int, tokens: int) -> None:
        # In one order, so that two tenants' writes never wait for each other in turn.
        stems = sorted(held)
        given = {"tenant": self._tenant, "stems": stems, "passages": [held[stem] for stem in stems]}
        self._connection.execute(_COUNT, given)
        self._connection.execute(_ADD_UP, {"tenant": self._tenant, "passages": passages, "tokens": tokens})

    # --- The best passages for weighted stems ---

    def frequencies(self, stems: Iterable[str]) -> dict[str, int]:
        """Return how many passages hold each of these stems; a stem that none holds is left out."""
        given = {"tenant": self._tenant, "stems": list(stems)}
        return {row[0]: row[1] for row in self._connection.execute(_FREQUENCIES, given)}

    def best(self, query: StemQuery, within: PassageFilter | None) -> StemScores:
        """Return about the best passages for a query, with what their exact scores are made of; in no order.

        The order by which they are chosen counts a frequency of 4 or more as 6.
        """
        stems = list(query.weights)
        given: dict[str, Any] = {
            "tenant": self._tenant,
            "asked": self._asked(query),
            "average": max(query.average, 1e-9),
            "limit": query.limit,
            "most": query.most,
            **_name_stems(stems),
        }
        given |= {f"w{place}": query.weights[stem] for place, stem in enumerate(stems)}
        joined, condition = join_memories(within, given)
        ranks = [f"ts_rank(b.weights, f.stems, CAST(:q{place} AS tsquery))" for place in range(len(stems))]
        score = " + ".join(f"CAST(:w{place} AS float8) * {rank}" for place, rank in enumerate(ranks))
        statement = text(f"""
            WITH best AS MATERIALIZED (
              SELECT f.number, f.length, f.stems FROM (
                SELECT p.number, p.length, p.stems FROM passage_stems p {joined}
                WHERE p.stems @@ CAST(:asked AS tsquery) AND p.tenant = :tenant AND {condition} LIMIT :most
              ) f CROSS JOIN LATERAL (
                SELECT ARRAY[1 / (1 + n), 2 / (2 + n), 3 / (3 + n), 6 / (6 + n)]\\:\\:real[] AS weights
                FROM (SELECT 1.2 * (0.25 + 0.75 * f.length / CAST(:average AS float8)) AS n OFFSET 0) norm OFFSET 0
              ) b ORDER BY {score} DESC, f.number LIMIT :limit
            ) SELECT b.number, b.length, {_read_frequencies(stems)} FROM best b
        """)  # noqa: S608 - what is put in holds names of parameters only
        return _to_columns(self._connection.execute(statement, given).all(), stems)

    def of_passages(self, stems: Sequence[str], numbers: Sequence[int]) -> StemScores:
        """Return what the scores of these passages are made of; one that holds none of the stems is left out."""
        given: dict[str, Any] = {
            "tenant": self._tenant,
            "numbers": list(numbers),
            "asked": _any_of(stems),
            **_name_stems(stems),
        }
        statement = text(f"""
            SELECT b.number, b.length, {_read_frequencies(stems)} FROM passage_stems b
            WHERE b.tenant = :tenant AND b.number = ANY(:numbers) AND b.stems @@ CAST(:asked AS tsquery)
        """)  # noqa: S608 - what is put in holds names of parameters only
        return _to_columns(self._connection.execute(statement, given).all(), stems)

    def _asked(self, query: StemQuery) -> str:
        """The condition on stems; with the tenant's own term where other tenants have passages."""
        asked = _any_of(query.required)
        if query.together:
            asked = f"({asked}) & ({_any_of(query.together)})"
        first, last, _ = self._connection.execute(_OUTERMOST, {"page_cost": _PAGE_COST}).one()
        alone = {first, last} <= {self._tenant}
        return asked if alone else f"'{tenant_term(self._tenant)}' & ({asked})"


def _name_stems(stems: Sequence[str]) -> dict[str, Any]:
    """The parameters of `_read_frequencies`."""
    often = " | ".join(f"'{stem}':{LABELS[-1]}" for stem in stems)
    return {"often": often, "stems": list(stems)} | {f"q{place}": f"'{stem}'" for place, stem in enumerate(stems)}


def _read_frequencies(stems: Sequence[str]) -> str:
    """The columns that tell how often a passage `b` holds each stem.

    `ts_rank` tells the label; the last column lists the exact frequencies of 4 and more.
    """
    ranks = [
        f"ts_rank('{{0.1, 0.2, 0.3, 0.4}}'\\:\\:real[], b.stems, CAST(:q{place} AS tsquery))"
        for place in range(len(stems))
    ]
    exact = """CASE WHEN b.stems @@ CAST(:often AS tsquery) THEN (
        SELECT string_agg(u.positions[1] || ' ' || u.lexeme, chr(10)) FROM unnest(ts_filter(b.stems, '{a}')) u
        WHERE u.lexeme = ANY(CAST(:stems AS text[]))) END"""
    return ", ".join([*ranks, exact])


def _to_columns(rows: Sequence[Any], stems: Sequence[str]) -> StemScores:
    if not rows:
        return StemScores(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, len(stems)), np.int64))
    table = np.array([row[:-1] for row in rows], np.float64)
    # Ranks are .1, .2, .3 and .4 for the labels of 1, 2, 3 and 4 or more.
    frequencies = np.rint(10.0 * RANK_OF_ONE * table[:, 2:]).astype(np.int64)
    columns = {stem: place for place, stem in enumerate(stems)}
    for place, row in enumerate(rows):
        for line in row[-1].split("\n") if row[-1] else ():
            times, _, stem = line.partition(" ")
            frequencies[place, columns[stem]] = int(times)
    return StemScores(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), frequencies)


def tidy(connection: Connection) -> None:
    """Clean up the tables of the word index, and count what is in them. Outside any transaction."""
    for table in ("passage_stems", "passage_stem_counts"):
        connection.execute(text(f"VACUUM (ANALYZE) {table}"))


def stem_vector(tenant: str, counts: Mapping[str, int]) -> str:
    """The stems of a passage as PostgreSQL reads them: `'cooki':3B`, the frequency as position."""
    listed = [
        f"'{stem}':{min(times, MOST_KEPT)}{LABELS[min(times, len(LABELS)) - 1]}" for stem, times in counts.items()
    ]
    return " ".join([f"'{tenant_term(tenant)}'", *listed])


def _any_of(stems: Sequence[str]) -> str:
    return " | ".join(f"'{stem}'" for stem in stems)
