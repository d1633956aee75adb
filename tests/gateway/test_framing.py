"""A request whose end could be read in two ways is refused, and its connection closed."""

from __future__ import annotations

import pytest

from assay.gateway.headers import check_framing
from assay.gateway.refusal import RequestRefused

LENGTH, CODING = "content-length", "transfer-encoding"


@pytest.mark.parametrize(
    "headers",
    [
        [(LENGTH, "3"), (CODING, "chunked")],
        [(CODING, "chunked"), (LENGTH, "3")],
        [(LENGTH, "3"), (LENGTH, "3")],
        [(LENGTH, "3"), (LENGTH, "4")],
        [(CODING, "chunked"), (CODING, "chunked")],
        [(CODING, "gzip, chunked")],
        [(CODING, "identity")],
        [(CODING, "xchunked")],
        [(LENGTH, "-1")],
        [(LENGTH, "+3")],
        [(LENGTH, "0x3")],
        [(LENGTH, "3, 3")],
        [(LENGTH, "")],
        [(LENGTH, "\u0663")],
    ],
)
def test_two_ends_or_none_are_refused(headers: list[tuple[str, str]]) -> None:
    with pytest.raises(RequestRefused) as problem:
        check_framing(headers)
    assert (problem.value.status, problem.value.code) == (400, "ambiguous_length")
    assert problem.value.headers == {"Connection": "close"}


@pytest.mark.parametrize("headers", [[], [(LENGTH, "0")], [(LENGTH, "12")], [(CODING, "Chunked")]])
def test_one_end_is_fine_and_another_beside_it_is_not(headers: list[tuple[str, str]]) -> None:
    check_framing(headers)
    with pytest.raises(RequestRefused):
        check_framing([*headers, (LENGTH, "1"), (CODING, "chunked")])
