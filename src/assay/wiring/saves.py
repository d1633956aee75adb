"""Assay as a system that saves, over a store that is thrown away."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.clock import Clock
from assay.records import Scope
from assay.settings import Settings
from assay.wiring.engines import flags_of, open_engine

if TYPE_CHECKING:
    from assay.records.datasets import Dataset
    from assay.systems.assay_engine import OnDocument
    from assay.systems.protocol import System
    from assay.systems.registry import Configuration


GATE = "save_quality_gate"
WARNED = timedelta(days=30)
"""How long ago the gate was switched on in such a store: longer than it only warns."""


class Earlier:
    """A clock that is behind another by a fixed time."""

    def __init__(self, clock: Clock, by: timedelta) -> None:
        self._clock = clock
        self._by = by

    def now(self) -> datetime:
        """The moment that long ago."""
        return self._clock.now() - self._by

    def monotonic(self) -> float:
        """As the other clock has it."""
        return self._clock.monotonic()


def open_saves(  # noqa: PLR0917 - everything a system is made of
    settings: Settings,
    configuration: Configuration,
    dataset: Dataset,
    name: str,
    made_of: dict[str, Any],
    on_document: OnDocument | None,
) -> System:
    """A system that saves what a dataset's cases give; closing it removes everything that was saved."""
    from assay.systems.assay_engine import AssaySaves  # noqa: PLC0415 - see the package's docstring

    folder = tempfile.TemporaryDirectory(prefix="assay-saves-")
    try:
        engine = open_engine(settings.change(db=str(Path(folder.name) / "assay.db")))
    except BaseException:
        folder.cleanup()
        raise

    earlier = flags_of(settings, clock=Earlier(engine.clock, WARNED))

    def enforce(scope: Scope) -> None:
        if earlier.activate(engine.store, scope, GATE).on:
            engine.flags.review(engine.store, scope, GATE)

    def close() -> None:
        engine.close()
        folder.cleanup()

    try:
        return AssaySaves(
            engine,
            dataset,
            configuration,
            enforce=enforce,
            name=name,
            made_of=made_of,
            close=close,
            on_document=on_document,
        )
    except BaseException:
        close()
        raise
