"""Which questions ask the same, and which only look like it."""

from __future__ import annotations

import pytest

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.judging.builtin.similar_questions import AlikeQuestions


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_bundled(threads=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How long are backups kept?", "How long are backups kept?"),
        ("How long are backups kept?", "For how long are the backups kept?"),
        ("How long do we keep the nightly backups?", "How long do we keep our nightly backup files?"),
    ],
)
def test_the_same_in_other_words_is_alike(embedder: Embedder, one: str, other: str) -> None:
    alike = AlikeQuestions(embedder)
    assert alike(one, other)
    assert alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I enable the upload cache?", "How do I disable the upload cache?"),
        ("What did the backup cost in 2024?", "What did the backup cost in 2025?"),
        ("How do I move from MySQL to PostgreSQL?", "How do I move from PostgreSQL to MySQL?"),
        ("Which backups are kept?", "Which backups are not kept?"),
        ("What is the newest backup policy?", "What is the oldest backup policy?"),
        ("How long are backups kept?", "Why are backups kept?"),
        ("Which tools back up data without Docker?", "Which tools back up data without Podman?"),
        ("How long are backups kept?", "What is for lunch?"),
    ],
)
def test_what_differs_in_a_word_that_counts_is_not(embedder: Embedder, one: str, other: str) -> None:
    alike = AlikeQuestions(embedder)
    assert not alike(one, other)
    assert not alike(other, one)


def test_without_vectors_only_the_same_words_are_alike() -> None:
    alike = AlikeQuestions()
    assert alike("How long are backups kept?", "For how long are the backups kept?")
    assert not alike("How long do we keep the nightly backups?", "How long do we keep our nightly backup files?")
