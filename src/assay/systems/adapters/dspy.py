"""A module or a retriever of DSPy: `dspy:MODULE:NAME`.

It is called with the query under the name of its first parameter, and with `k` where it takes one. Of the prediction
`passages`, `context` or `documents` are read, with the ids in `ids`, `doc_ids` or `indices` beside them, and `answer`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import BadValue
from assay.systems.adapters.framework import (
    ANSWERS,
    DOCUMENTS,
    FrameworkSystem,
    first_of,
    steps_of,
    without_missing_scores,
)

_IDS = ("ids", "doc_ids", "document_ids", "indices")
_TEXTS = ("text", "long_text", "content")


class Dspy(FrameworkSystem):
    """Calls a module."""

    package = "dspy"
    module = "dspy"
    takes = "a module or a retriever of DSPy"

    def __init__(self, text: str, folder: Path) -> None:
        # LiteLLM, which DSPy may import, would fetch a list of prices from the web.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        super().__init__(text, folder)

    def accepts(self, thing: Any) -> bool:
        """What has a `forward`."""
        return callable(thing) and callable(getattr(thing, "forward", None))

    def ask(self, query: str, k: int) -> Any:
        """Call it, and read the prediction."""
        names = [
            name
            for name, parameter in inspect.signature(self.thing.forward).parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        # A predictor takes any keywords; its signature names the fields.
        names = names or list(getattr(getattr(self.thing, "signature", None), "input_fields", None) or ["question"])
        found = self.thing(**{names[0]: query, **({"k": k} if "k" in names[1:] else {})})
        prediction: Mapping[str, Any] = dict(found.items()) if hasattr(found, "items") else {"passages": found}
        passages, ids = list(first_of(prediction, DOCUMENTS) or []), first_of(prediction, _IDS)
        if ids is not None and len(ids) != len(passages):
            raise BadValue(
                f"the prediction has {len(passages)} passages and {len(ids)} ids", remedy="Give each passage an id."
            )
        results = [
            self._passage(passage, None if ids is None else ids[place]) for place, passage in enumerate(passages)
        ]
        answer = first_of(prediction, ANSWERS)
        steps = steps_of(prediction, lambda listed: [self._passage(passage, None) for passage in listed])
        said = None if answer is None else str(answer)
        return {"results": without_missing_scores(results), "answer": said, **steps}

    def _passage(self, passage: Any, own: Any) -> dict[str, Any]:
        if isinstance(passage, str):
            return self.document({}, [own], text=passage)
        facts = passage if isinstance(passage, Mapping) else vars(passage)
        return self.document(facts, [own], text=str(first_of(facts, _TEXTS) or ""), score=facts.get("score"))
