"""What a save does: trust, quality and near-duplicates under the gate, then reconsolidation.

- The gate: what the feature flags allow a save to do.
- The decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from assay.errors import CheckpointFailed
from assay.flags import Flags, FlagState, explain_hold
from assay.memory.saving.neighbours import Neighbour, Verdict, for_protected, foremost
from assay.memory.saving.options import SaveOptions
from assay.memory.saving.preparing import Prepared
from assay.records import SaveDecision, Scope, Step
from assay.storage import Store

# --- The gate: what the feature flags allow a save to do ---

GATE = "save_quality_gate"
RECONSOLIDATION = "reconsolidation"


@dataclass(frozen=True, kw_only=True, slots=True)
class GatePolicy:
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


UNGATED = GatePolicy()
"""Documents are not memories that an agent decides to keep: siblings must not merge."""


def policy_for(
    flags: Flags, store: Store, scope: Scope, *, identity: str, now: datetime, warn_only: timedelta
) -> GatePolicy:
    """What the flags allow now. The first use of a flag that is on by default is written down."""
    with store.reading(scope) as work:
        states = flags.states(work)
    gate, reconsolidation = states[GATE], states[RECONSOLIDATION]
    if gate.on and gate.activated_at is None:
        gate = flags.activate(store, scope, GATE)
    problem = ""
    if reconsolidation.on and reconsolidation.activated_at is None:
        reconsolidation, problem = _activate(flags, store, scope, reconsolidation)
    return GatePolicy(
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
    """Return the state after its first use; without a checkpoint the save continues and reports what was not done."""
    try:
        return flags.activate(store, scope, RECONSOLIDATION), ""
    except CheckpointFailed as problem:
        return state, explain_hold(problem)


def _why_off(state: FlagState) -> str:
    return f"the flag {state.flag.name} is off ({state.origin})"


# --- The decision ---
#
# A draft that may be no note is turned away by the gate when a program wrote it. While the gate only warns, such a
# draft is kept in quarantine: it touches no other memory and no search finds it until a person releases it. Whoever
# writes by hand is warned.

TRUST = "trust"
QUALITY = "quality"
NEAR_DUPLICATE = "near_duplicate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What a save does, with the result of each step."""

    decision: SaveDecision
    steps: tuple[Step, ...]
    would_reject: str | None = None
    duplicate: Neighbour | None = None
    """What the draft was rejected for."""
    merge_into: Neighbour | None = None
    supersedes: tuple[Neighbour, ...] = ()
    contradicts: tuple[Neighbour, ...] = ()
    supports: tuple[Neighbour, ...] = ()
    quarantined: bool = False
    """Kept, but found by no search until a person releases it."""
    held_off: str = ""
    """What it would have done to other memories, and why it did not."""


def decide(
    prepared: Prepared, near: Sequence[Neighbour], policy: GatePolicy, options: SaveOptions, *, not_compared: str = ""
) -> Decision:
    """Decide what becomes of a draft, given the memories near it. `not_compared` is the reason when there were none."""
    if not near and not policy.gate and not policy.reconsolidate and not policy.held_off:
        return _store_ungated(policy, not_compared)
    return _decide(prepared, near, policy, options, not_compared)


@lru_cache(maxsize=16)
def _store_ungated(policy: GatePolicy, not_compared: str) -> Decision:
    """Decide about a draft that is compared with nothing, such as a document: the same of each."""
    off = (Step(TRUST, "off", policy.gate_reason), Step(QUALITY, "off", policy.gate_reason))
    return _reconsolidate((), policy, (*off, _near_duplicate(None, policy, not_compared)), None, not_compared)


def _decide(
    prepared: Prepared, near: Sequence[Neighbour], policy: GatePolicy, options: SaveOptions, not_compared: str
) -> Decision:
    trust, quality = _trust(prepared, policy), _quality(prepared, policy, options)
    if "reject" in (trust.decision, quality.decision):
        return Decision(decision=SaveDecision.REJECT, steps=(trust, quality, *_not_asked("rejected before")))
    if trust.decision == "quarantine":
        steps = (trust, quality, *_not_asked("in quarantine"))
        return Decision(decision=SaveDecision.STORE, steps=steps, would_reject=TRUST, quarantined=True)
    duplicate = next((neighbour for neighbour in near if neighbour.verdict is Verdict.REJECT), None)
    updates = policy.reconsolidate and any(limit_verdict(neighbour) is Verdict.SUPERSEDE for neighbour in near)
    repeated = _near_duplicate(None if updates else duplicate, policy, not_compared)
    if duplicate is not None and repeated.decision == "reject":
        last = Step("reconsolidation", "off", "rejected before")
        return Decision(decision=SaveDecision.REJECT, steps=(trust, quality, repeated, last), duplicate=duplicate)
    would = next((step.name for step in (quality, repeated) if step.decision == "would_reject"), None)
    # Facts need no vectors: what they found is followed also when nothing else could be compared.
    return _reconsolidate(near, policy, (trust, quality, repeated), would, "" if near else not_compared)


def _not_asked(why: str) -> tuple[Step, Step]:
    return Step(NEAR_DUPLICATE, "off", why), Step("reconsolidation", "off", why)


def _trust(prepared: Prepared, policy: GatePolicy) -> Step:
    if not policy.gate:
        return Step(TRUST, "off", policy.gate_reason)
    if not prepared.doubts:
        return Step(TRUST, "pass")
    said = "; ".join(f"{doubt.name}: {doubt.reason}" for doubt in prepared.doubts)
    if not prepared.draft.automated:
        return Step(TRUST, "warn", said)
    turned_away = policy.enforced and not all(doubt.kept for doubt in prepared.doubts)
    return Step(TRUST, "reject" if turned_away else "quarantine", said)


def _quality(prepared: Prepared, policy: GatePolicy, options: SaveOptions) -> Step:
    if prepared.quality is None or not policy.gate:
        return Step(QUALITY, "off", policy.gate_reason)
    found = prepared.quality.score
    if found >= options.reject_below:
        return Step(QUALITY, "pass", f"{found:.2f}")
    parts = ", ".join(f"{part.name} {part.value:.2f}" for part in prepared.quality.parts)
    return Step(QUALITY, _rejection_step(policy), f"{found:.2f} is below {options.reject_below:.2f}: {parts}")


def _near_duplicate(duplicate: Neighbour | None, policy: GatePolicy, not_compared: str) -> Step:
    if not policy.gate or not_compared:
        return Step(NEAR_DUPLICATE, "off", not_compared or policy.gate_reason)
    if duplicate is None:
        return Step(NEAR_DUPLICATE, "pass")
    similarity = duplicate.pair.similarity
    return Step(NEAR_DUPLICATE, _rejection_step(policy), f"{similarity:.3f} like {duplicate.memory.id}, and they agree")


def _rejection_step(policy: GatePolicy) -> str:
    return "reject" if policy.enforced else "would_reject"


def _reconsolidate(
    near: Sequence[Neighbour], policy: GatePolicy, before: tuple[Step, ...], would: str | None, not_compared: str
) -> Decision:
    if not policy.reconsolidate or not_compared:
        step = Step(
            "reconsolidation",
            "held_off" if policy.held_off and not not_compared else "off",
            not_compared or policy.reconsolidation_reason,
        )
        return Decision(
            decision=SaveDecision.STORE,
            steps=(*before, step),
            would_reject=would,
            held_off="" if not_compared else _describe_held_off(near, policy),
            contradicts=_against_persons(near),
        )
    verdicts = [limit_verdict(neighbour) for neighbour in near]
    chosen = foremost(verdicts)
    by_verdict = {
        kind: tuple(neighbour for neighbour, verdict in zip(near, verdicts, strict=True) if verdict is kind)
        for kind in Verdict
    }
    step = Step(
        "reconsolidation", str(chosen), _describe_near(by_verdict[chosen]) if chosen is not Verdict.STORE else ""
    )
    if chosen is Verdict.MERGE:
        into = by_verdict[Verdict.MERGE][0]
        return Decision(decision=SaveDecision.MERGE, steps=(*before, step), would_reject=would, merge_into=into)
    superseding = chosen is Verdict.SUPERSEDE
    return Decision(
        decision=SaveDecision.SUPERSEDE if superseding else SaveDecision.STORE,
        steps=(*before, step),
        would_reject=would,
        supersedes=by_verdict[Verdict.SUPERSEDE],
        contradicts=by_verdict[Verdict.CONTRADICTS],
        supports=by_verdict[Verdict.SUPPORTS],
    )


def _against_persons(near: Sequence[Neighbour]) -> tuple[Neighbour, ...]:
    """What a program's draft contradicts of what persons wrote: named also when no memory may be changed."""
    return tuple(
        neighbour
        for neighbour in near
        if neighbour.protected and for_protected(neighbour.verdict) is Verdict.CONTRADICTS
    )


def _describe_held_off(near: Sequence[Neighbour], policy: GatePolicy) -> str:
    """What reconsolidation would have done to the nearest memories, were it not held off; empty when nothing."""
    if not policy.held_off:
        return ""
    verdicts = [limit_verdict(neighbour) for neighbour in near]
    chosen = foremost(verdicts)
    done = {Verdict.SUPERSEDE: "superseded", Verdict.MERGE: "merged into"}.get(chosen)
    if done is None:
        return ""
    ids = ", ".join(neighbour.memory.id for neighbour, verdict in zip(near, verdicts, strict=True) if verdict is chosen)
    return f"would have {done} {ids}, but reconsolidation is held off: {policy.held_off}"


def limit_verdict(neighbour: Neighbour) -> Verdict:
    """Limit the verdict on a neighbour that the gate lets pass to what may be done to the memory.

    A duplicate that the gate does not turn away, because it only warns or is off, is merged: the closest copy is
    treated no weaker than a looser one. A program's duplicate of a person's memory is linked to that memory, so that it
    never ranks above it.
    """
    verdict = Verdict.MERGE if neighbour.verdict is Verdict.REJECT else neighbour.verdict
    return for_protected(verdict) if neighbour.protected else verdict


def _describe_near(near: Sequence[Neighbour]) -> str:
    return "; ".join(
        f"{neighbour.memory.id} ({neighbour.pair.similarity:.3f}: {', '.join(neighbour.pair.reasons[:3])})"
        for neighbour in near
    )
