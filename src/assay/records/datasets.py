"""Golden datasets: documents, cases, expectations, and their overview.

- Documents, cases and datasets.
- The question of a case within a conversation.
- Datasets in numbers.
- Labels of people: how far they agree, and datasets written with them.
- Proposed questions, and what people decide about them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache, cached_property, partial
from itertools import chain
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any, cast

from assay.errors import BadValue
from assay.hashing import HASH_PREFIX, canonical_json, hash_pieces, list_pieces
from assay.records import values
from assay.records.answers import EquivalenceClasses, FolderMode, GoldAnchors
from assay.records.evaluations import Agreement
from assay.records.evidence import JudgmentSource
from assay.records.fields import allow, one_of, require
from assay.records.memory import Edge, Format, Tier
from assay.records.saving import SaveTask
from assay.records.searching import MAX_QUERY, Intent

# --- Documents, cases and datasets ---
#
# One model for every file format. What identifies a dataset is its content: `Dataset.content_hash` is part of every
# number measured on it. It does not move with the order of documents, cases or grades, nor with words about the
# dataset.


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One thing that can be found: an entity, a note, a memory."""

    id: str
    text: str
    title: str = ""
    entity_type: str = "KNOWLEDGE_ARTIFACT"
    format: Format = Format.MARKDOWN
    rel_path: str = ""
    folder: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tier: Tier = Tier.NORMAL
    triggers: tuple[str, ...] = ()
    dated: datetime | None = None

    def __post_init__(self) -> None:
        require(self, values.short_label, "id")
        require(self, values.text, "text")
        require(self, values.optional_label, "title", "rel_path", "folder")
        require(self, values.label, "entity_type")
        require(self, one_of(Format), "format")
        require(self, values.labels, "tags", "triggers")
        require(self, values.json_object, "metadata")
        require(self, one_of(Tier), "tier")
        allow(self, values.moment, "dated")


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """How relevant one document is to one query, and the source of that grade."""

    document_id: str
    grade: int
    source: JudgmentSource = JudgmentSource.MANUAL
    annotator: str = ""
    confidence: float = 1.0
    channels: tuple[str, ...] = ()
    """Which channels had surfaced it when it was judged."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "document_id")
        require(self, values.whole, "grade")
        require(self, one_of(JudgmentSource), "source")
        require(self, values.optional_label, "annotator")
        require(self, values.share, "confidence")
        require(self, values.labels, "channels")


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionContext:
    """The place of a query within a session."""

    session_id: str
    working_memory: tuple[str, ...] = ()
    turn: int = 0

    def __post_init__(self) -> None:
        require(self, values.short_label, "session_id")
        require(self, values.labels, "working_memory")
        require(self, values.count, "turn")


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """An earlier turn of a conversation."""

    speaker: str
    text: str

    def __post_init__(self) -> None:
        require(self, values.short_label, "speaker")
        require(self, values.text, "text")

    @property
    def by_user(self) -> bool:
        """Whether the turn is the user's, not the assistant's."""
        return self.speaker.casefold() in _WHO_ASKS


_WHO_ASKS = frozenset({"user", "human"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One query and what a good system does with it."""

    id: str
    query: str
    grades: tuple[Grade, ...] = ()
    declared_relevant: tuple[str, ...] | None = field(default=None, metadata={"moves_numbers": False})
    """What a file lists as relevant where its grades disagree. Grades count; this is kept for checks."""
    top_chunk: str | None = None
    """The one passage that should come first, as `document:chunk:position`."""
    anchors: GoldAnchors | None = None
    answerable: bool = True
    reference_answer: str | None = None
    category: str = ""
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    vault: str = ""
    intent: Intent | None = None
    folder_mode: FolderMode = FolderMode.OFF
    session: SessionContext | None = None
    equivalence: EquivalenceClasses | None = None
    causal_chain: tuple[str, ...] = ()
    harvested_at: datetime | None = None
    history: tuple[Turn, ...] = ()
    """Earlier turns of the same conversation, oldest first."""
    asked_at: datetime | None = None
    """The time of the query, where its answer depends on that."""
    rubric: tuple[str, ...] = ()
    """What a good answer must say or do, one demand each; for judges."""
    save: SaveTask | None = None
    """What is to be saved, where the case is a save and not a question."""
    current_value: str | None = None
    """The value that holds now of what is asked, as texts state it."""
    outdated_values: tuple[str, ...] = ()
    """Values that held before, as texts state them."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "id")
        object.__setattr__(self, "query", values.text(self.query, "query", empty=False))
        allow(self, values.labels, "declared_relevant")
        allow(self, values.label, "top_chunk")
        require(self, values.flag, "answerable")
        allow(self, values.text, "reference_answer")
        require(self, values.optional_label, "category", "difficulty", "vault")
        require(self, values.labels, "tags", "causal_chain")
        allow(self, one_of(Intent), "intent")
        require(self, one_of(FolderMode), "folder_mode")
        allow(self, values.moment, "harvested_at", "asked_at")
        object.__setattr__(self, "rubric", tuple(values.text(criterion, "rubric") for criterion in self.rubric))
        self._check_values()
        if self.anchors is not None and self.anchors.answerable != self.answerable:
            raise BadValue(
                f"case {self.id!r} is answerable and its anchors say it is not, or the other way round",
                remedy="Set it once, on the case.",
            )
        twice = _find_repeats([(grade.document_id, grade.source, grade.annotator) for grade in self.grades])
        if twice:
            raise BadValue(
                f"case {self.id!r} grades {twice[0]!r} twice by the same judge", remedy="Keep one of the two grades."
            )

    def _check_values(self) -> None:
        allow(self, partial(values.text, empty=False), "current_value")
        outdated = tuple(values.text(value, "outdated_values", empty=False) for value in self.outdated_values)
        object.__setattr__(self, "outdated_values", outdated)
        if outdated and self.current_value is None:
            raise BadValue(
                f"case {self.id!r} has outdated values and no current one", remedy="Name the value that holds now."
            )
        if self.current_value in outdated:
            raise BadValue(
                f"case {self.id!r} has {self.current_value!r} both as its current value and as an outdated one",
                remedy="Remove one of the two.",
            )

    @property
    def turn(self) -> int:
        """Which question of its conversation this is, from 1."""
        return 1 + sum(turn.by_user for turn in self.history)

    @property
    def labels(self) -> dict[str, int]:
        """The grade of each document; where several judged one, the most trusted, then the highest."""
        found = {grade.document_id: grade.grade for grade in self.grades}
        if len(found) == len(self.grades):
            return found
        ordered = sorted(self.grades, key=lambda one: (one.confidence, one.grade))
        best = {grade.document_id: grade.grade for grade in ordered}
        return {grade.document_id: best[grade.document_id] for grade in self.grades}


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Documents and cases, with how grades are read and what must be reached."""

    name: str
    documents: tuple[Document, ...]
    cases: tuple[Case, ...]
    version: str = "1.0.0"
    description: str = ""
    created_at: str = ""
    """When it was written, in the words of its authors."""
    lowest_grade: int = 0
    highest_grade: int = 3
    relevance_level: int = 2
    """From this grade on a document counts as relevant."""
    ranked_unit: str = "entity"
    floors: Mapping[str, float] = field(default_factory=dict)
    """What a gate demands, by metric; a latency's floor is a ceiling."""
    edges: tuple[Edge, ...] = ()
    """Between memories, for datasets of an agent's memory."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "name", "version", "ranked_unit")
        require(self, values.text, "description")
        require(self, values.optional_label, "created_at")
        require(self, values.whole, "lowest_grade", "highest_grade", "relevance_level")
        if not self.lowest_grade <= self.relevance_level <= self.highest_grade:
            raise BadValue(
                f"{self.name} reads grade {self.relevance_level} as relevant on a scale from "
                f"{self.lowest_grade} to {self.highest_grade}",
                remedy="Give a relevance level within the scale.",
            )
        object.__setattr__(
            self, "floors", {values.label(k, "floors"): values.finite(v, f"floors.{k}") for k, v in self.floors.items()}
        )
        for kind, ids in (("document", [d.id for d in self.documents]), ("case", [c.id for c in self.cases])):
            twice = _find_repeats(ids)
            if twice:
                raise BadValue(f"{self.name} has the {kind} id {twice[0]!r} twice", remedy=f"Make {kind} ids unique.")

    @cached_property
    def by_id(self) -> Mapping[str, Document]:
        """Documents by id."""
        return {document.id: document for document in self.documents}

    @cached_property
    def has_tiers(self) -> bool:
        """Whether some document is more or less important than others."""
        return any(document.tier is not Tier.NORMAL for document in self.documents)

    @cached_property
    def corpus_hash(self) -> str:
        """Hash of the documents, independent of their order."""
        return hash_pieces(_write_hashes(self.documents))

    @cached_property
    def content_hash(self) -> str:
        """Identity of everything that moves a number: documents, cases, how grades are read."""
        scale = [self.lowest_grade, self.highest_grade, self.relevance_level, self.ranked_unit]
        parts = ([canonical_json(self.corpus_hash)], _write_hashes(self.cases), [canonical_json(scale)])
        edges = _write_hashes(self.edges)
        return hash_pieces(chain("[", *(chain(part, ",") for part in parts), edges, "]"))


def _write_hashes(records: tuple[Document, ...] | tuple[Case, ...] | tuple[Edge, ...]) -> Iterator[str]:
    """The JSON of the hashes of records, in an order of their own: a large corpus is never one text in memory."""
    digests = sorted(hashlib.sha256(_write_canonical(record).encode()).digest() for record in records)
    return list_pieces(f'"{HASH_PREFIX}{digest.hex()}"' for digest in digests)


def _write_canonical(value: Any) -> str:
    """The canonical JSON of a record, without what is at its default so that a new field changes no old hash.

    Written as text at once: as plain values first, hashing a dataset took a quarter of the time of a run.
    """
    kind = type(value)
    if kind in (str, int):
        return encode_basestring(value) if kind is str else repr(value)
    if (known := _hashed_fields(cast("Hashable", kind))) is not None:
        read, names, defaults = known
        given = zip(names, read(value), defaults, strict=True)
        return f"{{{','.join([name + _write_canonical(one) for name, one, default in given if one != default])}}}"
    if isinstance(value, Mapping):
        texts = {str(key): _write_canonical(inner) for key, inner in value.items()}
        return f"{{{','.join(f'{encode_basestring(key)}:{text}' for key, text in sorted(texts.items()))}}}"
    if isinstance(value, (list, tuple, set, frozenset)):
        written = list(map(_write_canonical, value))
        ordered = isinstance(value, (list, tuple)) and not any(isinstance(inner, Grade) for inner in value)
        return f"[{','.join(written if ordered else sorted(written))}]"
    return canonical_json(value.isoformat() if isinstance(value, datetime) else value)


@cache
def _hashed_fields(kind: Hashable) -> tuple[Callable[[Any], tuple[Any, ...]], list[str], list[Any]] | None:
    """What reads the fields of a record that move numbers, their names as JSON, and their defaults; None: no record."""
    if not is_dataclass(kind):
        return None
    counted = [field for field in fields(kind) if field.compare and field.metadata.get("moves_numbers", True)]
    counted.sort(key=lambda field: field.name)
    names = [field.name for field in counted]
    # Of a single name, `attrgetter` gives the value and not a tuple.
    read = attrgetter(*names) if len(names) > 1 else lambda record: tuple(getattr(record, name) for name in names)
    return read, [f'"{field.name}":' for field in counted], list(map(_default, counted))


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _find_repeats(ids: list[Any]) -> list[Any]:
    seen: set[Any] = set()
    return [id_ for id_ in ids if id_ in seen or seen.add(id_)]  # type: ignore[func-returns-value] # add returns None


# --- The question of a case within a conversation ---
#
# A retriever gets one text. Which one is a choice that moves numbers, so it is made here, once, and kept with the run
# as part of its subject: two choices can be compared like two systems.


class Asking(StrEnum):
    """Which text of a conversation is the query."""

    LAST = "last"
    """The question alone."""
    USER = "user"
    """Every turn of the user, oldest first, the question last."""
    CONVERSATION = "conversation"
    """Both sides, each turn as `speaker: text`."""


def build_query(case: Case, asking: Asking) -> str:
    """The text of a case; the oldest turns are left out where all of them would be too long to ask."""
    if asking is Asking.LAST or not case.history:
        return case.query
    if asking is Asking.USER:
        earlier = [turn.text for turn in case.history if turn.by_user]
        return _newest([*earlier, case.query])
    return _newest([*(f"{turn.speaker}: {turn.text}" for turn in case.history), f"user: {case.query}"])


def _newest(lines: list[str]) -> str:
    kept: list[str] = []
    length = 0
    for line in reversed(lines):
        length += len(line) + 1
        if kept and length > MAX_QUERY:
            break
        kept.append(line)
    return "\n".join(reversed(kept))


# --- Datasets in numbers ---


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedDataset:
    """A dataset as a list shows it."""

    name: str
    version: str
    bundled: bool
    """Whether it comes with Assay."""
    documents: int
    cases: int
    content_hash: str
    imported_at: datetime | None = None
    """None: it comes with Assay."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastMedianMost:
    """Least, middle and most of something."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetOverview:
    """One dataset in numbers."""

    name: str
    version: str
    description: str
    created_at: str
    """When it was written, in the words of its authors; empty: they do not say."""
    tag_hint: str
    content_hash: str
    corpus_hash: str
    scale: tuple[int, int, int]
    """Lowest grade, highest grade, the lowest that is relevant."""
    ranked_unit: str
    floors: Mapping[str, float]
    documents: int
    words: LeastMedianMost | None
    """Of a document; None where there are no documents."""
    entity_types: Mapping[str, int]
    formats: Mapping[str, int]
    cases: int
    categories: Mapping[str, int]
    difficulties: Mapping[str, int]
    unanswerable: int
    anchored: int
    """Cases whose gold is a place in a file."""
    harvested: int
    """Cases that were taken from logged searches."""
    judgments: int
    grades: Mapping[int, int]
    with_rubric: int
    """Cases that say what a good answer must do."""
    surfaced_by: Mapping[str, int]
    """How many graded documents each channel had found when they were labelled; empty: not recorded."""
    label_sources: Mapping[str, int]
    """How many grades each source gave: `manual`, `validated`, `implicit` and so on."""
    relevant: LeastMedianMost | None
    """Documents that are relevant to a case; None where nothing is judged."""
    best_precision_at_5: float | None
    """What precision@5 would be if everything relevant came first: a floor above it cannot be met."""


# --- Labels of people ---


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Two people."""

    first: str
    second: str
    pairs: int
    """Labelled by both."""
    same: int
    """With the same grade."""
    kappa: Agreement
    """Quadratic weights: two grades apart is worse than one."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair that people grade differently."""

    case_id: str
    document_id: str
    grades: Mapping[str, int]
    """By annotator."""

    @property
    def apart(self) -> int:
        """How far the grades lie apart."""
        return max(self.grades.values()) - min(self.grades.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class AgreementReport:
    """All annotators together."""

    annotators: Mapping[str, int]
    """How many pairs each has graded."""
    pairwise: tuple[Pairwise, ...]
    alpha: Agreement
    """Krippendorff's, ordinal."""
    disagreements: tuple[Disagreement, ...]
    """The farthest apart first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AppliedLabels:
    """A dataset that was written with labels in it."""

    path: str
    cases: int
    grades: int
    """Labels given by people."""
    accepted: int
    """Generated cases that count from now on."""
    rejected: int
    """Generated cases that people found wrong; they are left out."""
    strangers: int
    """Labels of cases that the dataset does not have."""
    reworded: int = 0
    """Cases whose question was put in other words."""


# --- Proposed questions, and what people decide about them ---


class ReviewDecision(StrEnum):
    """What a person says of a proposed question."""

    KEEP = "keep"
    DROP = "drop"
    UNDO = "undo"
    """Take one's own last decision about it back."""


class ReviewState(StrEnum):
    """What became of a proposed question so far."""

    OPEN = "open"
    """Nobody decided yet."""
    KEPT = "kept"
    DROPPED = "dropped"
    UNREAD = "kept unread"
    """Kept by a program; no person has read it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewedQuestion:
    """A proposed question, and what was decided about it."""

    case_id: str
    question: str
    """As it is asked from now on."""
    proposed: str
    """As it was proposed."""
    answer: str
    rel_path: str
    """The document that answers it."""
    heading_path: str
    quotes: tuple[str, ...]
    """What the document says there."""
    state: ReviewState
    reviewed_by: str
    """Who decided last; empty: nobody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedQuestions:
    """The proposed questions of a dataset, and how far their review is."""

    dataset: str
    questions: tuple[ReviewedQuestion, ...]
    kept: int
    """Those that nobody has read included."""
    dropped: int
    left: int
    last: str
    """The case that the caller decided last; empty: none."""
