"""Dataset formats: the registry, `@dataset_format` to add your own, and those of Assay itself.

- Registry and `@dataset_format`.
- Formats of Assay itself.

Registry and `@dataset_format`:

    @dataset_format("faq", endings=(".faq",))
    def read_faq(path: Path) -> Dataset: ...

`assay dataset import questions.faq` then reads such a file, recognised by its ending, and `--format faq` reads any
other. With `write=` a function of a dataset and a path, `assay dataset export --format faq` writes one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from assay.errors import AssayError, BadValue, ExtensionFailed, InputError
from assay.formats import anchored, golden, longmemeval, parquet, question_table, ragas
from assay.formats.strict_json import Refuse, raise_it
from assay.formats.test_collections import read_beir, read_topics_and_qrels, read_trec, write_beir, write_trec
from assay.records.datasets import Dataset
from assay.registry import Registry

# --- Registry and `@dataset_format` ---

OnRead = Callable[[int], None]
Reader = TypeVar("Reader", bound=Callable[[Path], Dataset])
Writer = Callable[[Dataset, Path], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """How files are to be read, where they do not say it themselves."""

    format: str | None = None
    split: str | None = None
    """Of a BEIR folder."""
    vault: Path | None = None
    """The folder of notes of anchored cases, or of documents of a table of questions, where it is not beside them."""
    qrels: Path | None = None
    """The judgments of TREC topics, where both are files of their own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRequest:
    """What is to be read."""

    path: Path
    name: str | None = None
    """What to call the dataset; None: its own name."""
    source: Source = Source()
    refuse: Refuse = raise_it
    """Called for each line that cannot be read."""
    on_read: OnRead | None = None
    """Called with the number of bytes read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetWriteRequest:
    """What is to be written, and where."""

    dataset: Dataset
    path: Path
    """The file or folder that was named."""
    split: str | None = None
    encode_ids: bool = False
    private: bool = False
    """Whether only the owner may read the files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatEntry:
    """One format of datasets."""

    name: str
    summary: str
    read: Callable[[ReadRequest], Dataset] | None
    """None: it is only written."""
    write: Callable[[DatasetWriteRequest], Path] | None
    """None: it is only read. Returns the file or folder that holds the dataset."""
    endings: tuple[str, ...] = ()
    """File name endings of an added format; formats of Assay are recognised by the content of the files."""


def read_format(name: str, thing: object) -> FormatEntry:
    """Make a format of a plain function that reads a path."""
    if not callable(thing):
        raise BadValue(f"{thing!r} is not a function", remedy="Give a function of a path that returns a Dataset.")
    return make_format(thing, name)


DATASET_FORMATS: Registry[FormatEntry] = Registry(
    "dataset format",
    group="assay.dataset_formats",
    read=read_format,
    builtin=("assay.evaluation.datasets.formats",),
)
"""Every format, by the name that `--format` takes."""


def dataset_format(
    name: str, *, endings: Sequence[str] = (), write: Writer | None = None, summary: str = ""
) -> Callable[[Reader], Reader]:
    """Register a function that reads a file or folder as a dataset; it is returned unchanged."""

    def add(function: Reader) -> Reader:
        DATASET_FORMATS.add(name, make_format(function, name, endings, write, summary), thing=function)
        return function

    return add


def make_format(
    function: Callable[[Path], Dataset],
    name: str,
    endings: Sequence[str] = (),
    write: Writer | None = None,
    summary: str = "",
) -> FormatEntry:
    """Make the entry of a format that is added."""

    def read(request: ReadRequest) -> Dataset:
        found = _call(name, "reads", request.path, lambda: function(request.path))
        if not isinstance(found, Dataset):
            raise ExtensionFailed(
                f"the format {name} gave {type(found).__name__} for {request.path}", remedy="Return a Dataset."
            )
        return found

    first_line = (inspect.getdoc(function) or "").partition("\n")[0]
    return FormatEntry(
        name=name,
        summary=summary or first_line,
        read=read,
        write=None if write is None else _make_writer(write, name),
        endings=tuple(endings),
    )


def _make_writer(write: Writer, name: str) -> Callable[[DatasetWriteRequest], Path]:
    def write_dataset(request: DatasetWriteRequest) -> Path:
        _call(name, "writes", request.path, lambda: write(request.dataset, request.path))
        return request.path

    return write_dataset


def _call(name: str, does: str, path: Path, call: Callable[[], object]) -> object:
    try:
        return call()
    except AssayError:
        raise
    except Exception as problem:
        raise ExtensionFailed(
            f"the format {name} that {does} {path} failed: {type(problem).__name__}: {problem}",
            remedy="Correct the file, or the function of the format.",
        ) from problem


def find_reader(name: str) -> Callable[[ReadRequest], Dataset]:
    """Return what reads a format; raises `InputError` with those that can be read."""
    entry = DATASET_FORMATS.find(name)
    if entry is None or entry.read is None:
        raise _refuse(name, [known.name for known in DATASET_FORMATS.all().values() if known.entry.read is not None])
    return entry.read


def find_writer(name: str) -> Callable[[DatasetWriteRequest], Path]:
    """Return what writes a format; raises `InputError` with those that can be written."""
    entry = DATASET_FORMATS.find(name)
    if entry is None or entry.write is None:
        raise _refuse(name, [known.name for known in DATASET_FORMATS.all().values() if known.entry.write is not None])
    return entry.write


def _refuse(name: str, known: Sequence[str]) -> InputError:
    broken = DATASET_FORMATS.problem(name)
    return InputError(broken or f"format {name!r} is not known", remedy=f"Use one of: {', '.join(known)}.")


def find_by_ending(path: Path) -> str | None:
    """Return the added format that a file's name ends with; None: no added format has it."""
    for registered in DATASET_FORMATS.all().values():
        if any(path.name.endswith(ending) for ending in registered.entry.endings):
            return registered.name
    return None


# --- Formats of Assay itself ---


def _add(
    name: str,
    summary: str,
    *,
    read: Callable[[ReadRequest], Dataset] | None = None,
    write: Callable[[DatasetWriteRequest], object],
    file_name: str = "",
) -> None:
    """Register a format; one that is a single file is written under `file_name` where a folder was named."""

    def write_dataset(request: DatasetWriteRequest) -> Path:
        is_file = not file_name or request.path.name.removesuffix(".gz").endswith(Path(file_name).suffix)
        path = request.path if is_file else request.path / file_name
        write(
            DatasetWriteRequest(
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
    "questions",
    "A CSV table of questions and the documents that answer them, with a folder of documents.",
    read=lambda given: question_table.read_question_table(
        given.path, name=given.name, docs=given.source.vault, refuse=given.refuse
    ),
    write=lambda given: question_table.write_question_table(given.path, given.dataset),
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
