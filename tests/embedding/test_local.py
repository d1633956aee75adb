"""Any ONNX model in a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.embedding import bundled as pinned
from assay.embedding.onnx import OnnxOptions, load_local
from assay.embedding.protocol import Embedder
from assay.errors import InputError, ModelDamaged

ONE_THREAD = OnnxOptions(threads=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The bundled model, as somebody else's."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(pinned.NETWORK.verify(extra="memory"))
    (folder / "tokenizer.json").symlink_to(pinned.TOKENIZER.verify(extra="memory"))
    return folder


def test_a_model_in_a_folder_gives_the_vectors_it_gives_elsewhere(folder: Path, bundled: Embedder) -> None:
    local = load_local(folder, options=ONE_THREAD)
    np.testing.assert_array_equal(local.embed(["hello"]), bundled.embed(["hello"]))
    assert local.model.startswith("my-model:")


def test_its_name_changes_with_how_much_is_read_and_with_its_files(folder: Path) -> None:
    plain = load_local(folder, options=ONE_THREAD)
    shorter = load_local(folder, options=OnnxOptions(threads=1, longest=128))
    assert (plain.token_limit, shorter.token_limit) == (254, 126)
    tokenizer = folder / "tokenizer.json"
    content = tokenizer.read_text(encoding="utf-8")
    tokenizer.unlink()
    tokenizer.write_text(content + "\n", encoding="utf-8")
    exchanged = load_local(folder, options=ONE_THREAD)
    assert len({plain.model, shorter.model, exchanged.model}) == 3


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no model\.onnx"):
        load_local(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"x")
    with pytest.raises(InputError, match=r"has no tokenizer\.json"):
        load_local(tmp_path)


@pytest.mark.parametrize(("name", "what"), [("model.onnx", "model"), ("tokenizer.json", "tokenizer")])
def test_a_file_of_another_kind_is_named(folder: Path, name: str, what: str) -> None:
    (folder / name).unlink()
    (folder / name).write_bytes(b"not a model")
    with pytest.raises(ModelDamaged, match=f"the {what} .*{name} cannot be loaded"):
        load_local(folder)
