"""Load, export and import datasets.

- From a name or a path to a dataset, and from a dataset to files.
- What a format does not keep.
- Importing into the registry.
"""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import InputError, NothingMeasured, RecordNotFound
from assay.evaluation.datasets.bundled import SETS, find_bundled, list_bundled, saves_dataset
from assay.evaluation.datasets.formats import (
    DatasetWriteRequest,
    OnRead,
    ReadRequest,
    Source,
    find_by_ending,
    find_reader,
    find_writer,
)
from assay.evaluation.datasets.registry import Imported, Registry, next_version
from assay.formats import anchored, golden, longmemeval, parquet, question_table, ragas
from assay.formats.files import blocks
from assay.formats.strict_json import LARGEST, Refuse, raise_it
from assay.formats.test_collections import CORPUS, TOPICS, TREC_QRELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from assay.clock import Clock
    from assay.records.datasets import Dataset

# --- From a name or a path to a dataset, and from a dataset to files ---
#
# A name is looked up among the bundled datasets, then in the registry (`docs` is its newest version, `docs@1.0.0` that
# one); everything else is a path. `./hotel` is always a path. The format is told by what lies there.

_LOOKED_AT = 1 << 16
"""Bytes at the beginning of a file that are enough to detect its format."""


def load_dataset(
    name_or_path: str | Path,
    *,
    registry: Registry | None = None,
    source: Source | None = None,
    refuse: Refuse = raise_it,
    on_read: OnRead | None = None,
) -> Dataset:
    """The dataset of that name or at that path."""
    asked = str(name_or_path)
    bundled = find_bundled(asked)
    if bundled is not None and asked in SETS:
        return saves_dataset(asked)
    if bundled is not None:
        return golden.read_golden(bundled, name=asked, refuse=refuse, on_read=on_read)
    kept = registry.path_of(asked) if registry is not None else None
    if kept is not None:
        return golden.read_golden(kept, refuse=refuse, on_read=on_read)
    path = Path(name_or_path).expanduser()
    if not path.exists():
        raise _not_found(asked, registry)
    return read_path(path, source=source or Source(), refuse=refuse, on_read=on_read)


def load_named(name: str, registry: Registry) -> Dataset:
    """Load a bundled or an imported dataset by its name; the name is never read as a path."""
    if find_bundled(name) is None and registry.path_of(name) is None:
        known = ", ".join(dict.fromkeys([*list_bundled(), *registry.names()]))
        raise RecordNotFound(f"there is no dataset {name!r}", remedy=f"Name one of {known}.")
    return load_dataset(name, registry=registry)


def read_path(
    path: Path,
    *,
    name: str | None = None,
    source: Source,
    refuse: Refuse = raise_it,
    on_read: OnRead | None = None,
) -> Dataset:
    """The dataset that files hold."""
    kind = source.format or format_at(path, source)
    if source.split is not None and kind != "beir":
        raise InputError(f"{path} has no splits", remedy="--split chooses judgments of a BEIR folder.")
    read = find_reader(kind)
    found = read(ReadRequest(path=path, name=name, source=source, refuse=refuse, on_read=on_read))
    return found if name is None else replace(found, name=name)


def format_at(path: Path, source: Source) -> str:
    """What lies at a path, by its files' names."""
    added = find_by_ending(path)
    if added is not None:
        return added
    if path.is_dir():
        return _format_in(path)
    if source.qrels is not None:
        return "trec"
    ending = path.name.removesuffix(".gz")
    if ending.endswith(parquet.SUFFIX):
        return "parquet"
    if ending.endswith(".csv"):
        return "questions" if question_table.is_question_table(path) else "ragas"
    if ending.endswith((".jsonl", ".ndjson", ".json")):
        return _detect_by_keys(path, whole=ending.endswith(".json"))
    raise InputError(
        f"Assay does not recognise the format of {path}",
        remedy="Give a .json, .jsonl, .csv or .parquet file, a BEIR or TREC folder, or topics with --qrels.",
    )


def _detect_by_keys(path: Path, *, whole: bool) -> str:
    """Detect the format of files with the same ending by keys that only one format has.

    A file that is one JSON document is golden unless a key shows another, and golden queries have anchors, too;
    anchored cases come one a line.
    """
    beginning = next((block.data[:_LOOKED_AT] for block in blocks(path, longest=LARGEST)), b"")
    known = {
        ragas.USER_INPUT: "ragas",
        longmemeval.HAYSTACK: "longmemeval",
        "question_id": "longmemeval",
        **(
            dict.fromkeys(("entities", "query_id", "gold_supports"), "golden")
            if whole
            else {"gold_supports": "anchored"}
        ),
        **dict.fromkeys(ragas.OLD_TELLING, "ragas"),
    }
    found = (kind for key, kind in known.items() if f'"{key}"'.encode() in beginning)
    return next(found, "golden" if whole else "anchored")


def export_dataset(
    dataset: Dataset,
    path: Path,
    *,
    kind: str = "golden",
    split: str | None = None,
    encode_ids: bool = False,
    private: bool = False,
) -> Path:
    """Write a dataset; gives back the file or folder that holds it. What is there already is replaced, file by file.

    With `private` the files of the kinds `golden` and `golden-lines` can be read by their owner alone.
    """
    if any(case.save is not None for case in dataset.cases):
        raise InputError(f"{dataset.name} holds saves, which no format has", remedy="Export a dataset of questions.")
    write = find_writer(kind)
    return write(DatasetWriteRequest(dataset=dataset, path=path, split=split, encode_ids=encode_ids, private=private))


def _format_in(folder: Path) -> str:
    def has(*names: str) -> bool:
        return any((folder / name).is_file() or (folder / f"{name}.gz").is_file() for name in names)

    lies_there = {
        "golden": has(golden.FILE_NAME),
        "beir": has(CORPUS),
        "parquet": parquet.is_parquet_folder(folder),
        "anchored": has(anchored.FILE_NAME),
        "ragas": has(ragas.FILE_NAME),
        "questions": has(question_table.FILE_NAME),
        "longmemeval": has(longmemeval.FILE_NAME),
        "trec": has(*TOPICS) and has(*TREC_QRELS),
    }
    for kind, found in lies_there.items():
        if found:
            return kind
    raise InputError(
        f"{folder} holds no dataset",
        remedy=f"Such a folder has {golden.FILE_NAME}, {CORPUS}, corpus.parquet, {anchored.FILE_NAME}, "
        f"{question_table.FILE_NAME}, or topics.tsv with qrels.txt.",
    )


def _not_found(asked: str, registry: Registry | None) -> RecordNotFound:
    known = [*list_bundled(), *(registry.names() if registry is not None else [])]
    near = difflib.get_close_matches(asked, known, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return RecordNotFound(
        f"there is no dataset and no file {asked!r}",
        remedy=f"{hint}Known are: {', '.join(known) or 'none'}; `assay dataset import` adds one.",
    )


# --- What a format does not keep ---

LOSSLESS = frozenset({"golden", "golden-files", "golden-lines"})
"""Formats of Assay's own that keep everything; a test holds it."""
EMPTY: tuple[Any, ...] = (None, "", (), {}, [])
"""Values of which nothing can be lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportLosses:
    """What is not in the files that were written."""

    documents: int
    """Documents that do not come back at all."""
    cases: int
    document_fields: Mapping[str, int]
    """Fields of documents that are gone or changed, each with how many documents."""
    case_fields: Mapping[str, int]

    def lines(self) -> list[str]:
        """Say what is lost; nothing for a lossless export."""
        found = []
        for what, gone, lost in (
            ("documents", self.documents, self.document_fields),
            ("cases", self.cases, self.case_fields),
        ):
            if gone:
                found.append(f"{gone:,} {what} are not in it")
            if lost:
                named = ", ".join(f"{name} ({count:,})" for name, count in lost.items())
                found.append(f"fields of {what} that it does not keep: {named}")
        return found


def find_losses(dataset: Dataset, place: Path, kind: str, *, split: str | None = None) -> ExportLosses | None:
    """Compare a dataset with what was written of it; None: what was written cannot be read back by itself."""
    if kind in LOSSLESS:
        return ExportLosses(documents=0, cases=0, document_fields={}, case_fields={})
    try:
        back = read_path(place, source=Source(format=kind, split=split if kind == "beir" else None))
    except InputError:
        return None
    documents, document_fields = _compare(dataset.documents, back.documents)
    cases, case_fields = _compare(dataset.cases, back.cases)
    return ExportLosses(documents=documents, cases=cases, document_fields=document_fields, case_fields=case_fields)


def _compare(before: Iterable[Any], after: Iterable[Any]) -> tuple[int, dict[str, int]]:
    there = {record.id: record for record in after}
    gone = 0
    lost: Counter[str] = Counter()
    for record in before:
        other = there.get(record.id)
        if other is None:
            gone += 1
            continue
        for field in fields(record):
            value = getattr(record, field.name)
            if value not in EMPTY and getattr(other, field.name) != value:
                lost[field.name] += 1
    return gone, dict(sorted(lost.items()))


# --- Importing into the registry ---


class Import(NamedTuple):
    """What an import gave."""

    card: Imported
    dataset: Dataset
    new: bool
    """False where the same content was kept under this name and version already."""


def import_dataset(
    path: Path,
    registry: Registry,
    *,
    clock: Clock,
    source: Source | None = None,
    name: str | None = None,
    version: str | None = None,
    replacing: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> Import:
    """Read a dataset and store it, under another name or version if one is given."""
    if not path.exists():
        raise InputError(f"{path} is not there", remedy="Give a dataset's file or folder.")
    found = read_path(path, name=name, source=source or Source(), on_read=on_read)
    if not found.cases:
        raise NothingMeasured(f"{path} holds no cases", remedy="Give a dataset with at least one query.")
    if find_bundled(found.name) is not None:
        raise InputError(f"{found.name!r} is a dataset that comes with Assay", remedy="Give another --name.")
    dataset = found if version is None else replace(found, version=version)
    card, new = registry.add(dataset, origin=str(path.resolve()), clock=clock, replacing=replacing)
    return Import(card, dataset, new)


def keep_fixed(name_or_path: str, fixed: Dataset, *, registry: Registry, clock: Clock, to: Path | None) -> str:
    """Store a corrected copy: at the given place, as the next version of an imported dataset, or beside the files."""
    bumped = replace(fixed, version=next_version(fixed.version))
    if to is None and registry.path_of(name_or_path) is not None:
        card, _ = registry.add(bumped, origin=f"{name_or_path}, corrected", clock=clock)
        return f"{card.name}@{card.version}"
    asked = Path(name_or_path)
    place = to or asked.with_name(f"{asked.name.split('.')[0]}.fixed")
    anchored = place.suffix != ".json" and all(case.anchors for case in bumped.cases)
    return str(export_dataset(bumped, place, kind="anchored" if anchored else "golden"))
