"""The systems that `assay bench memory` compares, opened by name, and the readers and judges of the answers layer."""

from __future__ import annotations

import difflib
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.clock import SystemClock
from assay.errors import AssayError, InputError, UnknownSystem
from assay.extras import DISTRIBUTION, need_extra, package_version
from assay.models.chat import ChatRequest, Message
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.http_pool import HttpPool
from assay.records.judging import RubricKind
from assay.referee.contenders.contract import Contender, OpenContender
from assay.settings import Settings, load_settings
from assay.systems.replies import headers_for
from assay.wiring.engines import ENGINE_MODULES, load_embedder, open_engine
from assay.wiring.executors import tell_embedder
from assay.wiring.models import open_model
from assay.wiring.network import gatekeeper_of
from assay.wiring.stores import open_store, scope_of

MODEL = "model"
"""The name of the reader and of the judge that ask the model of the settings."""

if TYPE_CHECKING:
    from assay.referee.judges import AnswerJudge
    from assay.referee.readers import AnswerReader
    from assay.referee.records import BenchOptions
    from assay.referee.running import Benchmark, Listen
    from assay.referee.sets.overlays import KeyOverlay
    from assay.referee.sets.values import MemorySet
    from assay.referee.spread import OpenBench
    from assay.referee.watching import SharedEmbedder


class ContenderEntry(NamedTuple):
    """A system as `assay bench list` shows it."""

    name: str
    summary: str
    open: Callable[[str, OpenContender], Contender]
    needs: str = ""
    """The package it needs besides assaykit[memory]."""
    embeds: bool = True
    """Whether it may use the shared embedder."""
    target: bool = False
    """Whether something follows its name after a colon."""


def _open_assay(target: str, opened: OpenContender) -> Contender:
    need_extra("memory", *ENGINE_MODULES)
    from assay.referee.contenders.assay_memory import AssayMemory  # noqa: PLC0415 - needs the extra

    configuration = dict(part.split("=", 1) for part in target.split(",") if "=" in part)
    unknown = sorted(set(configuration) - {"mode"})
    if unknown or (target and not configuration):
        raise InputError(f"assay:{target} is not known", remedy="Write assay, or assay:mode=quick|focused|deep.")
    settings = Settings(db=str(opened.folder / "assay.db"))
    engine = open_engine(settings, embedder=opened.embedder)
    return AssayMemory(engine, name=f"assay:{target}" if target else "assay", configuration=configuration)


def _open_bm25(_: str, opened: OpenContender) -> Contender:
    need_extra("memory", "tantivy")
    from assay.referee.contenders.plain import Bm25  # noqa: PLC0415 - a system is loaded when it is used
    from assay.text.terms import stems  # noqa: PLC0415 - the same

    return Bm25(opened, stems)


def _open_vector(_: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.plain import ExactVectors  # noqa: PLC0415 - a system is loaded when it is used

    return ExactVectors(opened)


def _open_markdown(_: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.plain import MarkdownGrep  # noqa: PLC0415 - a system is loaded when it is used

    return MarkdownGrep(opened)


def _open_chroma(_: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.vector_stores import Chroma  # noqa: PLC0415 - a system is loaded when it is used

    return Chroma(opened)


def _open_qdrant(_: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.vector_stores import Qdrant  # noqa: PLC0415 - a system is loaded when it is used

    return Qdrant(opened)


def _open_lance(target: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.vector_stores import Lance  # noqa: PLC0415 - a system is loaded when it is used

    if target not in ("", "hybrid"):
        raise InputError(f"lancedb:{target} is not known", remedy="Write lancedb, or lancedb:hybrid.")
    return Lance(opened, hybrid=target == "hybrid")


def _open_mem0(_: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.memory_products import Mem0  # noqa: PLC0415 - a system is loaded when it is used

    return Mem0(opened)


def _open_langgraph(_: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.memory_products import LangGraphStore  # noqa: PLC0415 - loaded when it is used

    return LangGraphStore(opened)


def _open_python(target: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.python_class import make_contender  # noqa: PLC0415 - loaded when it is used
    from assay.systems.python_function import load_attribute  # noqa: PLC0415 - the same

    return make_contender(load_attribute(target, Path.cwd()), f"python:{target}", opened)


def _open_http(target: str, opened: OpenContender) -> Contender:
    from assay.referee.contenders.described import DescribedContender, read_description  # noqa: PLC0415 - when used

    described = read_description(Path(target).expanduser(), kind="http")
    pool = HttpPool()
    endpoint = Endpoint(
        EndpointOptions(
            url=described["url"],
            headers=headers_for(described["url"], described.get("headers", {})),
            deadline_s=float(described.get("timeout_s", 30.0)),
        ),
        gate=gatekeeper_of(load_settings().settings),
        clock=SystemClock(),
        rng=np.random.default_rng(opened.seed),
        pause=time.sleep,
        pool=pool,
    )
    return DescribedContender(
        described, f"http:{target}", lambda path, body: endpoint.send(path, body).value, pool.close
    )


def _open_mcp(target: str, opened: OpenContender) -> Contender:  # noqa: ARG001 - the server keeps its own files
    need_extra("mcp", "mcp")
    from assay.referee.contenders.described import DescribedContender, read_description  # noqa: PLC0415 - when used
    from assay.systems.mcp_connection import McpConnection, McpMapping, SearchCall, ServerStart  # noqa: PLC0415 - same

    described = read_description(Path(target).expanduser(), kind="mcp")
    server = described["server"]
    mapping = McpMapping(
        server=ServerStart(**{**server, "args": tuple(server.get("args", ()))}),
        search=SearchCall(tool=described["ask"]["tool"]),
        results={},
        timeout_s=float(described.get("timeout_s", 30.0)),
    )
    connection = McpConnection(mapping, gate=gatekeeper_of(load_settings().settings))
    return DescribedContender(described, f"mcp:{target}", connection.call, connection.close)


CONTENDERS: Mapping[str, ContenderEntry] = {
    entry.name: entry
    for entry in (
        ContenderEntry("assay", "Assay's own memory; assay:mode=quick|focused|deep", _open_assay),
        ContenderEntry("bm25", "Okapi BM25 over stemmed words", _open_bm25, embeds=False),
        ContenderEntry("vector", "The shared embedder, every vector compared", _open_vector),
        ContenderEntry("markdown-grep", "Markdown files searched word by word", _open_markdown, embeds=False),
        ContenderEntry("chroma", "Chroma, local", _open_chroma, "chromadb"),
        ContenderEntry("qdrant", "Qdrant, local mode", _open_qdrant, "qdrant-client"),
        ContenderEntry("lancedb", "LanceDB; lancedb:hybrid for both kinds of search", _open_lance, "lancedb"),
        ContenderEntry("mem0", "mem0 without a model (infer=False)", _open_mem0, "mem0ai"),
        ContenderEntry("langgraph-store", "LangGraph's SQLite store", _open_langgraph, "langgraph"),
        ContenderEntry(
            "http", "A service that a TOML file describes: http:FILE", _open_http, embeds=False, target=True
        ),
        ContenderEntry(
            "mcp", "An MCP server that a TOML file describes: mcp:FILE", _open_mcp, embeds=False, target=True
        ),
        ContenderEntry("python", "A class of yours: python:MODULE:NAME", _open_python, target=True),
    )
}
"""Every system, by the word before the colon."""


def parse_contender(text: str) -> tuple[ContenderEntry, str]:
    """Return the entry that a name such as `lancedb:hybrid` means, and what follows the colon."""
    kind, _, target = text.partition(":")
    if kind not in CONTENDERS:
        near = difflib.get_close_matches(kind, CONTENDERS, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise UnknownSystem(f"there is no system {text!r}", remedy=f"{hint}Known: {', '.join(CONTENDERS)}.")
    entry = CONTENDERS[kind]
    if entry.target and not target:
        raise UnknownSystem(f"{text!r} does not say which", remedy=f"Write it as: {entry.summary}.")
    return entry, target


def open_contender(text: str, opened: OpenContender) -> Contender:
    """Open a system by its name."""
    entry, target = parse_contender(text)
    try:
        return entry.open(target, opened)
    except AssayError:
        raise
    except Exception as problem:
        raise UnknownSystem(
            f"{text} cannot be opened: {type(problem).__name__}: {problem}", remedy="Mend it, or leave it out."
        ) from problem


def bench_embedder(
    settings: Settings, systems: Iterable[str], vectors: Path | None = None, *, reader: str = ""
) -> SharedEmbedder | None:
    """Return the embedder that all vector systems share; None where the settings want none, or nobody uses it.

    With a folder, vectors are kept there, so that a second benchmark does not make them again.
    """
    from assay.referee.watching import SharedEmbedder  # noqa: PLC0415 - needs numpy only here

    is_used = reader == "choice" or any(parse_contender(system)[0].embeds for system in systems)
    if settings.embedder == "none" or not is_used:
        return None
    if settings.embedder == "minilm":
        need_extra("memory", "onnxruntime", "tokenizers")
    return SharedEmbedder(load_embedder(settings), folder=vectors)


def bench_versions(systems: tuple[str, ...]) -> dict[str, str]:
    """Return the versions that numbers depend on: Assay, Python, the packages of the systems."""
    found = {"assay": package_version(DISTRIBUTION), "python": ".".join(platform.python_version_tuple()[:2])}
    for system in systems:
        package = parse_contender(system)[0].needs
        if package:
            found[package] = package_version(package)
    return found


def quiet_peers() -> None:
    """Tell packages of peers not to report use and not to download: what they hold back is no part of a time."""
    for name, value in (
        ("MEM0_TELEMETRY", "False"),
        ("ANONYMIZED_TELEMETRY", "False"),
        ("HF_HUB_OFFLINE", "1"),
        ("LANGSMITH_TRACING", "false"),
    ):
        os.environ.setdefault(name, value)


# --- The benchmark itself, here and inside workers ---


def make_benchmark(  # noqa: PLR0917 - everything a benchmark is made of
    options: BenchOptions,
    sets: Sequence[MemorySet],
    overlays: Sequence[KeyOverlay],
    embedder: SharedEmbedder | None,
    answering: Answering | None,
    listen: Listen = lambda *_: None,
) -> Benchmark:
    """Return the benchmark of these options; its systems are opened by name."""
    from assay.referee.running import Benchmark  # noqa: PLC0415 - loaded when it is used

    known = {memory_set.name for memory_set in sets}
    lost = next((found.set for found in overlays if found.set not in known), None)
    if lost is not None:
        raise InputError(f"an overlay is for {lost}, which is not measured", remedy=f"Add --set {lost}.")

    def open_system(name: str, folder: Path) -> Contender:
        return open_contender(name, OpenContender(folder=folder, embedder=embedder, seed=options.seed))

    return Benchmark(
        options=options,
        sets=sets,
        open_system=open_system,
        overlays={found.set: found for found in overlays},
        embedder=embedder,
        reader=None if answering is None else answering.reader,
        judge=None if answering is None else answering.judge,
        listen=listen,
        versions=bench_versions(options.systems),
    )


def remote_bench(
    settings: Settings,
    options: BenchOptions,
    sets: Sequence[MemorySet],
    overlays: Sequence[KeyOverlay],
    answering: Answering | None,
) -> OpenBench | None:
    """Return what opens the benchmark inside a worker; None where a model is asked, whose budget holds here alone."""
    if answering is not None and (MODEL in (options.reader, options.judge) or not answering.judge.repeatable):
        return None
    return partial(open_worker_bench, tell_embedder(settings), options, tuple(sets), tuple(overlays))


def open_worker_bench(
    told: dict[str, Any], options: BenchOptions, sets: Sequence[MemorySet], overlays: Sequence[KeyOverlay]
) -> Benchmark:
    """Open a benchmark in a worker: one thread for the embedder, since a worker works on one user at a time."""
    from assay.referee.sets.values import ANSWERS  # noqa: PLC0415 - loaded when it is used

    quiet_peers()
    settings = load_settings().settings.change(**told, embedder_threads=1)
    embedder = bench_embedder(settings, options.systems, reader=options.reader)
    answering = None
    if options.layer == ANSWERS:
        reader = _open_reader(settings, options.reader, embedder, None)
        answering = Answering(reader, open_bench_judge(settings, options.judge))
    return make_benchmark(options, sets, overlays, embedder, answering)


# --- Who answers and who decides ---


class Answering(NamedTuple):
    """Who answers and who decides, in the answers layer."""

    reader: AnswerReader
    judge: AnswerJudge


@contextmanager
def open_answering(settings: Settings, reader: str, judge: str, embedder: Any) -> Iterator[Answering]:
    """Open a reader and a judge by their names; a store is opened only where a model's replies are kept in it."""
    if not reader or not judge:
        raise InputError("answers need a named reader and a named judge", remedy="Give --reader and --judge.")
    with ExitStack() as stack:
        store = stack.enter_context(open_store(settings)) if MODEL in (reader, judge) else None
        yield Answering(_open_reader(settings, reader, embedder, store), open_bench_judge(settings, judge, store))


def _open_reader(settings: Settings, name: str, embedder: Any, store: Any) -> AnswerReader:
    from assay.referee.readers import ChoiceReader, ExtractReader, ModelReader  # noqa: PLC0415 - loaded when used

    if name == "extract":
        return ExtractReader()
    if name == "choice":
        if embedder is None:
            raise InputError("the reader choice needs an embedder", remedy="Install assaykit[memory].")
        return ChoiceReader(embedder)
    if name != MODEL:
        raise InputError(f"there is no reader {name!r}", remedy="Use one of: choice, extract, model.")
    model = open_model(settings, store, scope_of(settings))

    def complete(prompt: str) -> str:
        return model.complete(ChatRequest(messages=(Message(role="user", content=prompt),))).text

    return ModelReader(complete, model.name)


def open_bench_judge(settings: Settings, name: str, store: Any = None) -> AnswerJudge:
    """Open a judge of answers: one of the rules, or any judge of correctness that `assay judge` knows."""
    from assay.judging.registry import JudgeRequest, find_judge  # noqa: PLC0415 - loaded when it is used
    from assay.referee.judges import RULE_JUDGES, RegisteredJudge  # noqa: PLC0415 - the same

    if name in RULE_JUDGES:
        return RULE_JUDGES[name]
    entry = find_judge(name, RubricKind.CORRECTNESS)
    request = JudgeRequest(about=RubricKind.CORRECTNESS, settings=settings, store=store, scope=scope_of(settings))
    return RegisteredJudge(name, entry.open(request))


def find_repeatable_judge(settings: Settings, name: str) -> AnswerJudge | None:
    """Return a judge that `assay bench verify` can ask again; None where it asks a model or is not known here."""
    if name in (MODEL, "", "imported"):
        return None
    try:
        judge = open_bench_judge(settings, name)
    except InputError:
        return None
    return judge if judge.repeatable else None
