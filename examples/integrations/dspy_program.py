"""A program of DSPy that finds passages by vector, measured."""

from typing import Any

import dspy
from hotel import IDS, TEXTS, embed, measure


class Find(dspy.Module):
    """Finds the nearest passages, and says which document each is of."""

    def __init__(self) -> None:
        super().__init__()
        self.search = dspy.retrievers.Embeddings(corpus=TEXTS, embedder=embed, k=10)

    def forward(self, question: str) -> Any:
        """Return passages with their ids; a program that answers returns `answer` too."""
        found = self.search(question)
        return dspy.Prediction(passages=found.passages, ids=[IDS[place] for place in found.indices])


program = Find()

if __name__ == "__main__":
    measure("dspy:dspy_program:program")
