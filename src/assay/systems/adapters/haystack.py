"""A pipeline or a component of Haystack: `haystack:MODULE:NAME`.

The query goes to every open input that is named like one (`query`, `text`, `question`, ...), k to every `top_k`. Of a
pipeline's outputs the documents are read, and answers or replies. Haystack's reports to its makers are switched off,
unless the environment says otherwise.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.errors import BadValue
from assay.extras import load_package
from assay.systems.adapters.framework import QUERIES, FrameworkSystem, first_of, without_missing_scores

_TELEMETRY = "HAYSTACK_TELEMETRY_ENABLED"
_REPLIES = ("answers", "replies", "answer", "reply")


class Haystack(FrameworkSystem):
    """Runs a pipeline or a component."""

    package = "haystack-ai"
    module = "haystack"
    takes = "a pipeline or a component of Haystack"

    def __init__(self, text: str, folder: Path) -> None:
        os.environ.setdefault(_TELEMETRY, "False")  # read when Haystack is imported
        super().__init__(text, folder)

    def accepts(self, thing: Any) -> bool:
        """Pipelines, and what has a `run` of its own."""
        self._pipeline = isinstance(thing, load_package("haystack", self.package).Pipeline)
        return self._pipeline or hasattr(thing, "__haystack_input__")

    def ask(self, query: str, k: int) -> Any:
        """Run it, and read every output."""
        inputs = self.thing.inputs() if self._pipeline else {"": inspect.signature(self.thing.run).parameters}
        given = {name: self._fill(names, query, k) for name, names in inputs.items()}
        if not any(name in QUERIES for filled in given.values() for name in filled):
            raise BadValue(
                f"{self.name} has no open input that is named like a query", remedy=f"Name one: {', '.join(QUERIES)}."
            )
        if self._pipeline:
            outputs = list(self.thing.run({name: filled for name, filled in given.items() if filled}).values())
        else:
            outputs = [self.thing.run(**given[""])]
        found = [output for output in outputs if isinstance(output, Mapping)]
        documents = [document for output in found for document in output.get("documents") or ()]
        replies = [first_of(output, _REPLIES) for output in found]
        return {"results": self._documents(documents), "answer": _text(reply for reply in replies if reply)}

    def _fill(self, inputs: Iterable[str], query: str, k: int) -> dict[str, Any]:
        names = list(inputs)
        return {
            **{name: query for name in names if name in QUERIES},
            **({"top_k": k} if "top_k" in names else {}),
        }

    def _documents(self, documents: Iterable[Any]) -> list[dict[str, Any]]:
        return without_missing_scores(
            [
                self.document(document.meta, [document.id], text=document.content or "", score=document.score)
                for document in documents
            ]
        )


def _text(replies: Iterable[Any]) -> str | None:
    """Return the first answer: a text, a message, or an answer of an extractor."""
    found = next(iter(replies), None)
    first = found[0] if isinstance(found, list) and found else found
    return None if first is None else str(getattr(first, "data", None) or getattr(first, "text", None) or first)
