"""A tiny set, a contender that is told what to return, and a benchmark over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.referee.contenders.contract import Contender, ContenderHit, Declaration
from assay.referee.journal import Journal
from assay.referee.records import BenchOptions, BenchRecords
from assay.referee.running import Benchmark
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser

WORDS = ("apple", "bread", "cloud", "drum", "eagle", "flute", "grape", "house", "iron", "jelly", "kite", "lemon")


def small_set(users: int = 8, **changes: Any) -> MemorySet:
    """Users with twelve items each; every question asks for one or two of them."""
    people, questions = [], []
    for number in range(users):
        items = tuple(
            MemoryItem(id=f"i{place}", text=f"User {number} likes {word}.") for place, word in enumerate(WORDS)
        )
        people.append(MemoryUser(id=f"u{number}", items=items))
        questions += [
            MemoryQuestion(
                id=f"u{number}-q{place}",
                user=f"u{number}",
                text=f"Does the user like {WORDS[place]}?",
                evidence=(f"i{place}",),
                answer=WORDS[place],
                category="even" if place % 2 == 0 else "odd",
            )
            for place in range(4)
        ]
        questions.append(
            MemoryQuestion(
                id=f"u{number}-none", user=f"u{number}", text="What about whales?", category="none", answerable=False
            )
        )
    made = MemorySet(name="small", users=tuple(people), questions=tuple(questions), quirks=("made for tests",))
    return replace(made, **changes)


class Told(Contender):
    """Returns what a function of user and question says; remembers what it was filled with."""

    def __init__(
        self,
        answer: Callable[[str, str, int, Mapping[str, str]], Sequence[str]],
        *,
        name: str = "told",
        declaration: Declaration | None = None,
        on_fill: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self._answer = answer
        self._declaration = declaration or Declaration()
        self._on_fill = on_fill
        self.held: dict[str, dict[str, str]] = {}

    @property
    def declaration(self) -> Declaration:
        return self._declaration

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        self._on_fill()
        self.held.setdefault(user, {}).update({item.id: item.text for item in items})

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        held = self.held.get(user, {})
        return [ContenderHit(id=one, text=held.get(one, "")) for one in self._answer(user, question, k, held)]

    def update(self, user: str, item: MemoryItem) -> None:
        self.held[user][item.id] = item.text

    def delete(self, user: str, item_id: str) -> None:
        del self.held[user][item_id]


def perfect(user: str, question: str, k: int, held: Mapping[str, str]) -> list[str]:
    """The item that has the last word of the question, then the others."""
    asked = question.rstrip("?!.").split()[-1]
    return sorted(held, key=lambda one: (asked not in held[one] and question != held[one], list(held).index(one)))[:k]


def reversed_items(user: str, question: str, k: int, held: Mapping[str, str]) -> list[str]:
    """The newest items, whatever is asked."""
    return list(held)[::-1][:k]


def options(*systems: str, **changes: Any) -> BenchOptions:
    made = BenchOptions(layer="retrieval", systems=systems, cutoffs=(1, 5), budget=50, seed=3, depth=5)
    return replace(made, **changes)


def run(
    folder: Path,
    systems: Mapping[str, Callable[[], Contender]],
    memory_set: MemorySet | None = None,
    *,
    resume: bool = False,
    changes: Mapping[str, Any] | None = None,
    **more: Any,
) -> BenchRecords:
    """Run a benchmark of contenders that are made anew each time they are opened."""
    bench = Benchmark(
        options=options(*systems, **(changes or {})),
        sets=[memory_set or small_set()],
        open_system=lambda name, _: systems[name](),
        **more,
    )
    journal = Journal(folder, bench.plan(), resume=resume)
    try:
        return bench.run(journal)
    finally:
        journal.close()
