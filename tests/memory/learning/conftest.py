"""A desk on each back end, and one on SQLite alone for what does not depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.memory.learning.desk import Desk

from assay.storage import Store, open_store
from assay.testing import FixedClock


@pytest.fixture
def desk(store: Store, clock: FixedClock) -> Desk:
    made = Desk(store, clock)
    made.put("m_1", "m_d")
    return made


@pytest.fixture
def sqlite_desk(tmp_path: Path, clock: FixedClock) -> Iterator[Desk]:
    with open_store(tmp_path / "notes.db", clock=clock) as opened:
        made = Desk(opened, clock)
        made.put("m_1", "m_d")
        yield made
