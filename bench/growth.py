"""How time and memory grow with the size: `python -m bench.growth [--store SIZES] [--cases SIZES] [--chart FILE]`.

Two kinds of sizes, both synthetic:

- A store of notes: one store grows from size to size. `ingest` is all that was needed to come there, folding of the
  indexes included; `search` (focused) and `save` (with the gate) are one call at that size, the median of several.
  Notes are one chunk each; vectors have 384 numbers and are drawn, so that no model is in the times.
- Cases of a stub system that answers at once: `run` with everything it writes, then `compare` and `gate` of two such
  runs, both read from their folders.

The store grows in one process; each size of a run, and each of compare and gate, has a process of its own. The time is
that of the processor, which other programs on the machine hardly change; beside it stands the time by the clock. Memory
is that of the process, with some 100 MB of it Python and libraries. The exponent is the slope of a line through the
logarithms of the three largest sizes, by least squares: 1 is linear. A size that was not measured has no value and no
place on the chart. With `--folder` the store is kept there, and a later call with the same sizes searches and saves in
it again without taking the notes in. `--folding` also folds saves into the index at each size, and prints the longest
search beside that.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from itertools import chain, count, takewhile
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from assay.embedding.protocol import Progress, SimilarityProfile, Vectors
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating.rules import judge
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.results import load_run
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running
from assay.evaluation.running.runner import run as run_system
from assay.memory.engine import Engine
from assay.records import Draft, Mode, Scope, SearchRequest
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.settings import Settings
from assay.systems.protocol import System
from assay.wiring import open_engine
from bench.growth_chart import Curve, draw_chart
from bench.run import made

STORE = (1_000, 10_000, 100_000)
CASES = (1_000, 10_000, 100_000)
SEARCHES, SAVES, FOLDED = 40, 20, 100
DIMENSION = 384
WORDS = 20_000
"""Different words of the notes; how often each comes follows Zipf, as in real text."""
NOTE_WORDS = 40
FITTED = 3
"""The largest sizes, through which the line of the exponent goes."""
SCOPE = Scope()


class Measured(NamedTuple):
    """One verb at one size."""

    verb: str
    size: int
    busy_s: float
    """Seconds of the processor."""
    wall_s: float
    memory_mb: float
    load: float
    disk_mb: float | None = None
    """Of a store: database and indexes."""
    p95_ms: float | None = None
    """Of calls, by the clock."""


# --- A store of notes ---


class DrawnEmbedder:
    """A vector for each text, drawn from its words: texts with the same words are near each other."""

    model = "drawn-words"
    dimension = DIMENSION
    token_limit = 254
    profile = SimilarityProfile()

    def __init__(self) -> None:
        self._words = np.random.default_rng(5).standard_normal((WORDS + 1, DIMENSION), dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        """Words, as the notes have them."""
        return len(text.split())

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text."""
        rows = np.stack([self._words[_numbers(text)].sum(axis=0) for text in texts])
        if progress is not None:
            progress(len(texts))
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def _numbers(text: str) -> list[int]:
    return [int(word[1:]) if word[1:].isdigit() and int(word[1:]) < WORDS else WORDS for word in text.lower().split()]


def _write_notes(path: Path, first: int, last: int) -> None:
    rng = np.random.default_rng(first)
    with path.open("w", encoding="utf-8") as lines:
        for number in range(first, last):
            words = (rng.zipf(1.3, NOTE_WORDS) - 1) % WORDS
            text = " ".join(f"w{word}" for word in words)
            lines.write(json.dumps({"id": f"n{number}", "title": f"Note {number}", "text": text}) + "\n")


def measure_store(
    folder: Path, sizes: Sequence[int], *, searches: int = SEARCHES, saves: int = SAVES, folding: bool = False
) -> Iterator[Measured]:
    """Let one store grow, and search and save at each size; with `folding`, print how long searches wait for that.

    A store that a call before has left in the folder goes on from its size, and `ingest` is not measured there again.
    """
    record = folder / "reached.json"
    reached = Reached(*json.loads(record.read_text(encoding="utf-8"))) if record.is_file() else Reached()
    with open_engine(Settings(db=str(folder / "growing.db")), embedder=DrawnEmbedder()) as engine:
        for size in (size for size in sizes if size >= reached.size):
            if size > reached.size:
                reached = _take_in(engine, folder, reached, size)
                record.write_text(json.dumps(reached), encoding="utf-8")
                _, busy, wall, _ = reached
                yield Measured("ingest", size, busy, wall, _resident_mb(), os.getloadavg()[0], _disk_mb(folder))
            yield _measure_calls("search", size, [_search(engine, number) for number in range(searches)])
            numbers = range(reached.saved, reached.saved + saves)
            yield _measure_calls("save", size, [_save(engine, size, number) for number in numbers])
            reached = reached._replace(saved=numbers.stop)
            if folding:
                reached = reached._replace(saved=_fold(engine, size, reached.saved))
            record.write_text(json.dumps(reached), encoding="utf-8")


class Reached(NamedTuple):
    """How far a store has grown, and what all of it took."""

    size: int = 0
    busy_s: float = 0.0
    wall_s: float = 0.0
    saved: int = 0
    """Notes saved one by one; the next ones have other words."""


def _take_in(engine: Engine, folder: Path, reached: Reached, size: int) -> Reached:
    notes = folder / f"notes-{size}.jsonl"
    _write_notes(notes, reached.size, size)
    began, worked = time.perf_counter(), _busy_with_programs()
    report = engine.ingester.ingest(SCOPE, [notes], root=folder)
    engine.indexes.compact(SCOPE)
    busy, wall = _busy_with_programs() - worked, time.perf_counter() - began
    notes.unlink()
    if report.documents != size - reached.size:
        raise AssertionError(f"{report.documents} documents were taken in instead of {size - reached.size}")
    return reached._replace(size=size, busy_s=reached.busy_s + busy, wall_s=reached.wall_s + wall)


def _busy_with_programs() -> float:
    """Processor time of this process and of the programs it has waited for: one makes the graph of vectors."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _fold(engine: Engine, size: int, saved: int) -> int:
    """Save and fold that in beside searches; return how many notes were saved one by one by then."""
    for number in range(saved, saved + FOLDED):
        _save(engine, size, number)()
    alone = [_time(_search(engine, number)) for number in range(SEARCHES)]
    with ThreadPoolExecutor(1) as pool:
        folding = pool.submit(engine.indexes.compact, SCOPE, whole=False)
        beside = [_time(_search(engine, number)) for number in takewhile(lambda _: not folding.done(), count())]
        seconds = folding.result().seconds
    waits = f"without {max(alone) * 1e3:.0f} ms, beside {max(beside, default=0.0) * 1e3:.0f} ms"
    print(
        f"folding {FOLDED} saves in at {size:,}: {seconds:.1f} s; the longest search by the clock: {waits}", flush=True
    )
    return saved + FOLDED


def _time(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _disk_mb(folder: Path) -> float:
    kept = [folder / "growing.db", folder / "growing.db-wal", *(folder / "growing.db-index").rglob("*")]
    return sum(path.stat().st_size for path in kept if path.is_file()) / 1e6


def _search(engine: Engine, number: int) -> Callable[[], object]:
    words = (np.random.default_rng(10**6 + number).zipf(1.3, 6) - 1) % WORDS
    request = SearchRequest(query=" ".join(f"w{word}" for word in words), k=10, mode=Mode.FOCUSED)
    return lambda: engine.searcher.search(SCOPE, request)


def _save(engine: Engine, size: int, number: int) -> Callable[[], object]:
    words = (np.random.default_rng([size, number]).zipf(1.3, NOTE_WORDS) - 1) % WORDS
    draft = Draft(title=f"Saved {size} {number}", body=" ".join(f"w{word}" for word in words))
    return lambda: engine.saver.save(SCOPE, draft)


def _measure_calls(verb: str, size: int, calls: Sequence[Callable[[], object]]) -> Measured:
    times: list[tuple[float, float]] = []
    for call in calls:
        began, worked = time.perf_counter(), time.process_time()
        call()
        times.append((time.process_time() - worked, time.perf_counter() - began))
    warm = times[len(times) // 4 :]
    busy, wall = (median(pair[part] for pair in warm) for part in (0, 1))
    p95_ms = float(np.percentile([wall for _, wall in warm], 95)) * 1e3
    return Measured(verb, size, busy, wall, _resident_mb(), os.getloadavg()[0], p95_ms=p95_ms)


# --- Cases of a stub system ---


class Shifted(System):
    """Gives every case ten documents, from a place that depends on its number."""

    def __init__(self, shift: int) -> None:
        self.name = f"shifted-{shift}"
        lists = [tuple(f"d{(first + step) % 100}" for step in range(10)) for first in range(100)]
        self._lists = [Retrieved(ids=ids) for ids in lists]
        self._shift = shift

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - the case says it all
        """The list of the case."""
        number = int(case.id[1:])
        return self._lists[(number + (self._shift if number % 3 == 0 else 0)) % 100]


def measure_run(folder: Path, size: int, shift: int) -> tuple[Measured, str]:
    """Run the stub system over so many cases, and say where the run is."""
    dataset = made(size)
    began, worked = time.perf_counter(), time.process_time()
    with closing(Shifted(shift)) as system:
        result = run_system(dataset, system, RunOptions(timeout_s=None), Running(runs=folder / f"runs-{size}"))
    busy, wall = time.process_time() - worked, time.perf_counter() - began
    return Measured("run", size, busy, wall, _peak_mb(), os.getloadavg()[0]), str(result.folder)


def measure_verdict(verb: str, size: int, control: str, treatment: str) -> Measured:
    """Read two runs and compare them, or ask the gate."""
    began, worked = time.perf_counter(), time.process_time()
    first, second = _read(control), _read(treatment)
    if verb == "compare":
        compare_two(first, second)
    else:
        judge(second, first)
    busy, wall = time.process_time() - worked, time.perf_counter() - began
    return Measured(verb, size, busy, wall, _peak_mb(), os.getloadavg()[0])


def _read(folder: str) -> Reading:
    return reading_of(load_run(Path(folder)))


def measure_cases(folder: Path, sizes: Sequence[int], *, verdicts: bool) -> Iterator[Measured]:
    """Run, and with `verdicts` compare and gate, at each size, each in a process of its own."""
    for size in sizes:
        found, control = _alone(measure_run, folder, size, 0)
        yield found
        if not verdicts:
            continue
        treatment = _alone(measure_run, folder, size, 1)[1]
        for verb in ("compare", "gate"):
            yield _alone(measure_verdict, verb, size, control, treatment)


def _alone(act: Callable[..., Any], *given: object) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(act, *given).result()


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


# --- Exponents and the table ---


def fit_exponent(points: Sequence[tuple[int, float]]) -> float | None:
    """Return the slope through the logarithms of the largest sizes; None where there are fewer than two."""
    largest = sorted(points)[-FITTED:]
    if len(largest) < 2:
        return None
    sizes, values = np.log(np.array(largest, dtype=np.float64)).T
    return float(np.polyfit(sizes, values, 1)[0])


def write_table(found: Sequence[Measured]) -> Iterator[str]:
    """One row for each verb: processor time, time by the clock and memory at each size, and the exponents."""
    sizes = sorted({measured.size for measured in found})
    yield f"| verb | {' | '.join(f'{size:,}' for size in sizes)} | exponent of time | of memory |"
    yield "| --- " * (len(sizes) + 3) + "|"
    for verb in dict.fromkeys(measured.verb for measured in found):
        own = {measured.size: measured for measured in found if measured.verb == verb}
        cells = [_format_cell(own[size]) if size in own else "not run" for size in sizes]
        exponents = (
            fit_exponent([(size, measured.busy_s) for size, measured in own.items()]),
            fit_exponent([(size, measured.memory_mb) for size, measured in own.items()]),
        )
        told = " | ".join("-" if exponent is None else f"{exponent:.2f}" for exponent in exponents)
        yield f"| {verb} | {' | '.join(cells)} | {told} |"


def _format_cell(found: Measured) -> str:
    disk = "" if found.disk_mb is None else f", {found.disk_mb:,.0f} MB of disk"
    return f"{_format_seconds(found.busy_s)} ({_format_seconds(found.wall_s)}), {found.memory_mb:,.0f} MB{disk}"


def _format_seconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1.0 else f"{seconds:,.1f} s"


def _sizes(text: str) -> list[int]:
    return sorted({int(float(part)) for part in text.split(",") if part.strip()})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--store", default=",".join(map(str, STORE)), help="notes in the store, such as 1e3,1e4")
    parser.add_argument("--cases", default=",".join(map(str, CASES)), help="cases of a run, such as 1e3,1e6")
    parser.add_argument("--no-verdicts", action="store_true", help="leave compare and gate out")
    parser.add_argument("--from", dest="read", type=Path, action="append", default=[], help="figures of earlier runs")
    parser.add_argument("--folder", type=Path, help="keep the store here, and go on from one that is there")
    parser.add_argument("--searches", type=int, default=SEARCHES, help="at each size; the first quarter is not counted")
    parser.add_argument("--folding", action="store_true", help="print the longest search beside folding")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--chart", type=Path, help="write the chart here, as SVG")
    asked = parser.parse_args(arguments)
    found = [Measured(**row) for path in asked.read for row in json.loads(path.read_text(encoding="utf-8"))]
    with tempfile.TemporaryDirectory(prefix="assay-growth-") as name:
        sizes = _sizes(asked.store), _sizes(asked.cases)
        folder = asked.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        store, cases = sizes
        measures = chain(
            measure_store(folder, store, searches=asked.searches, folding=asked.folding) if store else (),
            measure_cases(folder, cases, verdicts=not asked.no_verdicts),
        )
        for measured in measures:
            p95 = "" if measured.p95_ms is None else f", p95 {measured.p95_ms:.1f} ms by the clock"
            cell = f"{_format_cell(measured)}{p95}"
            print(f"{measured.verb} {measured.size:,}: {cell}, load {measured.load:.1f}", flush=True)
            found.append(measured)
            if asked.json:
                asked.json.write_text(json.dumps([row._asdict() for row in found], indent=1), encoding="utf-8")
    print("\n".join(("", *write_table(found))))
    if asked.chart:
        asked.chart.write_text(draw_chart(list(_curves(found))), encoding="utf-8")


def _curves(found: Sequence[Measured]) -> Iterator[Curve]:
    for verb in dict.fromkeys(measured.verb for measured in found):
        own = sorted((measured for measured in found if measured.verb == verb), key=lambda measured: measured.size)
        yield Curve(
            verb,
            tuple((measured.size, measured.busy_s) for measured in own),
            tuple((measured.size, measured.memory_mb) for measured in own),
            fit_exponent([(measured.size, measured.busy_s) for measured in own]),
        )


if __name__ == "__main__":
    main()
