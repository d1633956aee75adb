"""Indexes over the store of a test, closed when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.index import Indexes, IndexOptions
from assay.storage import Store
from assay.testing import FixedClock

Opening = Callable[..., Indexes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where bases lie."""
    return tmp_path / "index"


@pytest.fixture
def open_indexes(store: Store, folder: Path, clock: FixedClock) -> Iterator[Opening]:
    """Opens indexes, with nothing in the background unless asked for."""
    opened: list[Indexes] = []

    def opening(over: Store = store, *, at: Path | None = folder, **options: object) -> Indexes:
        # A tenant beyond exact search is beyond being read whole, too, unless a test says otherwise.
        small = {"whole_below": options["exact_below"]} if "exact_below" in options else {}
        chosen = IndexOptions(**{"background": False, **small, **options})  # type: ignore[arg-type]
        opened.append(Indexes(over, at, clock=clock, options=chosen))
        return opened[-1]

    yield opening
    for one in opened:
        one.close()
