"""An agent of Pydantic AI: `pydantic-ai:MODULE:NAME`.

The agent is run with the question. Its output is the answer; what its tools returned is what it retrieved: a list of
objects with an `id`, and `text` and `score` where they are known, from `?tool=NAME` or from every tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from assay.extras import load_package
from assay.systems.adapters.framework import FrameworkSystem, without_missing_scores


class PydanticAi(FrameworkSystem):
    """Runs an agent."""

    package = "pydantic-ai-slim"
    module = "pydantic_ai"
    options = ("id", "tool")
    takes = "an agent of Pydantic AI"

    def accepts(self, thing: Any) -> bool:
        """Agents."""
        self._returned: Any = load_package("pydantic_ai.messages", self.package).ToolReturnPart
        return isinstance(thing, load_package("pydantic_ai.agent", self.package).AbstractAgent)

    def ask(self, query: str, k: int) -> Any:  # noqa: ARG002 - the agent decides how much it looks up
        """Run it, and read what tools returned."""
        # A loop of its own: the calling thread has none, and one that is left behind would never be closed.
        ran = asyncio.run(self.thing.run(query))
        results: dict[Any, dict[str, Any]] = {}
        for part in self._parts(ran.all_messages()):
            for value in part.content if isinstance(part.content, (list, tuple)) else [part.content]:
                facts = _facts(value)
                if facts is not None:
                    read = self.document(facts, [], text=str(facts.get("text", "")), score=facts.get("score"))
                    results.setdefault(read["id"], read)
        return {"results": without_missing_scores(list(results.values())), "answer": str(ran.output)}

    def _parts(self, messages: Iterable[Any]) -> Iterable[Any]:
        wanted = self.target.options.get("tool")
        for message in messages:
            for part in message.parts:
                if isinstance(part, self._returned) and wanted in (None, part.tool_name):
                    yield part


def _facts(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a result; None for what is none, such as a text."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else None
