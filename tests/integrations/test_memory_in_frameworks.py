"""Assay's memory as a retriever of LangChain, LlamaIndex and Haystack, and as a store of LangGraph."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from assay import Client, Memory
from assay.errors import BadValue, InputError
from assay.integrations.haystack import AssayRetriever as HaystackRetriever
from assay.integrations.langchain import AssayRetriever as LangChainRetriever
from assay.integrations.langgraph import AssayStore
from assay.integrations.llamaindex import AssayRetriever as LlamaIndexRetriever
from assay.testing import HashedEmbedder

POOL = "The swimming pool opens at seven."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.db", embedder=HashedEmbedder()) as opened:
        opened.save("Pool", POOL, folder="house", tags=["times"])
        opened.save("Breakfast", "Breakfast is served in the garden room.", folder="kitchen")
        opened.save("Parking", "Parking in the garage costs twelve a night.", folder="house/garage")
        yield opened


def test_langchain_finds_memories(memory: Memory) -> None:
    retriever = LangChainRetriever(memory=memory, k=2)
    found = retriever.invoke("when does the swimming pool open")
    assert len(found) == 2
    assert (found[0].page_content, found[0].metadata["title"], found[0].metadata["folder"]) == (POOL, "Pool", "house")
    assert found[0].id == found[0].metadata["id"] == memory.search("pool").hits[0].memory_id
    assert found[0].metadata["score"] >= found[1].metadata["score"]
    chain = retriever | RunnableLambda(lambda documents: documents[0].page_content)
    assert asyncio.run(chain.ainvoke("swimming pool")) == POOL


def test_langchain_looks_only_where_it_is_told_to(memory: Memory) -> None:
    for given, titles in (({"folder": "house"}, {"Pool", "Parking"}), ({"memory_tags": ["times"]}, {"Pool"})):
        found = LangChainRetriever(memory=memory, **given).invoke("the pool and breakfast and parking")
        assert {document.metadata["title"] for document in found} == titles


def test_llamaindex_finds_memories(memory: Memory) -> None:
    found = LlamaIndexRetriever(memory, k=2).retrieve("when does the swimming pool open")
    assert (found[0].node.get_content(), found[0].node.metadata["title"]) == (POOL, "Pool")
    assert (found[0].score or 0.0) >= (found[1].score or 0.0)
    assert [
        node.node.metadata["title"] for node in LlamaIndexRetriever(memory, folder="kitchen").retrieve("breakfast pool")
    ] == ["Breakfast"]


def test_haystack_finds_memories_in_a_pipeline_that_can_be_written_down(memory: Memory) -> None:
    pipeline = Pipeline()
    pipeline.add_component("memory", HaystackRetriever(memory, top_k=2))
    found = pipeline.run({"memory": {"query": "when does the swimming pool open"}})["memory"]["documents"]
    assert (found[0].content, found[0].meta["title"], len(found)) == (POOL, "Pool", 2)
    assert len(pipeline.run({"memory": {"query": "the pool", "top_k": 1}})["memory"]["documents"]) == 1
    told = pipeline.to_dict()["components"]["memory"]["init_parameters"]
    assert told == {"db": str(memory.settings.db), "top_k": 2, "folder": None, "tags": []}
    again = Pipeline.from_dict(pipeline.to_dict(), allowed_modules=["assay.integrations.haystack"])
    assert again.get_component("memory").top_k == 2
    again.get_component("memory").memory.close()
    with pytest.raises(InputError, match="Client cannot be written"):
        HaystackRetriever(Client()).to_dict()


def test_a_store_gives_back_what_was_put(memory: Memory) -> None:
    store = AssayStore(memory)
    store.put(("users", "ada"), "food", {"text": "Ada likes plum cake", "score": 7})
    found = store.get(("users", "ada"), "food")
    assert found is not None
    assert (found.value, found.namespace, found.key) == (
        {"text": "Ada likes plum cake", "score": 7},
        ("users", "ada"),
        "food",
    )
    store.put(("users", "ada"), "food", {"text": "Ada likes plum cake", "score": 8})
    again = store.get(("users", "ada"), "food")
    assert again is not None
    assert (again.value["score"], again.created_at) == (8, found.created_at)
    assert again.updated_at >= found.updated_at
    assert store.get(("users", "bo"), "food") is None
    store.delete(("users", "ada"), "food")
    assert store.get(("users", "ada"), "food") is None
    store.delete(("users", "ada"), "food")
    store.put(("users", "ada"), "food", {"text": "Ada likes plum cake", "score": 8})
    assert store.get(("users", "ada"), "food") is not None


def test_notes_that_look_alike_stay_apart(memory: Memory) -> None:
    store = AssayStore(memory)
    for number in range(5):
        store.put(("a/b", f"n{number}"), "k", {"text": "The same text", "number": number})
    values = [store.get(("a/b", f"n{number}"), "k") for number in range(5)]
    assert [item and item.value["number"] for item in values] == [0, 1, 2, 3, 4]
    assert len(store.search(("a/b",), query="the same text")) == 5
    assert len(store.search(("a/b", "n2"), query="the same text")) == 1


def fill(store: AssayStore) -> AssayStore:
    store.put(("users", "ada"), "food", {"text": "Ada likes plum cake", "stars": 5, "by": {"name": "bo"}})
    store.put(("users", "ada"), "sport", {"text": "Ada swims in the lake", "stars": 3})
    store.put(("users", "bo"), "food", {"text": "Bo likes apple pie", "stars": 4})
    store.put(("rules",), "quiet", {"text": "Quiet after ten"}, index=False)
    return store


def keys(found: list[Any]) -> list[tuple[str, ...]]:
    return [(*item.namespace, item.key) for item in found]


def test_a_store_searches_by_meaning_namespace_and_value(memory: Memory) -> None:
    store = fill(AssayStore(memory))
    found = store.search(("users", "ada"), query="which cake")
    assert keys(found)[0] == ("users", "ada", "food")
    assert {item.namespace for item in found} == {("users", "ada")}
    assert found[0].score is not None
    assert keys(store.search((), query="quiet after ten", limit=50)).count(("rules", "quiet")) == 0
    for wanted, fitting in (
        ({"stars": 3}, {("users", "ada", "sport")}),
        ({"stars": {"$gte": 4}}, {("users", "ada", "food"), ("users", "bo", "food")}),
        ({"stars": {"$lt": 5, "$ne": 3}}, {("users", "bo", "food")}),
        ({"by": {"name": "bo"}}, {("users", "ada", "food")}),
        ({"text": {"$gt": 3}}, set()),
    ):
        assert set(keys(store.search(("users",), filter=wanted))) == fitting
    newest = store.search(("users",), limit=2)
    assert keys(newest) == [("users", "bo", "food"), ("users", "ada", "sport")]
    assert keys(store.search(("users",), limit=2, offset=2)) == [("users", "ada", "food")]
    with pytest.raises(BadValue, match="'\\$near' is not a comparison"):
        store.search(("users",), filter={"stars": {"$near": 4}})


def test_a_store_lists_namespaces(memory: Memory) -> None:
    store = fill(AssayStore(memory))
    assert store.list_namespaces() == [("rules",), ("users", "ada"), ("users", "bo")]
    assert store.list_namespaces(prefix=("users",)) == [("users", "ada"), ("users", "bo")]
    assert store.list_namespaces(suffix=("ada",)) == [("users", "ada")]
    assert store.list_namespaces(prefix=("*", "bo")) == [("users", "bo")]
    assert store.list_namespaces(max_depth=1) == [("rules",), ("users",)]
    assert store.list_namespaces(limit=1, offset=1) == [("users", "ada")]


def test_a_store_indexes_the_fields_it_is_told_to(memory: Memory) -> None:
    store = AssayStore(memory)
    store.put(("n",), "a", {"title": "zebra", "body": "walrus"}, index=["title"])
    assert memory.search("zebra").hits[0].text == "zebra"
    with pytest.raises(BadValue, match="ttl"):
        AssayStore(memory)._put(put_with_ttl())


def put_with_ttl() -> Any:
    from langgraph.store.base import PutOp  # noqa: PLC0415 - only here

    return PutOp(("n",), "a", {"text": "x"}, ttl=5.0)


def test_a_store_works_from_coroutines_and_in_a_graph(memory: Memory) -> None:
    store = AssayStore(memory)

    def remember(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        asked = str(state["messages"][-1].content)
        known = store.search(("talks",), query=asked, limit=1)
        store.put(("talks",), asked, {"text": asked})
        return {"messages": [("ai", known[0].value["text"] if known else "nothing")]}

    graph = StateGraph(MessagesState)
    graph.add_node("remember", remember)
    graph.add_edge(START, "remember")
    compiled = graph.compile(store=store)
    first = compiled.invoke({"messages": [("user", "I like plum cake")]})
    second = asyncio.run(compiled.ainvoke({"messages": [("user", "which cake do I like")]}))
    assert [first["messages"][-1].content, second["messages"][-1].content] == ["nothing", "I like plum cake"]

    async def talk() -> Any:
        await store.aput(("talks",), "k", {"text": "v"})
        return await store.aget(("talks",), "k")

    assert asyncio.run(talk()).value == {"text": "v"}
