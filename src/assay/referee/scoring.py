"""From records to numbers: everything a table shows, computed from a capsule's content and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import NothingMeasured
from assay.referee import traps
from assay.referee.answer_scoring import score_answers
from assay.referee.contenders.floors import CEILING, FULL_CONTEXT, ORACLE, RANDOM
from assay.referee.measures import SET_MEASURES, Values, measure
from assay.referee.records import BenchRecords, Line
from assay.referee.sets.values import ANSWERS
from assay.referee.standings import (
    compare_systems,
    rounded,
    seeded,
    smallest_differences,
    summarise,
    verdict_sentence,
)
from assay.referee.traps import Flag

DECIDING = 10
"""The cutoff of the measure that verdicts are about, where it can be measured."""
Ranking = list[tuple[str, int]]


def compute_results(records: BenchRecords) -> dict[str, Any]:
    """Compute every number of a benchmark."""
    if records.options.layer == ANSWERS:
        return score_answers(records)
    traps.refuse_mixed_layers([records.options.layer, *([ANSWERS] if records.answers else [])])
    shared = shared_embedder(records.systems)
    flags = [*traps.find_embedder_traps(records.systems, shared), *traps.find_text_traps(records)]
    flags += traps.read_observed(records.observed)
    sets: dict[str, Any] = {}
    for name in records.sets:
        scored, found = _SetScoring.of(records, name, flags).score()
        sets[name] = scored
        flags += found
    return {"layer": records.options.layer, "sets": sets, "flags": [flag.as_json() for flag in flags]}


def shared_embedder(systems: Mapping[str, Line]) -> str | None:
    """Return the embedder that most vector systems declare: what all of them should use."""
    declared = Counter(
        line["declared"]["embedder"]
        for line in systems.values()
        if line["declared"].get("embedder") not in (None, "unknown")
    )
    return declared.most_common(1)[0][0] if declared else None


@dataclass(frozen=True, kw_only=True)
class _SetScoring:
    """One set of a benchmark."""

    records: BenchRecords
    name: str
    flags: Sequence[Flag]
    """Flags of the whole benchmark."""
    scored: Sequence[Line]
    """Questions with evidence that can be found."""
    chats: Mapping[str, str]

    @classmethod
    def of(cls, records: BenchRecords, name: str, flags: Sequence[Flag]) -> _SetScoring:
        questions, pools = records.questions[name], records.pools[name]
        scored = [question for question in questions if question["answerable"] and question["evidence"]]
        if not scored:
            raise NothingMeasured(
                f"no question of {name} has evidence that could be found",
                remedy="Measure this set with --layer answers, or leave it out.",
            )
        chats = {question["id"]: pools[question["user"]]["chat"] for question in questions}
        return cls(records=records, name=name, flags=flags, scored=scored, chats=chats)

    def score(self) -> tuple[Line, list[Flag]]:
        """Return the set's part of the results, and what was found wrong with it."""
        options = self.records.options
        pools, questions = self.records.pools[self.name], self.records.questions[self.name]
        users = {question["user"] for question in self.scored}
        flags = traps.find_pool_traps(self.name, pools, users, options.cutoffs)
        flags += traps.find_lost_evidence(self.name, questions, pools)
        withheld = self._withheld(traps.smallest_pool(pools, users))
        deciding = self._deciding(withheld)
        rows, values = [], {}
        for system in options.systems:
            row, own, found = self._score_system(system, deciding, withheld)
            rows.append(row)
            values[system] = own
            flags += found
        rows += self._floor_rows(withheld)
        cutoff = int(deciding.partition("@")[2])
        tops = {system: self._rankings(system, 0) for system in options.systems}
        flags += traps.find_reranks(
            self.name, {system: {q: [i for i, _ in r] for q, r in top.items()} for system, top in tops.items()}, cutoff
        )
        return self._assemble(rows, values, deciding, withheld, flags), flags

    def _assemble(
        self, rows: list[Line], values: Mapping[str, Values], deciding: str, withheld: list[str], flags: list[Flag]
    ) -> Line:
        options = self.records.options
        reference = options.systems[0]
        decided = {system: found[deciding] for system, found in values.items() if found[deciding]}
        comparisons = (
            compare_systems(reference, decided, self.chats, seeded(options.seed, self.name, "compare"))
            if reference in decided
            else []
        )
        for line in comparisons:
            line["withheld"] = self._why_withheld(line, flags)
            line["sentence"] = verdict_sentence(line, line["withheld"])
        categories: dict[str, list[str]] = {}
        for question in self.scored:
            categories.setdefault(question["category"], []).append(question["id"])
        smallest = smallest_differences(
            reference, decided, categories, self.chats, seeded(options.seed, self.name, "categories")
        )
        return {
            "scored": len(self.scored),
            "chats": len({self.chats[question["id"]] for question in self.scored}),
            "left_out": self._left_out(),
            "deciding": deciding,
            "withheld": withheld,
            "rows": rows,
            "comparisons": comparisons,
            "categories": smallest,
        }

    def _withheld(self, smallest: int) -> list[str]:
        """Return the measures that are not given: recall at cutoffs that are not below the smallest pool."""
        refused = [cutoff for cutoff in self.records.options.cutoffs if cutoff >= smallest]
        return [f"{family}@{cutoff}" for family in SET_MEASURES for cutoff in refused]

    def _deciding(self, withheld: Sequence[str]) -> str:
        """Return the measure that verdicts are about: recall_all at 10, or at the largest cutoff that is left."""
        left = [cutoff for cutoff in self.records.options.cutoffs if f"recall_all@{cutoff}" not in withheld]
        if not left:
            raise NothingMeasured(
                f"{self.name}: every cutoff is at least as large as the smallest pool, so recall says nothing",
                remedy="Give a smaller --k.",
            )
        return f"recall_all@{DECIDING if DECIDING in left else max(left)}"

    # --- Rows ---

    def _score_system(self, system: str, deciding: str, withheld: Sequence[str]) -> tuple[Line, Values, list[Flag]]:
        options, flags = self.records.options, []
        repeats = [self._measure(self._rankings(system, repeat)) for repeat in range(options.repeats)]
        values = _mean_of_repeats(repeats)
        found = self.records.rankings.get((self.name, system, 0), {})
        asked = [found[question["id"]] for question in self.records.questions[self.name] if question["id"] in found]
        # Nothing is the right answer where there is nothing to find, so only scored questions count as empty.
        searched = [found[question["id"]] for question in self.scored if question["id"] in found]
        empty = sum(not line.get("failed") and not line["hits"] for line in searched)
        failed = [line["failed"] for line in asked if line.get("failed")]
        wanted = Counter(question["category"] for question in self.scored)
        there = Counter(question["category"] for question in self.scored if question["id"] in values[deciding])
        flags += traps.find_dropped_categories(self.name, system, wanted, there)
        flags += traps.find_empty_contexts(self.name, system, empty, len(searched))
        declared = self.records.systems[system]["declared"]
        flags += traps.find_returned_texts(self.name, system, asked, rewrites=declared.get("rewrites", False))
        if options.repeats > 1:
            means = [_mean(repeat[deciding]) for repeat in repeats]
            differing = sum(
                len({repeat[deciding].get(question["id"]) for repeat in repeats}) > 1 for question in self.scored
            )
            flags += traps.find_unstable_repeats(self.name, system, means, differing, len(self.scored))
        hits = [sum(hit[1] for hit in line["hits"]) for line in asked if not line.get("failed")]
        row = self._row(system, "contender", values, withheld)
        row |= {
            "asked": len(asked),
            "empty": empty,
            "failed": len(failed),
            "failure": failed[0] if failed else "",
            "tokens": rounded(sum(hits) / len(hits)) if hits else None,
            "categories": self._by_category(values[deciding]),
        }
        corrected = self._corrected(system)
        if corrected is not None:
            row["corrected"] = self._summaries(corrected, withheld, f"{system} corrected")
        return row, values, flags

    def _row(self, system: str, kind: str, values: Values, withheld: Sequence[str]) -> Line:
        return {"system": system, "kind": kind, "values": self._summaries(values, withheld, system)}

    def _summaries(self, values: Values, withheld: Sequence[str], what: str) -> Line:
        seed = self.records.options.seed
        return {
            name: summarise(found, self.chats, seeded(seed, self.name, what, name))
            for name, found in values.items()
            if name not in withheld
        }

    def _by_category(self, values: Mapping[str, float]) -> Line:
        found: dict[str, list[float]] = {}
        for question in self.scored:
            if question["id"] in values:
                found.setdefault(question["category"], []).append(values[question["id"]])
        return {
            category: {"n": len(numbers), "mean": rounded(sum(numbers) / len(numbers))}
            for category, numbers in sorted(found.items())
        }

    def _floor_rows(self, withheld: Sequence[str]) -> list[Line]:
        rows = [self._row(RANDOM, "floor", self._measure(self._random()), withheld)]
        oracle = self._oracle("evidence")
        rows.append(self._row(ORACLE, "ceiling", self._measure(oracle), withheld))
        if self._has_corrections():
            perfect = self._oracle("corrected")
            ceiling = self._row(CEILING, "ceiling", self._measure(perfect), withheld)
            ceiling["corrected"] = self._summaries(
                self._measure(perfect, "corrected"), withheld, f"{CEILING} corrected"
            )
            rows[-1]["corrected"] = self._summaries(self._measure(oracle, "corrected"), withheld, f"{ORACLE} corrected")
            rows[0]["corrected"] = self._summaries(
                self._measure(self._random(), "corrected"), withheld, f"{RANDOM} corrected"
            )
            rows.append(ceiling)
        rows.append(self._full_context())
        return rows

    def _full_context(self) -> Line:
        """The whole chat as context: everything is there, at the price of all its tokens."""
        pools, limit = self.records.pools[self.name], self.records.options.context_limit
        sizes = {user: sum(item[2] for item in pool["items"]) for user, pool in pools.items()}
        asked = [sizes[question["user"]] for question in self.scored]
        fits = sum(size <= limit for size in asked)
        return {
            "system": FULL_CONTEXT,
            "kind": "floor",
            "values": {},
            "tokens": rounded(sum(asked) / len(asked)),
            "fits": fits,
            "asked": len(asked),
            "limit": limit,
        }

    # --- Rankings ---

    def _rankings(self, system: str, repeat: int) -> dict[str, Ranking]:
        found = self.records.rankings.get((self.name, system, repeat), {})
        return {
            question: [(hit[0], hit[1]) for hit in line["hits"]]
            for question, line in found.items()
            if not line.get("failed")
        }

    def _measure(self, rankings: Mapping[str, Ranking], key: str = "evidence") -> Values:
        options = self.records.options
        evidence = {question["id"]: question.get(key) or question["evidence"] for question in self.scored}
        return measure(rankings, evidence, cutoffs=options.cutoffs, budget=options.budget)

    def _corrected(self, system: str) -> Values | None:
        if not self._has_corrections():
            return None
        repeats = range(self.records.options.repeats)
        return _mean_of_repeats([self._measure(self._rankings(system, repeat), "corrected") for repeat in repeats])

    def _has_corrections(self) -> bool:
        return "overlay" in self.records.sets[self.name]

    def _random(self) -> dict[str, Ranking]:
        pools, options = self.records.pools[self.name], self.records.options
        found: dict[str, Ranking] = {}
        for question in self.scored:
            items = pools[question["user"]]["items"]
            order = seeded(options.seed, RANDOM, question["id"]).permutation(len(items))[: options.depth]
            found[question["id"]] = [(items[place][0], items[place][2]) for place in order.tolist()]
        return found

    def _oracle(self, key: str) -> dict[str, Ranking]:
        tokens = {
            user: {item[0]: item[2] for item in pool["items"]} for user, pool in self.records.pools[self.name].items()
        }
        return {
            question["id"]: [
                (item, tokens[question["user"]][item])
                for item in question.get(key) or question["evidence"]
                if item in tokens[question["user"]]
            ]
            for question in self.scored
        }

    # --- Words beside numbers ---

    def _left_out(self) -> list[Line]:
        """Return what the mean does not include, by category, with the reason."""
        unanswerable = Counter(
            question["category"] for question in self.records.questions[self.name] if not question["answerable"]
        )
        without = Counter(
            question["category"]
            for question in self.records.questions[self.name]
            if question["answerable"] and not question["evidence"]
        )
        return [
            {"category": category, "questions": count, "reason": reason}
            for counts, reason in ((unanswerable, "nothing to find"), (without, "the key names no evidence"))
            for category, count in sorted(counts.items())
        ]

    def _why_withheld(self, line: Line, flags: Sequence[Flag]) -> str:
        refused = {traps.EMBEDDER, traps.TEXT, traps.EMPTY}
        for flag in [*self.flags, *flags]:
            concerned = flag.system in (line["system"], line["reference"]) and flag.set in ("", self.name)
            stops = (flag.trap in refused and flag.action == traps.REFUSED) or flag.trap == traps.DROPPED
            if concerned and stops:
                return flag.sentence
        return ""


def _mean_of_repeats(repeats: Sequence[Values]) -> Values:
    if len(repeats) == 1:
        return repeats[0]
    joined: Values = {}
    for name in repeats[0]:
        shared = [question for question in repeats[0][name] if all(question in repeat[name] for repeat in repeats)]
        joined[name] = {q: sum(repeat[name][q] for repeat in repeats) / len(repeats) for q in shared}
    return joined


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values) if values else 0.0
