"""Tries every item and prints how many have no effect, by kind. Exit code 1 if any has none that is not known.

python -m tests.truth [PART OF A NAME ...]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence

from tests.truth.exemptions import EXEMPT, KNOWN
from tests.truth.items import Kind, kind_of, list_items
from tests.truth.probing import Probe, Stage, run_probe
from tests.truth.registry import PROBES

from assay.formats.grid import grid


def main(wanted: Sequence[str]) -> int:
    """Try what is wanted, or everything, and print the numbers."""
    began = time.monotonic()
    stage = Stage()
    missing = [item for kind in Kind for item in list_items(kind) if item not in PROBES and item not in EXEMPT]
    idle: dict[str, str] = {item: f"{item} has no probe" for item in missing}
    tried: Counter[Kind] = Counter()
    seconds: dict[Kind, float] = dict.fromkeys(Kind, 0.0)
    try:
        for item, probe in PROBES.items():
            if wanted and not any(part in item for part in wanted):
                continue
            tried[kind_of(item)] += 1
            begun = time.process_time()
            problem = find_problem(probe, stage)
            seconds[kind_of(item)] += time.process_time() - begun
            if problem:
                idle[item] = problem
    finally:
        stage.close()
    rows: list[tuple[str, ...]] = [
        ("kind", "items", "probed", "exempt", "without effect", "of them known", "processor s")
    ]
    for kind in Kind:
        mine = [item for item in idle if item.startswith(f"{kind}:")]
        exempt = sum(item.startswith(f"{kind}:") for item in EXEMPT)
        known = sum(item in KNOWN for item in mine)
        numbers = (len(list_items(kind)), tried[kind], exempt, len(mine), known, round(seconds[kind]))
        rows.append((kind.value, *map(str, numbers)))
    unknown = [said for item, said in idle.items() if item not in KNOWN]
    lines = [*grid(rows), *unknown, *(f"known: {item}: {KNOWN[item]}" for item in idle if item in KNOWN)]
    sys.stdout.write("\n".join([*lines, f"{time.monotonic() - began:.0f} s", ""]))
    return 1 if unknown else 0


def find_problem(probe: Probe, stage: Stage) -> str:
    """Return why an item has no effect; empty: it has one."""
    try:
        verdict = run_probe(probe, stage)
    except AssertionError as problem:
        return f"{probe.item}: {problem}"
    return "" if verdict.has_effect else str(verdict)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
