"""Objects of DSPy over the texts of the contract."""

from __future__ import annotations

from typing import Any

import dspy
import numpy as np
from dspy.utils import DummyLM
from tests.systems.adapter_contract import EMBEDDER, TEXTS

KEYS = list(TEXTS)


class Search(dspy.Module):
    """Searches by vector, and says which note each passage is."""

    def __init__(self, *, filled: bool) -> None:
        super().__init__()
        self.keys = KEYS if filled else []

    def forward(self, question: str, k: int = 3) -> Any:
        scores = EMBEDDER.embed([TEXTS[key] for key in self.keys] or [""]) @ EMBEDDER.embed([question])[0]
        best = [self.keys[place] for place in np.argsort(-scores)[:k]] if self.keys else []
        return dspy.Prediction(passages=[TEXTS[key] for key in best], ids=best)


class Answering(dspy.Module):
    """Answers with a scripted model."""

    def __init__(self) -> None:
        super().__init__()
        self.search = Search(filled=True)
        self.predict = dspy.Predict("context, question -> answer")

    def forward(self, question: str) -> Any:
        found = self.search(question=question, k=2)
        with dspy.context(lm=DummyLM([{"answer": "At seven."}] * 9)):
            told = self.predict(context=found.passages, question=question)
        return dspy.Prediction(context=found.passages, ids=found.ids, answer=told.answer)


filled = Search(filled=True)
empty = Search(filled=False)
answering = Answering()


def embeddings() -> dspy.retrievers.Embeddings:
    return dspy.retrievers.Embeddings(corpus=list(TEXTS.values()), embedder=EMBEDDER.embed, k=2)
