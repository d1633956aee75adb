"""Saves: the request, each step's finding, the decision, labelled test cases, and imports.

- Writes under test: expected and actual results, and pairs that contradict each other.
- A save from draft to decision.
- Labelled saves for measuring decisions.
- Memories from and for other systems.
- The result of indexing a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, one_of, require
from assay.records.memory import Format, Tier

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
    """Whether it says that something is not as the older note has it."""
    facts: tuple[str, ...] = ()
    """What both notes say together and a merge must keep, word for word."""

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
    """Whether a `contradicts` edge joins the two."""
    kept: str = ""
    """The text that now holds what was saved; empty where it was turned away."""

    def __post_init__(self) -> None:
        require(self, one_of(SaveDecision), "decided")
        require(self, values.flag, "old_live", "new_live", "marked")
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
# A draft tells what its writer gave from what was left out: an update takes over from the memory it supersedes what
# was left out. `make_draft` makes one from arguments of which None means "not given".

INHERITED = ("triggers", "tier", "folder", "tags", "context_type", "entity_type", "metadata")
"""Fields that an update takes over from what it supersedes, unless they are given."""
_INHERITED = frozenset(INHERITED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A memory that somebody wants to keep. What the store decides (id, times, version) is not in it."""

    title: str
    body: str
    triggers: tuple[str, ...] = ()
    tier: Tier = Tier.NORMAL
    format: Format = Format.MARKDOWN
    folder: str = ""
    rel_path: str = ""
    context_type: str = ""
    entity_type: str = "KNOWLEDGE_ARTIFACT"
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_id: str | None = None
    source_hash: str | None = None
    """None: made from the content."""
    valid_from: datetime | None = None
    """None: now."""
    supersedes: str | None = None
    """The id of the memory whose place it takes; None: the saver decides what it replaces."""
    written_with: str = ""
    automated: bool = False
    """Written by a program on its own; such a draft never replaces a constitutional or hand-written memory."""
    given: frozenset[str] | None = None
    """Which of `INHERITED` the writer gave, be it an empty value; None: those that are not at their default."""

    def __post_init__(self) -> None:
        require(self, values.label, "title", "entity_type")
        object.__setattr__(self, "body", values.text(self.body, "body", empty=False))
        require(self, values.labels, "triggers", "tags")
        require(self, one_of(Tier), "tier")
        require(self, one_of(Format), "format")
        require(self, values.optional_short_label, "folder")
        require(self, values.optional_label, "rel_path", "context_type", "written_with")
        require(self, values.json_object, "metadata")
        allow(self, values.short_label, "source_id")
        allow(self, values.label, "source_hash")
        allow(self, values.moment, "valid_from")
        allow(self, values.identifier, "supersedes")
        require(self, values.flag, "automated")
        if self.given is not None and not _INHERITED.issuperset(self.given):
            unknown = sorted(set(self.given) - _INHERITED)
            raise BadValue(f"given names {', '.join(unknown)}", remedy=f"Name only {', '.join(INHERITED)}.")

    def was_given(self, name: str) -> bool:
        """Whether the writer gave one of the fields in `INHERITED`."""
        return getattr(self, name) != _DEFAULTS[name] if self.given is None else name in self.given


_DEFAULTS: Mapping[str, Any] = {
    field.name: field.default_factory() if field.default_factory is not MISSING else field.default
    for field in fields(Draft)
    if field.name in INHERITED
}


def make_draft(
    *,
    title: str,
    body: str,
    triggers: Sequence[str] | None = None,
    tier: Tier | None = None,
    folder: str | None = None,
    tags: Sequence[str] | None = None,
    context_type: str | None = None,
    entity_type: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    **more: Any,
) -> Draft:
    """A draft of what was given: None means not given, which an update takes over from what it supersedes.

    An empty value is a value: `tags=()` saves without tags, whatever the older memory has. `more` are further fields of
    a draft, such as format or source_id.
    """
    inheritable: dict[str, Any] = {
        "triggers": None if triggers is None else tuple(triggers),
        "tier": tier,
        "folder": folder,
        "tags": None if tags is None else tuple(tags),
        "context_type": context_type,
        "entity_type": entity_type,
        "metadata": metadata,
    }
    given = {name: value for name, value in inheritable.items() if value is not None}
    return Draft(title=title, body=body, **given, **more, given=frozenset(given))


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
    """A memory like the draft, and what the two checks said of the pair."""

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
    """The new memory, the one merged into, or the duplicate it was rejected for; None when only quality spoke."""
    reason: str = ""
    """Why it was rejected or is in quarantine; empty: neither."""
    unchanged: bool = False
    """The same source with the same content was there already: nothing was written."""
    version: int = 1
    superseded: tuple[str, ...] = ()
    inherited: tuple[Inherited, ...] = ()
    """What was not given and therefore taken over from what is superseded."""
    contradicts: tuple[str, ...] = ()
    masks: tuple[Mask, ...] = ()
    quality: Quality | None = None
    """None: the step was off."""
    nearest: tuple[Nearest, ...] = ()
    would_reject: str | None = None
    """What the gate would have said after its warn-only period."""
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


# --- Labelled saves for measuring decisions ---

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
    """Bytes of the file that it stands for, to tell how far an import is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportProblem:
    """Something that was not imported, or not whole, and why."""

    place: str
    reason: str
    """A few words to count by, such as `not JSON` or `no text`."""
    detail: str
    line: int | None = None
    partial: bool = False
    """What stands there was imported all the same, without the part that is named."""
    size: int = 0

    def __str__(self) -> str:
        where = self.place if self.line is None else f"{self.place}:{self.line}"
        return f"{where}: {self.reason} ({self.detail})"


# --- The result of indexing a document ---


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class IndexVersions:
    """What an index was made with. Numbers from two of these are not comparable without a word about it."""

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
        require(self, _skipped, "skipped")
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


def _skipped(reasons: Any, field: str) -> dict[str, int]:
    return {values.label(reason, field): values.count(count, field) for reason, count in reasons.items()}
