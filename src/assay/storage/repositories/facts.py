"""Facts that memories state, and since when another one holds instead.

A memory's facts are read from its text when the text is written, and go with it. Which of them still hold is decided
by `settle` alone: it compares all facts on a topic in the order of time. So undoing a save is settling its topics
again, and nothing can be left behind.

- Rows of facts.
- Which fact ends which.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from itertools import groupby
from typing import Any, NamedTuple, Self

from sqlalchemy import and_, bindparam, delete, func, select, type_coerce, update

from assay.records import AuthorKind, MemoryRecord, Tier
from assay.records.memory import INGESTED_WITH, author_of
from assay.storage.repositories.base import Bound, Meta, Repository, among, mine
from assay.storage.rows import TextType
from assay.storage.tables import memories, memory_facts
from assay.text.facts import StatedFact, is_same_value, normalise_name, read_facts
from assay.text.relations import RelationKind

MOST_ON_A_TOPIC = 500
"""Facts on one topic that are compared: those that hold, then the newest of those that ended. A diary that states one
thing every day must not stop a save, and what it states must not push other facts out of sight."""


class StoredFact(NamedTuple):
    """A fact as it is stored, with who wrote its memory."""

    memory_id: str
    position: int
    subject: str
    relation: str
    topic: str
    value: str
    shown: str
    kind: RelationKind
    negated: bool
    replaces: str
    is_change: bool
    start: int
    stop: int
    valid_from: datetime
    valid_to: datetime | None
    """When another fact took its place; None: it holds."""
    ended_by: str | None
    """The memory with that other fact."""
    confirmed_at: datetime | None
    """When a person said that it holds after all: nothing that was written before ends it."""
    restated_at: datetime | None
    """When the same was said again in a note that was merged into this one."""
    memory_number: int
    by_program: bool
    protected: bool
    """Whether no program may end it: a person wrote it, or it is constitutional."""
    superseded_at: datetime | None
    """When its memory was superseded."""
    ever_held: bool
    """False for a memory that is forgotten or in quarantine."""
    written_at: datetime
    """Since when its memory holds: the order of facts. A day that a sentence names says from when its value counts."""

    @property
    def stated_at(self) -> datetime:
        """When it was said last."""
        return self.written_at if self.restated_at is None else max(self.written_at, self.restated_at)

    @property
    def holds(self) -> bool:
        """Whether it is current: neither ended, nor in a memory that was superseded."""
        return self.valid_to is None and self.superseded_at is None

    def held_at(self, moment: datetime) -> bool:
        """Whether it was current at a moment."""
        until = [end for end in (self.valid_to, self.superseded_at) if end is not None]
        return self.valid_from <= moment and (not until or moment < min(until))


class ServedFact(NamedTuple):
    """A fact as a search reads it: quickly, for every result."""

    memory_id: str
    position: int
    topic: str
    value: str
    shown: str
    negated: bool
    start: int
    stop: int
    valid_from: datetime
    valid_to: datetime | None
    ended_by: str | None
    restated_at: datetime | None
    kind: RelationKind
    memory_number: int
    by_program: bool
    protected: bool
    in_current_memory: bool
    written_at: datetime

    @property
    def newness(self) -> tuple[datetime, int, int]:
        """Greater for what was said later."""
        stated_at = self.written_at if self.restated_at is None else max(self.written_at, self.restated_at)
        return stated_at, self.memory_number, self.position

    def known_at(self, moment: datetime) -> Self:
        """Return the fact as it was known at a moment: an end that came later was not known."""
        if self.valid_to is None or self.valid_to <= moment:
            return self
        return self._replace(valid_to=None, ended_by=None)


class FactRow(NamedTuple):
    """A fact in short."""

    memory_id: str
    subject: str
    shown: str
    topic: str
    has_ended: bool


def choose_contested(topics: Iterable[tuple[str, str, bool]]) -> set[str]:
    """Return the memories that state something on a topic that another one speaks of, or that has ended.

    `topics` are memories, each with a topic and whether what it states there has ended. Most results share no topic.
    """
    owners: dict[str, str] = {}
    contested: set[str] = set()
    for memory_id, topic, has_ended in topics:
        owner = owners.setdefault(topic, memory_id)
        if owner != memory_id:
            contested |= {owner, memory_id}
        elif has_ended:
            contested.add(memory_id)
    return contested


# --- Rows of facts ---

_ADD = memory_facts.insert()
_OWN = and_(memories.c.tenant == memory_facts.c.tenant, memories.c.id == memory_facts.c.memory_id)
_JOINED = select(
    memory_facts,
    memories.c.number.label("memory_number"),
    memories.c.tier,
    memories.c.written_by,
    memories.c.written_with,
    memories.c.metadata,
    memories.c.superseded_at,
    memories.c.valid_from.label("memory_valid_from"),
).join(memories, _OWN)
_NEWEST_FIRST = (memories.c.valid_from.desc(), memories.c.number.desc(), memory_facts.c.position.desc())
_PLACE = (
    func.row_number()
    .over(partition_by=memory_facts.c.topic, order_by=(memory_facts.c.valid_to.is_not(None), *_NEWEST_FIRST))
    .label("place")
)
_PLACED = (
    _JOINED.add_columns(_PLACE).where(mine(memory_facts), among(memory_facts.c.topic, "topics")).subquery("placed")
)
_ON_TOPICS = (
    select(_PLACED)
    .where(_PLACED.c.place <= MOST_ON_A_TOPIC)
    .order_by(_PLACED.c.memory_valid_from.desc(), _PLACED.c.memory_number.desc(), _PLACED.c.position.desc())
)
_OF_MEMORIES = _JOINED.where(mine(memory_facts), among(memory_facts.c.memory_id, "ids")).order_by(
    memory_facts.c.memory_id, memory_facts.c.position
)
_ABOUT = (
    _JOINED.where(mine(memory_facts), among(memory_facts.c.subject, "subjects"))
    .order_by(*_NEWEST_FIRST)
    .limit(bindparam("most"))
)
_SERVED_COLUMNS = [memory_facts.c[name] for name in ServedFact._fields[:13]]
_SERVED = select(
    *_SERVED_COLUMNS,
    memories.c.number,
    memories.c.tier,
    memories.c.written_by,
    memories.c.written_with,
    memories.c.metadata,
    memories.c.superseded_at,
    memories.c.valid_from.label("memory_valid_from"),
).join(memories, _OWN)
_SERVED_OF = _SERVED.where(mine(memory_facts), among(memory_facts.c.memory_id, "ids"))
_TOPICS_OF = select(
    memory_facts.c.memory_id, memory_facts.c.topic, type_coerce(memory_facts.c.valid_to, TextType).label("valid_to")
).where(mine(memory_facts), among(memory_facts.c.memory_id, "ids"))
_ANY = select(memory_facts.c.position).limit(1)
_SUBJECTS = select(memory_facts.c.subject).where(mine(memory_facts), among(memory_facts.c.subject, "subjects"))
_SHOWN_ABOUT = (
    select(memory_facts.c.shown)
    .where(mine(memory_facts), among(memory_facts.c.subject, "subjects"))
    .limit(bindparam("most"))
)
_ANY_ABOUT = _SUBJECTS.limit(1)
_EVERY = select(
    memory_facts.c.memory_id,
    memory_facts.c.subject,
    memory_facts.c.shown,
    memory_facts.c.topic,
    memory_facts.c.valid_to.is_not(None).label("has_ended"),
).where(mine(memory_facts))
# Of all tenants: facts of one alone are found by reading those of all.
_BEYOND = select(memory_facts.c.position).limit(1).offset(bindparam("most"))
_SERVED_ON = (
    _SERVED.where(mine(memory_facts), among(memory_facts.c.topic, "topics"))
    .order_by(*_NEWEST_FIRST)
    .limit(MOST_ON_A_TOPIC)
)
_TOUCHED = tuple(
    select(memory_facts.c.topic).where(mine(memory_facts), among(column, "ids"))
    for column in (memory_facts.c.memory_id, memory_facts.c.ended_by)
)
_SET_END = (
    update(memory_facts)
    .where(
        memory_facts.c.tenant == bindparam("of_tenant"),
        memory_facts.c.memory_id == bindparam("of_memory"),
        memory_facts.c.position == bindparam("of_position"),
    )
    .values(valid_to=bindparam("new_end"), ended_by=bindparam("new_ender"))
)


class Facts(Repository):
    """The facts of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._meta = Meta(bound)

    def keep(self, saved: Iterable[MemoryRecord]) -> None:
        """Write the facts of new memories. Documents taken in from files have none: they come in no order of time."""
        rows = [row for memory in saved for row in self._rows_of(memory)]
        if rows:
            self._insert(_ADD, rows)

    def read_again(self, memory: MemoryRecord) -> None:
        """Replace the facts of a memory by what its text states, by the rules of this version."""
        own = (self._mine(memory_facts), memory_facts.c.memory_id == memory.id)
        newest = select(func.max(memory_facts.c.confirmed_at), func.max(memory_facts.c.restated_at)).where(*own)
        confirmed_at, restated_at = self._connection.execute(newest).one()
        self.remove(memory.id)
        self.keep([memory])
        if (confirmed_at, restated_at) != (None, None):
            again = {"confirmed_at": confirmed_at, "restated_at": restated_at}
            self._connection.execute(update(memory_facts).where(*own).values(again))

    def remove(self, memory_id: str) -> None:
        """Delete the facts of a memory; what they ended holds again once its topics are settled."""
        own = (self._mine(memory_facts), memory_facts.c.memory_id == memory_id)
        self._connection.execute(delete(memory_facts).where(*own))

    def confirm(self, memory_id: str, at: datetime) -> list[StoredFact]:
        """Let every fact of a memory hold again, whatever was written before; return those that had ended."""
        ended = [fact for fact in self.of_memories([memory_id]) if fact.valid_to is not None]
        self.set_confirmed(memory_id, at)
        self.settle(self.topics_touched_by([memory_id]), may_end=False)
        return ended

    def set_confirmed(self, memory_id: str, at: datetime) -> None:
        """Note when a person said that the facts of a memory hold; its topics have to be settled afterwards."""
        own = (self._mine(memory_facts), memory_facts.c.memory_id == memory_id)
        self._connection.execute(update(memory_facts).where(*own).values(confirmed_at=at))

    def confirmed_at(self, memory_id: str) -> datetime | None:
        """Return when a person said that the facts of a memory hold after all; None if nobody did."""
        own = (self._mine(memory_facts), memory_facts.c.memory_id == memory_id)
        found: datetime | None = self._connection.execute(
            select(func.max(memory_facts.c.confirmed_at)).where(*own)
        ).scalar_one_or_none()
        return found

    def restate(self, memory_id: str, topics: Sequence[str], at: datetime) -> None:
        """Record that what a memory states on these topics was said again."""
        table = memory_facts.c
        chosen = (self._mine(memory_facts), table.memory_id == memory_id, self._among(table.topic, topics))
        self._connection.execute(update(memory_facts).where(*chosen).values(restated_at=at))

    def topics_touched_by(self, memory_ids: Sequence[str]) -> list[str]:
        """Return the topics on which these memories state something, or ended something."""
        ids = list(memory_ids)
        return sorted({row.topic for statement in _TOUCHED for row in self._rows(statement, ids=ids)})

    def on_topics(self, topics: Sequence[str]) -> list[StoredFact]:
        """Return what is stated on these topics, newest first."""
        return [_stored(row) for row in self._rows(_ON_TOPICS, topics=list(topics))] if topics else []

    def of_memories(self, memory_ids: Sequence[str]) -> list[StoredFact]:
        """Return what these memories state."""
        return [_stored(row) for row in self._rows(_OF_MEMORIES, ids=list(memory_ids))] if memory_ids else []

    def find_contested(self, memory_ids: Sequence[str]) -> set[str]:
        """Return those of some results whose facts are on a topic that another one speaks of, or have ended."""
        rows = self._tuples(_TOPICS_OF, ids=list(memory_ids)) if memory_ids else ()
        return choose_contested((memory_id, topic, ended is not None) for memory_id, topic, ended in rows)

    def served(self, memory_ids: Collection[str]) -> list[ServedFact]:
        """Return what these memories state, as a search reads it; in no order."""
        return [_served(row) for row in self._rows(_SERVED_OF, ids=list(memory_ids))] if memory_ids else []

    def served_on(self, topics: Sequence[str]) -> list[ServedFact]:
        """Return what is stated on these topics, newest first."""
        return [_served(row) for row in self._rows(_SERVED_ON, topics=list(topics))] if topics else []

    def may_exist(self) -> bool:
        """Whether the store holds any facts, of this tenant or of others; quick."""
        return bool(self._tuples(_ANY))

    def about(self, subjects: Sequence[str], *, most: int, at: datetime | None = None) -> list[StoredFact]:
        """Return facts about these subjects that hold, or held at a moment, newest first.

        Subjects are written as `normalise_name` writes them; `most` is how many facts are looked at.
        """
        known = {subject for (subject,) in self._tuples(_SUBJECTS, subjects=list(subjects))} if subjects else ()
        found = [_stored(row) for row in self._rows(_ABOUT, subjects=list(known), most=most)] if known else []
        return [fact for fact in found if (fact.holds if at is None else fact.held_at(at))]

    def may_lead_on(self, subjects: Iterable[str], *, most: int) -> bool:
        """Return False when no fact about these subjects names something that another fact is about.

        Quick, since most questions lead nowhere. With more than `most` facts about the subjects nothing is looked at,
        and the answer is True.
        """
        named = list(dict.fromkeys(subjects))
        shown = self._tuples(_SHOWN_ABOUT, subjects=named, most=most + 1) if named else ()
        if len(shown) > most:
            return True
        names = {normalise_name(value) for (value,) in shown}
        return bool(names and self._tuples(_ANY_ABOUT, subjects=sorted(names)))

    def read_all(self, most: int) -> list[FactRow] | None:
        """Return every fact in short.

        None when the store has more than `most`, of all tenants together.
        """
        if self._tuples(_BEYOND, most=most):
            return None
        return list(map(FactRow._make, self._tuples(_EVERY)))

    def count(self) -> int:
        """How many facts there are."""
        counted = select(func.count()).select_from(memory_facts).where(self._mine(memory_facts))
        return int(self._connection.execute(counted).scalar_one())

    def settle(self, topics: Sequence[str], *, may_end: bool = True) -> list[StoredFact]:
        """Decide anew which facts on these topics hold; return those that stopped holding.

        With `may_end` false, facts only begin to hold again: for a tenant that has reconsolidation switched off.
        """
        ended: list[StoredFact] = []
        in_order = sorted(
            self.on_topics(topics), key=lambda fact: (fact.topic, fact.stated_at, fact.memory_number, fact.position)
        )
        for _, facts in groupby(in_order, key=lambda fact: fact.topic):
            for fact, end in _find_ends(list(facts)):
                stops = end is not None and fact.valid_to is None
                if stops and not may_end:
                    continue
                settled = _set_end(fact, end)
                if settled != fact:
                    self._write_end(settled)
                if stops:
                    ended.append(settled)
        return ended

    def _write_end(self, fact: StoredFact) -> None:
        which = {"of_tenant": self._tenant, "of_memory": fact.memory_id, "of_position": fact.position}
        self._connection.execute(_SET_END, {**which, "new_end": fact.valid_to, "new_ender": fact.ended_by})
        self._meta.note_unlogged()

    def _rows_of(self, memory: MemoryRecord) -> Iterator[dict[str, Any]]:
        if memory.written_with == INGESTED_WITH:
            return
        for position, fact in enumerate(read_facts(memory.body, title=memory.title)):
            yield {
                "tenant": self._tenant,
                "memory_id": memory.id,
                "position": position,
                **_columns(fact),
                "valid_from": start_of_validity(fact.since, memory.valid_from),
                "valid_to": None,
                "ended_by": None,
                "confirmed_at": None,
                "restated_at": None,
            }


def start_of_validity(since: date | None, written_at: datetime) -> datetime:
    """Return since when a fact holds: the day that it names, unless that is to come, else when its memory does."""
    return written_at if since is None else min(datetime.combine(since, time(), UTC), written_at)


def _columns(fact: StatedFact) -> dict[str, Any]:
    return {name: value for name, value in fact._asdict().items() if name != "since"} | {"kind": str(fact.kind)}


def _set_end(fact: StoredFact, end: StoredFact | None) -> StoredFact:
    if end is None:
        return fact._replace(valid_to=None, ended_by=None)
    # What was said before and is said again ends the other from then on.
    since = end.valid_from if end.written_at >= fact.written_at else end.stated_at
    # The later sentence may name a day before the earlier one was written: then that never held.
    return fact._replace(valid_to=max(since, fact.valid_from), ended_by=end.memory_id)


def _stored(row: Any) -> StoredFact:
    columns = {name: getattr(row, name) for name in StoredFact._fields[:18]}
    author = author_of(row.written_by, row.written_with, row.metadata)
    by_program = author.kind is AuthorKind.PROGRAM
    return StoredFact(
        **(columns | {"kind": RelationKind(row.kind)}),
        memory_number=row.memory_number,
        by_program=by_program,
        protected=not by_program or row.tier == Tier.CONSTITUTIONAL,
        superseded_at=row.superseded_at,
        ever_held=row.superseded_at is None or row.superseded_at != row.memory_valid_from,
        written_at=row.memory_valid_from,
    )


def _served(row: Any) -> ServedFact:
    author = author_of(row.written_by, row.written_with, row.metadata)
    by_program = author.kind is AuthorKind.PROGRAM
    protected = not by_program or row.tier == Tier.CONSTITUTIONAL
    columns = [getattr(row, name) for name in ServedFact._fields[:12]]
    of_memory = (row.number, by_program, protected, row.superseded_at is None, row.memory_valid_from)
    return ServedFact._make((*columns, RelationKind(row.kind), *of_memory))


# --- Which fact ends which ---


def _find_ends(facts: Sequence[StoredFact]) -> Iterator[tuple[StoredFact, StoredFact | None]]:
    """Yield each fact on one topic, given oldest first, with the first later fact that ends it."""
    for place, fact in enumerate(facts):
        later = facts[place + 1 :]
        yield fact, next((other for other in later if ends(other, fact)), None)


def ends(new: StoredFact, old: StoredFact) -> bool:
    """Whether a fact that came later ends an earlier one on the same topic."""
    if new.memory_id == old.memory_id or not new.ever_held or (new.by_program and old.protected):
        return False
    if old.confirmed_at is not None and new.stated_at <= old.confirmed_at:
        return False
    return replaces_value(new, old)


def replaces_value(new: StatedFact | StoredFact, old: StatedFact | StoredFact) -> bool:
    """Whether the value of a later fact takes the place of an earlier one on the same topic, whoever wrote them.

    A relation that may hold several values is never ended by another value, only by a sentence that names the value
    which holds no longer.
    """
    if is_same_value(new.value, old.value):
        denied = new.negated and not old.negated
        return denied and new.is_change
    if new.negated or old.negated:
        return False
    if new.replaces:
        return is_same_value(new.replaces, old.value)
    if RelationKind.SEVERAL in (new.kind, old.kind):
        return False
    return new.kind is old.kind is RelationKind.SINGLE or new.is_change
