"""An embedder that remembers in files what it made, so that a second run of a benchmark need not embed anew.

Two files that only grow: `vectors.keys` has one content hash a line, `vectors.f32` the vectors in the same order. A run
that was stopped in the middle leaves both usable: whatever the shorter one does not reach is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.embedding.wrappers import AroundEmbedder
from assay.hashing import content_hash

BATCH = 256


class RememberedEmbedder(AroundEmbedder):
    """Vectors by text, from files where they are known and from a real embedder otherwise."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        super().__init__(inner)
        folder.mkdir(parents=True, exist_ok=True)
        self._keys, self._rows = folder / "vectors.keys", folder / "vectors.f32"
        self._known = self._read()
        self.made = 0
        """How many vectors this process had to make."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row for each text; what is not known is made and kept."""
        hashes = [content_hash(text) for text in texts]
        missing = {one: text for one, text in zip(hashes, texts, strict=True) if one not in self._known}
        wanted = list(missing)
        for start in range(0, len(wanted), BATCH):
            self._make({one: missing[one] for one in wanted[start : start + BATCH]})
        if progress is not None:
            progress(len(texts))
        rows = [self._known[one] for one in hashes]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)

    def _make(self, texts: dict[str, str]) -> None:
        made = self._inner.embed(list(texts.values()))
        with self._rows.open("ab") as rows, self._keys.open("a", encoding="ascii") as keys:
            rows.write(made.astype("<f4").tobytes())
            keys.write("".join(f"{one}\n" for one in texts))
        self._known |= dict(zip(texts, made, strict=True))
        self.made += len(texts)

    def _read(self) -> dict[str, Vectors]:
        if not self._keys.exists():
            return {}
        keys = self._keys.read_text(encoding="ascii").split()
        rows = np.fromfile(self._rows, dtype="<f4")
        whole = min(len(keys), len(rows) // self.dimension)
        matrix = rows[: whole * self.dimension].reshape(whole, self.dimension)
        self._cut(keys[:whole], matrix)
        return dict(zip(keys, matrix, strict=False))

    def _cut(self, keys: Sequence[str], matrix: Vectors) -> None:
        """Both files at the same length, so that what is added next stands in the same place in both."""
        whole = "".join(f"{one}\n" for one in keys)
        if self._rows.stat().st_size != matrix.nbytes or self._keys.stat().st_size != len(whole):
            self._rows.write_bytes(matrix.tobytes())
            self._keys.write_text(whole, encoding="ascii")
