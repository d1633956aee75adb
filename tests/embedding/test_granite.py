"""The embedder of the extra `granite`: its pack made into a network, and the registry that finds it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.embedding.granite import LONGEST, Pack, build_network, load_granite, read_centre, read_pack
from assay.embedding.onnx import OnnxEmbedder
from assay.embedding.protocol import Embedder
from assay.errors import ModelDamaged


@pytest.fixture(scope="module")
def granite() -> Embedder:
    return load_granite(threads=1)


def test_it_says_what_it_is(granite: Embedder) -> None:
    assert granite.model.startswith("granite-embedding-30m-english-int8:")
    assert (granite.dimension, granite.token_limit) == (384, LONGEST - 2)


def test_a_question_is_near_its_answer_and_far_from_other_texts(granite: Embedder) -> None:
    asked, answer, other = granite.embed(
        [
            "what is the capital of France",
            "Paris is the capital and largest city of France.",
            "To reset the password, open the account page.",
        ]
    )
    assert asked @ answer > 0.7
    # Without its centre, texts that have nothing to do with each other have a cosine of about .5.
    assert asked @ other < 0.25


def test_a_text_has_the_same_vector_alone_and_in_company(granite: Embedder) -> None:
    texts = ["deploy", "x " * 600, "", "the harbour office closes at five"]
    rows = granite.embed(texts)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(rows, np.concatenate([granite.embed([text]) for text in texts]), atol=1e-5)


def test_the_network_is_that_of_the_pack_by_hand() -> None:
    """One layer of two dimensions, so that every step can be followed with numpy."""
    pack = small_pack()
    tokens, mask = np.array([[2, 1]]), np.array([[1, 1]])
    made = build_network(pack, [0.0, 0.0])
    embedder = OnnxEmbedder(model="small", network=made, tokenizer=TOKENIZER)
    (found,) = embedder._session.run(None, {"input_ids": tokens, "attention_mask": mask})
    np.testing.assert_allclose(found, by_hand(pack.tensors, tokens[0]), atol=1e-6)


def test_a_file_that_is_no_pack_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"something else")
    with pytest.raises(ModelDamaged, match="is not a pack"):
        read_pack(tmp_path / "x")


def test_its_centre_has_a_number_for_each_dimension() -> None:
    assert len(read_centre()) == 384
    assert 0.6 < np.linalg.norm(read_centre()) < 0.8


# --- A pack of one layer with two dimensions, and what it computes ---

Array = NDArray[Any]
TOKENIZER = b"""{"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel",
 "vocab": {"a": 0, "b": 1, "c": 2}, "unk_token": "a"}, "pre_tokenizer": {"type": "Whitespace"}}"""
HEADER = {"arch": {"hidden": 2, "heads": 1, "layers": 1, "layer_norm_eps": 1e-12, "position_offset": 2}}


def small_pack() -> Pack:
    rng = np.random.default_rng(3)
    shapes = {"word_emb": (3, 2), "l0.qkv.w": (6, 2), "l0.ao.w": (2, 2), "l0.f1.w": (4, 2), "l0.f2.w": (2, 4)}
    tensors: dict[str, Array] = {}
    for name, shape in shapes.items():
        tensors[name] = rng.integers(-100, 100, shape).astype(np.int8)
        tensors[f"{name}.scale"] = rng.uniform(0.005, 0.02, (shape[0], shape[1] // 2)).astype(np.float32)
    for name, size in (("l0.qkv.b", 6), ("l0.ao.b", 2), ("l0.f1.b", 4), ("l0.f2.b", 2)):
        tensors[name] = rng.normal(size=size).astype(np.float32)
    for name in ("emb_ln", "l0.aln", "l0.fln"):
        tensors[f"{name}.w"] = rng.uniform(0.5, 2.0, 2).astype(np.float32)
        tensors[f"{name}.b"] = rng.normal(size=2).astype(np.float32)
    tensors |= {name: rng.normal(size=(rows, 2)).astype(np.float32) for name, rows in (("pos_emb", 6), ("type_emb", 2))}
    return Pack(HEADER, TOKENIZER, tensors)


def by_hand(tensors: Mapping[str, Array], tokens: Array) -> Array:
    """The unit vector of the first token after one layer."""

    def whole(name: str) -> Array:
        made: Array = tensors[name].astype(np.float64) * np.repeat(tensors[f"{name}.scale"], 2, axis=1)
        return made

    def norm(rows: Array, name: str) -> Array:
        centred = rows - rows.mean(axis=1, keepdims=True)
        normed: Array = centred / centred.std(axis=1, keepdims=True) * tensors[f"{name}.w"] + tensors[f"{name}.b"]
        return normed

    def line(rows: Array, name: str) -> Array:
        return rows @ whole(f"{name}.w").T + tensors[f"{name}.b"]

    places = tensors["pos_emb"][2 : 2 + len(tokens)] + tensors["type_emb"][0]
    rows = norm(whole("word_emb")[tokens] + places, "emb_ln")
    query, key, value = np.split(line(rows, "l0.qkv"), 3, axis=1)
    scores = np.exp(query @ key.T / np.sqrt(2.0))
    rows = norm(rows + line(scores / scores.sum(axis=1, keepdims=True) @ value, "l0.ao"), "l0.aln")
    inner = line(rows, "l0.f1")
    gelu = inner * 0.5 * (1.0 + np.vectorize(math.erf)(inner / np.sqrt(2.0)))
    rows = norm(rows + line(gelu, "l0.f2"), "l0.fln")
    first: Array = rows[:1] / np.linalg.norm(rows[:1])
    return first
