"""Are our numbers trec_eval's? `python -m bench.parity [--topics 100000] [--data DIR]`.

Random topics with ties (also ties of float32 that differ as doubles), duplicate lines, missing topics, unjudged and
negative judgments, against `pytrec_eval` (trec_eval's own C code) from mappings and from TREC files; and, with --data,
trec_eval's published test outputs. Needs the environment that `make bench` makes. One difference is intended: where
nothing is relevant recall is 1 by definition here and 0 there; those topics are left out for recall, and counted.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.formats.trec import load_run, read_qrels, stream_run
from assay.metrics.engine import MeasuredRun, ScatteredTopics, ScoringRules, measure_batches, measure_mappings
from assay.metrics.spec import MetricSpec, parse_specs

CUTOFFS = (1, 3, 5, 10, 20, 100)
BATCH = 5_000
ALLOWED = 1e-9
PRINTED = 5.001e-5
"""Half of the last digit that trec_eval prints."""

NAMES: dict[str, str] = {
    "ndcg": "ndcg",
    "recip_rank": "mrr",
    "map": "ap",
    "Rprec": "rprec",
    "bpref": "bpref",
    **{f"ndcg_cut_{k}": f"ndcg@{k}" for k in CUTOFFS},
    **{f"recall_{k}": f"recall@{k}" for k in CUTOFFS},
    **{f"P_{k}": f"precision@{k}" for k in CUTOFFS},
    **{f"map_cut_{k}": f"ap@{k}" for k in CUTOFFS},
    **{f"success_{k}": f"success@{k}" for k in CUTOFFS},
}


class Batch(NamedTuple):
    """Random topics as mappings and as lines of a run."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]
    lines: list[str]
    """The run as a file, with duplicates whose first rank is the one in `run`."""


def random_batch(rng: np.random.Generator, first: int, topics: int) -> Batch:
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    lines: list[str] = []
    for number in range(first, first + topics):
        topic = f"t{number}"
        pool = [f"d{one}" for one in rng.choice(400, size=60, replace=False)]
        judged = pool[: int(rng.integers(1, 30))]
        weights = [0.45, 0.3, 0.15, 0.1] if number % 20 else [1.0, 0.0, 0.0, 0.0]
        grades = rng.choice(4, size=len(judged), p=weights)
        if number % 7 == 0:
            grades[0] = -1
        qrels[topic] = {doc: int(grade) for doc, grade in zip(judged, grades, strict=True)}
        if number % 13 == 0:
            continue
        shown = [pool[place] for place in rng.permutation(60)[: int(rng.integers(1, 60))]]
        scores = rng.integers(-3, 8, size=len(shown)) + rng.choice([0.0, 1e-9, 0.25], size=len(shown))
        run[topic] = {doc: float(score) for doc, score in zip(shown, scores, strict=True)}
        lines += [f"{topic} Q0 {doc} 1 {score!r} x\n" for doc, score in run[topic].items()]
        if number % 5 == 0:
            doc = shown[0]
            lines.append(f"{topic} Q0 {doc} 1 {run[topic][doc] - 1.0!r} x\n")
    return Batch(qrels, run, lines)


def compare_random(topics: int, seed: int) -> bool:
    pytrec_eval: Any = importlib.import_module("pytrec_eval")
    rng = np.random.default_rng(seed)
    wanted = {"ndcg", "recip_rank", "map", "Rprec", "bpref"}
    wanted |= {f"{name}.{','.join(map(str, CUTOFFS))}" for name in ("ndcg_cut", "recall", "P", "map_cut", "success")}
    specs = parse_specs(NAMES.values())
    worst = dict.fromkeys(NAMES, 0.0)
    counts = {"topics": 0, "missing": 0, "nothing relevant": 0, "duplicate lines": 0}
    began = time.perf_counter()
    for first in range(0, topics, BATCH):
        batch = random_batch(rng, first, min(BATCH, topics - first))
        theirs = pytrec_eval.RelevanceEvaluator(batch.qrels, wanted).evaluate(batch.run)
        for measured in (measure_mappings(batch.qrels, batch.run, specs), measure_as_files(batch, specs)):
            note_differences(measured, theirs, worst)
        counts["topics"] += len(batch.qrels)
        counts["missing"] += len(measured.absent)
        counts["duplicate lines"] += measured.repeats
        counts["nothing relevant"] += sum(max(grades.values()) < 1 for grades in batch.qrels.values())
    print(f"random topics against pytrec_eval, from mappings and from files ({time.perf_counter() - began:.0f} s)")
    print("  " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
    for family in ("ndcg", "recip_rank", "recall", "P", "map", "Rprec", "bpref", "success"):
        print(f"  {family:12} largest difference {max(value for name, value in worst.items() if of(name, family)):.1e}")
    largest = max(worst.values())
    print(f"  largest of all {largest:.1e} (allowed {ALLOWED:.0e}): {'ok' if largest <= ALLOWED else 'DIFFERENT'}")
    return largest <= ALLOWED


def of(name: str, family: str) -> bool:
    return name == family or name.rsplit("_", 1)[0] in (family, f"{family}_cut")


def measure_as_files(batch: Batch, specs: tuple[MetricSpec, ...]) -> MeasuredRun:
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "qrels"), Path(folder, "run")
        judgments = (f"{t} 0 {d} {grade}\n" for t, grades in batch.qrels.items() for d, grade in grades.items())
        qrels.write_text("".join(judgments), encoding="utf-8")
        run.write_text("".join(batch.lines), encoding="utf-8")
        return measure_batches(read_qrels(qrels), stream_run(run), specs)


def note_differences(measured: MeasuredRun, theirs: dict[str, dict[str, float]], worst: dict[str, float]) -> None:
    there = np.array([topic in theirs for topic in measured.topics])
    for name, ours in NAMES.items():
        scores = measured.scores[MetricSpec.parse(ours)]
        rows = there & scores.scored if name.startswith("recall") else there
        expected = np.array([theirs[topic][name] for topic, used in zip(measured.topics, rows, strict=True) if used])
        worst[name] = max(worst[name], float(np.abs(scores.values[rows] - expected).max(initial=0.0)))
        if not name.startswith("recall"):
            worst[name] = max(worst[name], float(np.abs(scores.values[~there]).max(initial=0.0)))


class Published(NamedTuple):
    """One of trec_eval's own tests: what it printed, and what for."""

    output: str
    qrels: str
    run: str
    rules: ScoringRules


PUBLISHED = (
    Published("out.test", "qrels.test", "results.test", ScoringRules(absent="skip")),
    Published("out.test.a", "qrels.test", "results.test", ScoringRules(absent="skip")),
    Published("out.test.aq", "qrels.test", "results.test", ScoringRules(absent="skip")),
    Published("out.test.aql", "qrels.rel_level", "results.test", ScoringRules(level=2, absent="skip")),
    Published("out.test.aqc", "qrels.test", "results.trunc", ScoringRules()),
    Published("out.test.aqcM", "qrels.test", "results.trunc", ScoringRules(depth=100)),
    Published("out.comment.test", "qrels.comment.test", "results.comment.test", ScoringRules(absent="skip")),
)


def compare_published(folder: Path) -> bool:
    print(f"trec_eval's published outputs in {folder}")
    results = [compare_output(folder, one) for one in PUBLISHED]
    return all(results)


def compare_output(folder: Path, one: Published) -> bool:
    names = NAMES | {
        f"{theirs}_{k}": f"{ours}@{k}"
        for theirs, ours in (("P", "precision"), ("recall", "recall"), ("ndcg_cut", "ndcg"), ("map_cut", "ap"))
        for k in (15, 30, 200, 500, 1000)
    }
    specs = parse_specs(names.values())
    qrels = read_qrels(folder / one.qrels)
    try:
        measured = measure_batches(qrels, stream_run(folder / one.run), specs, one.rules)
    except ScatteredTopics:
        measured = measure_batches(qrels, load_run(folder / one.run), specs, one.rules)
    values = [
        abs(value - expected)
        for name, topic, expected in published(folder / one.output, names)
        if (value := ours(measured, names[name], topic, one.rules)) is not None
    ]
    good = bool(values) and max(values) <= PRINTED
    verdict = "ok" if good else "DIFFERENT"
    print(f"  {one.output:18} {len(values):4} values, largest difference {max(values):.1e}: {verdict}")
    return good


def ours(measured: MeasuredRun, name: str, topic: str, rules: ScoringRules) -> float | None:
    values = measured.scores[MetricSpec.parse(name)].values
    if topic != "all":
        return float(values[measured.topics.index(topic)])
    used = measured.retrieved > 0 if rules.absent == "skip" else np.ones(len(values), dtype=bool)
    return float(values[used].mean())


def published(path: Path, names: dict[str, str]) -> Iterator[tuple[str, str, float]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        name, topic, value = line.split()
        if name in names:
            yield name, topic, float(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--topics", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20_260_101)
    parser.add_argument("--data", type=Path, help="the folder that holds trec_eval_test")
    given = parser.parse_args()
    good = compare_random(given.topics, given.seed)
    if given.data is not None:
        good &= compare_published(given.data / "trec_eval_test")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
