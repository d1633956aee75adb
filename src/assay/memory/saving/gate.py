"""What the flags allow a save to do: does the gate look, does its word count, may memories be changed?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.errors import CheckpointFailed
from assay.flags import Flags, FlagState, explain_hold
from assay.records import Scope
from assay.storage import Store

GATE = "save_quality_gate"
RECONSOLIDATION = "reconsolidation"


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What one save may do, and why not."""

    gate: bool = False
    enforced: bool = False
    """Whether the gate turns drafts away, rather than saying that it would."""
    reconsolidate: bool = False
    gate_reason: str = "not asked for"
    reconsolidation_reason: str = "not asked for"
    held_off: str = ""
    """Why reconsolidation is on and yet changes nothing, with the remedy."""

    @property
    def compares(self) -> bool:
        """Whether neighbours are looked at."""
        return self.gate or self.reconsolidate or bool(self.held_off)


UNGATED = Policy()
"""Documents are not memories that an agent decides to keep: siblings must not merge."""


def policy_for(
    flags: Flags, store: Store, scope: Scope, *, identity: str, now: datetime, warn_only: timedelta
) -> Policy:
    """What the flags allow now. The first use of a flag that is on by default is written down."""
    with store.reading(scope) as work:
        states = flags.states(work)
    gate, reconsolidation = states[GATE], states[RECONSOLIDATION]
    if gate.on and gate.activated_at is None:
        gate = flags.activate(store, scope, GATE)
    problem = ""
    if reconsolidation.on and reconsolidation.activated_at is None:
        reconsolidation, problem = _activate(flags, store, scope, reconsolidation)
    return Policy(
        gate=gate.enabled(identity),
        enforced=is_enforced(gate, now, warn_only),
        reconsolidate=reconsolidation.enabled(identity) and not problem,
        gate_reason=_why_off(gate),
        reconsolidation_reason=problem or _why_off(reconsolidation),
        held_off=problem if reconsolidation.enabled(identity) else "",
    )


def is_enforced(gate: FlagState, now: datetime, warn_only: timedelta) -> bool:
    """Whether the warn-only period is over and a person has looked at what the gate would have turned away."""
    if gate.activated_at is None or gate.reviewed_at is None:
        return False
    return now >= gate.activated_at + warn_only


def _activate(flags: Flags, store: Store, scope: Scope, state: FlagState) -> tuple[FlagState, str]:
    """The state after its first use; without a checkpoint the save goes on, and says what it left undone."""
    try:
        return flags.activate(store, scope, RECONSOLIDATION), ""
    except CheckpointFailed as problem:
        return state, explain_hold(problem)


def _why_off(state: FlagState) -> str:
    return f"the flag {state.flag.name} is off ({state.origin})"
