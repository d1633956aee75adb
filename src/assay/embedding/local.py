"""Any sentence encoder in a folder of its own: `model.onnx` and `tokenizer.json`, mean pooling.

Its name carries a hash of everything that moves its vectors, so an exchanged file is another model.
"""

from __future__ import annotations

from pathlib import Path

from assay.embedding.files import named, sha256_of
from assay.embedding.onnx import OnnxEmbedder, OnnxOptions
from assay.embedding.protocol import Embedder, SimilarityProfile
from assay.errors import InputError

NETWORK = "model.onnx"
TOKENIZER = "tokenizer.json"


def load_local(
    folder: Path,
    *,
    options: OnnxOptions = OnnxOptions(),  # noqa: B008 - frozen
    profile: SimilarityProfile = SimilarityProfile(),  # noqa: B008 - frozen
) -> Embedder:
    """The model in a folder."""
    for name in (NETWORK, TOKENIZER):
        if not (folder / name).is_file():
            raise InputError(
                f"the folder {folder} has no {name}", remedy=f"Give a folder with {NETWORK} and {TOKENIZER}."
            )
    # Large models keep their weights beside the network, as model.onnx.data or model.onnx_data.
    hashes = {file.name: sha256_of(file) for file in (*folder.glob(f"{NETWORK}*"), folder / TOKENIZER)}
    return OnnxEmbedder(
        model=named(folder.name, hashes, longest=options.longest, pooling="mean"),
        network=folder / NETWORK,
        tokenizer=folder / TOKENIZER,
        options=options,
        profile=profile,
    )
