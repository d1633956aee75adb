"""A store for each test of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.storage import Store, open_store
from assay.testing import FixedClock


@pytest.fixture
def local(tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    """A SQLite store; what differs between back ends is tested with the repositories."""
    with open_store(str(tmp_path / "notes.db"), clock=clock) as store:
        yield store
