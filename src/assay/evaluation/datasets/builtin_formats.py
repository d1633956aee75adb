"""The dataset formats that Assay has itself, registered like those of a package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assay.errors import InputError
from assay.evaluation.datasets.registering import DATASET_FORMATS, FormatEntry, ReadRequest, WriteRequest
from assay.formats import anchored, golden, longmemeval, parquet, ragas
from assay.formats.test_collections import read_beir, read_topics_and_qrels, read_trec, write_beir, write_trec
from assay.records.datasets import Dataset


def _add(
    name: str,
    summary: str,
    *,
    read: Callable[[ReadRequest], Dataset] | None = None,
    write: Callable[[WriteRequest], object],
    file_name: str = "",
) -> None:
    """Register a format; one that is a single file is written under `file_name` where a folder was named."""

    def write_dataset(request: WriteRequest) -> Path:
        is_file = not file_name or request.path.name.removesuffix(".gz").endswith(Path(file_name).suffix)
        path = request.path if is_file else request.path / file_name
        write(
            WriteRequest(
                dataset=request.dataset,
                path=path,
                split=request.split,
                encode_ids=request.encode_ids,
                private=request.private,
            )
        )
        return path

    entry = FormatEntry(name=name, summary=summary, read=read, write=write_dataset)
    DATASET_FORMATS.add(name, entry, thing=entry, origin=f"Assay itself ({name})", module=__name__)


def _read_trec(given: ReadRequest) -> Dataset:
    if given.path.is_dir():
        return read_trec(given.path, name=given.name, refuse=given.refuse)
    if given.source.qrels is None:
        raise InputError(f"{given.path} is a file of topics alone", remedy="Give its judgments with --qrels FILE.")
    name = given.name or given.path.name.split(".")[0]
    return read_topics_and_qrels(given.path, given.source.qrels, name=name, refuse=given.refuse)


_add(
    "golden",
    "One JSON document with documents and queries.",
    read=lambda given: golden.read_golden(given.path, refuse=given.refuse, on_read=given.on_read),
    write=lambda given: golden.write_golden(given.path, given.dataset, private=given.private),
    file_name=golden.FILE_NAME,
)
_add(
    "golden-files",
    "The same as a folder of files.",
    write=lambda given: golden.write_golden_files(given.path, given.dataset),
)
_add(
    "golden-lines",
    "The same as JSON lines.",
    write=lambda given: golden.write_golden_lines(given.path, given.dataset, private=given.private),
)
_add(
    "anchored",
    "Questions with places in notes, one a line.",
    read=lambda given: anchored.read_anchored(
        given.path, name=given.name, vault=given.source.vault, refuse=given.refuse
    ),
    write=lambda given: anchored.write_anchored(given.path, given.dataset),
)
_add(
    "beir",
    "A BEIR folder.",
    read=lambda given: read_beir(
        given.path, name=given.name, split=given.source.split, refuse=given.refuse, on_read=given.on_read
    ),
    write=lambda given: write_beir(given.path, given.dataset, split=given.split),
)
_add(
    "trec",
    "TREC topics and qrels.",
    read=_read_trec,
    write=lambda given: write_trec(given.path, given.dataset, encode_ids=given.encode_ids),
)
_add(
    "ragas",
    "Ragas samples, as JSON lines, a JSON list or CSV.",
    read=lambda given: ragas.read_ragas(given.path, name=given.name, refuse=given.refuse),
    write=lambda given: ragas.write_ragas(given.path, given.dataset),
    file_name=ragas.FILE_NAME,
)
_add(
    "longmemeval",
    "LongMemEval questions with their sessions.",
    read=lambda given: longmemeval.read_longmemeval(given.path, name=given.name, refuse=given.refuse),
    write=lambda given: longmemeval.write_longmemeval(given.path, given.dataset),
    file_name=longmemeval.FILE_NAME,
)
_add(
    "parquet",
    "Parquet files of a corpus and its queries.",
    read=lambda given: parquet.read_parquet(given.path, name=given.name, refuse=given.refuse, on_read=given.on_read),
    write=lambda given: parquet.write_parquet(given.path, given.dataset),
)
