"""The settings model: every setting with its type, limits, default and meaning.

`Settings` is a frozen pydantic model. `Settings(tenant="a")` takes what it is given and the defaults, and
reads nothing else; `load_settings` fills it from the command line, the environment and files. `KNOWN` lists the same
settings by their keys in `assay.toml`, for the reference page, `assay config` and `assay init --settings-file`.

A wrong value is a `SettingError` that names the value and the remedy, for every caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SkipValidation,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from assay.errors import BadValue, SettingError, SettingNotApproved
from assay.records import DEFAULT_TENANT, values
from assay.settings.files import Withheld

PREFIX = "ASSAY_"
"""What the names of settings begin with in the environment."""
LONGEST_SHOWN = 80
"""Characters of a wrong value that an error repeats."""
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})


class Origin(NamedTuple):
    """Where a value came from."""

    layer: str
    """`default`, `file`, `environment`, `option`, or `withheld`: in a file that the user did not approve."""
    place: str
    """The file, variable or option by name."""


def _check_text(value: str, info: ValidationInfo) -> str:
    return str(_check(values.label, value, info))


def _check_identifier(value: str, info: ValidationInfo) -> str:
    return str(_check(values.identifier, _check_text(value, info), info))


def _read_texts(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    """Read a list, or a text with commas between its items; an empty text is an empty list."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        key = _key_of(info)
        raise _refuse(f"{key} {_show(value)} is not a list", f'Write it like {key} = ["first", "second"].')
    stripped = [item.strip() if isinstance(item, str) else item for item in items if item != ""]
    return tuple(_check(values.label, item, info) for item in stripped)


def _read_place(value: Any, info: ValidationInfo) -> Path:
    return value if isinstance(value, Path) else Path(_check(values.label, value, info))


def _read_count(value: Any) -> Any:
    """Read a whole number from text; anything else is left to the strict check of the type."""
    return _read_number(int, value)


def _read_amount(value: Any) -> Any:
    """Read a number from text; anything else is left to the strict check of the type."""
    return _read_number(float, value)


def _read_number(kind: type[int | float], value: Any) -> Any:
    try:
        return kind(value) if isinstance(value, str) else value
    except ValueError as problem:
        raise PydanticCustomError("number_parsing", "not a number") from problem


def _read_truth(value: Any) -> Any:
    """Read true or false from text; anything else is left to the strict check of the type."""
    text = value.strip().lower() if isinstance(value, str) else None
    return text in TRUE if text in TRUE | FALSE else value


Text = Annotated[str, Field(strict=True), AfterValidator(_check_text)]
"""A text of one visible character or more."""
Identifier = Annotated[str, Field(strict=True), AfterValidator(_check_identifier)]
"""A text of letters, digits and a few signs."""
Texts = Annotated[tuple[str, ...], BeforeValidator(_read_texts)]
"""Several texts."""
Place = Annotated[Path, BeforeValidator(_read_place)]
"""A path. `load_settings` makes it absolute."""
Count = Annotated[int, Field(strict=True, gt=0, le=values.INT64_MAX), BeforeValidator(_read_count)]
"""A whole number above zero."""
CountOrZero = Annotated[int, Field(strict=True, ge=0, le=values.INT64_MAX), BeforeValidator(_read_count)]
"""A whole number, 0 included."""
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False), BeforeValidator(_read_amount)]
"""A number from 0 to 1."""
Amount = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False), BeforeValidator(_read_amount)]
"""A number above zero."""
Truth = Annotated[bool, Field(strict=True), BeforeValidator(_read_truth)]
"""True or false."""


def _setting(key: str, meaning: str, default: Any, *, variable: str = "", kind: str = "") -> Any:
    """Describe a setting: its key in `assay.toml`, its meaning and its default.

    `variable` and `kind` are given where they are not those of the key and the type.
    """
    variable = variable or PREFIX + key.replace(".", "_").upper()
    return Field(default, description=meaning, json_schema_extra={"key": key, "variable": variable, "kind": kind})


class Settings(BaseModel):
    """Everything that can be set. The field's metadata holds its key in the file and its meaning."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        # An empty text is a default of some settings and cannot be given.
        validate_default=False,
        # An address may hold a password.
        hide_input_in_errors=True,
    )

    db: Text = _setting("db", "The store: the path of a SQLite file, or postgresql://user:password@host/name.", "")
    tenant: Identifier = _setting("tenant", "Whose rows are meant.", DEFAULT_TENANT)
    principal: Text = _setting("principal", "Who acts; written to the audit log.", "local")
    lock_timeout_s: Amount = _setting("store.lock_timeout_s", "How long a write waits for others, in seconds.", 30.0)
    readers: Count = _setting("store.readers", "Connections for reading that are kept open.", 8)
    flush_interval_s: Amount = _setting(
        "log.flush_interval_s", "A logged query is in the store this many seconds later.", 0.2
    )
    log_capacity: Count = _setting(
        "log.capacity", "Queries that may wait to be logged; more are dropped, counted.", 20_000
    )
    checkpoint_folder: Place | None = _setting(
        "checkpoints.folder", "Where checkpoints are kept. Unset: beside the SQLite file.", None
    )
    archive_folder: Place | None = _setting(
        "archives.folder", "Where archives of old searches are kept. Unset: beside the SQLite file.", None
    )
    retention_query_days: Amount = _setting(
        "retention.query_days", "Days that searches and feedback stay before they are archived.", 90.0
    )
    retention_shadow_days: Amount = _setting("retention.shadow_days", "Days that shadow comparisons stay.", 30.0)
    retention_every_hours: CountOrZero = _setting(
        "retention.every_hours",
        "Hours after which a server archives and removes what is older than that, for every tenant. 0: only `assay "
        "retention` does.",
        0,
    )
    postgres_schema: Identifier = _setting(
        "postgres.schema", "The PostgreSQL schema that holds Assay's tables.", "assay"
    )
    statement_timeout_s: Amount = _setting(
        "postgres.statement_timeout_s",
        "Seconds after which PostgreSQL cancels one statement of a request; building indexes, migrations and "
        "checkpoints may take longer.",
        300.0,
    )
    postgres_programs: Place | None = _setting(
        "postgres.programs",
        "The folder of pg_restore and psql, for checkpoints that were made with pg_dump. Unset: the search path.",
        None,
    )
    embedder: Literal["minilm", "granite", "static", "local", "remote", "registered", "none"] = _setting(
        "embedder.kind",
        "What makes vectors: minilm (bundled), granite (trained for retrieval), static (fast, coarser), local "
        "(embedder.folder), remote, registered (embedder.name), or none.",
        "minilm",
    )
    embedder_name: Text = _setting(
        "embedder.name", "For registered: the name of an embedder that a package or a program added.", ""
    )
    embedder_folder: Place | None = _setting(
        "embedder.folder", "For local: a folder with model.onnx and tokenizer.json.", None
    )
    embedder_url: Text = _setting(
        "embedder.url", "For remote: an OpenAI-compatible address, such as http://127.0.0.1:11434/v1.", ""
    )
    embedder_model: Text = _setting("embedder.model", "For remote: the model's name at that address.", "")
    embedder_dimension: Count | None = _setting(
        "embedder.dimension", "For remote: the length of the model's vectors. Unset: it is asked.", None
    )
    embedder_key_variable: Text = _setting(
        "embedder.key_variable", "For remote: the environment variable that holds the key.", ""
    )
    embedder_threads: Count | None = _setting(
        "embedder.threads", "Threads that make vectors. Unset: one for each core.", None
    )
    similarity_duplicate: Amount | None = _setting(
        "similarity.duplicate", "Above it, a save that agrees is a duplicate. Unset: as the embedder says.", None
    )
    similarity_merge: Amount | None = _setting(
        "similarity.merge", "From it on, a save that agrees is merged. Unset: as the embedder says.", None
    )
    similarity_related: Amount | None = _setting(
        "similarity.related", "From it on, the same subject is replaced. Unset: as the embedder says.", None
    )
    save_copies_per_day: Count = _setting(
        "save.copies_per_day",
        "Notes close to what others wrote that programs may save for one principal in a day; more are quarantined.",
        10,
    )
    save_alike_per_day: Count = _setting(
        "save.alike_per_day",
        "Notes close to any other that programs may save for one principal in a day; more are quarantined.",
        50,
    )
    index_kind: Literal["local", "database"] = _setting(
        "index.kind",
        "Where searches are answered: local (files on this machine) or database (PostgreSQL itself, no files).",
        "local",
    )
    index_folder: Place | None = _setting(
        "index.folder", "Where derived indexes are kept. Unset: beside the SQLite file, or the user's cache.", None
    )
    index_exact_below: Count = _setting(
        "index.exact_below", "Up to this many chunks, vectors are compared one by one, without an index.", 8_000
    )
    search_k: Count = _setting("search.k", "Results of a search that names no number.", 10)
    search_min_relevance: Share = _setting(
        "search.min_relevance",
        "Results with a lower probability of being relevant are left out of a search that names no min_relevance, but "
        "for searches over MCP. 0: none is.",
        0.0,
        kind="a number from 0 to 1",
    )
    search_fusion: Literal["convex", "rrf"] = _setting(
        "search.fusion", "How the channels' lists become one: convex or rrf.", "convex"
    )
    search_full_text: Literal["phrases", "always"] = _setting(
        "search.full_text",
        "When the channel fts5 is asked beside bm25: for questions with a quoted phrase or the beginning of a word, or "
        "always.",
        "phrases",
    )
    search_rrf_k: Count | None = _setting("search.rrf_k", "The constant of RRF. Unset: 60.", None)
    search_coefficient: Amount | None = _setting(
        "search.coefficient",
        "What further passages add to a memory's best one, with docscore_aggregation. Unset: 0.3.",
        None,
    )
    search_weights_vector: Amount | None = _setting(
        "search.weights.vector", "What the channel vector weighs in fusion. Unset: as it comes with Assay.", None
    )
    search_weights_fts5: Amount | None = _setting(
        "search.weights.fts5", "What the channel fts5 weighs where it is asked. Unset: as it comes with Assay.", None
    )
    search_weights_bm25: Amount | None = _setting(
        "search.weights.bm25", "What the channel bm25 weighs in fusion. Unset: as it comes with Assay.", None
    )
    search_weights_graph: Amount | None = _setting(
        "search.weights.graph", "What the channel graph weighs in fusion. Unset: as it comes with Assay.", None
    )
    search_weights_trigger: Amount | None = _setting(
        "search.weights.trigger", "What the channel trigger weighs in fusion. Unset: as it comes with Assay.", None
    )
    chunking_max_tokens: Count | None = _setting(
        "chunking.max_tokens", "The most tokens in a chunk. Unset: as many as the embedder reads.", None
    )
    chunking_overlap_tokens: CountOrZero = _setting(
        "chunking.overlap_tokens",
        "Tokens of a chunk that the next chunk of the same section repeats; at most half of a chunk.",
        0,
        kind="a whole number, 0 or more",
    )
    rerank_folder: Place | None = _setting(
        "rerank.folder",
        "A folder with model.onnx and tokenizer.json of a cross-encoder, for the flag cross_encoder.",
        None,
    )
    rerank_depth: Count | None = _setting(
        "rerank.depth", "Results that are reranked, by MMR in deep mode or by a cross-encoder. Unset: 50.", None
    )
    rerank_threshold: Share | None = _setting(
        "rerank.threshold",
        "Results that the cross-encoder scores lower, or does not look at, are not returned. Unset: all are.",
        None,
        kind="a number from 0 to 1",
    )
    model_url: Text = _setting(
        "model.url",
        "An OpenAI-compatible chat service, such as http://127.0.0.1:11434/v1. Unset: no model is asked.",
        "",
    )
    model_name: Text = _setting("model.name", "The model's name at that address, such as qwen3:14b.", "")
    model_key_variable: Text = _setting(
        "model.key_variable", "The environment variable that holds the model's key.", ""
    )
    model_deadline_s: Amount = _setting(
        "model.deadline_s", "How long one question to a model may take, in seconds.", 60.0
    )
    model_concurrency: Count = _setting("model.concurrency", "Questions to a model at the same time.", 4)
    model_max_tokens: Count = _setting(
        "model.max_tokens", "The longest reply of a model, in tokens; an answer may be twice as long.", 1_024
    )
    model_price_in: Amount | None = _setting(
        "model.price_in", "Dollars for a million tokens sent. Needed for model.budget_usd.", None
    )
    model_price_out: Amount | None = _setting("model.price_out", "Dollars for a million tokens replied.", None)
    model_budget_usd: Amount | None = _setting(
        "model.budget_usd", "Dollars that models may cost in one period. Unset: no limit.", None
    )
    model_budget_tokens: Count | None = _setting(
        "model.budget_tokens", "Tokens that models may use in one period. Unset: no limit.", None
    )
    model_budget_period: Literal["day", "month", "ever"] = _setting(
        "model.budget_period",
        "What a budget is for, in UTC: day, month or ever.",
        "month",
    )
    model_allow_floating: Literal["yes", "no"] = _setting(
        "model.allow_floating", "Whether names such as latest are accepted: yes or no.", "no"
    )
    judge_model: Text = _setting("judge.model", "The model that judges. Unset: model.name.", "")
    judge_second_model: Text = _setting("judge.second_model", "The model that spot checks. Unset: judge.model.", "")
    judge_calibration_days: Count = _setting("judge.calibration_days", "Days that a calibration of a judge counts.", 30)
    judge_floor: Amount = _setting(
        "judge.floor", "The weighted kappa with people from which a judge may decide a gate.", 0.6
    )
    gate_metric: Text = _setting(
        "gate.metric", "The one metric whose change decides `assay gate`. Unset: every metric, corrected by Holm.", ""
    )
    learning_shadow_days: Count = _setting(
        "learning.shadow_days", "For this many days learned triggers are only written down; at least 7.", 7
    )
    otel_exporter: Literal["none", "console", "otlp"] = _setting(
        "otel.exporter",
        "Where OpenTelemetry spans go: none, console (standard error) or otlp (otel.endpoint).",
        "none",
    )
    otel_endpoint: Text = _setting(
        "otel.endpoint", "For otlp: where the collector listens.", "http://127.0.0.1:4318/v1/traces"
    )
    otel_texts: Literal["yes", "no"] = _setting("otel.texts", "Whether spans carry queries and texts: yes or no.", "no")
    server_threads: Count = _setting(
        "server.threads", "Short requests that a serving process works on at the same time.", 2
    )
    server_own_core: Literal["yes", "no"] = _setting(
        "server.own_core",
        "Whether each of several serving processes keeps to one core, when there are as many processes as cores: "
        "yes or no.",
        "yes",
    )
    server_requests_per_minute: Count = _setting(
        "server.requests_per_minute", "Requests that one caller may send in a minute.", 12_000
    )
    server_trusted_proxies: Texts = _setting(
        "server.trusted_proxies",
        "Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed. With any, a token "
        "is needed on loopback too.",
        (),
    )
    server_connections: Count = _setting(
        "server.connections", "Connections that a serving process keeps open; at most what the system lets it.", 1_000
    )
    server_connections_per_address: Count = _setting(
        "server.connections_per_address", "Of them, from one address; trusted proxies may have all.", 500
    )
    server_head_s: Amount = _setting(
        "server.head_s", "Seconds that a client may take for the head of a request, or to begin one.", 10.0
    )
    server_body_s: Amount = _setting(
        "server.body_s", "Seconds that a body may take, besides one for each 16 KiB of it.", 20.0
    )
    server_idle_s: Amount = _setting("server.idle_s", "Seconds that a connection may wait for its next request.", 30.0)
    server_stalled_s: Amount = _setting(
        "server.stalled_s", "Seconds for which a client may stop reading its answer.", 30.0
    )
    server_request_cpu_s: Amount = _setting(
        "server.request_cpu_s", "Seconds of processor time that one request may use before it is ended.", 30.0
    )
    server_long_request_cpu_s: Amount = _setting(
        "server.long_request_cpu_s", "The same for what takes long: evaluations, researched answers, analyses.", 900.0
    )
    server_drain_s: CountOrZero = _setting(
        "server.drain_s",
        "Seconds after SIGTERM in which a server still takes requests while /readyz says 503, so that a proxy notices.",
        0,
    )
    server_stop_s: Count = _setting(
        "server.stop_s", "Seconds that requests under way may take after a server is stopped, before they are cut.", 30
    )
    server_log_level: Literal["debug", "info", "warning", "error"] = _setting(
        "server.log_level", "From which level on a server logs problems: debug, info, warning or error.", "warning"
    )
    server_access_log: Literal["yes", "no"] = _setting(
        "server.access_log", "Whether a server logs every request with its caller, status and time: yes or no.", "no"
    )
    server_log_format: Literal["text", "json"] = _setting(
        "server.log_format", "How a server writes its logs: text, or json (one object a line).", "text"
    )
    mcp_allowed_origins: Texts = _setting(
        "mcp.allowed_origins", "Origins of other pages that may use MCP over HTTP: http://localhost:6274.", ()
    )
    mcp_min_relevance: Share = _setting(
        "mcp.min_relevance",
        "Results with a lower probability of being relevant are left out of an agent's search that names no "
        "min_relevance: every result fills its context. 0: none is.",
        0.07,
        kind="a number from 0 to 1",
    )
    mcp_sessions_per_principal: Count = _setting(
        "mcp.sessions_per_principal", "Of 200 sessions of MCP over HTTP, how many one principal may have.", 100
    )
    server_session_hours: Amount = _setting(
        "server.session_hours", "Hours after which a browser has to sign in again, however much it is used.", 12.0
    )
    server_session_idle_minutes: Amount = _setting(
        "server.session_idle_minutes", "Minutes without a request after which a browser has to sign in again.", 60.0
    )
    server_behind_https: Literal["yes", "no"] = _setting(
        "server.behind_https",
        "Whether a proxy in front of the server speaks HTTPS with browsers, so that cookies are sent over HTTPS alone: "
        "yes or no.",
        "no",
    )
    shadow_percent: Count = _setting(
        "shadow.percent", "How many of a hundred searches are also asked of flags that run in the shadow.", 10
    )
    datasets_folder: Place | None = _setting(
        "datasets.folder", "Where imported datasets are kept. Unset: the user's data folder.", None
    )
    runs_folder: Place | None = _setting(
        "runs.folder", "Where runs are kept. Unset: .assay/runs below the working folder.", None
    )
    alerts_webhook: Text = _setting(
        "alerts.webhook",
        "Where `assay serve` sends an alert when the rate of an outcome changes, as JSON. Unset: nowhere.",
        "",
    )
    alerts_file: Place | None = _setting(
        "alerts.file", "The file to which `assay serve` adds a line of JSON for each such alert. Unset: none.", None
    )
    network_offline: Truth = _setting(
        "network.offline",
        "Refuse every address but the configured ones (model, embedder, collector, store) and network.allow.",
        False,
        variable="ASSAY_OFFLINE",
    )
    network_allow: Text = _setting(
        "network.allow",
        "With network.offline: further addresses that may be contacted, with commas between, such as "
        "https://search.example.com.",
        "",
    )
    flags: Annotated[Mapping[str, tuple[str, Origin]], SkipValidation] = Field(default_factory=dict)
    """What the environment and the file say of feature flags: value and origin by the flag's name, unchecked."""
    floors: Annotated[Mapping[str, float], SkipValidation] = Field(default_factory=dict)
    """What the file demands of every run, by metric; for what is better when lower, a ceiling."""
    research: Annotated[Mapping[str, Any], SkipValidation] = Field(default_factory=dict)
    """The file's table `research`, unchanged; checked where the pipeline is built."""
    withheld: Annotated[Mapping[str, Withheld], SkipValidation] = Field(default_factory=dict)
    """Settings, by key, of a file that the user did not approve. Their fields above hold the defaults."""

    @classmethod
    def from_sources(cls, sources: Sequence[Mapping[str, Any]]) -> Self:
        """Fill the settings from sources, each with values by field.

        The first that gives a field wins; of a table, such as that of flags, the first that gives an entry.
        """
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            for name, value in source.items():
                below = merged.get(name)
                if isinstance(value, Mapping) and isinstance(below, Mapping):
                    merged[name] = {**below, **value}
                else:
                    merged[name] = value
        return cls(**merged)

    @model_validator(mode="wrap")
    @classmethod
    def _explain_errors(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(given)
        except ValidationError as problem:
            raise explain(problem) from problem

    def change(self, **changes: Any) -> Self:
        """Return a copy with these fields changed, checked as if they had been given at first."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**given, **changes})

    def refuse_withheld(self, *keys: str) -> None:
        """Refuse to go on without these settings when an unapproved file has them.

        Code that is about to contact an address, send a key or start a program calls this first with the settings it
        uses: the default in their place is neither what the file's author meant nor what the user expects.
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
    """One setting, as lists of settings show it."""

    key: str
    """In `assay.toml`, with dots between tables."""
    name: str
    """The field of `Settings`."""
    kind: str
    """What its value is, in words: `a whole number above 0`."""
    default: Any
    meaning: str
    variable: str
    """Its name in the environment."""
    choices: tuple[str, ...] = ()
    """The values it may have, where they are few."""


_KINDS = {
    str: "a text",
    Path: "a path",
    int: "a whole number above 0",
    float: "a number above 0",
    bool: "true or false",
}


def _describe_kind(annotation: Any) -> str:
    """Say in words what the value of a field is."""
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(get_args(annotation))
    if get_origin(annotation) is tuple:
        return "a list of texts"
    # An optional field is a union of an annotated type and None; of any other, pydantic has taken the annotation off.
    alternatives = get_args(annotation)
    return _KINDS[get_args(alternatives[0])[0] if alternatives else annotation]


def _describe(name: str, field: FieldInfo) -> KnownSetting:
    extra: Any = field.json_schema_extra
    return KnownSetting(
        key=extra["key"],
        name=name,
        kind=extra["kind"] or _describe_kind(field.annotation),
        default=field.default,
        meaning=field.description or "",
        variable=extra["variable"],
        choices=get_args(field.annotation) if get_origin(field.annotation) is Literal else (),
    )


KNOWN = tuple(_describe(name, field) for name, field in Settings.model_fields.items() if field.json_schema_extra)
"""Every setting there is; the reference page is made from it."""
_BY_NAME = {known.name: known for known in KNOWN}

_PROBLEMS = {
    "number_parsing": ("is not a number", "Give {key} a number, such as {example}."),
    "float_type": ("is not a number", "Give {key} a number, such as {example}."),
    "int_type": ("is not a whole number", "Give {key} a whole number, such as {example}."),
    "greater_than": ("is not above zero", "Give {key} a number above zero."),
    "greater_than_equal": ("is below zero", "Give {key} a number that is not below zero."),
    "less_than_equal": ("is out of range", "Give {key} {kind}, at most {most}."),
    "finite_number": ("is not finite", "Give {key} a finite number, such as {example}."),
    "literal_error": ("is not known", "Give one of {choices}."),
    "string_unicode": ("has a lone surrogate", "Decode the source as UTF-8 first."),
    "string_type": ("is not text", "Give {key} a text."),
    "bool_type": ("is neither true nor false", "Give {key} true or false."),
}
"""By pydantic's name of an error: what is wrong with the value, and the remedy."""


def explain(problem: ValidationError, origins: Mapping[str, Origin] | None = None) -> SettingError:
    """Say what is wrong with the first wrong value, where it came from, and what to do.

    `origins` are by the name of the field.
    """
    error = problem.errors(include_url=False)[0]
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return unknown_setting(name, _BY_NAME, "Settings are given the name")
    message, remedy = _word(error, _BY_NAME[name])
    origin = (origins or {}).get(name)
    where = f" ({origin.layer} {origin.place})" if origin else ""
    return SettingError(f"{message}{where}", remedy=remedy)


def unknown_setting(name: str, names: Iterable[str], where: str) -> SettingError:
    """Make the error for a name that is not a setting, with the nearest names; `where` is the source of the name."""
    close = get_close_matches(name, list(names), n=3)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    return SettingError(f"{where} {name!r}, which is not a setting", remedy=f"{hint}`assay config` lists all of them.")


def _word(error: ErrorDetails, known: KnownSetting) -> tuple[str, str]:
    context = error.get("ctx", {})
    if error["type"] == _REFUSED:
        return context["message"], context["remedy"]
    what, remedy = _PROBLEMS.get(error["type"], (f"is wrong: {error['msg']}", "Correct {key}."))
    filled = remedy.format(
        key=known.key,
        example=known.default or 1,
        choices=", ".join(known.choices),
        kind=known.kind,
        most=context.get("le", ""),
    )
    return f"{known.key} {_show(error['input'])} {what}", filled


_REFUSED = "refused"
"""The type of errors that carry their own message and remedy."""


def _refuse(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError(_REFUSED, "{message}", {"message": message, "remedy": remedy})


def _check(check: Any, value: Any, info: ValidationInfo) -> Any:
    """Apply one of the checks of `records.values`."""
    try:
        return check(value, _key_of(info))
    except BadValue as problem:
        raise _refuse(problem.message, problem.remedy) from problem


def _key_of(info: ValidationInfo) -> str:
    return _BY_NAME[info.field_name or ""].key


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= LONGEST_SHOWN else shown[: LONGEST_SHOWN - 3] + "..."
