"""Names of the rows that need no system: floors and ceilings. `scoring` computes them from the set itself."""

from __future__ import annotations

RANDOM = "random"
"""Items in random order."""
FULL_CONTEXT = "full context"
"""Everything, at the price of all its tokens."""
ORACLE = "oracle evidence"
"""The evidence of the key, as far as the filled text has it."""
CEILING = "ceiling of the key"
"""A system that is perfect by the corrected key, scored with the original one."""
