"""An engine with an ingester, and a folder to take in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.memory.engine import Engine


@pytest.fixture
def engine(home: Home) -> Iterator[Engine]:
    with engine_at(home) as engine:
        yield engine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    return folder
