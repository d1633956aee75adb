"""Doubles and small values for tests, yours as well as ours.

`FixedClock` is time that moves only when told to; `note` is a memory with everything filled in; `NOTES` is a tiny
collection with something to find.
"""

from assay.testing.clock import FixedClock
from assay.testing.notes import NOTES, note

__all__ = ["NOTES", "FixedClock", "note"]
