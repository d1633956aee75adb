"""Pipes, sockets and devices that a user names are refused at once, whatever they were named as."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import AssayError, InputError
from assay.evaluation.datasets.formats import Source
from assay.evaluation.datasets.loading import read_path
from assay.formats.golden import read_golden
from assay.formats.memory_files import open_source
from assay.formats.parquet import read_parquet
from assay.formats.trec import read_qrels, stream_run
from assay.judging.labels import read_labels
from assay.judging.rubric import load_rubric
from assay.memory.ingesting.files import walk
from assay.records.judging import RubricKind
from assay.regular_files import open_regular, read_regular, read_regular_text
from assay.systems.run_file import RunFile

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Nobody writes to it: whoever opens it for reading waits."""
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    return path


def test_a_pipe_a_socket_and_a_device_are_refused_by_name(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pipe.parent)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for path, kind in ((pipe, "a named pipe"), (Path("socket"), "a socket"), (Path(os.devnull), "a device")):
            with pytest.raises(InputError, match=f"is {kind}; only regular files are read"):
                open_regular(path)


def test_a_folder_and_a_missing_file_are_what_they_are_to_open(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"one\r\ntwo\rthree")
    assert read_regular_text(path) == "one\ntwo\nthree"
    assert read_regular(path, largest=14) == b"one\r\ntwo\rthree"
    with pytest.raises(InputError, match="has 14 bytes; at most 13 are read"):
        read_regular(path, largest=13)


READERS: dict[str, Callable[[Path], object]] = {
    "dataset": lambda path: read_path(path, source=Source()),
    "golden": read_golden,
    "parquet": read_parquet,
    "qrels": read_qrels,
    "run": lambda path: list(stream_run(path)),
    "run system": RunFile,
    "import": lambda path: list(open_source(path).read()),
    "labels": lambda path: read_labels(path, RubricKind.GROUNDEDNESS),
    "rubric": load_rubric,
}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_waits_for_a_pipe(reader: str, pipe: Path) -> None:
    with pytest.raises(AssayError) as refused:
        READERS[reader](pipe)
    assert str(pipe) in refused.value.message


def test_a_content_file_that_is_a_pipe_is_refused(pipe: Path) -> None:
    golden = pipe.with_name("golden.json")
    golden.write_text(
        '{"version": "1.0.0", "name": "x", "entities": [{"entity_id": "a", "content_file": "pipe.jsonl"}],'
        ' "queries": []}',
        encoding="utf-8",
    )
    with pytest.raises(AssayError, match="a named pipe"):
        read_golden(golden)


def test_a_pipe_in_a_folder_is_passed_over(pipe: Path) -> None:
    walked = walk([pipe.parent], root=pipe.parent)
    assert walked.files == ()
    assert [skip.detail for skip in walked.skipped] == ["neither a file nor a folder"]
