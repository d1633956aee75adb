"""TREC and BEIR files: what is written is read back; what cannot be read is refused by file, line and expectation."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.files import blocks
from assay.formats.trec import (
    example_document,
    load_run,
    read_beir_qrels,
    read_qrels,
    stream_run,
    write_beir_qrels,
    write_trec_qrels,
    write_trec_run,
)
from assay.records.rankings import QrelTable, RunBatch

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": -1, "dé": 3}}
RUN = {"q1": {"d1": 0.1, "d2": 12.345678901234567}, "q2": {"dé": -3.0, "d9": 1e-7}}


def grades(table: QrelTable) -> dict[str, list[int]]:
    parts = np.split(table.grades, np.cumsum(table.lengths)[:-1])
    return {topic: part.tolist() for topic, part in zip(table.topics, parts, strict=True)}


def contents(batches: list[RunBatch]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for batch in batches:
        parts = np.split(batch.scores, np.cumsum(batch.lengths)[:-1])
        for row, topic in enumerate(batch.topics):
            ids = [one.decode() for one in batch.ids(row)]
            found[topic] = dict(zip(ids, parts[row].tolist(), strict=True))
    return found


@pytest.mark.parametrize("name", ["qrels.txt", "qrels.txt.gz"])
def test_qrels_come_back_as_they_were_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_trec_qrels(path, QRELS)
    assert grades(read_qrels(path)) == {"q1": [2, 0], "q2": [-1, 3]}
    assert read_qrels(path).negative == 1
    assert example_document(path) == "d1"


@pytest.mark.parametrize("name", ["qrels.tsv", "qrels.tsv.gz"])
def test_beir_qrels_come_back_and_are_recognised_by_their_header(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_beir_qrels(path, {"q 1": {"a document": 1}, **QRELS})
    assert grades(read_qrels(path)) == {"q 1": [1], "q1": [2, 0], "q2": [-1, 3]}
    assert example_document(path) == "a document"


def test_the_same_document_has_the_same_key_in_either_format(tmp_path: Path) -> None:
    write_trec_qrels(tmp_path / "a", QRELS)
    write_beir_qrels(tmp_path / "b", QRELS)
    assert (read_qrels(tmp_path / "a").keys == read_qrels(tmp_path / "b").keys).all()


@pytest.mark.parametrize("name", ["run.trec", "run.trec.gz"])
def test_a_run_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_trec_run(path, RUN, "tag")
    expected = {
        topic: {doc: float(np.float32(score)) for doc, score in sorted(row.items(), key=lambda one: -one[1])}
        for topic, row in RUN.items()
    }
    assert contents(list(stream_run(path))) == contents(list(load_run(path))) == expected


def test_gzip_is_recognised_without_its_ending(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(gzip.compress(b"q Q0 d 1 1.0 x\n"))
    assert contents(list(stream_run(tmp_path / "run"))) == {"q": {"d": 1.0}}


names = st.from_regex(r"[a-zé][a-z0-9é]{0,20}", fullmatch=True)


@settings(max_examples=50, deadline=None)
@given(run=st.dictionaries(names, st.dictionaries(names, st.floats(-1e30, 1e30), min_size=1, max_size=6), max_size=6))
def test_any_run_comes_back(tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    write_trec_run(path, run, "x")
    singles = {topic: {doc: float(np.float32(score)) for doc, score in row.items()} for topic, row in run.items()}
    assert contents(list(stream_run(path))) == singles


def test_a_large_run_streams_in_batches_of_complete_topics(tmp_path: Path) -> None:
    path = tmp_path / "run"
    lines = [f"q{topic} Q0 d{doc} 1 {doc / 7:.6f} x" for topic in range(900) for doc in range(100)]
    path.write_text("\n".join(lines), encoding="utf-8")  # no line break at the end either
    batches = list(stream_run(path))
    assert len(batches) > 1
    assert sum(len(batch.topics) for batch in batches) == 900
    assert all((batch.lengths == 100).all() for batch in batches)


def test_a_topic_longer_than_a_block_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "run"
    lines = [
        "a Q0 d 1 1.0 x\n",
        *(f"long Q0 document-{doc:08d} 1 {doc} x\n" for doc in range(150_000)),
        "b Q0 d 1 1 x\n",
    ]
    path.write_text("".join(lines), encoding="utf-8")
    found = {
        topic: int(size) for batch in stream_run(path) for topic, size in zip(batch.topics, batch.lengths, strict=True)
    }
    assert found == {"a": 1, "long": 150_000, "b": 1}


def test_topics_that_stand_apart_are_brought_together(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("a Q0 x 1 1 t\nb Q0 x 1 2 t\na Q0 y 1 3 t\n", encoding="utf-8")
    assert contents(list(load_run(path))) == {"a": {"x": 1.0, "y": 3.0}, "b": {"x": 2.0}}
    qrels = tmp_path / "qrels"
    qrels.write_text("a 0 x 1\nb 0 x 2\na 0 y 3\n", encoding="utf-8")
    assert grades(read_qrels(qrels)) == {"a": [1, 3], "b": [2]}


def test_comments_blank_lines_carriage_returns_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(
        b"\xef\xbb\xbf# made by hand\r\n\r\nq  Q0\td 1 1.5 tag and more words\r\n  # more\nq Q0 e 2 1 tag\r\n"
    )
    assert contents(list(stream_run(path))) == {"q": {"d": 1.5, "e": 1.0}}
    tsv = tmp_path / "qrels.tsv"
    tsv.write_bytes(b"query-id\tcorpus-id\tscore\r\nq\td\t1\r\n")
    assert grades(read_qrels(tsv)) == {"q": [1]}


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# nothing\n"])
def test_nothing_is_read_as_nothing(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "empty"
    path.write_bytes(text)
    assert list(stream_run(path)) == []
    assert read_qrels(path).topics == ()


def test_a_judgment_given_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("q 0 d 1\nq 0 e 0\nq 0 d 1\nq 0 d 1\n", encoding="utf-8")
    table = read_qrels(path)
    assert (grades(table), table.repeated) == ({"q": [1, 0]}, 2)


GOOD_RUN = "q Q0 d 1 1.0 x\n" * 3
GOOD_QRELS = "q 0 d 1\nq 0 e 0\n"


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        (f"{GOOD_RUN}q Q0 d 1 1.0\n", 4, "has 5 fields, not 6"),
        (f"{GOOD_RUN}q\n{GOOD_RUN}", 4, "has 1 fields, not 6"),
        (f"# c\n\n{GOOD_RUN}q Q0 d 1 high x\n", 6, "the score 'high' is not a number"),
        (f"{GOOD_RUN}q Q0 d 1 nan x\n", 4, "the score 'nan' is not a finite number"),
        (f"{GOOD_RUN}q Q0 d 1 -inf x\n", 4, "the score '-inf' is not a finite number"),
        (f"{GOOD_RUN}q Q0 d 1 1e300 x\n", 4, "the score '1e300' is not a finite number"),
        (f"{GOOD_RUN}q Q0 {'d' * 5000} 1 1 x\n", 4, "longer than 4,000 bytes"),
    ],
)
def test_a_bad_line_of_a_run_is_named(tmp_path: Path, text: str, line: int, named: str) -> None:
    path = tmp_path / "run.trec"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MalformedFile) as told:
        list(stream_run(path))
    assert f"run.trec, line {line}: " in told.value.message
    assert named in told.value.message
    assert "topic, Q0, document, rank, score, tag" in told.value.remedy


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        (f"{GOOD_QRELS}q 0 f\n", 3, "has 3 fields, not 4"),
        (f"{GOOD_QRELS}q 0 f 1 extra\n", 3, "has 5 fields, not 4"),
        (f"{GOOD_QRELS}q 0 f 1.5\n", 3, "the grade '1.5' is not a whole number"),
        (f"{GOOD_QRELS}q 0 f yes\n", 3, "the grade 'yes' is not a whole number"),
        (f"{GOOD_QRELS}q 0 f 1001\n", 3, "the grade '1001' is beyond 1000"),
        (f"{GOOD_QRELS}q 0 d 2\n", 3, "topic 'q' judges document 'd' 2, and line 1 judges it 1"),
        ("query-id\tcorpus-id\tscore\nq\td\t1\nq\td\n", 3, "has 2 fields, not 3"),
        ("query-id\tcorpus-id\tscore\nq\td\thigh\n", 2, "the grade 'high'"),
        ("query-id\tcorpus-id\tscore\nq\td\t1\nq\td\t2\n", 3, "and line 2 judges it 1"),
    ],
)
def test_a_bad_line_of_qrels_is_named(tmp_path: Path, text: str, line: int, named: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MalformedFile) as told:
        read_qrels(path)
    assert f"qrels, line {line}: " in told.value.message
    assert named in told.value.message
    assert told.value.remedy


def test_a_bad_line_far_down_a_packed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    lines = [f"q{place // 100} Q0 d{place} 1 1.0 x\n" for place in range(200_000)]
    lines[150_000] = "q1500 Q0 d 1 x\n"
    path.write_bytes(gzip.compress("".join(lines).encode(), 1))
    with pytest.raises(MalformedFile, match="line 150,001: has 5 fields"):
        list(stream_run(path))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"q Q0 d\xff 1 1.0 x\n", "line 1: is not UTF-8 (byte 0xff)"),
        (b"q Q0 d 1 1.0 x\nq Q0 \xe9t\xe9 1 1.0 x\n", "line 2: is not UTF-8 (byte 0xe9)"),
        ("q Q0 d 1 1.0 x\n".encode("utf-16"), "line 1: "),
        (b"q Q0 d\x00 1 1.0 x\n", "holds a NUL byte"),
        (b"x" * 3_000_000, "bytes long"),
        (gzip.compress(b"q Q0 d 1 1.0 x\n" * 1000, mtime=0)[:-20], "cannot be unpacked"),
        (b"\x1f\x8bnot gzip at all", "cannot be unpacked"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "run"
    path.write_bytes(content)
    with pytest.raises(MalformedFile) as told:
        list(stream_run(path))
    assert named in told.value.message


def test_files_that_are_not_there_or_are_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(blocks(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="is a folder"):
        list(blocks(tmp_path))


def test_beir_needs_its_header(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("q\td\t1\n", encoding="utf-8")
    with pytest.raises(MalformedFile, match="no header"):
        read_beir_qrels(tmp_path / "q")


@pytest.mark.parametrize("bad", ["", "two words", "tab\there", "#hash"])
def test_ids_that_the_format_cannot_hold_are_not_written(tmp_path: Path, bad: str) -> None:
    with pytest.raises(BadValue, match="cannot stand"):
        write_trec_run(tmp_path / "run", {bad: {"d": 1.0}}, "x")
