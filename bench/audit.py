"""How many planted faults an audit finds, how many of its findings are right, and how long it takes.

For every kind of store 10,000 memories are planted from a seed, with templates of two halves: rules were set with
`develop`, and `report` is what counts. Recall: planted faults found. Precision: findings that were planted. The other
side of a pair (the first of two contradicting memories, the first of two near copies) counts for neither.

    python -m bench.audit [--items N] [--kinds jsonl,mem0,...] [--halves develop,report] [--seed N] [--misses N]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from assay.records.store_audits import StoreAudit, StoreFault, StoreItem, StoreKind
from assay.store_audit.auditor import audit_store, read_store
from bench.audit_stores import AS_OF, KINDS, PlantedMemory, key_of, plant, write_store
from bench.audit_texts import HALVES

PAIRED = frozenset({StoreFault.DUPLICATE, StoreFault.CONTRADICTION})


class Score:
    """Faults planted, found and wrongly found, by fault."""

    def __init__(self, memories: dict[str, PlantedMemory], audit: StoreAudit) -> None:
        self.planted: Counter[StoreFault] = Counter()
        self.found: Counter[StoreFault] = Counter()
        self.wrong: Counter[StoreFault] = Counter()
        self.missed: list[tuple[StoreFault, str]] = []
        self.mistaken: list[tuple[StoreFault, str, str]] = []
        counted = [finding for finding in audit.findings if finding.certain]
        named = {(finding.fault, memories[finding.key].planted_as) for finding in counted}
        for memory in memories.values():
            for fault in memory.faults:
                self.planted[fault] += 1
                # Of a pair of near copies or contradicting memories, either may be named.
                sides = (memory.planted_as, memory.partner if fault in PAIRED else None)
                if any((fault, side) in named for side in sides):
                    self.found[fault] += 1
                else:
                    self.missed.append((fault, memory.text))
        for finding in counted:
            memory = memories[finding.key]
            if finding.fault not in memory.faults | memory.also:
                self.wrong[finding.fault] += 1
                self.mistaken.append((finding.fault, memory.text, f"{finding.reason} | {finding.parts[-1].text}"))

    def recall(self, fault: StoreFault) -> float | None:
        """Share of the planted faults that were found; None where none was planted."""
        return self.found[fault] / self.planted[fault] if self.planted[fault] else None

    def precision(self, fault: StoreFault) -> float | None:
        """Share of the findings that were planted; None where nothing was found."""
        total = self.found[fault] + self.wrong[fault]
        return self.found[fault] / total if total else None


def main() -> int:
    """Plant, audit, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--halves", default=",".join(HALVES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", type=int, default=0, help="Print so many misses and mistakes of each fault.")
    chosen = parser.parse_args()
    for half in chosen.halves.split(","):
        for name in chosen.kinds.split(","):
            _run(StoreKind(name), half, chosen.items, chosen.seed, chosen.misses)
    return 0


def _run(kind: StoreKind, half: str, count: int, seed: int, misses: int) -> None:
    memories = plant(seed, count, half, kind)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        path = write_store(kind, memories, Path(folder))
        began, processor = time.perf_counter(), time.process_time()
        audit = audit_store(path, as_of=AS_OF)
        wall, used = time.perf_counter() - began, time.process_time() - processor
        items = read_store(path).items
    if audit.kind is not kind:
        raise RuntimeError(f"a {kind} store was taken for {audit.kind}")
    score = Score(match_planted(kind, memories, items), audit)
    parts = " ".join(
        f"{fault} {_percent(score.recall(fault))}/{_percent(score.precision(fault))}" for fault in StoreFault
    )
    found, planted, wrong = score.found.total(), score.planted.total(), score.wrong.total()
    print(
        f"{half} {kind}: {audit.items:,} memories, {wall:.1f} s ({used:.1f} s of a processor); recall"
        f" {found / planted:.1%}, precision {found / max(1, found + wrong):.1%}; {parts}",
        flush=True,
    )
    for fault in StoreFault:
        for _, text in [miss for miss in score.missed if miss[0] is fault][:misses]:
            print(f"  missed {fault}: {text!r}")
        for _, text, why in [mistake for mistake in score.mistaken if mistake[0] is fault][:misses]:
            print(f"  wrong {fault}: {text!r} ({why})")


def match_planted(
    kind: StoreKind, memories: list[PlantedMemory], items: Sequence[StoreItem]
) -> dict[str, PlantedMemory]:
    """Return the planted memories by the keys of the store; Markdown has no ids, but keeps their order."""
    if kind in (StoreKind.LETTA, StoreKind.AGENT_FILES):
        # Files are read by name, and each holds a stretch of the memories.
        waiting: dict[str, list[PlantedMemory]] = defaultdict(list)
        for memory in reversed(memories):
            waiting[memory.text.strip()].append(memory)
        return {item.key: waiting[item.text].pop() for item in items}
    by_key = {key_of(kind, memory): memory for memory in memories}
    return {item.key: by_key[item.key] for item in items}


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
