"""An engine with a few memories, on each back end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.memory.engine import Engine
from assay.online.ladder import Ladder
from assay.records import Draft, Scope
from assay.testing import FixedClock
from assay.wiring import ladder_of

NOTES = (
    ("Tea", "The tea is kept in the left cupboard of the small kitchen."),
    ("Coffee", "Coffee beans are ground in the small kitchen each morning."),
    ("Umbrellas", "Umbrellas stand behind the front door in rain."),
    ("Keys", "The key of the small kitchen hangs beside the front door."),
)


class Online(NamedTuple):
    """What online tests talk to."""

    engine: Engine
    scope: Scope
    clock: FixedClock
    ids: tuple[str, ...]
    ladder: Ladder


@pytest.fixture
def online(home: Home, scope: Scope, clock: FixedClock) -> Iterator[Online]:
    with engine_at(home) as engine:
        saved = [engine.saver.save(scope, Draft(title=title, body=body), gated=False) for title, body in NOTES]
        yield Online(engine, scope, clock, tuple(str(one.memory_id) for one in saved), ladder_of(engine))
