"""The page of results `docs/results/memory-systems.md`: `assay bench memory` on every set that a folder holds.

    build/bench-venv/bin/python -m bench.memory_systems --data DIR [--work DIR] [--sets locomo beam-100k]

Each set is a run of its own that goes on where it was stopped; vectors are kept, so a second time is quick. The tables
are those of `assay bench table` over the capsules. Needs the environment of `make bench`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

SYSTEMS = ("assay", "mem0", "chroma", "lancedb", "qdrant", "bm25", "vector", "markdown-grep")
RETRIEVAL = ("starter", "locomo", "factconsolidation", "precisionmembench", "beam-100k")
ANSWERS = ("personamem",)
PAGE = Path(__file__).parents[1] / "docs" / "results" / "memory-systems.md"
HEAD = """# Memory systems compared

For anyone who wonders how Assay's memory does beside others. Made by `python -m bench.memory_systems --data DIR`, which
runs `assay bench memory` on each set and joins the capsules; do not edit. How to read it, and how to add your system:
[Benchmark your memory system](../guides/benchmark-your-memory-system.md).

- Every system got the same texts, every vector system the same embedder (the bundled MiniLM). mem0 runs without a model
  (`infer=False`): this measures its store, not its extraction of facts.
- Verdicts compare with `assay`, on recall of all evidence among the first ten results. Chats are the units; a set of
  five chats cannot decide anything at 0.05, and says so. Where another system is above Assay, the line says "above".
- Public sets are partial here: the sentence below each heading says how much of the published set was read.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("build/memory-systems"))
    parser.add_argument("--sets", nargs="*", default=[*RETRIEVAL, *ANSWERS])
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    assay = str(Path(sys.executable).with_name("assay"))
    overlay = given.work / "locomo-overlay.json"
    audit = next(given.data.glob("**/locomo/audit"), None)
    if audit is not None:
        called(assay, "bench", "overlay", str(audit), "--out", str(overlay), "--version-name", "audit")
    parts = [HEAD]
    for layer, names in (("retrieval", RETRIEVAL), ("answers", ANSWERS)):
        capsules = [run(assay, name, layer, given, overlay) for name in names if name in given.sets]
        if capsules:
            out = given.work / f"{layer}.md"
            called(assay, "bench", "table", *map(str, capsules), "--out", str(out), "--quiet")
            parts += [f"**Layer: {layer}**\n", out.read_text(encoding="utf-8")]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(PAGE)
    return 0


def run(assay: str, name: str, layer: str, given: argparse.Namespace, overlay: Path) -> Path:
    """Run one set, and return its capsule."""
    runs = given.work / f"{name}-{layer}"
    more = ["--overlay", str(overlay)] if name == "locomo" and overlay.is_file() else []
    more += ["--reader", "choice", "--judge", "choice"] if layer == "answers" else []
    systems = [part for system in SYSTEMS for part in ("--system", system)]
    called(
        *(assay, "bench", "memory", "--set", name, "--layer", layer, "--data", str(given.data), *systems, *more),
        *("--vectors", str(given.work / "vectors"), "--runs", str(runs), "--resume", "--quiet"),
    )
    capsules: list[Path] = sorted(runs.glob("*/capsule.jsonl"), key=lambda path: path.stat().st_mtime)
    return capsules[-1]


def called(*command: str) -> None:
    print(" ".join(command[1:4]), flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
