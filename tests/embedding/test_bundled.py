"""The bundled model: its vectors mean something, and nothing but the text decides about them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from assay.embedding import bundled as module
from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder

LONG = "The quick brown fox jumps over the lazy dog. " * 60
TEXTS = [
    "deploy",
    "Nothing is released after noon.",
    "x" * 5_000,
    "",
    "日本語のテキスト",
    LONG,
    "café ☕",
    " \n\t ",
] * 3


def test_it_says_what_it_is(bundled: Embedder) -> None:
    assert bundled.model.startswith("all-minilm-l6-v2-int8:")
    assert (bundled.dimension, bundled.token_limit) == (384, 254)
    assert bundled.profile.duplicate == 0.92


def test_like_meanings_are_near_and_unlike_ones_far(bundled: Embedder) -> None:
    question, answer, other = bundled.embed(
        ["How do users log in?", "Clients authenticate with a password.", "The cake needs two eggs."]
    )
    assert question @ answer > 0.4
    assert question @ other < 0.2


def test_every_row_has_length_one_whatever_the_text(bundled: Embedder) -> None:
    rows = bundled.embed(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_any_company(bundled: Embedder) -> None:
    together = bundled.embed(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(bundled.embed([text])[0], row, atol=1e-5)


def test_one_thread_or_two_and_a_quick_start_move_no_vector(bundled: Embedder) -> None:
    expected = bundled.embed(TEXTS[:4])
    for other in (load_bundled(threads=2), load_bundled(run_once=True)):
        assert other.model == bundled.model
        np.testing.assert_allclose(other.embed(TEXTS[:4]), expected, atol=1e-5)


def test_no_texts_give_no_rows(bundled: Embedder) -> None:
    assert bundled.embed([]).shape == (0, 384)


def test_what_is_beyond_the_limit_is_not_read(bundled: Embedder) -> None:
    words = ["word"] * bundled.token_limit
    at_limit, beyond, before = bundled.embed([" ".join([*words, *more]) for more in ([], ["secret"], [])])
    np.testing.assert_array_equal(at_limit, before)
    np.testing.assert_allclose(at_limit, beyond, atol=1e-6)
    shorter = bundled.embed([" ".join([*words[:-1], "secret"])])[0]
    assert np.abs(shorter - beyond).max() > 1e-3


def test_tokens_are_counted_without_those_the_model_adds(bundled: Embedder) -> None:
    assert bundled.count_tokens("hello world") == 2
    assert bundled.count_tokens("") == 0
    assert bundled.count_tokens("word " * 1_000) == 1_000


def test_progress_adds_up_and_an_interrupt_is_heard_between_batches(bundled: Embedder) -> None:
    done: list[int] = []
    bundled.embed(TEXTS, progress=done.append)
    assert sum(done) == len(TEXTS)
    assert max(done) <= 8

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bundled.embed(TEXTS, progress=interrupt)


def test_the_packages_that_hold_the_files_are_not_imported(bundled: Embedder) -> None:
    assert bundled.dimension == 384
    assert {file.package for file in module.FILES}.isdisjoint(sys.modules)
