"""Objects of LangChain and LangGraph over the texts of the contract."""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from tests.systems.adapter_contract import DIMENSION, EMBEDDER, TEXTS


class Embedding(Embeddings):
    """The contract's embedder."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = EMBEDDER.embed(texts).tolist() if texts else []
        return rows

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def make_store(*, filled: bool) -> InMemoryVectorStore:
    made = InMemoryVectorStore(Embedding())
    made.add_documents([Document(text, metadata={"id": key}) for key, text in TEXTS.items() if filled])
    return made


filled = make_store(filled=True)
empty = make_store(filled=False)
filled_retriever = filled.as_retriever()
empty_retriever = empty.as_retriever()
chain = RunnableLambda(lambda query: {"context": filled.similarity_search(query, k=2), "answer": f"About {query}."})
model = RunnableLambda(lambda _: "What was the question?") | FakeListChatModel(responses=["Forty-two."])
without_ids = RunnableLambda(lambda query: [Document(query, metadata={"source": "a.md"})])
number = 7


def make_items(*, filled: bool) -> InMemoryStore:
    def embed(texts: Any) -> list[list[float]]:
        return Embedding().embed_documents(list(texts))

    made = InMemoryStore(index={"dims": DIMENSION, "embed": embed, "fields": ["text"]})
    for key, text in TEXTS.items() if filled else ():
        made.put(("notes", "hotel"), key, {"text": text})
    return made


filled_items = make_items(filled=True)
empty_items = make_items(filled=False)


class State(TypedDict, total=False):
    question: str
    documents: list[Document]
    answer: str


def make_graph(found: InMemoryVectorStore) -> Any:
    graph = StateGraph(State)
    graph.add_node("find", lambda state: {"documents": found.similarity_search(state["question"], k=10)})
    graph.add_node("tell", lambda state: {"answer": f"{len(state['documents'])} notes."})
    graph.add_edge(START, "find")
    graph.add_edge("find", "tell")
    graph.add_edge("tell", END)
    return graph.compile()


def filled_graph() -> Any:
    return make_graph(filled)


def empty_graph() -> Any:
    return make_graph(empty)


def chat() -> Any:
    graph = StateGraph(MessagesState)
    model = FakeListChatModel(responses=["At seven."])
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "model")
    return graph.compile()


class Odd(TypedDict):
    topic: str


def odd_graph() -> Any:
    graph = StateGraph(Odd)
    graph.add_node("stay", lambda state: state)
    graph.add_edge(START, "stay")
    return graph.compile()
