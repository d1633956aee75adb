"""Identity by content: one text for one meaning, a hash that names its algorithm, buckets that never move."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.hashing import HASH_PREFIX, bucket, canonical_json, content_hash, hash_pieces, list_pieces

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [reordered(inner) for inner in value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [1, 2.5, None, True]}, '{"a":[1,2.5,null,true],"b":1}'),
        ('\u00e9\U0001f680"\\\n', '"\u00e9\U0001f680\\"\\\\\\n"'),
        ((1, 2), "[1,2]"),
        ({}, "{}"),
        (-0.0, "-0.0"),
        (1e100, "1e+100"),
    ],
)
def test_a_value_has_one_text(value: Any, written: str) -> None:
    assert canonical_json(value) == written


@given(json_values)
def test_the_order_of_keys_does_not_matter_and_the_text_reads_back(value: Any) -> None:
    assert canonical_json(reordered(value)) == canonical_json(value)
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        [-math.inf],
        "\ud800",
        {"\udfff": 1},
        object(),
        {1: 1, "1": 2},
        b"x",
        {1, 2},
        endless(),
        deep(),
    ],
    ids=["nan", "inf", "-inf", "surrogate", "surrogate key", "object", "mixed keys", "bytes", "set", "endless", "deep"],
)
def test_what_has_no_text_of_its_own_is_refused(value: Any) -> None:
    with pytest.raises(BadValue, match="cannot write") as refused:
        content_hash(value)
    assert refused.value.remedy
    assert len(refused.value.message) < 400


def test_a_hash_names_its_algorithm_and_can_be_checked_by_hand() -> None:
    assert HASH_PREFIX == "sha256:"
    assert content_hash({"b": 1, "a": 2}) == "sha256:" + hashlib.sha256(b'{"a":2,"b":1}').hexdigest()


@given(json_values, json_values)
def test_equal_texts_and_only_they_have_equal_hashes(one: Any, two: Any) -> None:
    assert (content_hash(one) == content_hash(two)) == (canonical_json(one) == canonical_json(two))


@pytest.mark.parametrize(
    ("identity", "salt", "expected"),
    [("user-1", "rerank", 70), ("user-2", "rerank", 84), ("user-1", "other", 13), ("", "", 92)],
)
def test_a_bucket_is_the_same_for_ever(identity: str, salt: str, expected: int) -> None:
    assert bucket(identity, salt) == expected


def test_a_bucket_is_the_same_in_another_process() -> None:
    source = "from assay.hashing import bucket; print([bucket(str(n), 's') for n in range(20)])"
    said = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PYTHONHASHSEED": "1"},
    )
    assert json.loads(said.stdout) == [bucket(str(number), "s") for number in range(20)]


@given(texts, texts)
def test_a_bucket_is_from_0_to_99(identity: str, salt: str) -> None:
    assert 0 <= bucket(identity, salt) <= 99


def test_buckets_are_filled_evenly_and_salts_are_independent() -> None:
    ids = [f"user-{number}" for number in range(20_000)]
    filled = Counter(bucket(one, "a") for one in ids)
    assert len(filled) == 100
    assert 120 < min(filled.values()) <= max(filled.values()) < 285
    both = sum(bucket(one, "a") < 50 and bucket(one, "b") < 50 for one in ids)
    assert 4_700 < both < 5_300


def test_identity_and_salt_cannot_be_confused() -> None:
    pairs = [(bucket(f"x{number}", "ab"), bucket(f"bx{number}", "a")) for number in range(50)]
    assert any(one != two for one, two in pairs)


@given(st.lists(json_values, max_size=5))
def test_a_list_in_pieces_has_the_hash_of_the_whole(values: list[Any]) -> None:
    pieces = list(list_pieces(map(canonical_json, values)))
    assert "".join(pieces) == canonical_json(values)
    assert hash_pieces(pieces) == content_hash(values)
