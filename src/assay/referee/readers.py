"""Readers of the answers layer: from a question and retrieved texts to an answer. Named, pinned and stored.

- `choice`: picks the option whose meaning is nearest to a retrieved text; no model but the shared embedder.
- `extract`: gives the retrieved sentence that shares most words with the question; no model at all.
- `model`: asks the model of the settings with one fixed prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from assay.hashing import content_hash
from assay.referee.sets.values import MemoryQuestion
from assay.text.claims import sentences
from assay.text.terms import stems

LETTERS = "abcdefghijklmnopqrstuvwxyz"
PROMPT = (
    "Answer the question from the notes alone, as briefly as possible. "
    "If the notes do not hold the answer, write: not answered.\n\n"
    "Notes:\n{notes}\n\nQuestion: {question}\nAnswer:"
)
"""The prompt of the reader `model`. It is the same for all questions and part of the capsule."""


class ReaderReply(NamedTuple):
    """An answer, and the prompt it was made with; empty where no model was asked."""

    answer: str
    prompt: str = ""


class AnswerReader(Protocol):
    """Makes an answer of retrieved texts."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Everything that moves its answers."""
        ...

    def read(self, question: MemoryQuestion, texts: Sequence[str]) -> ReaderReply:
        """Answer one question."""
        ...


class ChoiceReader:
    """Picks an option of a multiple-choice question: the nearest to any retrieved text by cosine."""

    name = "choice"

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        """Return the embedder and the rule."""
        return content_hash(["choice", 1, self._embedder.model])

    def read(self, question: MemoryQuestion, texts: Sequence[str]) -> ReaderReply:
        """Give the letter; without texts or options there is no answer."""
        if not texts or not question.options:
            return ReaderReply("")
        options = self._embedder.embed(list(question.options))
        near = options @ self._embedder.embed(list(texts)).T
        return ReaderReply(LETTERS[int(np.argmax(near.max(axis=1)))])


class ExtractReader:
    """Gives the sentence of the retrieved texts that shares most words with the question."""

    name = "extract"

    @property
    def fingerprint(self) -> str:
        """Return the rule's version."""
        return content_hash(["extract", 1])

    def read(self, question: MemoryQuestion, texts: Sequence[str]) -> ReaderReply:
        """Give the sentence; of equal ones the first, since texts come best first."""
        asked = set(stems(question.text))
        best, most = "", -1.0
        for text in texts:
            for sentence in sentences(text):
                shared = len(asked.intersection(stems(sentence)))
                if shared > most:
                    best, most = sentence, shared
        return ReaderReply(best)


class ModelReader:
    """Asks a model with one fixed prompt."""

    name = "model"

    def __init__(self, complete: Callable[[str], str], model: str) -> None:
        self._complete = complete
        self._model = model

    @property
    def fingerprint(self) -> str:
        """Return the model and the prompt."""
        return content_hash(["model", self._model, PROMPT])

    def read(self, question: MemoryQuestion, texts: Sequence[str]) -> ReaderReply:
        """Ask."""
        notes = "\n".join(f"- {text}" for text in texts) or "(none)"
        prompt = PROMPT.format(notes=notes, question=question.text)
        return ReaderReply(self._complete(prompt).strip(), prompt)
