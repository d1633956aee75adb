"""The table of settings: one frozen value with everything that can be set, each with its key, meaning and default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from assay.records import DEFAULT_TENANT

PREFIX = "ASSAY_"
"""What the names of settings begin with in the environment."""


class Origin(NamedTuple):
    """Where a value came from."""

    layer: str
    """`default`, `file`, `environment` or `option`."""
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
    postgres_schema: str = _setting("postgres.schema", "The PostgreSQL schema that holds Assay's tables.", "assay")
    postgres_programs: Path | None = _setting(
        "postgres.programs", "The folder of pg_dump and psql. Unset: the search path.", None
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
    index_folder: Path | None = _setting(
        "index.folder", "Where derived indexes are kept. Unset: beside the SQLite file, or the user's cache.", None
    )
    index_exact_below: int = _setting(
        "index.exact_below", "Up to this many chunks, vectors are compared one by one, without an index.", 20_000
    )
    search_k: int = _setting("search.k", "Results of a search that names no number.", 10)
    search_fusion: str = _setting(
        "search.fusion", "How the channels' lists become one: convex or rrf.", "convex", choices=("convex", "rrf")
    )
    datasets_folder: Path | None = _setting(
        "datasets.folder", "Where imported datasets are kept. Unset: the user's data folder.", None
    )
    runs_folder: Path | None = _setting(
        "runs.folder", "Where runs are kept. Unset: .assay/runs below the working folder.", None
    )
    flags: Mapping[str, tuple[str, Origin]] = field(default_factory=dict)
    """What the environment and the file say of feature flags: value and origin by the flag's name, unchecked."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """What the file demands of every run, by metric; for what is better when lower, a ceiling."""


class KnownSetting(NamedTuple):
    """One entry of the table of settings."""

    key: str
    name: str
    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.key.replace(".", "_").upper()


KNOWN = tuple(
    KnownSetting(
        one.metadata["key"],
        one.name,
        str(one.type),
        one.default,
        one.metadata["meaning"],
        one.metadata.get("choices", ()),
    )
    for one in fields(Settings)
    if "key" in one.metadata
)
"""Every setting there is; the reference page is made from it."""
