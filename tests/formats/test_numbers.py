"""Fields, ids and numbers read in bulk are what reading them one by one gives, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.formats.blocks import NotANumber, WrongShape, float32s, keys_of, split, whole_numbers

decimals = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.floats(-3e38, 3e38).map(repr),
    st.integers(-(10**19), 10**19).map(str),
    st.decimals(-1000, 1000, places=6).map(str),
    st.from_regex(r"[+-]?[0-9]{1,12}\.[0-9]{0,12}", fullmatch=True),
    st.from_regex(r"[+-]?\.[0-9]{1,18}", fullmatch=True),
    st.sampled_from(["0", "-0", "-0.0", "1.", ".5", "16777217", "16777217.0000000001", "1e-45", "1e38", "00012.50"]),
)


def bulk(texts: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    fields = split("\n".join([*texts, ""]).encode(), 1)
    return float32s(fields.text, fields.field(0))


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(decimals, min_size=1, max_size=20))
@example(texts=["0.5000000298023223876", "0.50000002980232241", "0.50000002980232238", "1.00000017881393432617"])
def test_numbers_have_the_bits_that_python_gives_them(texts: list[str]) -> None:
    expected = np.array([float(text) for text in texts]).astype(np.float32)
    assert bulk(texts).view(np.uint32).tolist() == expected.view(np.uint32).tolist()


@settings(max_examples=100, deadline=None)
@given(single=st.floats(2.0**-100, 2.0**100, width=32), steps=st.integers(-2, 2))
def test_the_middle_between_two_float32_is_rounded_as_python_rounds_it(single: float, steps: int) -> None:
    middle = (single + float(np.nextafter(np.float32(single), np.float32(np.inf)))) / 2
    for _ in range(abs(steps)):
        middle = float(np.nextafter(middle, np.inf * steps))
    assert bulk([repr(middle)])[0] == np.float32(middle)


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-inf", "1e39", "abc", "1..2", "1.2.3", "-", "+", ".", "1_0", "0x10", "--1", "1-", "9" * 400, "1,5"],
)
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(NotANumber):
        bulk(["1.0", text])


def test_whole_numbers_are_whole() -> None:
    fields = split(b"0\n3\n-1\n+2\n1000\n0007\n", 1)
    assert whole_numbers(fields.text, fields.field(0), 1000).tolist() == [0, 3, -1, 2, 1000, 7]
    for text in (b"1001\n", b"1.0\n", b"1.\n", b"x\n", b"-\n", b"1e1\n", b"99999999999999999999\n"):
        fields = split(text, 1)
        with pytest.raises(NotANumber):
            whole_numbers(fields.text, fields.field(0), 1000)


def test_fields_may_be_apart_by_any_blanks() -> None:
    fields = split(b"  a\tb  c \r\n\n# a comment\nd e f\n", 3)
    texts = [
        [fields.raw[s:e] for s, e in zip(*row, strict=True)] for row in zip(fields.starts, fields.ends, strict=True)
    ]
    assert texts == [[b"a", b"b", b"c"], [b"d", b"e", b"f"]]


@pytest.mark.parametrize("data", [b"a b\n", b"a b c d\n", b"a b\nc d e f\n", b"a\nb c\n"])
def test_a_line_of_another_shape_is_noticed_even_when_the_totals_agree(data: bytes) -> None:
    with pytest.raises(WrongShape):
        split(data, 3)


def test_more_fields_may_be_allowed() -> None:
    fields = split(b"a b c d e\nf g h\n", 3, more=True)
    assert fields.starts.shape == (2, 3)


ids = st.text(st.characters(min_codepoint=33, exclude_categories=["Cs", "Zs", "Cc"]), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(ids.filter(lambda one: not one.startswith("#")), min_size=1, max_size=20), data=st.data())
def test_keys_are_equal_exactly_for_equal_ids_wherever_they_stand(texts: list[str], data: st.DataObject) -> None:
    order = data.draw(st.permutations(texts))
    keys: dict[str, int] = {}
    for some in (texts, order, order[:1]):
        fields = split("\n".join([*some, ""]).encode(), 1)
        for text, key in zip(some, keys_of(fields.text, fields.field(0)).tolist(), strict=True):
            assert keys.setdefault(text, key) == key
    assert len(set(keys.values())) == len(set(texts))
