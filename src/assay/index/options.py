"""Settings of the derived indexes, and the status values they report.

- Settings; defaults were measured at 100,000 passages on two cores.
- Status: for `index status` and for health.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from assay.records import LogPosition

# --- Settings; defaults were measured at 100,000 passages on two cores ---


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexOptions:
    """Sizes are in passages (chunks)."""

    exact_below: int = 8_000
    """Up to here vectors are compared one by one: without a graph, or with one when a filter leaves no more. At 20,000
    the graph answers in a fifth of the time."""
    graph_below: int = 2_000_000
    """Up to here vectors have a graph, which takes .1 ms a vector to build at 20,000 and .5 ms at 200,000. It answers
    in a third of the time of codes of one bit a dimension (`codes`), which take .003 ms to build."""
    rescored: int = 2_000
    """Vectors that codes nominate, at least; each is compared with the query again."""
    words_below: int = 2_000_000
    """Up to here every word of a query chooses passages; in more of them, words that every fifth passage holds only
    rank what rarer words chose. At 2,500,000, the first 50 of 60 questions were those of the whole ranking."""
    whole_below: int = 20_000
    """Up to here a tenant without a base is read into memory, and a change of model is followed at once."""
    fold_passages: int = 2_000
    """A tail larger than this, and larger than `fold_share` of the base, is folded in the background."""
    fold_share: float = 0.05
    tail_most: int = 50_000
    """A follower that catches up with a long log folds its tail when it is larger than this, and goes on. A passage in
    the tail takes about 3 kB of memory."""
    first_fold: int = 1_000
    """A tenant of this size that has no base on disk gets one in the background, for the next process."""
    background: bool = True
    """Fold automatically in the background."""
    title_repeats: int = 1
    """How often a title counts in the bag of words of its passages."""
    connectivity: int = 32
    """Neighbours of a vector in the graph. At 100,000 noisy vectors the first 50 hold .99 of the exact ones with these
    three numbers, and .97 with half of each."""
    expansion_build: int = 128
    """Candidates looked at when a vector enters the graph."""
    expansion_search: int = 256
    """Candidates looked at in a search of the graph, at most; see `expansion_for`."""
    page: int = 2_000
    """Rows read at a time."""
    keep_log_days: float = 30.0
    """After folding, older lines of the change log are forgotten; followers behind them rebuild."""
    database_postings: int = 4_000
    """Passages that the database ranks for a query's rarest stems. Passages that hold only more frequent stems are not
    ranked then. At 100,000 passages the first 10 are those of the whole ranking, and .99 of the first 50."""
    database_share: float = 1 / 64
    """The share of all passages that the database ranks where that is more. At 1,000,000 the first 10 hold .96 of the
    whole ranking's; with 4,000 it would be .87."""

    def expansion_for(self, fetched: int) -> int:
        """Candidates that a search of the graph looks at to find so many: few results are found as well among fewer."""
        return min(self.expansion_search, max(self.expansion_search // 2, 2 * fetched))

    def rescored_for(self, limit: int) -> int:
        """How many vectors codes nominate for so many results."""
        return max(self.rescored, 20 * limit)

    def database_postings_for(self, passages: int) -> int:
        """How many of so many passages the database ranks for a query's rarest stems."""
        return max(self.database_postings, int(passages * self.database_share))

    def fold_beyond(self, base: int) -> int:
        """How large the tail over a base of this size may grow."""
        if base == 0:
            return self.first_fold
        return min(max(self.fold_passages, int(base * self.fold_share)), max(self.fold_passages, self.whole_below))


# --- Status: for `index status` and for health ---


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexStatus:
    """One tenant's index as this process has it."""

    kind: str
    """`local`: files on this machine, or `database`: PostgreSQL answers."""
    generation: str | None
    """The base in use; None when everything is in the tail."""
    on_disk: bool
    passages: int
    memories: int
    base_passages: int
    tail_passages: int
    position: LogPosition
    log_end: LogPosition
    vector_kind: str
    """`exact`, `hnsw`, `codes`, `database`, or `none` when no model is active."""
    model: str | None
    """Whose vectors are searched."""
    active_model: str | None
    """Whose vectors should be; another one while a change of models is not folded yet."""
    vectors: int | None
    """None: the database has them."""
    folder: str | None
    bytes_on_disk: int
    """Of the files on this machine."""
    bytes_in_database: int | None
    """Of this tenant's vector index and of the stems of all tenants; None: the index is local."""
    rebuilt_because: str | None
    """Why this process did not use what was on disk, if it did not."""
    last_problem: str | None
    """What went wrong when folding in the background."""
    folding: bool
    lock_holder: str | None
    """The process that folds now."""
    at: datetime

    @property
    def behind(self) -> int:
        """How far the log has gone on; 0 when everything is known."""
        return max(self.log_end.seq - self.position.seq, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """What a compaction did."""

    done: bool
    reason: str
    """Why it did nothing, or what it made."""
    busy: bool = False
    """Whether another process is at it."""
    generation: str | None = None
    passages: int = 0
    seconds: float = 0.0
    log_lines_forgotten: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Recall:
    """How much of the exact answer the vector index gives."""

    share: float | None
    """None: there is nothing to compare."""
    queries: int
    depth: int
