"""Any ONNX pair model in a folder, run for real: a small one that counts shared words."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.embedding.pair_models import write_pair_model

from assay.embedding import bundled as pinned
from assay.embedding.cross_encoder import LONGEST_PAIR, OnnxCrossEncoder, load_cross_encoder
from assay.embedding.onnx import OnnxOptions
from assay.embedding.wrappers import OnDemandCrossEncoder
from assay.errors import InputError, ModelDamaged

ONE_THREAD = OnnxOptions(threads=1)


def load(folder: Path) -> OnnxCrossEncoder:
    return load_cross_encoder(folder, options=ONE_THREAD)


def logistic(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))


def test_query_and_text_are_read_together_and_scored_from_0_to_1(tmp_path: Path) -> None:
    encoder = load(write_pair_model(tmp_path / "shared-words"))
    texts = ["nothing in common", "the cookie lives long", "the session cookie lives long"]
    # The separators make one pair, which the bias of 1 takes away: the logit is the number of shared words.
    np.testing.assert_allclose(encoder.score("session cookie", texts), [logistic(shared) for shared in (0, 1, 2)])


def test_scores_do_not_depend_on_the_other_texts_or_their_order(tmp_path: Path) -> None:
    encoder = load(write_pair_model(tmp_path / "shared-words"))
    texts = [f"word{'s and words' * count} cookie" for count in range(20)]
    alone = [float(encoder.score("a cookie", [text])[0]) for text in texts]
    np.testing.assert_allclose(encoder.score("a cookie", texts), alone)
    assert encoder.score("a cookie", []).shape == (0,)


def test_of_two_numbers_for_a_pair_the_second_says_that_it_fits(tmp_path: Path) -> None:
    one, two = (load(write_pair_model(tmp_path / str(columns), columns=columns)) for columns in (1, 2))
    texts = ["a cookie", "a loaf of bread"]
    np.testing.assert_allclose(one.score("cookie", texts), two.score("cookie", texts))


def test_a_long_text_is_cut_and_a_long_query_leaves_room_for_it(tmp_path: Path) -> None:
    encoder = load(write_pair_model(tmp_path / "shared-words"))
    late = "filler " * (2 * LONGEST_PAIR) + "cookie"
    early = "cookie " + "filler " * (2 * LONGEST_PAIR)
    assert encoder.score("cookie", [late])[0] < encoder.score("cookie", [early])[0]
    assert encoder.score("what " * (2 * LONGEST_PAIR) + "cookie", ["what else"])[0] > 0.99


def test_its_name_changes_with_its_files(tmp_path: Path) -> None:
    first, second = (
        load(write_pair_model(tmp_path / place / "mine", bias=bias)) for place, bias in (("a", 1), ("b", 2))
    )
    assert first.name.startswith("mine:")
    assert first.name != second.name


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no model\.onnx"):
        load(tmp_path)


def test_a_file_that_is_not_a_model_is_named(tmp_path: Path) -> None:
    folder = write_pair_model(tmp_path / "mine")
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelDamaged, match=r"the model .*model\.onnx cannot be loaded"):
        load(folder)


@pytest.mark.parametrize("columns", [3, 0])
def test_a_model_that_does_not_score_pairs_is_refused(tmp_path: Path, columns: int) -> None:
    folder = write_pair_model(tmp_path / "mine", columns=columns or 1)
    if not columns:  # a sentence encoder
        (folder / "model.onnx").unlink()
        (folder / "model.onnx").symlink_to(pinned.NETWORK.verify(extra="memory"))
    with pytest.raises(ModelDamaged, match="for 1 pairs of texts") as refused:
        load(folder)
    assert "cross-encoder" in refused.value.remedy


def test_it_is_loaded_when_it_is_first_needed(tmp_path: Path) -> None:
    loaded: list[Path] = []

    def load_and_note() -> OnnxCrossEncoder:
        loaded.append(tmp_path)
        return load(write_pair_model(tmp_path / "mine"))

    encoder = OnDemandCrossEncoder(load_and_note)
    assert loaded == []
    assert encoder.score("cookie", ["a cookie"])[0] > 0.5
    assert encoder.name.startswith("mine:")
    assert len(loaded) == 1
