"""A shelf on each back end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.memory.searching.shelf import Shelf

from assay.records import Scope
from assay.storage import Store, open_store
from assay.testing import FixedClock


@pytest.fixture
def shelf(store: Store, scope: Scope, clock: FixedClock) -> Shelf:
    return Shelf(store, scope, clock)


@pytest.fixture
def sqlite_shelf(tmp_path: Path, scope: Scope, clock: FixedClock) -> Iterator[Shelf]:
    """For what does not depend on the back end."""
    with open_store(tmp_path / "notes.db", clock=clock) as store:
        yield Shelf(store, scope, clock)
