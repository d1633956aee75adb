"""What an audit finds in texts that were not made for it: orders, short notes and pairs of notes by other authors.

The planted stores of `bench.audit` come from templates by the author of the rules; these texts do not.

    python -m bench.audit_written [--cases save_scenarios.jsonl]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.records.store_audits import StoreItem, StoreKind
from assay.store_audit.auditor import ReadStore, audit_items
from assay.store_audit.readers import READERS

DATA = Path(__file__).with_name("data")
AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
_READER = next(reader for reader in READERS if reader.kind is StoreKind.JSONL)


def find_faults(items: Sequence[StoreItem]) -> Mapping[str, tuple[str, ...]]:
    """Return the faults that count, by owner: every text or pair has one of its own."""
    owners = {item.key: item.owner for item in items}
    audit = audit_items(ReadStore(_READER, tuple(items), (), "made"), Path("made"), as_of=AS_OF)
    found: dict[str, set[str]] = defaultdict(set)
    for finding in audit.findings:
        if finding.certain:
            found[owners[finding.key]].add(str(finding.fault))
    return {owner: tuple(sorted(faults)) for owner, faults in found.items()}


def main() -> int:
    """Print, for every label, how often which faults were found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, help="Pairs of notes by another author.")
    chosen = parser.parse_args()
    for name, label in (("orders.jsonl", "kind"), ("short_notes.jsonl", "label")):
        rows = _read((DATA / name).read_text(encoding="utf-8"))
        items = [
            StoreItem(key=str(place), owner=str(place), text=row.get("text") or row["body"], title=row.get("title", ""))
            for place, row in enumerate(rows)
        ]
        _print(name, [f"{row[label]}, {row['set']}" for row in rows], find_faults(items))
    held_out = files("assay").joinpath("datasets", "save_scenarios_held_out.jsonl").read_text(encoding="utf-8")
    _print_pairs("save_scenarios_held_out.jsonl", _read(held_out))
    if chosen.cases is not None:
        _print_pairs(chosen.cases.name, _read(chosen.cases.read_text(encoding="utf-8")))
    return 0


def _read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _print_pairs(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    first = datetime(2026, 1, 1, tzinfo=UTC)
    items = [
        StoreItem(
            key=f"{place} {side}",
            owner=str(place),
            text=row[side]["body"],
            title=row[side].get("title", ""),
            created_at=first + timedelta(days=side == "new"),
        )
        for place, row in enumerate(rows)
        for side in ("old", "new")
    ]
    labels = [row["expected"] if isinstance(row["expected"], str) else " or ".join(row["expected"]) for row in rows]
    _print(name, labels, find_faults(items))


def _print(name: str, labels: Sequence[str], found: Mapping[str, tuple[str, ...]]) -> None:
    print(name)
    counts = Counter((label, ", ".join(found.get(str(place), ())) or "nothing") for place, label in enumerate(labels))
    for (label, faults), count in sorted(counts.items()):
        print(f"  {label}: {faults} {count}")


if __name__ == "__main__":
    raise SystemExit(main())
