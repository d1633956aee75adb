"""The fast embedder of the extra `fast`: the mean of word vectors, hundreds of times as fast, without word order.

The vectors are those of `wordllama` (l2_supercat, 256 dimensions). The package itself is not imported: it would set up
the program's logging and bring a downloader, and all it does beyond that is a mean. Both its files are pinned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from assay.embedding.files import PinnedFile, identify_model
from assay.embedding.protocol import Embedder, Progress, SimilarityProfile, Vectors

NAME = "wordllama-l2-supercat-256"
EXTRA = "fast"
LONGEST = 512
WEIGHTS = PinnedFile(
    "the weights of the static embedder",
    "wordllama",
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
TOKENIZER = PinnedFile(
    "the tokenizer of the static embedder",
    "wordllama",
    "tokenizers/l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)
PROFILE = SimilarityProfile(duplicate=0.92, merge=0.89, related=0.75)
"""Where its cosines rank 1,040 edited sentences as the bundled model's thresholds do: at .914, .887 and .753."""


def load_static() -> Embedder:
    """Load it."""
    weights, tokenizer = (file.verify(extra=EXTRA) for file in (WEIGHTS, TOKENIZER))
    from safetensors.numpy import load_file  # noqa: PLC0415 - comes with the extra, as the files do

    table = load_file(weights)["embedding.weight"].astype(np.float32)
    model = identify_model(
        NAME, {file.inner: file.sha256 for file in (WEIGHTS, TOKENIZER)}, longest=LONGEST, pooling="mean"
    )
    chosen = Tokenizer.from_file(str(tokenizer))
    chosen.no_padding()
    chosen.no_truncation()
    # It has no notion of a word, so it would keep whole texts, 10,000 of them at 8 kB each, and rarely see one again.
    chosen.model._resize_cache(0)  # noqa: SLF001 - there is no other way once it is loaded
    return StaticEmbedder(model=model, table=table, tokenizer=chosen)


class StaticEmbedder:
    """An `Embedder` over a table of token vectors."""

    def __init__(self, *, model: str, table: NDArray[np.float32], tokenizer: Tokenizer) -> None:
        self.model = model
        self.dimension = int(table.shape[1])
        self.token_limit = LONGEST
        self.profile = PROFILE
        self._table = table
        self._tokenizer = tokenizer

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self._ids(text))

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text, in the order given."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            # A text without tokens has the direction of the unknown token: a row is never zero.
            mean = self._table[self._ids(text)[:LONGEST] or [0]].mean(axis=0)
            row[:] = mean / np.linalg.norm(mean)
            if progress is not None:
                progress(1)
        return rows

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids
