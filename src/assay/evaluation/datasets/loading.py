"""From a name or a path to a dataset, and from a dataset to files.

A name is looked up among the bundled datasets, then in the registry (`docs` is its newest version, `docs@1.0.0` that
one); everything else is a path. `./hotel` is always a path. The format is told by what lies there.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from assay.errors import InputError, RecordNotFound
from assay.evaluation.datasets.bundled import bundled_names, bundled_path
from assay.evaluation.datasets.registering import (
    OnRead,
    ReadRequest,
    Source,
    WriteRequest,
    find_by_ending,
    find_reader,
    find_writer,
)
from assay.evaluation.datasets.registry import Registry
from assay.evaluation.datasets.saves import SETS, saves_dataset
from assay.formats import anchored, golden, longmemeval, parquet, ragas
from assay.formats.files import blocks
from assay.formats.strict_json import LARGEST, Refuse, raise_it
from assay.formats.test_collections import CORPUS, TOPICS, TREC_QRELS
from assay.records.datasets import Dataset

_LOOKED_AT = 1 << 16
"""Bytes at the beginning of a file that are enough to tell its format."""


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
    bundled = bundled_path(asked)
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
    """Load a bundled or an imported dataset by its name; never a path, whatever the name looks like."""
    if bundled_path(name) is None and registry.path_of(name) is None:
        known = ", ".join(dict.fromkeys([*bundled_names(), *registry.names()]))
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
        return "ragas"
    if ending.endswith((".jsonl", ".ndjson", ".json")):
        return _told_by_keys(path, whole=ending.endswith(".json"))
    raise InputError(
        f"{path} is no dataset that Assay can tell by its name",
        remedy="Give a .json, .jsonl, .csv or .parquet file, a BEIR or TREC folder, or topics with --qrels.",
    )


def _told_by_keys(path: Path, *, whole: bool) -> str:
    """Files of one ending are told apart by keys that only one format has, near the beginning.

    A file that is one JSON document is golden unless it says otherwise, and golden queries have anchors, too; anchored
    cases come one a line.
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
    return write(WriteRequest(dataset=dataset, path=path, split=split, encode_ids=encode_ids, private=private))


def _format_in(folder: Path) -> str:
    def has(*names: str) -> bool:
        return any((folder / name).is_file() or (folder / f"{name}.gz").is_file() for name in names)

    lies_there = {
        "golden": has(golden.FILE_NAME),
        "beir": has(CORPUS),
        "parquet": parquet.is_parquet_folder(folder),
        "anchored": has(anchored.FILE_NAME),
        "ragas": has(ragas.FILE_NAME),
        "longmemeval": has(longmemeval.FILE_NAME),
        "trec": has(*TOPICS) and has(*TREC_QRELS),
    }
    for kind, found in lies_there.items():
        if found:
            return kind
    raise InputError(
        f"{folder} holds no dataset",
        remedy=f"Such a folder has {golden.FILE_NAME}, {CORPUS}, corpus.parquet, {anchored.FILE_NAME}, or topics.tsv "
        "with qrels.txt.",
    )


def _not_found(asked: str, registry: Registry | None) -> RecordNotFound:
    known = [*bundled_names(), *(registry.names() if registry is not None else [])]
    near = difflib.get_close_matches(asked, known, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return RecordNotFound(
        f"there is no dataset and no file {asked!r}",
        remedy=f"{hint}Known are: {', '.join(known) or 'none'}; `assay dataset import` adds one.",
    )
