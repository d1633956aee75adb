"""Features that can be switched: `registry` the table of them, `values` how they are written, `state` what holds now.

with store.reading(scope) as work:
    states = flags.states(work)
    states.enabled("mmr", identity=session_id)
"""

from assay.flags.registry import FLAGS, Override, known, overrides_from, percent_of
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
    "known",
    "overrides_from",
    "percent_of",
]
