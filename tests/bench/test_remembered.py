from pathlib import Path

import numpy as np
from bench.remembered import RememberedEmbedder

from assay.testing import HashedEmbedder

TEXTS = ["first words", "second words", "third"]


def test_vectors_are_those_of_the_embedder_in_the_order_of_the_texts(tmp_path: Path) -> None:
    remembered = RememberedEmbedder(HashedEmbedder(), tmp_path)
    remembered.embed(TEXTS[1:])
    assert np.array_equal(remembered.embed(TEXTS), HashedEmbedder().embed(TEXTS))
    assert remembered.made == 3


def test_a_second_run_makes_nothing(tmp_path: Path) -> None:
    made = RememberedEmbedder(HashedEmbedder(), tmp_path).embed(TEXTS)
    again = RememberedEmbedder(HashedEmbedder(), tmp_path)
    assert np.array_equal(again.embed(TEXTS), made)
    assert again.made == 0


def test_files_of_a_run_that_was_stopped_are_usable(tmp_path: Path) -> None:
    RememberedEmbedder(HashedEmbedder(), tmp_path).embed(TEXTS)
    rows = tmp_path / "vectors.f32"
    rows.write_bytes(rows.read_bytes()[:-3])
    for expected in (1, 0):
        remembered = RememberedEmbedder(HashedEmbedder(), tmp_path)
        assert np.array_equal(remembered.embed(TEXTS), HashedEmbedder().embed(TEXTS))
        assert remembered.made == expected


def test_no_texts_give_no_rows(tmp_path: Path) -> None:
    assert RememberedEmbedder(HashedEmbedder(), tmp_path).embed([]).shape == (0, HashedEmbedder().dimension)
