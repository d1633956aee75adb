"""A graph or a store of LangGraph: `langgraph:MODULE:NAME`.

A compiled graph is invoked with the query: as a message where its state has `messages`, else under the key that
`?input=` names, or the first of the usual ones. Documents are read from the state (`documents`, `context`, or
`?documents=KEY`) and from the artifacts of tools; the answer is `answer`, or the last message. A store is searched in
the namespace that `?namespace=a/b` names, or in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.errors import BadValue
from assay.extras import load_package
from assay.systems.adapters.framework import ANSWERS, DOCUMENTS, QUERIES, first_of, steps_of
from assay.systems.adapters.langchain import LangChain, read_message

MESSAGES = "messages"


class LangGraph(LangChain):
    """Invokes a graph, or searches a store."""

    package = "langgraph"
    module = "langgraph"
    options = ("id", "input", "documents", "namespace")
    takes = "a compiled graph or a store of LangGraph"

    def accepts(self, thing: Any) -> bool:
        """Compiled graphs and stores."""
        self._store_type: Any = load_package("langgraph.store.base", self.package).BaseStore
        graphs = load_package("langgraph.pregel", self.package)
        return isinstance(thing, (self._store_type, graphs.Pregel))

    def ask(self, query: str, k: int) -> Any:
        """Search or invoke."""
        if isinstance(self.thing, self._store_type):
            prefix = tuple(filter(None, self.target.options.get("namespace", "").split("/")))
            found = self.thing.search(prefix, query=query, limit=k)
            return [self._item(item) for item in found]
        return self._read(self.thing.invoke(self._state(query)))

    def _item(self, item: Any) -> dict[str, Any]:
        text = item.value.get("text") or item.value.get("content") or ""
        return {"id": item.key, "text": str(text), **({} if item.score is None else {"score": float(item.score)})}

    def _state(self, query: str) -> dict[str, Any]:
        # Its JSON schema would name them too, but cannot be made of every state that a graph may have.
        known = [name for name in self.thing.channels if not name.startswith("__") and ":" not in name]
        key = self.target.options.get("input")
        if key is None and MESSAGES in known:
            return {MESSAGES: [("user", query)]}
        key = key or next((name for name in QUERIES if name in known), None)
        if key is None:
            raise BadValue(
                f"the graph takes {', '.join(known) or 'nothing'}, and none of it is known to be the query",
                remedy="Name the key of the query: ?input=KEY.",
            )
        return {key: query}

    def _read(self, found: Any) -> dict[str, Any]:
        state: Mapping[str, Any] = found if isinstance(found, Mapping) else {"answer": found}
        messages = state.get(MESSAGES) or []
        wanted = self.target.options.get("documents")
        documents = first_of(state, (wanted,) if wanted else DOCUMENTS)
        listed = documents if isinstance(documents, list) else list(_artifacts(messages))
        answer = first_of(state, ANSWERS)
        if answer is None and messages and getattr(messages[-1], "type", "") == "ai":
            answer = messages[-1]
        steps = steps_of(state, self.read_documents)
        return {"results": self.read_documents(listed), "answer": read_message(answer), **steps}


def _artifacts(messages: Iterable[Any]) -> Iterable[Any]:
    """Documents that tools returned beside their text."""
    for message in messages:
        for document in getattr(message, "artifact", None) or ():
            if hasattr(document, "page_content"):
                yield document
