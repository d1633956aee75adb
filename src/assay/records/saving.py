"""Saves: the request, each step's finding, the decision, labelled test cases, and imports.

- Writes under test: expected and actual results, and pairs that contradict each other.
- A save from draft to decision.
- Labelled saves for measuring decisions.
- Memories from and for other systems.
- Documents that were taken in.
- The result of indexing a document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.facts import OutdatedFact
from assay.records.fields import allow, one_of, require
from assay.records.memory import Draft, Tier

# --- Writes under test: expected and actual results, and pairs that contradict each other ---


class SaveDecision(StrEnum):
    """What became of a memory that was to be saved."""

    STORE = "store"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    REJECT = "reject"


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveTrial:
    """One labelled save: what it should have done and what it did."""

    expected: SaveDecision
    decided: SaveDecision | None
    """None: the save failed."""
    reason: str = ""

    def __post_init__(self) -> None:
        require(self, one_of(SaveDecision), "expected")
        allow(self, one_of(SaveDecision), "decided")
        require(self, values.optional_label, "reason")


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveTask:
    """A note to be saved where another is already, and what should become of it."""

    title: str
    body: str
    triggers: tuple[str, ...] = ()
    after: str
    """The document that is there already."""
    expected: tuple[SaveDecision, ...]
    """The best decision first, then others that lose nothing."""
    contradicts: bool = False
    """Whether it contradicts the older note."""
    facts: tuple[str, ...] = ()
    """Facts of both notes together, which a merge must keep verbatim."""

    def __post_init__(self) -> None:
        require(self, values.label, "title", "after")
        object.__setattr__(self, "body", values.text(self.body, "body", empty=False))
        require(self, values.labels, "triggers", "facts")
        object.__setattr__(
            self, "expected", tuple(one_of(SaveDecision)(decision, "expected") for decision in self.expected)
        )
        require(self, values.flag, "contradicts")
        if not self.expected:
            raise BadValue(f"the save of {self.title!r} expects nothing", remedy="Name the decision that is right.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What a save did, and what the memory holds after it."""

    decided: SaveDecision
    old_live: bool
    """Whether default search can still return the older note."""
    new_live: bool
    """Whether what was saved can be found, in a memory of its own or merged into another."""
    marked: bool = False
    """Whether a `contradicts` edge joins the two, or a fact of the older note is shown as outdated."""
    kept: str = ""
    """The text that now holds what was saved; empty where it was turned away."""
    ended: int = 0
    """Facts of the older note that the save ended while the note stays."""

    def __post_init__(self) -> None:
        require(self, one_of(SaveDecision), "decided")
        require(self, values.flag, "old_live", "new_live", "marked")
        require(self, values.count, "ended")
        require(self, values.text, "kept")


@dataclass(frozen=True, kw_only=True, slots=True)
class ContradictingPair:
    """Two memories that cannot both be true, after both were saved."""

    first_live: bool
    """Whether default search can still return it: neither superseded nor rejected."""
    second_live: bool
    marked: bool = False
    """Whether a `contradicts` edge joins them."""

    def __post_init__(self) -> None:
        require(self, values.flag, "first_live", "second_live", "marked")


# --- A save from draft to decision ---
#
# The draft itself is beside the memory that it becomes, in `memory`.


@dataclass(frozen=True, slots=True)
class Mask:
    """A secret that was masked, or hidden text that was taken out, before anything was stored. It is nowhere in it."""

    kind: str
    """Such as `AWS access key` or `hidden text`."""
    where: str
    """The field."""
    length: int


@dataclass(frozen=True, slots=True)
class QualityPart:
    """One part of the quality score."""

    name: str
    value: float
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Quality:
    """How much a draft is worth keeping, 0 to 1: the weighted mean of its parts."""

    score: float
    parts: tuple[QualityPart, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Nearest:
    """A memory like the draft, with the results of both checks of the pair."""

    memory_id: str
    title: str
    similarity: float
    agrees: bool
    same_subject: bool
    reasons: tuple[str, ...] = ()
    """What disagrees, or what is shared."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a save decided."""

    name: str
    """`structure`, `secrets`, `trust`, `quality`, `near_duplicate`, `reconsolidation`, `write`."""
    decision: str
    """`pass`, `masked`, `warn`, `reject`, `would_reject`, `quarantine`, `merge`, `supersede`, `contradicts`, `store`,
    `unchanged`, `off`, `held_off`."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Inherited:
    """Something that an update took over from what it supersedes."""

    field: str
    """One of `INHERITED`, or `links`."""
    value: str
    """To read, such as `auth, cookies`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveOutcome:
    """What became of a draft. `memory_id` is what now holds its content."""

    save_id: str
    decision: SaveDecision
    memory_id: str | None
    """The new memory, the one merged into, or the duplicate it was rejected for; None when quality alone decided."""
    reason: str = ""
    """Why it was rejected or is in quarantine; empty: neither."""
    unchanged: bool = False
    """The same source with the same content was there already: nothing was written."""
    version: int = 1
    superseded: tuple[str, ...] = ()
    inherited: tuple[Inherited, ...] = ()
    """What was not given and therefore taken over from what is superseded."""
    contradicts: tuple[str, ...] = ()
    outdated: tuple[OutdatedFact, ...] = ()
    """Facts of memories that stay, which this one replaces."""
    masks: tuple[Mask, ...] = ()
    quality: Quality | None = None
    """None: the step was off."""
    nearest: tuple[Nearest, ...] = ()
    would_reject: str | None = None
    """The gate's decision if its warn-only period were over."""
    steps: tuple[Step, ...] = ()
    chunks: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Chunks that were not embedded, by reason."""
    quarantined: bool = False
    """Kept, but found by no search until a person releases it with `assay restore`."""
    held_off: str = ""
    """What it would have superseded or merged into, why reconsolidation is held off, and what to do about it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgottenMemory:
    """What was forgotten, and since when."""

    memory_id: str
    title: str
    forgotten_at: datetime
    forgotten_by: str
    unchanged: bool = False
    """It was forgotten already; nothing was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TierChange:
    """The tier a memory has now, and the one it had."""

    memory_id: str
    title: str
    tier_before: Tier
    tier: Tier

    @property
    def unchanged(self) -> bool:
        """Whether it had that tier already; then nothing was written."""
        return self.tier is self.tier_before


# --- Labelled saves for measuring decisions ---

UPDATES = frozenset(
    {"changed_number", "negation", "update", "version_bump", "date_change", "name_change", "reversed_arguments"}
)
"""Kinds in which the second note contradicts the first: losing the second note is the worst mistake."""
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


# --- Memories from and for other systems ---


class ImportFormat(StrEnum):
    """A format that memories can be imported from."""

    AUTO = "auto"
    MEM0 = "mem0"
    SERVER_MEMORY = "server-memory"
    CHATGPT = "chatgpt"
    OBSIDIAN = "obsidian"
    MARKDOWN = "markdown"
    JSONL = "jsonl"
    ASSAY = "assay"


class ExportFormat(StrEnum):
    """How memories are written."""

    JSONL = "jsonl"
    """Everything, to be imported again."""
    MARKDOWN = "markdown"
    """Current memories as notes in folders, to be read."""


class ImportLink(NamedTuple):
    """A reference from one imported memory to another, by the source id of the other."""

    target: str
    relation: str
    """What the file calls it, such as `works_at`; kept as the evidence of the edge."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportItem:
    """One memory of a file, ready to be saved. Its draft has a source id and a source hash."""

    draft: Draft
    place: str
    """The file, from the folder that was named."""
    line: int | None = None
    user: str | None = None
    """Whose memory it is, where a file holds those of several users."""
    links: tuple[ImportLink, ...] = ()
    size: int = 0
    """Bytes of the import file that this entry covers, for the progress of the import."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProblem:
    """Something that was not imported, or not whole, and why."""

    place: str
    reason: str
    """A few words to count by, such as `not JSON` or `no text`."""
    detail: str
    line: int | None = None
    partial: bool = False
    """The rest of the entry was imported, without the part that is named."""
    size: int = 0
    """Bytes of the file that it stands for, to tell how far an import is."""

    def __str__(self) -> str:
        where = self.place if self.line is None else f"{self.place}:{self.line}"
        return f"{where}: {self.reason} ({self.detail})"


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """What became of everything in a file."""

    format: str
    counts: Mapping[str, int]
    """Memories by what became of them: `imported`, `updated`, `unchanged`, `quarantined`, `merged`, `rejected`."""
    skipped: Mapping[str, int]
    """What was not imported, by reason."""
    incomplete: Mapping[str, int] = field(default_factory=dict)
    """What was imported without some part, such as a link that leads nowhere; by reason."""
    edges: int = 0
    """Edges that were made of links and relations; those that were there already do not count."""
    users: Mapping[str, int] = field(default_factory=dict)
    """Memories of each user, where the file names users."""
    masked: int = 0
    """Secrets that were masked."""
    chunks: int = 0
    problems: tuple[ImportProblem, ...] = ()
    """Everything that was not imported, or not whole, with its line."""
    notes: tuple[str, ...] = ()
    """What should be known of the import."""
    dry_run: bool = False

    @property
    def total(self) -> int:
        """Memories that were read."""
        return sum(self.counts.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """What an export holds."""

    path: str
    format: str
    memories: int
    by_status: Mapping[str, int]
    edges: int


# --- Documents that were taken in ---

NOT_REQUESTED = ("hidden", "kind")
"""Reasons to skip a file that are not a fault: nobody asked for such files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """Something that was not taken, and why."""

    place: str
    reason: str
    """One of `hidden`, `kind`, `outside`, `link`, `unreadable`, `binary`, `encoding`, `empty`, `size`, `json`,
    `record`, `refused`, `encrypted`, `broken`, `no reader` (an extra that reads it is not installed)."""
    detail: str
    line: int | None = None
    """Of the file, where one line is at fault."""

    def __post_init__(self) -> None:
        # The name of a file may hold bytes that are not text; it must be possible to print it all the same.
        object.__setattr__(self, "place", self.place.encode("utf-8", "backslashreplace").decode())

    @property
    def fault(self) -> bool:
        """Whether it needs attention."""
        return self.reason not in NOT_REQUESTED

    def __str__(self) -> str:
        where = self.place if self.line is None else f"{self.place}:{self.line}"
        return f"{where}: {self.reason} ({self.detail})"


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFiles:
    """Everything that was not taken: all of it counted, what needs attention listed."""

    reasons: Mapping[str, int] = field(default_factory=dict)
    """How often each reason was given."""
    files: tuple[Skip, ...] = ()
    """Files that need attention; those that nobody asked for are only counted."""

    @classmethod
    def of(cls, skips: Sequence[Skip]) -> SkippedFiles:
        """Count and sort what was not taken."""
        reasons = dict(Counter(skip.reason for skip in skips))
        return cls(reasons=reasons, files=tuple(skip for skip in skips if skip.fault))


class Fate(StrEnum):
    """What became of one document."""

    STORED = "stored"
    VERSION = "new version"
    MERGED = "merged"
    SUPERSEDED = "superseded another"
    REJECTED = "rejected"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenSpread:
    """How long the chunks are. Percentiles are values that occur (nearest rank)."""

    chunks: int
    tokens: int
    shortest: int
    median: int
    p95: int
    longest: int

    @classmethod
    def of(cls, counts: Sequence[int]) -> TokenSpread | None:
        """Return the spread of chunk lengths; None without chunks."""
        if not counts:
            return None
        ordered = sorted(counts)
        last = len(ordered) - 1
        return cls(
            chunks=len(ordered),
            tokens=sum(ordered),
            shortest=ordered[0],
            median=ordered[last // 2],
            p95=ordered[min(last, -(-95 * len(ordered) // 100) - 1)],
            longest=ordered[-1],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestReport:
    """What became of every file of a run, and where the time went."""

    files: int
    """Files that were read."""
    documents: int
    """Documents in them: a file of records holds many."""
    fates: Mapping[str, int]
    """Documents by what became of them; see `Fate`."""
    chunks: int
    """Made of new documents and new versions."""
    chunk_tokens: TokenSpread | None
    """None: no chunk was made."""
    chunks_skipped: Mapping[str, int]
    """Chunks that were not embedded, by reason."""
    skipped: SkippedFiles
    missing: tuple[str, ...] = ()
    """Sources in the store, below the named folders, that are no longer on disk."""
    pruned: tuple[str, ...] = ()
    """The missing sources that were superseded, on request."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """`total`, and what of it went into `read`, `chunk`, `embed` and `write`."""
    masked: int = 0
    """Secrets that were masked."""

    @property
    def faults(self) -> tuple[Skip, ...]:
        """Return the skipped files that need attention."""
        return self.skipped.files


# --- The result of indexing a document ---


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class IndexVersions:
    """What an index was built with. Numbers from two different ones are not comparable."""

    chunker: str
    embedder: str
    index: str

    def __post_init__(self) -> None:
        require(self, values.label, "chunker", "embedder", "index")


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexedDocument:
    """One document and its chunks."""

    chunk_tokens: tuple[int, ...] = ()
    """Tokens of each chunk that was embedded."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many chunks were not embedded, by reason: `context` is the embedder's context limit."""
    doc_type: str = ""
    versions: IndexVersions | None = None

    def __post_init__(self) -> None:
        require(self, _counts, "chunk_tokens")
        require(self, _check_skip_counts, "skipped")
        require(self, values.optional_label, "doc_type")

    @property
    def embedded(self) -> int:
        """Chunks that search can find."""
        return len(self.chunk_tokens)

    @property
    def attempted(self) -> int:
        """Chunks the chunker made, embedded or not."""
        return self.embedded + sum(self.skipped.values())


def _counts(numbers: Any, field: str) -> tuple[int, ...]:
    return tuple(values.count(number, field) for number in numbers)


def _check_skip_counts(reasons: Any, field: str) -> dict[str, int]:
    return {values.label(reason, field): values.count(count, field) for reason, count in reasons.items()}
