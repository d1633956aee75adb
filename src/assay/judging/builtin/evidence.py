"""The texts an answer is judged against, taken apart once: sentences, their stems and facts, and how rare a stem is.

Every claim of an answer is compared with the same `Evidence`. Vectors are made only of the sentences a claim's words
lead to, and each is made once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.embedding.protocol import Embedder, Vectors
from assay.text.sentences import sentences
from assay.text.vocabulary import FUNCTION_WORDS
from assay.text.wording import Fact, Token, wording

MOST_SENTENCES = 3_000
"""Of all passages together; what comes after them is not looked at, and the judge says so."""
WINDOW = 3
"""Neighbouring sentences that may support a claim together."""


class Sentence(NamedTuple):
    """One sentence of a passage."""

    text: str
    passage: int
    """Which of the passages, from 0."""
    tokens: tuple[Token, ...]
    stems: frozenset[str]
    facts: tuple[Fact, ...]


def read(text: str, passage: int = 0) -> Sentence:
    """A sentence taken apart."""
    tokens = tuple(wording(text).tokens)
    return Sentence(
        text,
        passage,
        tokens,
        frozenset(token.stem for token in tokens),
        tuple(token.fact for token in tokens if token.fact is not None),
    )


class Evidence:
    """Passages as sentences."""

    def __init__(self, passages: Sequence[str], embedder: Embedder | None = None) -> None:
        every = [(text, place) for place, passage in enumerate(passages) for text in sentences(passage)]
        self.truncated = len(every) > MOST_SENTENCES
        self.sentences = [read(text, place) for text, place in every[:MOST_SENTENCES]]
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    @cached_property
    def stems(self) -> frozenset[str]:
        """Every stem of it."""
        return frozenset().union(*(one.stems for one in self.sentences))

    @cached_property
    def facts(self) -> frozenset[Fact]:
        """Every fact of it."""
        return frozenset(fact for one in self.sentences for fact in one.facts)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Every two content stems that follow one another."""
        return frozenset(pair for one in self.sentences for pair in neighbours(one.tokens))

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(stem for one in self.sentences for stem in one.stems)

    def weight(self, stem: str) -> float:
        """How much a stem tells: the rarer, the more."""
        return math.log(1 + (len(self.sentences) + 1) / (self._counts[stem] + 0.5))

    def window(self, place: int) -> list[Sentence]:
        """A sentence with its neighbours of the same passage."""
        around = self.sentences[max(0, place - WINDOW // 2) : place + WINDOW // 2 + 1]
        return [one for one in around if one.passage == self.sentences[place].passage]

    @property
    def has_vectors(self) -> bool:
        """Whether meaning can be compared too."""
        return self._embedder is not None

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        if self._embedder is None:
            return np.zeros((len(texts), 0), np.float32)
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors |= dict(zip(missing, self._embedder.embed(missing), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def content(tokens: Sequence[Token]) -> list[str]:
    """The stems that carry content, each once, in order."""
    return [stem for stem in dict.fromkeys(token.stem for token in tokens) if stem not in FUNCTION_WORDS]


def neighbours(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Two content stems that follow one another, fillers between them left out."""
    stems = [token.stem for token in tokens if token.stem not in FUNCTION_WORDS]
    return list(pairwise(stems))
