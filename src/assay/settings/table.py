"""The table of settings: one frozen value with everything that can be set, each with its key, meaning and default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import SettingNotApproved
from assay.records import DEFAULT_TENANT
from assay.settings.approvals import Withheld

PREFIX = "ASSAY_"
"""What the names of settings begin with in the environment."""
CONFIG_VARIABLE = "ASSAY_CONFIG"
"""The environment variable that names the settings file to use."""
SECRETS = ("ASSAY_MCP_TOKEN",)
"""Environment names that hold secrets: no settings, so that no file holds them and `assay config` never shows them."""


class Origin(NamedTuple):
    """Where a value came from."""

    layer: str
    """`default`, `file`, `environment`, `option`, or `withheld`: in a file that nobody approved."""
    place: str
    """The file, variable or option by name."""


def _setting(key: str, meaning: str, default: Any, **more: Any) -> Any:
    return field(default=default, metadata={"key": key, "meaning": meaning, **more})


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that can be set. The field's metadata holds its key in the file and its meaning."""

    db: str = _setting("db", "The store: the path of a SQLite file, or postgresql://user:password@host/name.", "")
    tenant: str = _setting("tenant", "Whose rows are meant.", DEFAULT_TENANT)
    principal: str = _setting("principal", "Who acts; written to the audit log.", "local")
    lock_timeout_s: float = _setting("store.lock_timeout_s", "How long a write waits for others, in seconds.", 30.0)
    readers: int = _setting("store.readers", "Connections for reading that are kept open.", 8)
    flush_interval_s: float = _setting(
        "log.flush_interval_s", "A logged query is in the store this many seconds later.", 0.2
    )
    log_capacity: int = _setting(
        "log.capacity", "Queries that may wait to be logged; more are dropped, counted.", 20_000
    )
    checkpoint_folder: Path | None = _setting(
        "checkpoints.folder", "Where checkpoints are kept. Unset: beside the SQLite file.", None
    )
    archive_folder: Path | None = _setting(
        "archives.folder", "Where archives of old searches are kept. Unset: beside the SQLite file.", None
    )
    retention_query_days: float = _setting(
        "retention.query_days", "Days that searches and feedback stay before they are archived.", 90.0
    )
    retention_shadow_days: float = _setting("retention.shadow_days", "Days that shadow comparisons stay.", 30.0)
    postgres_schema: str = _setting("postgres.schema", "The PostgreSQL schema that holds Assay's tables.", "assay")
    postgres_programs: Path | None = _setting(
        "postgres.programs",
        "The folder of pg_restore and psql, for checkpoints that were made with pg_dump. Unset: the search path.",
        None,
    )
    embedder: str = _setting(
        "embedder.kind",
        "What makes vectors: minilm (bundled), static (fast, coarser), local (embedder.folder), remote, or none.",
        "minilm",
        choices=("minilm", "static", "local", "remote", "none"),
    )
    embedder_folder: Path | None = _setting(
        "embedder.folder", "For local: a folder with model.onnx and tokenizer.json.", None
    )
    embedder_url: str = _setting(
        "embedder.url", "For remote: an OpenAI-compatible address, such as http://127.0.0.1:11434/v1.", ""
    )
    embedder_model: str = _setting("embedder.model", "For remote: the model's name at that address.", "")
    embedder_dimension: int | None = _setting(
        "embedder.dimension", "For remote: the length of the model's vectors. Unset: it is asked.", None
    )
    embedder_key_variable: str = _setting(
        "embedder.key_variable", "For remote: the environment variable that holds the key.", ""
    )
    embedder_threads: int | None = _setting(
        "embedder.threads", "Threads that make vectors. Unset: one for each core.", None
    )
    similarity_duplicate: float | None = _setting(
        "similarity.duplicate", "Above it, a save that agrees is a duplicate. Unset: as the embedder says.", None
    )
    similarity_merge: float | None = _setting(
        "similarity.merge", "From it on, a save that agrees is merged. Unset: as the embedder says.", None
    )
    similarity_related: float | None = _setting(
        "similarity.related", "From it on, the same subject is replaced. Unset: as the embedder says.", None
    )
    save_copies_per_day: int = _setting(
        "save.copies_per_day",
        "Notes close to what others wrote that programs may save for one principal in a day; more are quarantined.",
        10,
    )
    save_alike_per_day: int = _setting(
        "save.alike_per_day",
        "Notes close to any other that programs may save for one principal in a day; more are quarantined.",
        50,
    )
    index_folder: Path | None = _setting(
        "index.folder", "Where derived indexes are kept. Unset: beside the SQLite file, or the user's cache.", None
    )
    index_exact_below: int = _setting(
        "index.exact_below", "Up to this many chunks, vectors are compared one by one, without an index.", 8_000
    )
    search_k: int = _setting("search.k", "Results of a search that names no number.", 10)
    search_fusion: str = _setting(
        "search.fusion", "How the channels' lists become one: convex or rrf.", "convex", choices=("convex", "rrf")
    )
    search_rrf_k: int | None = _setting("search.rrf_k", "The constant of RRF. Unset: 60.", None)
    search_coefficient: float | None = _setting(
        "search.coefficient",
        "What further passages add to a memory's best one, with docscore_aggregation. Unset: 0.3.",
        None,
    )
    search_weights_vector: float | None = _setting(
        "search.weights.vector", "What the channel vector weighs in fusion. Unset: as it comes with Assay.", None
    )
    search_weights_fts5: float | None = _setting(
        "search.weights.fts5", "What the channel fts5 weighs in fusion. Unset: as it comes with Assay.", None
    )
    search_weights_bm25: float | None = _setting(
        "search.weights.bm25", "What the channel bm25 weighs in fusion. Unset: as it comes with Assay.", None
    )
    search_weights_graph: float | None = _setting(
        "search.weights.graph", "What the channel graph weighs in fusion. Unset: as it comes with Assay.", None
    )
    search_weights_trigger: float | None = _setting(
        "search.weights.trigger", "What the channel trigger weighs in fusion. Unset: as it comes with Assay.", None
    )
    chunking_max_tokens: int | None = _setting(
        "chunking.max_tokens", "The most tokens in a chunk. Unset: as many as the embedder reads.", None
    )
    model_url: str = _setting(
        "model.url",
        "An OpenAI-compatible chat service, such as http://127.0.0.1:11434/v1. Unset: no model is asked.",
        "",
    )
    model_name: str = _setting("model.name", "The model's name at that address, such as qwen3:14b.", "")
    model_key_variable: str = _setting("model.key_variable", "The environment variable that holds the model's key.", "")
    model_deadline_s: float = _setting(
        "model.deadline_s", "How long one question to a model may take, in seconds.", 60.0
    )
    model_concurrency: int = _setting("model.concurrency", "Questions to a model at the same time.", 4)
    model_max_tokens: int = _setting(
        "model.max_tokens", "The longest reply of a model, in tokens; an answer may be twice as long.", 1_024
    )
    model_price_in: float | None = _setting(
        "model.price_in", "Dollars for a million tokens sent. Needed for model.budget_usd.", None
    )
    model_price_out: float | None = _setting("model.price_out", "Dollars for a million tokens replied.", None)
    model_budget_usd: float | None = _setting(
        "model.budget_usd", "Dollars that models may cost in one period. Unset: no limit.", None
    )
    model_budget_tokens: int | None = _setting(
        "model.budget_tokens", "Tokens that models may use in one period. Unset: no limit.", None
    )
    model_budget_period: str = _setting(
        "model.budget_period",
        "What a budget is for, in UTC: day, month or ever.",
        "month",
        choices=("day", "month", "ever"),
    )
    model_allow_floating: str = _setting(
        "model.allow_floating", "Whether names such as latest are accepted: yes or no.", "no", choices=("yes", "no")
    )
    judge_model: str = _setting("judge.model", "The model that judges. Unset: model.name.", "")
    judge_second_model: str = _setting("judge.second_model", "The model that spot checks. Unset: judge.model.", "")
    judge_calibration_days: int = _setting("judge.calibration_days", "Days that a calibration of a judge counts.", 30)
    judge_floor: float = _setting(
        "judge.floor", "The weighted kappa with people from which a judge may decide a gate.", 0.6
    )
    gate_metric: str = _setting(
        "gate.metric", "The one metric whose change decides `assay gate`. Unset: every metric, corrected by Holm.", ""
    )
    learning_shadow_days: int = _setting(
        "learning.shadow_days", "For this many days learned triggers are only written down; at least 7.", 7
    )
    otel_exporter: str = _setting(
        "otel.exporter",
        "Where OpenTelemetry spans go: none, console (standard error) or otlp (otel.endpoint).",
        "none",
        choices=("none", "console", "otlp"),
    )
    otel_endpoint: str = _setting(
        "otel.endpoint", "For otlp: where the collector listens.", "http://127.0.0.1:4318/v1/traces"
    )
    otel_texts: str = _setting(
        "otel.texts", "Whether spans carry queries and texts: yes or no.", "no", choices=("yes", "no")
    )
    server_threads: int = _setting(
        "server.threads", "Short requests that a serving process works on at the same time.", 2
    )
    server_own_core: str = _setting(
        "server.own_core",
        "Whether each of several serving processes keeps to one core, when there are as many processes as cores: "
        "yes or no.",
        "yes",
        choices=("yes", "no"),
    )
    server_requests_per_minute: int = _setting(
        "server.requests_per_minute", "Requests that one caller may send in a minute.", 12_000
    )
    server_trusted_proxies: tuple[str, ...] = _setting(
        "server.trusted_proxies",
        "Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed. With any, a token "
        "is needed on loopback too.",
        (),
    )
    server_connections: int = _setting(
        "server.connections", "Connections that a serving process keeps open; at most what the system lets it.", 1_000
    )
    server_connections_per_address: int = _setting(
        "server.connections_per_address", "Of them, from one address; trusted proxies may have all.", 500
    )
    server_head_s: float = _setting(
        "server.head_s", "Seconds that a client may take for the head of a request, or to begin one.", 10.0
    )
    server_body_s: float = _setting(
        "server.body_s", "Seconds that a body may take, besides one for each 16 KiB of it.", 20.0
    )
    server_idle_s: float = _setting("server.idle_s", "Seconds that a connection may wait for its next request.", 30.0)
    server_stalled_s: float = _setting(
        "server.stalled_s", "Seconds for which a client may stop reading its answer.", 30.0
    )
    server_request_cpu_s: float = _setting(
        "server.request_cpu_s", "Seconds of processor time that one request may use before it is ended.", 30.0
    )
    server_long_request_cpu_s: float = _setting(
        "server.long_request_cpu_s", "The same for what takes long: evaluations, researched answers, analyses.", 900.0
    )
    mcp_allowed_origins: tuple[str, ...] = _setting(
        "mcp.allowed_origins", "Origins of other pages that may use assay mcp --http: http://localhost:6274.", ()
    )
    mcp_sessions_per_principal: int = _setting(
        "mcp.sessions_per_principal", "Of 200 sessions of assay mcp --http, how many one principal may have.", 100
    )
    server_session_hours: float = _setting(
        "server.session_hours", "Hours after which a browser has to sign in again, however much it is used.", 12.0
    )
    server_session_idle_minutes: float = _setting(
        "server.session_idle_minutes", "Minutes without a request after which a browser has to sign in again.", 60.0
    )
    server_behind_https: str = _setting(
        "server.behind_https",
        "Whether a proxy in front of the server speaks HTTPS with browsers, so that cookies are sent over HTTPS alone: "
        "yes or no.",
        "no",
        choices=("yes", "no"),
    )
    shadow_percent: int = _setting(
        "shadow.percent", "How many of a hundred searches are also asked of flags that run in the shadow.", 10
    )
    datasets_folder: Path | None = _setting(
        "datasets.folder", "Where imported datasets are kept. Unset: the user's data folder.", None
    )
    runs_folder: Path | None = _setting(
        "runs.folder", "Where runs are kept. Unset: .assay/runs below the working folder.", None
    )
    network_offline: bool = _setting(
        "network.offline",
        "Refuse every address but the configured ones (model, embedder, collector, store) and network.allow.",
        False,
        variable="ASSAY_OFFLINE",
    )
    network_allow: str = _setting(
        "network.allow",
        "With network.offline: further addresses that may be contacted, with commas between, such as "
        "https://search.example.com.",
        "",
    )
    flags: Mapping[str, tuple[str, Origin]] = field(default_factory=dict)
    """What the environment and the file say of feature flags: value and origin by the flag's name, unchecked."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """What the file demands of every run, by metric; for what is better when lower, a ceiling."""
    research: Mapping[str, Any] = field(default_factory=dict)
    """The file's table `research` as it stands there; checked where the pipeline is built."""
    withheld: Mapping[str, Withheld] = field(default_factory=dict)
    """Settings by key that stand in a file nobody approved. Their fields above hold the defaults."""

    def refuse_withheld(self, *keys: str) -> None:
        """Refuse to go on without these settings when a file names them that nobody approved.

        Whoever is about to contact an address, send a key or start a program calls this first with the settings it
        goes by: the default in their place is not what the file's author meant, and not what the user was told.
        A key that ends with a dot means every setting below it.
        """
        for key, withheld in self.withheld.items():
            if any(key == wanted or (wanted.endswith(".") and key.startswith(wanted)) for wanted in keys):
                state = "has changed since it was approved" if withheld.changed else "is not approved"
                raise SettingNotApproved(
                    f"{withheld.file} sets {key}, and this file {state}",
                    remedy=f"See what it asks for, and approve it: assay trust {withheld.file}",
                )


class KnownSetting(NamedTuple):
    """One entry of the table of settings."""

    key: str
    name: str
    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    own_variable: str = ""

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return self.own_variable or PREFIX + self.key.replace(".", "_").upper()


KNOWN = tuple(
    KnownSetting(
        one.metadata["key"],
        one.name,
        str(one.type),
        one.default,
        one.metadata["meaning"],
        one.metadata.get("choices", ()),
        one.metadata.get("variable", ""),
    )
    for one in fields(Settings)
    if "key" in one.metadata
)
"""Every setting there is; the reference page is made from it."""
