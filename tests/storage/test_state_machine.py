"""A few hundred random steps on each back end against a plain dict; `reliability/` does many more."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
from tests.storage.homes import Home, PostgresServer
from tests.storage.machine import run

from assay.testing import FixedClock

STEPS = 160
SEED = 20260105


def test_sqlite_never_disagrees_with_a_dict(tmp_path: Path) -> None:
    places = count()
    done = run(lambda: Home(str(tmp_path / f"{next(places)}.db"), FixedClock()), STEPS, SEED)
    assert done > STEPS / 4


@pytest.mark.slow
def test_postgres_never_disagrees_with_a_dict(postgres: PostgresServer) -> None:
    def fresh() -> Home:
        return Home(postgres.address, FixedClock(), postgres_schema=f"m_{uuid4().hex[:12]}")

    done = run(fresh, STEPS, SEED)
    assert done > STEPS / 4
