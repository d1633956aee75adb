"""An embedder behind an address: no number of an answer is believed before it was checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.models.service import Handler, answer, embeddings, endpoint, flood, serving

from assay.embedding.protocol import Embedder
from assay.embedding.remote import RemoteEmbedder, estimate_tokens
from assay.errors import EndpointMisbehaved


def remote(url: str, **given: Any) -> RemoteEmbedder:
    return RemoteEmbedder(endpoint(url), **{"name": "m", "dimension": 2, **given})


def items(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]}


def length_of_each(handler: Handler) -> None:
    """A vector that tells how long its text was."""
    texts = handler.server.heard[-1].body["input"]
    embeddings(*[[float(len(text)), 1.0] for text in texts])(handler)


def test_rows_come_in_the_order_of_the_texts_and_have_length_one() -> None:
    with serving(embeddings([3.0, 4.0], [0, -2])) as service:
        embedder: Embedder = remote(service.url)
        np.testing.assert_allclose(embedder.embed(["ab", "cd"]), [[0.6, 0.8], [0.0, -1.0]])
        assert service.heard[0].path == "/v1/embeddings"
        assert service.heard[0].body == {"model": "m", "input": ["ab", "cd"], "encoding_format": "float"}
        assert embedder.model == f"m@127.0.0.1:{service.server_port}:2"


def test_many_texts_go_in_several_calls_and_come_back_in_order() -> None:
    texts = ["x" * (number * 7 % 150 + 1) for number in range(150)]
    done: list[int] = []
    with serving(length_of_each) as service:
        rows = remote(service.url).embed(texts, progress=done.append)
        assert len(service.heard) == 3
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [len(text) for text in texts], rtol=1e-5)
    assert done == [64, 64, 22]


def test_the_dimension_is_learned_by_connecting() -> None:
    with serving(embeddings([1.0, 2.0, 3.0])) as service:
        assert RemoteEmbedder.connect(endpoint(service.url), name="m").dimension == 3


def test_no_texts_ask_nobody() -> None:
    assert remote("http://127.0.0.1:9/v1").embed([]).shape == (0, 2)


def test_a_text_is_cut_at_the_limit_and_an_empty_one_is_a_blank() -> None:
    with serving(embeddings([1.0, 0.0], [1.0, 0.0], [1.0, 0.0])) as service:
        remote(service.url, token_limit=4).embed(["é" * 100, "", "short"])
        sent = service.heard[0].body["input"]
    assert sorted(sent) == sorted([" ", "short", "é" * 5])


def test_tokens_are_estimated_from_bytes_unless_a_counter_is_given() -> None:
    assert [estimate_tokens(text) for text in ("", "abc", "abcd", "日本")] == [0, 1, 2, 2]
    assert remote("http://127.0.0.1:9", count_tokens=len).count_tokens("abcd") == 4


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (items([1.0, 0.0]), "1 vectors, 1 of them numbered, for 2 texts"),
        (items([1.0, 0.0], [1.0, 0.0], [1.0, 0.0]), "3 vectors"),
        ({"data": [{"index": 0, "embedding": [1.0, 0.0]}] * 2}, "2 vectors, 1 of them numbered"),
        ({"data": [{"embedding": [1.0, 0.0]}] * 2}, "0 of them numbered"),
        (items([1.0, math.nan], [1.0, 0.0]), "NaN"),
        (items([1.0, math.inf], [1.0, 0.0]), "infinite"),
        (items([0.0, 0.0], [1.0, 0.0]), "no or infinite length"),
        (items([10**400, 1], [1, 1]), "out of range"),
        (items(["1.0", 0.0], [1.0, 0.0]), "not a list of numbers"),
        (items([True, False], [1.0, 0.0]), "not a list of numbers"),
        (items("AAAA", "AAAA"), "not a list of numbers"),
        (items([], []), "not a list of numbers"),
        (items([1.0], [1.0, 0.0]), "different lengths"),
        (items([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), "3 dimensions instead of 2"),
        ({"data": "none"}, "no list `data`"),
        ({"data": [1, 2]}, "no list `data`"),
        ({"error": "x"}, "no list `data`"),
        ([], "no list `data`"),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_refused(body: Any, told: str) -> None:
    with serving(answer(body=body)) as service:
        with pytest.raises(EndpointMisbehaved, match=told):
            remote(service.url).embed(["a", "b"])
        assert len(service.heard) == 1


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    with serving(flood) as service, pytest.raises(EndpointMisbehaved, match="more than 64,000,000 bytes"):
        remote(service.url).embed(["a"])
