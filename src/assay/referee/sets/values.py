"""What every reader gives: the items that fill a memory, the questions with their key, and where the set deviates.

All readers give the same frozen values, so nothing after them knows which benchmark it is measuring. The text of an
item is exactly what every system is filled with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from assay.errors import BadValue
from assay.hashing import content_hash

RETRIEVAL = "retrieval"
ANSWERS = "answers"
LAYERS = (RETRIEVAL, ANSWERS)
"""The two layers of a benchmark. A table has numbers of one of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryItem:
    """One thing a memory is filled with: a turn of a chat, a fact, a note."""

    id: str
    text: str
    """Exactly what every system is given, the speaker's name included where there is one."""
    session: str = ""
    speaker: str = ""
    date: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryQuestion:
    """One question with its key."""

    id: str
    user: str
    text: str
    evidence: tuple[str, ...] = ()
    """Ids of the items that hold the answer; empty where the set does not name them or there are none."""
    answer: str = ""
    category: str = ""
    answerable: bool = True
    options: tuple[str, ...] = ()
    """The choices of a multiple-choice question."""
    rubric: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryUser:
    """One user or chat: systems keep users apart, and statistics take the questions of a cluster as dependent."""

    id: str
    items: tuple[MemoryItem, ...]
    cluster: str = ""
    """The chat it belongs to; empty: the user is the cluster."""

    @property
    def chat(self) -> str:
        """Return the cluster of its questions."""
        return self.cluster or self.id


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedCounts:
    """How large the public set is; None where its authors do not say."""

    chats: int | None
    questions: int | None
    source: str


@dataclass(frozen=True, kw_only=True)
class MemorySet:
    """A benchmark as it was read."""

    name: str
    users: tuple[MemoryUser, ...]
    questions: tuple[MemoryQuestion, ...]
    quirks: tuple[str, ...] = ()
    """What somebody who compares numbers must know about this set and how it was read."""
    published: PublishedCounts | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Content hashes of the files it was read from."""
    layers: tuple[str, ...] = LAYERS
    """What can be measured with its key."""

    def __post_init__(self) -> None:
        users = Counter(user.id for user in self.users)
        _refuse_repeated(self.name, "user", users)
        _refuse_repeated(self.name, "question", Counter(question.id for question in self.questions))
        for user in self.users:
            _refuse_repeated(f"{self.name}, user {user.id}", "item", Counter(item.id for item in user.items))
        lost = next((question for question in self.questions if question.user not in users), None)
        if lost is not None:
            raise BadValue(
                f"{self.name}: question {lost.id!r} is about the user {lost.user!r}, whom the set does not have",
                remedy="Give every question a user of the set.",
            )

    @cached_property
    def by_user(self) -> Mapping[str, MemoryUser]:
        """Return the users by id."""
        return {user.id: user for user in self.users}

    @cached_property
    def by_question(self) -> Mapping[str, MemoryQuestion]:
        """Return the questions by id."""
        return {question.id: question for question in self.questions}

    @cached_property
    def asked(self) -> Mapping[str, tuple[MemoryQuestion, ...]]:
        """Return the questions of each user that has any, in the order of the users."""
        found: dict[str, list[MemoryQuestion]] = {}
        for question in self.questions:
            found.setdefault(question.user, []).append(question)
        return {user.id: tuple(found[user.id]) for user in self.users if user.id in found}

    @property
    def chats(self) -> int:
        """Return how many clusters there are."""
        return len({user.chat for user in self.users})

    @cached_property
    def text_hash(self) -> str:
        """Return one hash of every text that systems are filled with."""
        return content_hash([[user.id, [[item.id, item.text] for item in user.items]] for user in self.users])

    @cached_property
    def hash(self) -> str:
        """Return one hash of texts, questions and key."""
        asked = [
            [question.id, question.user, question.text, list(question.evidence), question.answer, question.category]
            for question in self.questions
        ]
        return content_hash([self.name, self.text_hash, asked])

    def count_categories(self) -> dict[str, int]:
        """Return how many questions each category has."""
        return dict(sorted(Counter(question.category for question in self.questions).items()))

    def compare_counts(self) -> str:
        """Say in a sentence whether this is the whole published set or a part of it."""
        here = f"{self.chats:,} chats and {len(self.questions):,} questions"
        if self.published is None:
            return f"{here}."
        chats, questions = self.published.chats, self.published.questions
        whole = [f"{count:,} {what}" for count, what in ((chats, "chats"), (questions, "questions")) if count]
        if not whole:
            return f"{here}; the published size is not known."
        same = chats in (None, self.chats) and questions in (None, len(self.questions))
        told = " and ".join(whole)
        if same:
            return f"{here}: the whole published set ({self.published.source})."
        return f"{here}: a part of the published {told} ({self.published.source})."


def _refuse_repeated(name: str, what: str, counts: Counter[str]) -> None:
    repeated = next((ident for ident, count in counts.items() if count > 1), None)
    if repeated is not None:
        raise BadValue(f"{name} has the {what} {repeated!r} more than once", remedy="Make ids unique.")
