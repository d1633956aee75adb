"""A system: finds documents by the words they share with the query, and answers with the first sentence it finds."""

from __future__ import annotations

from assay.extend import Case, Dataset, GivenAnswer, Retrieved, System, system


@system("shop")
class Shop(System):
    """Ranks documents by shared words; `shop:2` asks for at least two of them."""

    name = "shop"

    def __init__(self, target: str, dataset: Dataset) -> None:
        """Index the words of the dataset's documents."""
        self.least = int(target or 1)
        self.texts = {document.id: document.text for document in dataset.documents}
        self.words = {name: set(text.lower().split()) for name, text in self.texts.items()}

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - the words are enough
        """Return the best documents and the first sentence of the best one as the answer."""
        asked = set(query.lower().split())
        shared = {name: len(asked & words) for name, words in self.words.items()}
        best = sorted((name for name in shared if shared[name] >= self.least), key=lambda name: -shared[name])[:k]
        said = self.texts[best[0]].partition(".")[0] if best else ""
        answer = GivenAnswer(text=f"{said}." if said else "I do not know.", abstained=not said)
        return Retrieved(ids=tuple(best), answer=answer)
