"""The grid of plain lines under the name commands know it by."""

from __future__ import annotations

from assay.formats.grid import grid

__all__ = ["grid"]
