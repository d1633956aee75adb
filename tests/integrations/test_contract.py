"""The contract of adapters, over every framework and store that has a package of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from tests.integrations.stores import CASES as STORE_CASES
from tests.systems.adapter_contract import QUERIES, TEXTS, AdapterCase, AdapterContract, ask, nearest

from assay.errors import BadValue, UnknownSystem
from assay.records.evaluations import CaseStatus, Retrieved
from assay.systems.protocol import System
from assay.wiring.adapter_kinds import FRAMEWORKS, STORES


def choose(kind: str, filled: str = "filled", empty: str = "empty") -> Callable[[Path, Mapping[str, str]], str]:
    module = "langchain" if kind == "langgraph" else kind.replace("-", "_")
    return lambda _, texts: f"{kind}:tests.integrations.objects_{module}:{filled if texts else empty}"


def framework(kind: str, *objects: str, scores: bool = True) -> AdapterCase:
    return AdapterCase(kind, choose(kind, *objects), f"{kind}:tests.integrations.nothing:here", scores=scores)


CASES = {
    **STORE_CASES,
    "langchain": framework("langchain", scores=False),
    "langchain, retriever": framework("langchain", "filled_retriever", "empty_retriever", scores=False),
    "langgraph": framework("langgraph", "filled_graph", "empty_graph", scores=False),
    "langgraph, store": framework("langgraph", "filled_items", "empty_items"),
    "llamaindex": framework("llamaindex"),
    "haystack": framework("haystack"),
    "dspy": framework("dspy", scores=False),
    "pydantic-ai": framework("pydantic-ai"),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> AdapterCase:
    return CASES[str(request.param)]


class TestContract(AdapterContract):
    """The contract, over these."""


def test_every_kind_is_under_the_contract() -> None:
    assert {case.kind for case in CASES.values()} == {*FRAMEWORKS, *STORES} - {"pgvector"}


def open_framework(name: str) -> System:
    made: System = FRAMEWORKS[name.partition(":")[0]].load()(name, Path())
    return made


def retrieve(name: str, query: str = QUERIES[0], k: int = 3) -> Retrieved:
    with closing(open_framework(name)) as system:
        result = ask(system, query, k)
    assert result.status is CaseStatus.OK, result.error
    assert result.retrieved is not None
    return result.retrieved


@pytest.mark.parametrize(
    ("name", "count", "answer"),
    [
        ("langchain:tests.integrations.objects_langchain:chain", 2, f"About {QUERIES[0]}."),
        ("langchain:tests.integrations.objects_langchain:model", 0, "Forty-two."),
        ("langgraph:tests.integrations.objects_langchain:filled_graph", 3, "6 notes."),
        ("langgraph:tests.integrations.objects_langchain:chat", 0, "At seven."),
        ("llamaindex:tests.integrations.objects_llamaindex:engine", 2, None),
        ("haystack:tests.integrations.objects_haystack:answering", 3, "3 notes."),
        ("dspy:tests.integrations.objects_dspy:answering", 2, "At seven."),
        ("pydantic-ai:tests.integrations.objects_pydantic_ai:filled?tool=search", 3, "6 notes."),
    ],
)
def test_what_answers_is_read_with_its_answer(name: str, count: int, answer: str | None) -> None:
    given = retrieve(name)
    assert given.ids == nearest(QUERIES[0], count)
    assert given.answer is not None
    assert answer in (None, given.answer.text)
    assert given.answer.text


@pytest.mark.parametrize(
    "name",
    [
        "langgraph:tests.integrations.objects_langchain:filled_items?namespace=notes/hotel",
        "llamaindex:tests.integrations.objects_llamaindex:retriever",
        "haystack:tests.integrations.objects_haystack:words",
    ],
)
def test_other_objects_are_asked_their_own_way(name: str) -> None:
    given = retrieve(name)
    assert given.ids[0] in {"pool", "sauna"}
    assert given.passages[0].text == TEXTS[given.ids[0]]


def test_options_name_what_is_read() -> None:
    elsewhere = "langgraph:tests.integrations.objects_langchain:filled_items?namespace=elsewhere"
    with closing(open_framework(elsewhere)) as system:
        assert ask(system, QUERIES[0]).status is CaseStatus.EMPTY
    assert retrieve("langchain:tests.integrations.objects_langchain:without_ids?id=source").ids == ("a.md",)
    assert set(retrieve("dspy:tests.integrations.objects_dspy:embeddings").ids) == {"0", "1"}
    other = "pydantic-ai:tests.integrations.objects_pydantic_ai:filled?tool=other"
    assert retrieve(other).ids == ()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "langchain:tests.integrations.objects_langchain:without_ids",
            "a document has no id; its metadata has 'source'",
        ),
        ("langgraph:tests.integrations.objects_langchain:odd_graph", "the graph takes topic"),
        ("haystack:tests.integrations.objects_haystack:without_a_query", "no open input that is named like a query"),
    ],
)
def test_what_cannot_be_asked_says_why(name: str, why: str) -> None:
    with closing(open_framework(name)) as system:
        result = ask(system, QUERIES[0])
        assert (result.status, why in result.error) == (CaseStatus.ERROR, True), result.error
        with pytest.raises(BadValue):
            system.retrieve(QUERIES[0], 3, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", sorted(FRAMEWORKS))
def test_an_object_of_another_kind_is_refused(kind: str) -> None:
    with pytest.raises(UnknownSystem, match="is a int") as refused:
        open_framework(f"{kind}:tests.integrations.objects_langchain:number")
    assert "Name a" in refused.value.remedy
