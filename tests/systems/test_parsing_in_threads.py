"""Systems that run in several threads at once hash their source files without disturbing each other."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.systems import protocol

THREADS = 4
TIMES = 40


@pytest.fixture
def eager_collector() -> Iterator[None]:
    """Collect garbage often, with a callback that lets other threads run: it is then that parsers meet."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()

    def busy(_phase: str, _info: dict[str, int]) -> None:
        sum(range(2000))

    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    gc.callbacks.append(busy)
    try:
        yield
    finally:
        gc.callbacks.remove(busy)
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)


@pytest.mark.slow
@pytest.mark.usefixtures("eager_collector")
def test_threads_that_hash_source_files_at_once_do_not_fail(tmp_path: Path) -> None:
    path = tmp_path / "search.py"
    path.write_text("\n".join(f"def function_{number}(a, b=[1, 2]): return a + b[0]" for number in range(600)))

    def hash_files(_: int) -> dict[str, str]:
        return protocol.file_hashes(path, tmp_path)

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(hash_files, range(TIMES)))
    assert all(hashes == found[0] for hashes in found)
