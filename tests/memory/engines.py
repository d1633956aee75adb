"""Engines over the stores of the tests, with an embedder that needs no model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.storage.homes import Home

from assay import Settings
from assay.memory.engine import Engine
from assay.testing import HashedEmbedder
from assay.wiring import open_engine


def settings_of(home: Home, **changed: Any) -> Settings:
    """Settings that name a home."""
    options = home.options
    filled: dict[str, Any] = {
        "db": home.address,
        "tenant": "acme",
        "principal": "ada",
        "flush_interval_s": options.flush_interval_s,
        "postgres_schema": options.postgres_schema,
        "postgres_programs": options.postgres_programs,
    }
    if home.backend == "postgres":
        filled["checkpoint_folder"] = options.checkpoint_folder
    return Settings(**{**filled, **changed})


@contextmanager
def engine_at(home: Home, *, model: str = "hashed-words", **changed: Any) -> Iterator[Engine]:
    """An engine, closed with the block."""
    settings = settings_of(home, **changed)
    with open_engine(settings, clock=home.clock, embedder=HashedEmbedder(model=model)) as engine:
        yield engine
