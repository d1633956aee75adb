"""Features that can be switched on and off.

- `registry`: the table of flags with their defaults, and how values are written.
- `state`: the current value of each flag, and where it comes from.

with store.reading(scope) as work:
    states = flags.states(work)
    states.enabled("mmr", identity=session_id)
"""

from assay.flags.registry import FLAGS, Override, find_flag, overrides_from, percent_of
from assay.flags.state import Flags, FlagStates, explain_hold
from assay.records.flags import Flag, FlagState

__all__ = [
    "FLAGS",
    "Flag",
    "FlagState",
    "FlagStates",
    "Flags",
    "Override",
    "explain_hold",
    "find_flag",
    "overrides_from",
    "percent_of",
]
