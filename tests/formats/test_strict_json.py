"""Strict JSON: what other readers let pass is refused, with file, line and what was expected."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError, MalformedFile
from assay.formats.strict_json import Placed, line_decoder, one_line, read_lines, read_object, to_indented_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
).filter(lambda one: "\x00" not in json.dumps(one, ensure_ascii=False))


def unplaced(value: Any) -> Any:
    return [one.value for one in value] if isinstance(value, list) else value


@given(found=st.dictionaries(st.text(max_size=5), values, max_size=4), wide=st.booleans())
def test_an_object_is_read_as_any_reader_would(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, Any], wide: bool
) -> None:
    path = tmp_path_factory.mktemp("json") / "one.json"
    path.write_text(json.dumps(found, indent=1 if wide else None, ensure_ascii=wide), encoding="utf-8")
    assert {key: unplaced(one.value) for key, one in read_object(path).items()} == found


@given(found=st.lists(values, max_size=5))
def test_lines_come_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, found: list[Any]) -> None:
    path = tmp_path_factory.mktemp("json") / "many.jsonl"
    path.write_text("\n".join(one_line(one) for one in found), encoding="utf-8")
    assert [one.value for one in read_lines(path)] == found


def test_every_element_of_a_list_knows_its_line(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"a": 1,\n "b": [{"x":\n 1},\n\n 2, [3]],\n "c": []}', encoding="utf-8")
    found = read_object(path)
    assert [(one.value, one.line) for one in found["b"].value] == [({"x": 1}, 2), (2, 5), ([3], 5)]
    assert (found["a"].line, found["b"].line, found["c"].line) == (1, 2, 6)


def test_a_gzipped_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + b'{"a": "\xc3\xa9"}'))
    assert read_object(path)["a"].value == "é"


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ('{"a": 1,\n "a": 2}', 2, "has the key 'a' twice"),
        ('{"a": [1,\n {"b": 1, "b": 2}]}', 2, "has the key 'b' twice"),
        ('{"a":\n NaN}', 2, "holds NaN, which is not JSON"),
        ('{"a": [\n-Infinity]}', 2, "holds -Infinity"),
        ('{"a":\n\n 1e999}', 3, "holds 1e999, which is not a finite number"),
        ('{"a": 1,}', 1, "Illegal trailing comma at column 9"),
        ('{"a": [1,\n]}', 2, "Illegal trailing comma"),
        ('{"a": 1\n "b": 2}', 2, "Expecting ',' or '}'"),
        ('{"a": [1 2]}', 1, "Expecting ',' or ']'"),
        ("{a: 1}", 1, "Expecting a key in double quotes"),
        ('{"a" 1}', 1, "Expecting ':'"),
        ('{"a": }', 1, "Expecting value"),
        ('{"a": "open', 1, "Unterminated string"),
        ('{"a": 1}\n{}', 2, "Extra data"),
        ("[1]", 1, "Expecting an object"),
        ("", 1, "Expecting an object"),
        ('{"a": ' + "9" * 5000 + "}", 1, "cannot be read as JSON"),
        ('{"a": [' + "[" * 100_000 + "]" * 100_000 + "]}", 1, "cannot be read as JSON"),
    ],
)
def test_what_is_not_json_is_refused_by_line(tmp_path: Path, text: str, line: int, named: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MalformedFile) as told:
        read_object(path)
    assert f"bad.json, line {line}: " in told.value.message
    assert named in told.value.message
    assert told.value.remedy


def test_a_comment_is_refused_as_one(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"a": [1, // the first\n 2]}', encoding="utf-8")
    with pytest.raises(MalformedFile) as told:
        read_object(path)
    assert told.value.remedy == "JSON has no comments: remove it."


def test_every_bad_line_can_be_collected(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text('{"a": 1}\nnot json\n\n{"a": 1, "a": 2}\n[NaN]\n{"b": 2}\n', encoding="utf-8")
    problems: list[MalformedFile] = []
    found = list(read_lines(path, problems.append))
    assert found == [Placed({"a": 1}, path, 1), Placed({"b": 2}, path, 6)]
    assert [one.message.split(", ")[1].split(":")[0] for one in problems] == ["line 2", "line 4", "line 5"]
    with pytest.raises(MalformedFile, match="line 2: is not JSON"):
        list(read_lines(path))


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(MalformedFile, match="line 1: is not UTF-8"):
        read_object(tmp_path / "latin")
    with pytest.raises(InputError, match="cannot be read"):
        read_object(tmp_path / "nowhere.json")


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        one_line(float("nan"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_indented_json([float("inf")])


@given(
    value=values, wide=st.booleans(), encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
)
def test_a_line_is_decoded_as_the_standard_library_does(value: Any, wide: bool, encoding: str) -> None:
    line = json.dumps(value, ensure_ascii=wide).encode(encoding)
    assert line_decoder(str)(line) == json.loads(line)


@given(line=st.binary(max_size=6) | st.sampled_from([b"", b" ", b"NaN", b'{"a": -Infinity}', b"[1", b'"\xed\xa0\x80"']))
def test_a_line_that_is_not_json_fails_as_in_the_standard_library(line: bytes) -> None:
    def outcome(load: Callable[[bytes], Any]) -> str:
        try:
            return repr(load(line))
        except (ValueError, RecursionError) as problem:
            return f"{type(problem).__name__}: {problem}"

    assert outcome(line_decoder(str)) == outcome(lambda given: json.loads(given, parse_constant=str))
