"""The facades behind the public names: what a program calls, without knowing how things are wired."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay import wiring
from assay.clock import Clock
from assay.settings import load_settings

if TYPE_CHECKING:
    from assay.storage import Store


def open_store(db: str | Path | None = None, *, create: bool = True, clock: Clock | None = None) -> Store:
    """Open the evidence store at a path or `postgresql://` address; without one, the store the settings name."""
    loaded = load_settings(options={"db": None if db is None else str(db)})
    return wiring.open_store(loaded.settings, clock=clock, create=create)
