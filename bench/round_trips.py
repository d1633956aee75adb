"""What goes out and comes back, for each format of memories and datasets: `python -m bench.round_trips [--json]`.

Memories: the sample of each format that can be imported is imported, imported again, exported and imported into an
empty tenant. Datasets: each bundled one is written and read in every format. A field counts when it holds something;
it is equal when the same record has the same value afterwards. Memories are the same when folder, title and text are,
blanks at the ends of a text aside: a Markdown file ends with a line break.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.errors import AssayError
from assay.evaluation.datasets import export_dataset, load_dataset
from assay.evaluation.datasets.formats import DATASET_FORMATS, Source
from assay.evaluation.datasets.loading import read_path
from assay.memory.engine import Engine
from assay.records import MemoryFilter, MemoryRecord, Scope
from assay.settings import Settings
from assay.testing import HashedEmbedder
from assay.wiring import open_engine

SAMPLES = Path(__file__).parent.parent / "tests" / "memory" / "importing" / "samples"
SETS = ("hotel", "vault", "agent-memory")
OF_THE_STORE = frozenset({"id", "source_id", "source_hash", "created_at", "updated_at", "created_by", "written_with"})
"""Fields that say where and when a memory was stored; a note that is read again has others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundTrip:
    """What became of the records of one kind in one format."""

    what: str
    format: str
    out: int = 0
    back: int = 0
    fields: int = 0
    equal: int = 0
    lost: Mapping[str, int] = field(default_factory=dict)
    """Fields that differ or are gone, with the number of records."""
    told: str = ""
    """What the command says of it."""


def compare(what: str, kind: str, before: Mapping[str, Any], after: Mapping[str, Any], told: str = "") -> RoundTrip:
    """Compare records of the same key, field by field."""
    lost: Counter[str] = Counter()
    counted = 0
    for key, record in before.items():
        if key not in after:
            continue
        for name in (one.name for one in fields(record)):
            if name in OF_THE_STORE or getattr(record, name) in (None, "", (), {}):
                continue
            counted += 1
            lost[name] += getattr(after[key], name) != getattr(record, name)
    return RoundTrip(
        what=what,
        format=kind,
        out=len(before),
        back=len(before.keys() & after.keys()),
        fields=counted,
        equal=counted - lost.total(),
        lost={name: count for name, count in sorted(lost.items()) if count},
        told=told,
    )


def try_dataset(name: str, kind: str) -> Iterator[RoundTrip]:
    """Write a bundled dataset in a format and read it again."""
    dataset = load_dataset(name)
    with tempfile.TemporaryDirectory() as folder:
        try:
            back = read_path(export_dataset(dataset, Path(folder) / "set", kind=kind), source=Source())
        except AssayError as problem:
            yield RoundTrip(what=f"{name}: cases", format=kind, out=len(dataset.cases), told=f"refused: {problem}")
            return
    for what, before, after in (
        ("documents", dataset.documents, back.documents),
        ("cases", dataset.cases, back.cases),
    ):
        yield compare(f"{name}: {what}", kind, {one.id: one for one in before}, {one.id: one for one in after})


def list_all(engine: Engine, tenant: str) -> dict[str, MemoryRecord]:
    """The current memories of a tenant by folder, title and text."""
    found = engine.list_memories(Scope(tenant=tenant), MemoryFilter(), limit=500).memories
    return {f"{memory.folder}/{memory.title}/{memory.body.strip()}": memory for memory in found}


def try_memories(engine: Engine, sample: Path, folder: Path) -> Iterator[RoundTrip]:
    """Import a sample, twice, and take it out and back in both formats of exports."""
    here = f"{sample.stem}-{sample.suffix[1:] or 'folder'}"
    first = engine.import_memories(Scope(tenant=here), sample)
    again = engine.import_memories(Scope(tenant=here), sample)
    told = ", ".join(f"{count} {reason}" for reason, count in {**first.skipped, **first.incomplete}.items())
    yield RoundTrip(
        what=f"{sample.name}: imported",
        format=first.format,
        out=first.total + sum(first.skipped.values()),
        back=first.counts.get("imported", 0),
        told=f"{told or 'nothing'}; again: {dict(again.counts)}; edges {first.edges}",
    )
    for kind in ("jsonl", "markdown"):
        there, path = f"{here}-{kind}", folder / f"{here}.{kind}"
        engine.export_memories(Scope(tenant=here), path, format=kind)
        report = engine.import_memories(Scope(tenant=there), path)
        said = ", ".join(f"{count} {reason}" for reason, count in {**report.skipped, **report.incomplete}.items())
        told = f"{said or 'nothing'}; edges {report.edges}"
        if kind == "jsonl":
            engine.export_memories(Scope(tenant=there), folder / f"{there}.again")
            same = (folder / f"{there}.again").read_bytes() == path.read_bytes()
            told += f"; second export {'the same bytes' if same else 'DIFFERS'}"
        yield compare(f"{sample.name}: exported", kind, list_all(engine, here), list_all(engine, there), told)


def measure() -> list[RoundTrip]:
    """Every format of memories and of datasets."""
    found: list[RoundTrip] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with open_engine(Settings(db=str(folder / "notes.db")), embedder=HashedEmbedder()) as engine:
            for sample in sorted(SAMPLES.iterdir()):
                found += try_memories(engine, sample, folder)
    for name in SETS:
        for kind in DATASET_FORMATS.names():
            found += try_dataset(name, kind)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    trips = measure()
    if parser.parse_args(arguments).json:
        print(json.dumps([asdict(trip) for trip in trips], indent=1, ensure_ascii=False))
        return 0
    table = Table("records", "format", "out", "back", "fields", "equal", "differs", "said")
    for trip in trips:
        numbers = (trip.out, trip.back, trip.fields, trip.equal)
        lost = ", ".join(f"{name} {count}" for name, count in trip.lost.items())
        table.add_row(trip.what, trip.format, *map(str, numbers), lost, trip.told)
    Console(width=180).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
