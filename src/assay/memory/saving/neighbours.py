"""The memories a draft is compared with, and what is to become of the draft beside each of them.

- The decision table: what becomes of a draft that is like a memory.
- Neighbours: nominated by the index, measured exactly, judged by the two checks.
- Copies and floods: a program that saves what others wrote, or many notes that are alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.embedding.protocol import SimilarityProfile
from assay.index import Found, SearchIndexes, SearchView
from assay.memory.saving.agreement import LONGEST_COMPARED, compare_statements
from assay.memory.saving.options import SaveOptions
from assay.memory.saving.pair_evidence import Evidence, read_evidence
from assay.memory.saving.preparing import Prepared, last_headings
from assay.memory.saving.spam_filter import Doubt
from assay.memory.saving.subjects import Labelled, compare_subjects, restates
from assay.records import AuthorKind, Draft, EdgeKind, Filters, LogPosition, MemoryRecord, Nearest, RowKind, Tier
from assay.records.memory import INGESTED_WITH
from assay.storage import IndexPassage, Standing, Work
from assay.text.terms import normalise_phrase, words

# --- The decision table: what becomes of a draft that is like a memory ---
#
# | the draft | same subject | another, or unknown |
# | --- | --- | --- |
# | repeats: adds nothing (>= merge), or says the same in other words | reject > duplicate, else merge | the same |
# | contradicts, or reports a change | supersede | store, joined by a `contradicts` edge |
# | agrees and covers the memory | supersede | store |
# | agrees otherwise | store | store |
#
# All of it from `related` on, less for texts under one label (`LABELLED`, `REPORTED`); below, the draft is stored.
# Similarity only nominates; the thresholds are those of the embedder's profile (0.92, 0.88, 0.75 for the bundled one).
# Texts that name different things are stored side by side, however alike. What agrees supersedes only what it covers,
# so no statement of the memory is lost.

LABELLED = 0.82
"""Share of `related` from which two texts under one label are related, and any with a draft that reports a change: with
the bundled embedder 0.615. Below it, notes that share a trigger mostly say different things about one topic."""
REPORTED = 0.66
"""The same for a draft that reports a change under the same title, or under one label with another value: 0.495."""
REWORDED = 0.25
"""How far between related and merged the similarity of a rewording without a common label has to be."""
REPHRASED = 0.4
"""The same for a note that has only about half of its words in common with the memory."""


class Verdict(StrEnum):
    """What a draft would do to one memory."""

    REJECT = "reject"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    CONTRADICTS = "contradicts"
    SUPPORTS = "supports"
    """Would have merged, but may not touch the memory."""
    STORE = "store"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A draft and a memory like it."""

    similarity: float
    agrees: bool
    same_subject: bool
    adds: bool = False
    """Whether the draft agrees and adds something."""
    distinct: bool = False
    """They are about different things."""
    labelled: bool = False
    """They share a title, trigger or heading."""
    repeats: bool = False
    """The draft says in other words what the memory says, and nothing more."""
    rephrases: bool = False
    """Both have about half of their words in common and all facts: a repetition only if the vectors are very alike."""
    covers: bool = False
    """The draft says everything that the memory says."""
    least: float = 1.0
    """Share of the embedder's `related` from which the two are related: less where they share a label."""
    firm: bool = True
    """The contradiction counts below `related`, too: they correspond in more than a label."""
    names_memory: bool = False
    """The draft says that something changed, and names much of what the memory is about where it says so."""
    denies: bool = False
    """One of them says what the other says, and denies it."""
    reports: bool = False
    """The draft says that something changed."""
    reasons: tuple[str, ...] = ()


def compare_texts(old: Labelled, new: Labelled, similarity: float) -> Pair:
    """What the checks say of a pair."""
    agreed = compare_statements(old.body, new.body)
    old, new = _shorten(old), _shorten(new)
    evidence = read_evidence(old, new, agreed)
    conflict, denies = not agreed.agrees, agreed.only_denies
    reports = tuple(f"says that something changed ({phrase})" for phrase in evidence.reports)
    agreed = replace(agreed, contradictions=(*agreed.contradictions, *reports)) if reports else agreed
    about = compare_subjects(old, new, agreed, repeats=evidence.repeats, mutual=evidence.mutual)
    labelled = bool(evidence.shared) or about.same
    return Pair(
        similarity=similarity,
        agrees=agreed.agrees,
        same_subject=about.same,
        adds=agreed.adds,
        distinct=about.distinct,
        labelled=labelled,
        repeats=evidence.repeats,
        rephrases=evidence.rephrases,
        covers=evidence.covers,
        least=_find_least(evidence, labelled=labelled, conflict=conflict),
        firm=evidence.firm,
        names_memory=evidence.names_old,
        denies=denies,
        reports=bool(reports),
        reasons=(*agreed.contradictions, *agreed.additions, *about.reasons),
    )


def _find_least(evidence: Evidence, *, labelled: bool, conflict: bool) -> float:
    if labelled and evidence.reports and (evidence.same_title or conflict):
        return REPORTED
    return LABELLED if labelled or evidence.reports else 1.0


def _shorten(text: Labelled) -> Labelled:
    """What a text is about shows at its beginning; taking apart a megabyte takes seconds."""
    return replace(text, body=text.body[:LONGEST_COMPARED]) if len(text.body) > LONGEST_COMPARED else text


def decide_pair(pair: Pair, profile: SimilarityProfile) -> Verdict:
    """The table, for one memory."""
    if pair.similarity < profile.related * pair.least:
        return Verdict.STORE
    if pair.distinct:
        return Verdict.CONTRADICTS if pair.names_memory else Verdict.STORE
    if _is_repetition(pair, profile):
        return Verdict.REJECT if pair.similarity > profile.duplicate else Verdict.MERGE
    if pair.agrees:
        return Verdict.SUPERSEDE if pair.same_subject and pair.covers else Verdict.STORE
    if pair.similarity < profile.related and not pair.firm:
        return Verdict.STORE
    return Verdict.SUPERSEDE if pair.same_subject else Verdict.CONTRADICTS


def _is_repetition(pair: Pair, profile: SimilarityProfile) -> bool:
    if not pair.agrees:
        return False
    if not pair.adds and pair.similarity >= profile.merge:
        return True
    if pair.rephrases and pair.similarity >= _between(profile, REPHRASED):
        return True
    return pair.repeats and (pair.labelled or pair.similarity >= _between(profile, REWORDED))


def _between(profile: SimilarityProfile, share: float) -> float:
    """Return the similarity this far on the way from related to merged."""
    return profile.related + share * (profile.merge - profile.related)


def opposes(pair: Pair) -> bool:
    """Whether two texts under one label say different things, however unlike their vectors are."""
    return pair.same_subject and not pair.distinct and (pair.adds or not pair.agrees)


def for_protected(verdict: Verdict) -> Verdict:
    """What is left of a verdict when the memory may not be touched: the draft is stored, and joined to it."""
    spared = {Verdict.SUPERSEDE: Verdict.CONTRADICTS, Verdict.MERGE: Verdict.SUPPORTS}
    return spared.get(verdict, verdict)


ORDER = (Verdict.SUPERSEDE, Verdict.REJECT, Verdict.MERGE, Verdict.CONTRADICTS, Verdict.SUPPORTS, Verdict.STORE)
"""Which of several verdicts a save follows. An update wins over everything: it must not be lost to a copy elsewhere."""

EDGES = {
    Verdict.SUPERSEDE: EdgeKind.SUPERSEDES,
    Verdict.CONTRADICTS: EdgeKind.CONTRADICTS,
    Verdict.SUPPORTS: EdgeKind.SUPPORTS,
}


def foremost(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict a save follows, of those on its neighbours."""
    return min(verdicts, key=ORDER.index, default=Verdict.STORE)


# --- Neighbours: nominated by the index, measured exactly, judged by the two checks ---
#
# Candidates are found before the write lock is taken. Under the lock, memories that changed since are measured too, so
# that two writers with the same note never both store it.

Vector = NDArray[np.float32]
LOOSELY_RELATED = 0.5
"""From this similarity on, a program's draft is compared with what persons wrote: one changed word in a short note can
bring it far below what counts as related."""
PASSAGES_COMPARED = 8
"""Paragraphs that a program's draft is compared with, the nearest first."""
_HOLDING = Filters()
_EVER = Filters(include_superseded=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Nominated:
    """Which memories may be near a draft, and up to where the change log was known then."""

    numbers: tuple[int, ...]
    position: LogPosition
    replaced: tuple[int, ...] = ()
    """Those near a program's draft that hold no longer: it must not bring another's old note back unseen."""
    passages: Mapping[int, float] = field(default_factory=dict)
    """Passages near a program's draft with their similarity, most similar first: it may contradict a paragraph of a
    document whose mean is far away."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbour:
    """A memory near a draft and what the draft would do to it."""

    memory: MemoryRecord
    pair: Pair
    verdict: Verdict
    protected: bool = False
    """Whether this draft may not touch it."""

    def to_nearest(self) -> Nearest:
        """Return the neighbour as the outcome of a save lists it."""
        return Nearest(
            memory_id=self.memory.id,
            title=self.memory.title,
            similarity=self.pair.similarity,
            agrees=self.pair.agrees,
            same_subject=self.pair.same_subject,
            reasons=self.pair.reasons,
        )


def nominate(
    work: Work, indexes: SearchIndexes, prepared: Prepared, standing: Standing, options: SaveOptions
) -> Nominated:
    """Memories with a chunk near the draft's mean or one of its chunks; the draft's vectors are of the model in use."""
    position, model = standing.position, standing.model
    mean = prepared.mean
    if mean is None or prepared.vectors is None or model is None:
        return Nominated(numbers=(), position=position)
    view = indexes.view(work)
    allowed = view.find_allowed(_HOLDING)
    near_mean = view.nearest(mean, model=model, limit=options.fetched, allowed=allowed)
    found = {passage.number: passage.score for passage in near_mean}
    for vector in prepared.vectors[: options.asked] if len(prepared.vectors) > 1 else ():
        for passage in view.nearest(vector, model=model, limit=options.fetched, allowed=allowed):
            found[passage.number] = max(passage.score, found.get(passage.number, passage.score))
    numbers = _owners(view, list(found))
    if not prepared.draft.automated:
        return Nominated(numbers=tuple(sorted(numbers)), position=position)
    replaced = _find_replaced(view, mean, model, near_mean, options) - numbers
    nearest_first = sorted(found.items(), key=lambda passage: (-passage[1], passage[0]))
    return Nominated(
        numbers=tuple(sorted(numbers)),
        position=position,
        replaced=tuple(sorted(replaced)),
        passages=dict(nearest_first),
    )


def _find_replaced(
    view: SearchView, mean: Vector, model: str, near_mean: Sequence[Found], options: SaveOptions
) -> frozenset[int]:
    """Return superseded memories among the first `options.asked` of all; `near_mean` are the current ones."""
    # Looked for among the replaced passages alone: most stores have few of them or none.
    gone = view.nearest(mean, model=model, limit=options.asked, allowed=view.find_allowed_only(_EVER, without=_HOLDING))
    nearest_of_all = sorted([*near_mean, *gone], key=lambda passage: (-passage.score, passage.number))[: options.asked]
    replaced = {passage.number for passage in gone}
    return _owners(view, [passage.number for passage in nearest_of_all if passage.number in replaced])


def _owners(view: SearchView, passages: Sequence[int]) -> frozenset[int]:
    owners = view.memories_of(np.unique(passages)) if passages else np.zeros(0, np.int64)
    return frozenset(int(number) for number in owners if number >= 0)


def find_changed_since(work: Work, position: LogPosition) -> tuple[int, ...] | None:
    """The numbers of memories that changed after a position; None when the log does not reach back that far."""
    ids: dict[str, None] = {}
    while True:
        followed = work.changes.follow(position)
        if followed.must_rebuild:
            return None
        if not followed.changes:
            return tuple(work.memories.numbers_of(list(ids)).values()) if ids else ()
        ids |= dict.fromkeys(_memory_id(change.kind, change.row_id) for change in followed.changes)
        position = followed.position


def _memory_id(kind: RowKind, row_id: str) -> str:
    return row_id if kind is RowKind.MEMORY else row_id.rpartition("#")[0]


_Key = tuple[str, datetime, float]


class _Near(NamedTuple):
    """A memory and how like the draft it is."""

    similarity: float
    memory: MemoryRecord

    @property
    def key(self) -> _Key:
        """Equal as long as comparing it would say the same."""
        return (self.memory.id, self.memory.updated_at, self.similarity)


class Judge:
    """Measures and judges the nearest of some memories; a pair is judged once, also when it is looked at again."""

    def __init__(self, prepared: Prepared, model: str, profile: SimilarityProfile, options: SaveOptions) -> None:
        self._prepared = prepared
        self._model = model
        self._profile = profile
        self._options = options
        self._judged: dict[_Key, Pair] = {}

    def nearest(self, work: Work, numbers: Iterable[int]) -> list[Neighbour]:
        """The most similar of these memories that still hold, most similar first."""
        mean = self._prepared.mean
        if mean is None:
            return []
        means = work.vectors.of_memories(list(numbers), self._model)
        ranked = sorted(((_cosine(mean, other), number) for number, other in means.items()), key=_nearest_first)
        near = self._choose_nearest(self._holding(work, ranked))
        self._compare(work, near)
        return [self._neighbour(neighbour) for neighbour in near]

    def measure(self, work: Work, memory: MemoryRecord) -> float:
        """Return the similarity of a memory to the draft; 0 where one of them has no vector."""
        mean = self._prepared.mean
        numbers = work.memories.numbers_of([memory.id])
        means = work.vectors.of_memories(list(numbers.values()), self._model)
        return 0.0 if mean is None else max((_cosine(mean, other) for other in means.values()), default=0.0)

    def of_passages(self, work: Work, passages: Mapping[int, float], known: Collection[Neighbour]) -> list[Neighbour]:
        """Return persons' documents with a paragraph near a program's draft that the draft restates differently."""
        near = dict(islice(passages.items(), PASSAGES_COMPARED))
        if not near:
            return []
        # Paragraphs of one shape, such as entries of a diary, are related and differ without contradiction: memories
        # are read only for paragraphs that the draft restates or nearly repeats.
        rows = {row.number: row for row in work.passages.by_numbers(list(near))}
        compared_rows = [
            (rows[number], restated)
            for number, similarity in near.items()
            if number in rows
            and (
                (restated := restates(rows[number].text, self._prepared.draft.body))
                or similarity >= self._profile.merge
            )
        ]
        if not compared_rows:
            return []
        memories = work.memories.by_numbers(sorted({row.memory_number for row, _ in compared_rows}))
        judged = {neighbour.memory.id for neighbour in known if neighbour.verdict is not Verdict.STORE}
        found: list[Neighbour] = []
        for row, restated in compared_rows:
            memory = memories.get(row.memory_number)
            if memory is None or memory.id in judged or memory.superseded_at or not self._is_protected(memory):
                continue
            compared = self._of_passage(memory, row, near[row.number], restated=restated)
            if compared is not None:
                judged.add(memory.id)
                found.append(compared)
        return found[: self._options.neighbours]

    def _of_passage(
        self, memory: MemoryRecord, passage: IndexPassage, similarity: float, *, restated: bool
    ) -> Neighbour | None:
        """Compare the draft with one paragraph; None: both may stand side by side."""
        old = replace(label_memory(memory, last_headings([passage.heading_path])), body=passage.text)
        pair = compare_texts(old, self._prepared.labelled, similarity)
        verdict = Verdict.CONTRADICTS if restated else decide_pair(pair, self._profile)
        if verdict is Verdict.STORE:
            return None
        if verdict is Verdict.REJECT:
            # It repeats a paragraph and not the document: nothing is turned away for that.
            verdict = Verdict.MERGE
        return Neighbour(memory=memory, pair=pair, verdict=verdict, protected=True)

    def _choose_nearest(self, holding: Iterator[_Near]) -> list[_Near]:
        """The nearest; of those that a program may not touch, as many again, so that its own copies hide none."""
        most = self._options.neighbours
        near = list(islice(holding, most))
        if not self._prepared.draft.automated:
            return near
        left = most - sum(self._is_protected(neighbour.memory) for neighbour in near)
        related = takewhile(lambda one: one.similarity >= LOOSELY_RELATED, holding)
        return near + list(islice((neighbour for neighbour in related if self._is_protected(neighbour.memory)), left))

    def _shares_label(self, memory: MemoryRecord) -> bool:
        """Whether title or a trigger is the same; headings are shared by many documents."""
        draft = self._prepared.draft
        mine, theirs = ({normalise_phrase(label) for label in (one.title, *one.triggers)} for one in (draft, memory))
        return not mine.isdisjoint(theirs)

    def _is_protected(self, memory: MemoryRecord) -> bool:
        return is_protected(memory, self._prepared.draft)

    def _holding(self, work: Work, ranked: Sequence[tuple[float, int]]) -> Iterator[_Near]:
        """Yield the ranked memories that are current; they are read in small groups, since most are never needed."""
        size = self._options.neighbours
        for start in range(0, len(ranked), size):
            some = ranked[start : start + size]
            memories = work.memories.by_numbers([number for _, number in some])
            for similarity, number in some:
                if number in memories and memories[number].superseded_at is None:
                    yield _Near(similarity, memories[number])

    def _compare(self, work: Work, near: Sequence[_Near]) -> None:
        """Compare the draft with those it was not compared with before."""
        # Below this similarity the draft is stored in any case; the slow checks are skipped, since the lock is held.
        wanted = [neighbour for neighbour in near if self._is_compared(neighbour) and neighbour.key not in self._judged]
        if not wanted:
            return
        draft = self._prepared.labelled
        paths = work.memories.headings_of([neighbour.memory.id for neighbour in wanted])
        for neighbour in wanted:
            old = label_memory(neighbour.memory, last_headings(paths.get(neighbour.memory.id, ())))
            self._judged[neighbour.key] = compare_texts(old, draft, neighbour.similarity)

    def _is_compared(self, near: _Near) -> bool:
        if self._is_protected(near.memory):
            return near.similarity >= LOOSELY_RELATED
        return near.similarity >= self._profile.related * REPORTED

    def _neighbour(self, near: _Near) -> Neighbour:
        similarity, memory = near
        if not self._is_compared(near):
            return Neighbour(memory=memory, pair=_unlike(similarity), verdict=Verdict.STORE)
        pair = self._judged[near.key]
        protected = self._is_protected(memory)
        verdict = decide_pair(pair, self._profile)
        if protected and verdict is Verdict.STORE and opposes(pair) and self._shares_label(memory):
            verdict = Verdict.CONTRADICTS
        return Neighbour(memory=memory, pair=pair, verdict=verdict, protected=protected)


def _unlike(similarity: float) -> Pair:
    return Pair(similarity=similarity, agrees=True, same_subject=False, reasons=("too unlike to be compared",))


def label_memory(memory: MemoryRecord, headings: tuple[str, ...] = ()) -> Labelled:
    """Convert a stored memory to the form that the checks read."""
    return Labelled(
        title=memory.title,
        body=memory.body,
        triggers=memory.triggers,
        headings=headings,
        source_id=memory.source_id,
    )


def is_protected(memory: MemoryRecord, draft: Draft) -> bool:
    """Whether a draft may not replace a memory: a program wrote the draft, and a person wrote the memory.

    A document that was taken in from a file gives way to the same file taken in again, and to no other program.
    """
    if not draft.automated:
        return False
    taken_in_again = draft.written_with == memory.written_with == INGESTED_WITH
    return memory.tier is Tier.CONSTITUTIONAL or (memory.author.kind is AuthorKind.PERSON and not taken_in_again)


def _cosine(one: Vector, other: Vector) -> float:
    """Return the cosine, rounded to the precision of float16 vectors, so that equal texts have exactly 1."""
    return min(1.0, round(float(one @ other), 6))


def _nearest_first(ranked: tuple[float, int]) -> tuple[float, int]:
    similarity, number = ranked
    return -similarity, number


# --- Copies and floods: a program that saves what others wrote, or many notes that are alike ---
#
# Whoever takes another's note over word for word and adds a sentence may have something to say, but not in a second
# note beside the first; nor may a note that holds no longer come back under another name. A note that speaks against
# another's is an update and is stored as ever; of those, and of notes close to any, one principal may save so many in
# a day. All of it is kept for a person to look at, never lost. Whoever works alone copies nobody.

WITHIN = timedelta(days=1)
TAKEN_OVER = 0.8
"""Share of the pairs of words of a note that stand in another, from which the other is a copy."""
REPLACING = (Verdict.SUPERSEDE, Verdict.MERGE)
"""What keeps a note up to date adds none."""
SHORTEST = 12
"""Words below which two notes may be alike by chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyWatch:
    """Looks at one draft of a program, inside the transaction that would keep it."""

    work: Work
    profile: SimilarityProfile
    options: SaveOptions
    now: datetime

    def doubt(
        self, draft: Draft, near: Sequence[Neighbour], replaced: Sequence[int], *, enforced: bool
    ) -> Doubt | None:
        """What is doubtful about a draft beside the memories near it; `replaced` are those that hold no longer."""
        # A gate that is enforced turns away what merely repeats.
        holding = [
            neighbour.memory for neighbour in near if neighbour.pair.agrees and (neighbour.pair.adds or not enforced)
        ]
        gone = self.work.memories.by_numbers(replaced).values() if replaced else ()
        found = find_copied(
            draft, (*holding, *(memory for memory in gone if memory.superseded_at)), self.work.scope.principal
        )
        return found or self._beside_others(near) or self._alike(near)

    def _beside_others(self, near: Iterable[Neighbour]) -> Doubt | None:
        principal = self.work.scope.principal
        if not any(
            neighbour.memory.written_by != principal and neighbour.verdict is not Verdict.STORE for neighbour in near
        ):
            return None
        most = self.options.copies
        said = f"at least {most} notes close to what others wrote, within a day"
        return Doubt("copies", said, kept=True) if self._reaches(most, self.profile.related, of_others=True) else None

    def _alike(self, near: Iterable[Neighbour]) -> Doubt | None:
        replacing = any(neighbour.verdict in REPLACING and not neighbour.protected for neighbour in near)
        if replacing or not any(neighbour.pair.similarity >= self.profile.merge for neighbour in near):
            return None
        most = self.options.alike
        said = f"at least {most} notes that are all alike, within a day"
        return Doubt("copies", said, kept=True) if self._reaches(most, self.profile.merge) else None

    def _reaches(self, most: int, similarity: float, *, of_others: bool = False) -> bool:
        """Whether the writer has saved so many notes this similar to another within a day."""
        count = self.work.saves.count_alike(
            self.work.scope.principal,
            similarity=similarity,
            since=self.now - WITHIN,
            enough=most,
            of_others=of_others,
        )
        return count >= most


def find_copied(draft: Draft, others: Iterable[MemoryRecord], principal: str) -> Doubt | None:
    """Return a doubt about a draft that copies the note of another writer; None if it copies none."""
    for other in others:
        if other.written_by != principal and share_taken_over(other.body, draft.body) >= TAKEN_OVER:
            again = "" if other.superseded_at is None else ", which holds no longer"
            said = f"the note {other.id} of another writer{again}, word for word"
            return Doubt("copy", f"{said}; save what is new as a note of its own", kept=True)
    return None


def share_taken_over(text: str, other: str) -> float:
    """The share of a text's pairs of words that stand in another text; 0 for a short one."""
    said = words(text)
    if len(said) < SHORTEST:
        return 0.0
    pairs = set(pairwise(said))
    return len(pairs & set(pairwise(words(other)))) / len(pairs)
