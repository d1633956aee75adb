"""Whether two questions ask the same thing in other words."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from assay.text.questions import NEW_WORDS, OLD_WORDS, read_question
from assay.text.terms import stems_of, words
from assay.text.wording import NEGATORS, OPPOSITES, wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.embedding.protocol import Embedder


class _Exact(NamedTuple):
    """What has to be the same."""

    kind: str
    time: tuple[str, ...]
    excluded: tuple[str, ...]
    facts: frozenset[tuple[str, str]]
    negators: tuple[str, ...]
    age: tuple[bool, bool]
    parts: int


class AlikeQuestions:
    """Compares questions by meaning and by what is exact in them."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def __call__(self, question: str, other: str) -> bool:
        """Whether both ask the same."""
        if question == other:
            return True
        keys, others = _keys(question), _keys(other)
        if _exact(question) != _exact(other) or _contradict(keys, others):
            return False
        if keys == others:
            return True
        return self._near(question, other)

    def _near(self, question: str, other: str) -> bool:
        if self._embedder is None:
            return False
        rows = self._embedder.embed([question, other])
        return float(rows[0] @ rows[1]) > self._embedder.profile.duplicate


@lru_cache(maxsize=1_024)
def _keys(question: str) -> tuple[str, ...]:
    return read_question(question).key_stems


@lru_cache(maxsize=1_024)
def _exact(question: str) -> _Exact:
    asked, said = read_question(question), words(question)
    stems = stems_of(said)
    return _Exact(
        kind=asked.kind.value,
        time=asked.time,
        excluded=asked.excluded,
        facts=frozenset((fact.kind, fact.value) for fact in wording(asked.text).facts),
        negators=tuple(stem for stem in stems if stem in NEGATORS),
        age=(NEW_WORDS.isdisjoint(said), OLD_WORDS.isdisjoint(said)),
        parts=len(asked.sides or asked.parts),
    )


def _contradict(keys: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether the questions contain opposites, or share terms in another order."""
    here, there = set(keys), set(others)
    if any(pair & (here - there) and pair & (there - here) for pair in OPPOSITES):
        return True
    return [stem for stem in keys if stem in there] != [stem for stem in others if stem in here]
