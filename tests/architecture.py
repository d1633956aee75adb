"""The house: every folder of `src/assay`, what it is for, and what it may import.

`tests/test_architecture.py` enforces it and `docs/architecture.md` shows it. A folder that has not been built yet keeps
its line here, so that whoever builds it finds its walls standing.
"""

from __future__ import annotations

from typing import NamedTuple

OPEN_TO_ALL = frozenset(
    {"errors", "extras", "clock", "cpu_budget", "hashing", "private_files", "records", "registry", "regular_files"}
)
"""Any folder may import these."""


class Layer(NamedTuple):
    """One folder or file of the package."""

    name: str
    purpose: str
    may_import: frozenset[str]


def _layer(name: str, purpose: str, *may_import: str) -> Layer:
    return Layer(name, purpose, frozenset(may_import))


_USE_CASES = (
    "memory",
    "evaluation",
    "online",
    "research",
    "analysis",
    "judging",
    "systems",
    "storage",
    "flags",
    "access",
    "traces",
)
_MEASURES = ("metrics", "statistics", "formats", "text", "embedding", "models", "index")

LAYERS = (
    _layer("errors", "the whole error tree, drawn in its docstring"),
    _layer("extras", "the optional parts, and the error that names a missing one", "errors"),
    _layer("clock", "Clock protocol, SystemClock"),
    _layer("cpu_budget", "processor time that a request may use, checked between its steps", "errors"),
    _layer("hashing", "canonical JSON, tagged content hash, deterministic bucket"),
    _layer("registry", "named things that packages can add to: entry points, origins, problems", "errors"),
    _layer("private_files", "files and folders that only their owner can read"),
    _layer("regular_files", "open what a user names: regular files only, of bounded size", "errors"),
    _layer("records", "frozen values of the domain, checked when made"),
    _layer("text", "Markdown headings and anchors, chunking, token counts"),
    _layer("presentation", "one Jinja environment, style sheet and chart kit for report and dashboard"),
    _layer("formats", "TREC, BEIR, golden JSON, JSONL and other files"),
    _layer("statistics", "arrays in, values out, rng an argument"),
    _layer("metrics", "metric specs, ordering, catalog, one file a family", "statistics", "text"),
    _layer("network", "the gatekeeper: which addresses may be contacted"),
    _layer("models", "ChatModel protocol, the one endpoint client, budget, cache", "network"),
    _layer("work", "executors: threads, processes, a Dask cluster, and what a lost worker costs"),
    _layer("embedding", "Embedder protocol, bundled local model, any local ONNX, remote", "models", "work"),
    _layer("storage", "tables, migrations, repositories, change log, checkpoints, query log", "text"),
    _layer("access", "who may do what: grants, policies, tokens", "storage"),
    _layer("gateway", "what both HTTP servers do before they know who calls", "settings"),
    _layer("flags", "registry with documented defaults, rollout, activation rows", "storage"),
    _layer("index", "derived lexical and vector indexes that follow the change log", "storage", "text"),
    _layer(
        "memory",
        "the engine: saving, searching, learning, sessions",
        "text",
        "formats",
        "embedding",
        "storage",
        "index",
        "flags",
    ),
    _layer(
        "systems",
        "what can be evaluated",
        "memory",
        "formats",
        "metrics",
        "models",
        "network",
        "embedding",
        "storage",
    ),
    _layer("judging", "rubrics, judges, panel, calibration", "models", "embedding", "text", "statistics", "storage"),
    _layer(
        "evaluation",
        "offline use-cases: dataset, run, compare, gate, report, tune",
        *_MEASURES,
        "presentation",
        "storage",
        "flags",
        "memory",
        "systems",
        "judging",
        "work",
    ),
    _layer(
        "referee",
        "compare memory systems: sets, contenders, traps, capsules",
        "judging",
        "formats",
        "statistics",
        "metrics",
        "text",
        "embedding",
        "memory",
        "systems",
        "work",
    ),
    _layer(
        "store_audit",
        "audit memory stores of other tools: readers, faults, repair plans",
        "text",
        "formats",
        "presentation",
        "embedding",
        "storage",
        "memory",
    ),
    _layer(
        "online",
        "shadow, interleaving, sequential tests, graduation, harvest",
        "evaluation",
        "memory",
        "metrics",
        "statistics",
        "flags",
        "storage",
        "judging",
    ),
    _layer(
        "research",
        "planner, synthesiser, pipeline, runtime evaluation",
        "embedding",
        "text",
        "memory",
        "judging",
        "models",
        "storage",
        "flags",
    ),
    _layer(
        "analysis",
        "patterns over stored evaluations, prompt suggestions",
        "storage",
        "judging",
        "statistics",
        "text",
        "models",
    ),
    _layer("tracing", "what Assay does as OpenTelemetry spans", "network"),
    _layer(
        "traces",
        "traces of other systems: read, stored, checked, made cases; their scores out",
        "storage",
        "text",
        "formats",
        "judging",
        "systems",
        "evaluation",
    ),
    _layer("settings", "file, environment and options into one frozen value"),
    _layer(
        "wiring",
        "the only place that builds concrete objects from settings",
        *_USE_CASES,
        *_MEASURES,
        "network",
        "referee",
        "settings",
        "tracing",
        "work",
    ),
    _layer(
        "doctor",
        "what stands between this machine and a working Assay, and what it may contact",
        "network",
        "settings",
        "wiring",
        "storage",
        "embedding",
        "work",
    ),
    _layer(
        "verbs",
        "the table of verbs: request, result, policy and call of everything a user can do",
        *_USE_CASES,
        "metrics",
        "settings",
        "store_audit",
        "wiring",
        "work",
    ),
    _layer(
        "extend",
        "the decorators that packages and programs register with",
        "embedding",
        "evaluation",
        "judging",
        "memory",
        "metrics",
        "systems",
    ),
    _layer("calls", "the calls of a memory, one method for each verb, for `api` and `client`", "verbs"),
    _layer("client", "the HTTP API as typed calls", "calls", "metrics", "models", "network", "verbs"),
    _layer("integrations", "Assay's memory as a part of other frameworks", "api", "calls"),
    _layer("testing", "public doubles and small values for tests", "models", "embedding"),
    _layer(
        "api", "the facades behind the public names", "calls", *_USE_CASES, *_MEASURES, "settings", "verbs", "wiring"
    ),
    _layer(
        "cli",
        "the command line; thin",
        *_USE_CASES,
        "metrics",
        "formats",
        "network",
        "presentation",
        "referee",
        "settings",
        "store_audit",
        "verbs",
        "wiring",
        "work",
        "doctor",
        "testing",
        "gateway",
        "server",
        "mcp",
    ),
    _layer("pytest_plugin", "the gate as tests of pytest; thin", "api", "evaluation"),
    _layer(
        "server",
        "REST API and dashboard; thin",
        *_USE_CASES,
        "gateway",
        "metrics",
        "presentation",
        "settings",
        "verbs",
        "wiring",
        "doctor",
    ),
    _layer("mcp", "MCP server; thin", *_USE_CASES, "gateway", "metrics", "settings", "verbs", "wiring", "doctor"),
)
