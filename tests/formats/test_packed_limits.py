"""Packed files, long lines and large archives: refused early, in little memory, with the way out."""

from __future__ import annotations

import gzip
import json
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import AssayError, InputError
from assay.formats.files import BLOCK, blocks
from assay.formats.memory_files import chatgpt, open_source
from assay.formats.strict_json import read_lines, read_text
from assay.formats.test_collections import read_beir
from assay.formats.trec import stream_run

MEGABYTE = 1 << 20


def packed(path: Path, unit: bytes, count: int, *, before: bytes = b"") -> Path:
    with gzip.open(path, "wb", compresslevel=9) as opened:
        opened.write(before)
        for _ in range(count):
            opened.write(unit * MEGABYTE)
    return path


def refusal(work: Callable[[], object], *, seconds: float, megabytes: int) -> AssayError:
    """The error of some work, held to a processor time and to the memory that it takes beyond what was there."""
    begun = time.process_time()
    with pytest.raises(AssayError) as refused:
        work()
    assert time.process_time() - begun < seconds
    # Watching memory makes everything slower, so time and memory are measured one after the other.
    tracemalloc.start()
    try:
        with pytest.raises(AssayError):
            work()
        assert tracemalloc.get_traced_memory()[1] < megabytes * MEGABYTE
    finally:
        tracemalloc.stop()
    return refused.value


BOMBS: dict[str, tuple[bytes, bytes]] = {
    "blanks": (b" ", b""),
    "lines": (b"\n", b""),
    "one line": (b"a", b'{"_id": "d", "text": "'),
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize(
    "read",
    [lambda path: list(read_lines(path)), read_text, lambda path: list(stream_run(path))],
    ids=["lines", "whole", "run"],
)
def test_a_packed_file_that_unpacks_to_very_much_is_refused_early(
    bomb: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    unit, before = BOMBS[bomb]
    path = packed(tmp_path / "corpus.jsonl.gz", unit, 30, before=before)
    problem = refusal(lambda: read(path), seconds=2.0, megabytes=200)
    assert "bytes long" in problem.message or "unpacks to over 200 times" in problem.message
    assert problem.remedy


def test_a_corpus_with_one_packed_line_is_refused(tmp_path: Path) -> None:
    packed(tmp_path / "corpus.jsonl.gz", b"a", 30, before=b'{"_id": "d", "text": "')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "tea"}\n', encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n", encoding="utf-8")
    assert "gunzip" in refusal(lambda: read_beir(tmp_path), seconds=2.0, megabytes=200).remedy


def test_a_packed_file_of_equal_lines_is_read_when_it_is_short(tmp_path: Path) -> None:
    path = tmp_path / "lines.gz"
    with gzip.open(path, "wb") as opened:
        opened.write(b'{"a": 1}\n' * 100_000)
    assert sum(1 for _ in read_lines(path)) == 100_000


def test_a_long_line_is_joined_once(tmp_path: Path) -> None:
    """Joining what is waiting at every piece took the square of its length: 4 GB of copies for these 8 MB."""
    path = tmp_path / "line.txt"
    path.write_bytes(b"a" * (8 * MEGABYTE))
    begun = time.process_time()
    (block,) = blocks(path, size=1 << 13, longest=16 * MEGABYTE)
    assert time.process_time() - begun < 0.5
    assert len(block.data) == 8 * MEGABYTE + 1


def test_a_plain_file_has_a_longest_line_and_a_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "plain.txt"
    path.write_bytes(b"one\n" + b"a" * BLOCK + b"\n")
    with pytest.raises(AssayError, match="line 2: is over 1,048,576 bytes long"):
        list(blocks(path))
    with pytest.raises(InputError, match="has over 100 bytes"):
        list(blocks(path, longest=BLOCK + 1, largest=100))


def archive(path: Path, *, name: str = chatgpt.FILE, content: bytes = b"[]", others: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(name, content)
        for number in range(others):
            opened.writestr(f"{number}.txt", b"")
    return path


def read_archive(path: Path) -> list[object]:
    return list(open_source(path).read())


def test_an_archive_that_unpacks_to_very_much_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "export.zip", content=b" " * (50 * MEGABYTE))
    problem = refusal(lambda: read_archive(path), seconds=1.0, megabytes=50)
    assert "unpacks to over 200 times its own size" in problem.message


def test_an_archive_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "export.zip", content=b" " * (30 * MEGABYTE))
    data = path.read_bytes()
    # Both headers are made to say that the file has 1,000 bytes.
    path.write_bytes(data.replace(struct.pack("<L", 30 * MEGABYTE), struct.pack("<L", 1_000)))
    assert "cannot be read" in refusal(lambda: read_archive(path), seconds=1.0, megabytes=20).message


def test_an_archive_of_very_many_files_is_refused_before_its_list_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "export.zip", others=200)
    assert read_archive(path) == []
    listed = struct.pack("<HHL", 201, 201, 0)[:4]
    data = bytearray(path.read_bytes())
    end = data.rindex(b"PK\x05\x06")
    assert bytes(data[end + 8 : end + 12]) == listed
    data[end + 8 : end + 12] = struct.pack("<HH", 60_000, 60_000)
    path.write_bytes(data)
    with pytest.raises(InputError, match="holds 60,000 files"):
        read_archive(path)


def test_a_path_that_climbs_out_of_an_archive_writes_nothing(tmp_path: Path) -> None:
    inside = tmp_path / "deep"
    inside.mkdir()
    path = archive(inside / "export.zip", name=f"../../{chatgpt.FILE}", content=json.dumps([]).encode())
    assert read_archive(path) == []
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["deep", "export.zip"]
