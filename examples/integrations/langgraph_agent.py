"""An agent of LangGraph that looks things up in Assay's memory, measured: what it found, and what it answered."""

from typing import Any

from hotel import measure, open_memory
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import START, MessagesState, StateGraph

from assay.integrations.langchain import AssayRetriever


class State(MessagesState):
    """The talk, and what was looked up for it."""

    documents: list[Document]


def make_agent() -> Any:
    """Return the agent; its model is a stand-in for any chat model of LangChain."""
    memory = AssayRetriever(memory=open_memory(), k=10)
    model = FakeListChatModel(responses=["I looked it up in my notes."])

    def look_up(state: State) -> dict[str, Any]:
        return {"documents": memory.invoke(str(state["messages"][-1].content))}

    def answer(state: State) -> dict[str, Any]:
        notes = "\n\n".join(document.page_content for document in state["documents"])
        return {"messages": [model.invoke([("system", notes), *state["messages"]])]}

    graph = StateGraph(State).add_sequence([look_up, answer]).add_edge(START, "look_up")
    return graph.compile()


if __name__ == "__main__":
    measure("langgraph:langgraph_agent:make_agent?id=rel_path")
