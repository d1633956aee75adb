"""Facts that a program writes to bury what a person, or a constitutional memory, states.

`reliability.hostile` runs it. A keeper states facts by hand, some of them in longer notes and some constitutional. Then
a program of another account states other values: plainly, as changes (`is now`, `no longer`, `instead of`), backdated
and dated ahead, with the keeper's wording and title, with look-alike names, and in floods on one topic. None of the
keeper's facts may stop holding, no memory of theirs may be superseded, and what a person states later must still
replace what they stated before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from assay.clock import SystemClock
from assay.errors import AssayError
from assay.evaluation.simulation import SimulatedClock
from assay.memory.engine import Engine
from assay.records import Draft, Scope, Tier
from assay.settings import Settings
from assay.wiring import open_engine
from reliability.outcome import Check, at_least

KEEPER = Scope(tenant="facts", principal="keeper")
MALLORY = Scope(tenant="facts", principal="mallory")
THINGS = ("gateway", "billing export", "search index", "print queue", "mail relay", "backup job")
RELATIONS = (("limit", "100 requests", "{} requests"), ("owner", "Ada Byron", "Mallory {}"), ("port", "8080", "{}"))
NOT_LATIN = str.maketrans({"a": "\u0430", "e": "\u0435", "o": "\u043e", "p": "\u0440"})
"""Letters of another script that look alike."""


class FactAttack(NamedTuple):
    """What was seen after the attack on facts."""

    stated: int
    """Facts that the keeper stated."""
    offered: int
    stored: int
    outdated: int
    """Facts of the keeper that no longer hold."""
    buried: int
    """Memories of the keeper that were superseded."""
    updated: int
    """Facts that the keeper then changed, and that hold with the new value alone."""

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise about facts."""
        return (
            at_least("hostile facts stored", self.stored, self.offered // 4),
            Check(
                promise="0 facts of a person, or constitutional ones, outdated by a program",
                seen=f"{self.outdated} of {self.stated} by {self.offered} hostile facts",
                held=self.outdated == 0,
            ),
            Check(promise="0 memories of a person superseded by facts", seen=str(self.buried), held=self.buried == 0),
            Check(
                promise="a person still changes every fact of their own",
                seen=f"{self.updated} of {self.stated}",
                held=self.updated == self.stated,
            ),
        )


def attack_facts(folder: Path, *, flood: int, seed: int) -> FactAttack:
    """State facts, let a program speak against them, and see which hold."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    clock = SimulatedClock(SystemClock().now())
    settings = Settings(db=str(folder / "facts.db"), embedder="none", tenant=KEEPER.tenant, principal=KEEPER.principal)
    with open_engine(settings, clock=clock) as engine:
        own = _state(engine)
        clock.pass_by(timedelta(days=1))
        offered = stored = 0
        for draft in _hostile(engine, flood, rng):
            offered += 1
            with suppress(AssayError):
                stored += engine.saver.save(MALLORY, draft).memory_id is not None
        with engine.store.reading(KEEPER) as work:
            facts = work.facts.of_memories(own)
            buried = sum(work.memories.get(memory_id).superseded_at is not None for memory_id in own)
        clock.pass_by(timedelta(days=1))
        updated = _change_own(engine)
    outdated = sum(not fact.holds for fact in facts)
    return FactAttack(len(facts), offered, stored, outdated, buried, updated)


def _say(thing: str, relation: str, value: str) -> str:
    return f"The {relation} of the {thing} is {value}."


def _state(engine: Engine) -> list[str]:
    """Let the keeper state every fact, every second one in a longer note, and every sixth as a constitutional one."""
    ids = []
    pairs = [(thing, *relation[:2]) for thing in THINGS for relation in RELATIONS]
    for number, (thing, relation, value) in enumerate(pairs):
        more = " Ask before you change anything there, and write down who asked." if number % 2 else ""
        draft = Draft(
            title=f"{thing} {relation}",
            body=_say(thing, relation, value) + more,
            tier=Tier.CONSTITUTIONAL if number % 6 == 0 else Tier.NORMAL,
        )
        ids.append(str(engine.saver.save(KEEPER, draft).memory_id))
    return ids


def _hostile(engine: Engine, flood: int, rng: random.Random) -> Iterator[Draft]:
    now = engine.clock.now()
    for thing in THINGS:
        for relation, old, pattern in RELATIONS:
            value = pattern.format(rng.randrange(1_000, 9_999))
            said = _say(thing, relation, value)
            day = f"{now - timedelta(days=300):%Y-%m-%d}"
            bodies = (
                said,
                said.replace(" is ", " is now "),
                f"The {relation} of the {thing} is no longer {old}.",
                f"The {relation} of the {thing} was changed from {old} to {value}.",
                f"Use {value} instead of {old} for the {relation} of the {thing}.",
                f"As of {day}, the {relation} of the {thing} is {value}.",
                said.translate(NOT_LATIN),
                said.replace(thing, f"{thing[0]}\u200b{thing[1:]}"),
                f"{thing.title()}'s {relation} is {value}, whatever the keeper wrote.",
            )
            for number, body in enumerate(bodies):
                yield Draft(title=f"{thing} {relation}", body=body, automated=True)
                if number == 0:
                    yield Draft(title=f"{thing}", body=body, automated=True, valid_from=now - timedelta(days=9))
                    yield Draft(title=f"{thing} soon", body=body, automated=True, valid_from=now + timedelta(days=9))
    for number in range(flood):
        value = f"{number} requests" if number % 2 else f"{number} requests, {number} more"
        yield Draft(title=f"Limit {number}", body=_say(THINGS[0], "limit", value), automated=True)


def _change_own(engine: Engine) -> int:
    """Let the keeper change every fact; return how many hold with the new value alone."""
    changed = 0
    for thing in THINGS:
        for relation, _, pattern in RELATIONS:
            value = pattern.format(7)
            new = engine.saver.save(KEEPER, Draft(title=f"new {thing} {relation}", body=_say(thing, relation, value)))
            with engine.store.reading(KEEPER) as work:
                topics = work.facts.topics_touched_by([str(new.memory_id)])
                mine = [fact for fact in work.facts.on_topics(topics) if fact.holds and not fact.by_program]
            changed += [fact.memory_id for fact in mine] == [new.memory_id]
    return changed
