"""Spans of the real OpenInference instrumentations: what a chain did comes through, in both forms of OTLP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.graph import START, MessagesState, StateGraph
from llama_index.core.llms import CompletionResponse
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.mock import MockLLM
from openinference.instrumentation import using_session
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.cli.telling import Run, runner
from tests.integrations.objects_llamaindex import make_index
from tests.traces.made import ANSWER, BAR, LIFT, POOL, QUESTION, to_otlp_json, to_protobuf, write_json

from assay.evaluation.datasets import load_dataset
from assay.settings import load_settings
from assay.wiring import registry_of

Spans = Sequence[ReadableSpan]
Write = Callable[[Path, Spans], Path]
TEXTS = {"pool": POOL, "bar": BAR, "lift": LIFT}


class Notes(BaseRetriever):
    """Finds the same passages of one file for every question; the last has no score."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        scores: dict[str, dict[str, Any]] = {"bar": {"score": 0.9}, "pool": {"relevance_score": 0.25}, "lift": {}}
        return [Document(TEXTS[key], id=key, metadata={"source": "hotel.md", **scores[key]}) for key in scores]


class Model(FakeListChatModel):
    """A scripted model that has a name, as models of services have."""

    def _get_ls_params(self, **given: Any) -> Any:
        return {**super()._get_ls_params(**given), "ls_model_name": "small-1"}


PROMPT = ChatPromptTemplate.from_messages([("system", "Answer from these notes: {context}"), ("human", "{question}")])


def to_text() -> Any:
    """A chain that takes the question and returns the answer."""
    found = {"context": Notes(), "question": RunnablePassthrough()}
    return found | PROMPT | Model(responses=[ANSWER]) | StrOutputParser()


def to_message() -> Any:
    """A chain that takes an object and returns the message of the model."""
    found = RunnablePassthrough.assign(context=RunnableLambda(lambda given: given["question"]) | Notes())
    return found | PROMPT | Model(responses=[ANSWER])


def answer_messages(state: MessagesState) -> dict[str, Any]:
    asked = state["messages"][-1].text
    notes = "\n".join(document.page_content for document in Notes().invoke(asked))
    return {"messages": [(PROMPT | Model(responses=[ANSWER])).invoke({"context": notes, "question": asked})]}


def graph() -> Any:
    """A graph over messages that searches and answers."""
    made = StateGraph(MessagesState)
    made.add_node("answer", answer_messages)
    made.add_edge(START, "answer")
    return made.compile()


class Asked(NamedTuple):
    """A chain and how it is asked."""

    make: Callable[[], Any]
    given: Any


CHAINS = {
    "a text in, a text out": Asked(to_text, QUESTION),
    "an object in, a message out": Asked(to_message, {"question": QUESTION}),
    "messages in and out": Asked(graph, {"messages": [("user", QUESTION)]}),
}


def write_as_json(folder: Path, spans: Spans) -> Path:
    return write_json(folder / "spans.json", to_otlp_json(spans))


def write_as_protobuf(folder: Path, spans: Spans) -> Path:
    path = folder / "spans.bin"
    path.write_bytes(to_protobuf(spans))
    return path


FORMS = {"json": write_as_json, "protobuf": write_as_protobuf}


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


@pytest.fixture
def langchain(provider: TracerProvider) -> Iterator[None]:
    """LangChain, instrumented during one test."""
    LangChainInstrumentor().instrument(tracer_provider=provider)
    yield
    LangChainInstrumentor().uninstrument()


@pytest.fixture
def llama_index(provider: TracerProvider) -> Iterator[None]:
    """LlamaIndex, instrumented during one test."""
    LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    yield
    LlamaIndexInstrumentor().uninstrument()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run commands where nothing is yet."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def imported(run: Run, path: Path, spans: Spans) -> Any:
    """Import a file of one trace; every span of it must be stored."""
    told = run("traces", "import", str(path), "--json").json
    assert (told["spans"], told["stored"], told["traces"]) == (len(spans), len(spans), 1), told
    (trace_id,) = {format(span.context.trace_id, "032x") for span in spans if span.context is not None}
    return run("traces", "show", trace_id, "--json").json


def spans_of(shown: Any, role: str) -> list[Any]:
    return [line["span"] for line in shown["spans"] if line["span"]["role"] == role]


def recorded(exporter: InMemorySpanExporter, asked: Asked) -> Spans:
    """Ask a chain within a session; return the spans of it."""
    with using_session("s1"):
        asked.make().invoke(asked.given)
    return exporter.get_finished_spans()


@pytest.mark.usefixtures("langchain")
@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("asked", CHAINS.values(), ids=CHAINS.keys())
def test_a_chain_of_langchain_comes_through(
    run: Run, exporter: InMemorySpanExporter, asked: Asked, write: Write, tmp_path: Path
) -> None:
    spans = recorded(exporter, asked)
    shown = imported(run, write(tmp_path, spans), spans)
    summary = shown["summary"]
    assert (summary["question"], summary["answer"]) == (QUESTION, ANSWER)
    assert (summary["session_id"], summary["searches"], summary["models"]) == ("s1", 1, ["small-1"])
    (search,) = spans_of(shown, "retriever")
    assert search["input"] == QUESTION
    assert [(found["id"], found["score"], found["text"]) for found in search["documents"]] == [
        ("bar", 0.9, BAR),
        ("pool", 0.25, POOL),
        ("lift", None, LIFT),
    ]
    (model,) = spans_of(shown, "model")
    assert (model["input"], model["output"], model["model"]) == (QUESTION, ANSWER, "small-1")
    assert [candidate["document_id"] for candidate in shown["candidates"] if candidate["used"]] == ["pool"]


@pytest.mark.usefixtures("langchain")
@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS.keys())
def test_the_same_spans_twice_change_nothing_and_become_one_case(
    run: Run, exporter: InMemorySpanExporter, write: Write, tmp_path: Path
) -> None:
    spans = recorded(exporter, CHAINS["a text in, a text out"])
    path = write(tmp_path, spans)
    shown = imported(run, path, spans)
    trace_id = shown["summary"]["trace_id"]
    again = run("traces", "import", str(path), "--json").json
    assert (again["stored"], again["traces"], again["rejected"]) == (0, 0, {"duplicate": len(spans)})
    assert run("traces", "show", trace_id, "--json").json == shown
    made = run("dataset", "from-traces", "prod", "--json").json
    assert (made["added"], made["to_label"], made["left_out"]) == ([trace_id], 3, {})
    dataset = load_dataset("prod", registry=registry_of(load_settings().settings))
    assert [(case.id, case.query) for case in dataset.cases] == [(trace_id, QUESTION)]
    assert {document.id: document.text for document in dataset.documents} == TEXTS


@pytest.mark.usefixtures("langchain")
def test_a_chain_that_fails_says_where(run: Run, exporter: InMemorySpanExporter, tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        to_message().invoke({"topic": QUESTION})
    spans = exporter.get_finished_spans()
    summary = imported(run, write_as_json(tmp_path, spans), spans)["summary"]
    assert "failed" in summary["faults"]


class Scripted(MockLLM):
    """Answers always the same."""

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=ANSWER)


@pytest.mark.usefixtures("llama_index")
@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS.keys())
def test_a_query_of_llama_index_comes_through(
    run: Run, exporter: InMemorySpanExporter, write: Write, tmp_path: Path
) -> None:
    engine = make_index(TEXTS).as_query_engine(llm=Scripted(), similarity_top_k=2)
    exporter.clear()
    response = engine.query(QUESTION)
    spans = exporter.get_finished_spans()
    shown = imported(run, write(tmp_path, spans), spans)
    summary = shown["summary"]
    assert (summary["question"], summary["answer"], summary["searches"]) == (QUESTION, ANSWER, 1)
    inner, outer = sorted(spans_of(shown, "retriever"), key=lambda span: len(span["documents"]))
    assert (outer["input"], inner["input"], inner["documents"]) == (QUESTION, QUESTION, [])
    assert [(found["id"], found["text"], found["score"]) for found in outer["documents"]] == [
        (node.node_id, node.text, pytest.approx(node.score)) for node in response.source_nodes
    ]
    called = [span for span in spans_of(shown, "model") if span["name"].endswith(".complete")]
    assert [span["output"] for span in called] == [ANSWER]
    assert called[0]["input"].rstrip().endswith(f"Query: {QUESTION}\nAnswer:")
