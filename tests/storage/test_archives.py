"""Archives: whole or refused, with the line where it shows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import MalformedFile, StoreReadOnly, StoreUnavailable
from assay.storage import archives

ROWS: list[dict[str, Any]] = [{"table": "t", "row": {"n": number, "said": "Zoë \n \\"}} for number in range(40)]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return archives.write(tmp_path / "deep" / "a.jsonl.gz", "acme", ROWS).path


def test_what_is_written_is_read_back(archive: Path) -> None:
    assert list(archives.read(archive)) == ROWS
    assert archives.verify(archive) == archives.Archive(archive, "acme", 40)
    assert list(archive.parent.iterdir()) == [archive]
    assert archive.stat().st_mode & 0o077 == 0


def test_the_same_rows_make_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    again = archives.write(tmp_path / "b.jsonl.gz", "acme", ROWS).path
    assert again.read_bytes() == archive.read_bytes()


@settings(max_examples=30)
@given(share=st.floats(0, 1, exclude_max=True))
def test_an_archive_cut_anywhere_is_refused_with_a_line(tmp_path_factory: pytest.TempPathFactory, share: float) -> None:
    path = archives.write(tmp_path_factory.mktemp("cut") / "a.jsonl.gz", "acme", ROWS).path
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(MalformedFile, match=r"a\.jsonl\.gz, line \d+: "):
        archives.verify(path)


@settings(max_examples=30)
@given(place=st.integers(0, 41), what=st.sampled_from(["drop", "twice", "other"]))
def test_lines_that_were_dropped_repeated_or_changed_are_noticed(
    tmp_path_factory: pytest.TempPathFactory, place: int, what: str
) -> None:
    path = archives.write(tmp_path_factory.mktemp("changed") / "a.jsonl.gz", "acme", ROWS).path
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    changed = {"drop": b"", "twice": lines[place] * 2, "other": b'{"table":"t","row":{}}\n'}[what]
    path.write_bytes(gzip.compress(b"".join([*lines[:place], changed, *lines[place + 1 :]])))
    with pytest.raises(MalformedFile):
        archives.verify(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"plain text\n",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"[1]\n", mtime=0),
        gzip.compress(b"not json\n", mtime=0),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(MalformedFile, match="line 1"):
        archives.verify(path)


def test_a_missing_archive_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match="there is no archive"):
        archives.verify(tmp_path / "gone.jsonl.gz")
    with pytest.raises(StoreUnavailable):
        archives.verify(tmp_path)


def test_a_row_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def rows() -> Any:
        yield ROWS[0]
        raise RuntimeError("the reader fell over")

    with pytest.raises(RuntimeError):
        archives.write(tmp_path / "a.jsonl.gz", "acme", rows())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises((StoreUnavailable, StoreReadOnly)):
        archives.write(tmp_path / "file" / "a.jsonl.gz", "acme", ROWS)


def test_the_lines_are_plain_json_for_other_programs(archive: Path) -> None:
    lines = gzip.decompress(archive.read_bytes()).decode().splitlines()
    assert json.loads(lines[0])["tenant"] == "acme"
    assert json.loads(lines[1]) == ROWS[0]
    assert json.loads(lines[-1])["end"] == 40
