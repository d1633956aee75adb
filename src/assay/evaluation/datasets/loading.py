"""From a name or a path to a dataset, and from a dataset to files.

A name is looked up among the bundled datasets, then in the registry (`docs` is its newest version, `docs@1.0.0` that
one); everything else is a path. `./hotel` is always a path. The format is told by what lies there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import InputError, RecordNotFound
from assay.evaluation.datasets.bundled import bundled_names, bundled_path
from assay.evaluation.datasets.registry import Registry
from assay.evaluation.datasets.saves import SETS, saves_dataset
from assay.formats import anchored, golden, longmemeval, parquet, ragas
from assay.formats.beir_dataset import CORPUS, read_beir, write_beir
from assay.formats.source import blocks
from assay.formats.strict_json import LARGEST, Refuse, raise_it
from assay.formats.trec_dataset import QRELS, TOPICS, read_topics_and_qrels, read_trec, write_trec
from assay.records.datasets import Dataset

FORMATS = ("golden", "golden-files", "golden-lines", "anchored", "beir", "trec", "ragas", "longmemeval", "parquet")
OnRead = Callable[[int], None]
_LOOKED_AT = 1 << 16
"""Bytes at the beginning of a file that are enough to tell its format."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """How files are to be read, where they do not say it themselves."""

    format: str | None = None
    split: str | None = None
    """Of a BEIR folder."""
    vault: Path | None = None
    """The folder of notes of anchored cases, where it does not lie beside them."""
    qrels: Path | None = None
    """The judgments of TREC topics, where both are files of their own."""


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
    readers: dict[str, Callable[[], Dataset]] = {
        "golden": lambda: golden.read_golden(path, refuse=refuse, on_read=on_read),
        "anchored": lambda: anchored.read_anchored(path, name=name, vault=source.vault, refuse=refuse),
        "beir": lambda: read_beir(path, name=name, split=source.split, refuse=refuse, on_read=on_read),
        "trec": lambda: _read_trec(path, name, source, refuse),
        "ragas": lambda: ragas.read_ragas(path, name=name, refuse=refuse),
        "longmemeval": lambda: longmemeval.read_longmemeval(path, name=name, refuse=refuse),
        "parquet": lambda: parquet.read_parquet(path, name=name, refuse=refuse, on_read=on_read),
    }
    if kind not in readers:
        raise InputError(f"format {kind!r} is not known", remedy=f"Use one of: {', '.join(readers)}.")
    found = readers[kind]()
    return found if name is None else replace(found, name=name)


def format_at(path: Path, source: Source) -> str:
    """What lies at a path, by its files' names."""
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
    file = _file_for(path, kind)
    writers: dict[str, Callable[[], None]] = {
        "golden": lambda: golden.write_golden(file, dataset, private=private),
        "golden-files": lambda: golden.write_golden_files(path, dataset),
        "golden-lines": lambda: golden.write_golden_lines(path, dataset, private=private),
        "anchored": lambda: anchored.write_anchored(path, dataset),
        "beir": lambda: write_beir(path, dataset, split=split),
        "trec": lambda: write_trec(path, dataset, encode_ids=encode_ids),
        "ragas": lambda: ragas.write_ragas(file, dataset),
        "longmemeval": lambda: longmemeval.write_longmemeval(file, dataset),
        "parquet": lambda: parquet.write_parquet(path, dataset),
    }
    if kind not in writers:
        raise InputError(f"format {kind!r} is not known", remedy=f"Use one of: {', '.join(FORMATS)}.")
    writers[kind]()
    return file


def _file_for(path: Path, kind: str) -> Path:
    """The file of a format that is one file, in the folder that was named or as it was named; else the folder."""
    name = {
        "golden": golden.FILE_NAME,
        "ragas": ragas.FILE_NAME,
        "longmemeval": longmemeval.FILE_NAME,
    }.get(kind)
    is_file = name is None or path.name.removesuffix(".gz").endswith(Path(name).suffix)
    return path if is_file else path / str(name)


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
        "trec": has(*TOPICS) and has(*QRELS),
    }
    for kind, found in lies_there.items():
        if found:
            return kind
    raise InputError(
        f"{folder} holds no dataset",
        remedy=f"Such a folder has {golden.FILE_NAME}, {CORPUS}, corpus.parquet, {anchored.FILE_NAME}, or topics.tsv "
        "with qrels.txt.",
    )


def _read_trec(path: Path, name: str | None, source: Source, refuse: Refuse) -> Dataset:
    if path.is_dir():
        return read_trec(path, name=name, refuse=refuse)
    if source.qrels is None:
        raise InputError(f"{path} is a file of topics alone", remedy="Give its judgments with --qrels FILE.")
    return read_topics_and_qrels(path, source.qrels, name=name or path.name.split(".")[0], refuse=refuse)


def _not_found(asked: str, registry: Registry | None) -> RecordNotFound:
    known = [*bundled_names(), *(registry.names() if registry is not None else [])]
    near = difflib.get_close_matches(asked, known, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return RecordNotFound(
        f"there is no dataset and no file {asked!r}",
        remedy=f"{hint}Known are: {', '.join(known) or 'none'}; `assay dataset import` adds one.",
    )
