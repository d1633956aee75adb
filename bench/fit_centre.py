"""Fit what all vectors of the granite embedder share: `python -m bench.fit_centre [--passages 300]`.

It is the mean over an even sample of the passages and questions of the bundled datasets, which are this project's own
texts, rounded to five decimals, and is written to `src/assay/embedding/granite_centre.json`. No public collection has
a part in it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np

from assay.embedding.granite import CENTRE, EXTRA, LONGEST, PACK, build_network, read_pack
from assay.embedding.onnx import OnnxEmbedder, OnnxOptions
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import find_bundled
from assay.text.chunking import Chunker, build_embedding_text

DATASETS = ("agent-memory", "hotel", "vault")
DECIMALS = 5


def fit(passages: int) -> list[float]:
    """Return the mean direction: as much of passages as of questions, each dataset counting alike."""
    pack = read_pack(PACK.verify(extra=EXTRA))
    plain = OnnxEmbedder(
        model="uncentred",
        network=build_network(pack, [0.0] * pack.header["arch"]["hidden"]),
        tokenizer=pack.tokenizer,
        options=OnnxOptions(longest=LONGEST),
    )
    chunker = Chunker(plain.count_tokens, plain.token_limit)
    means = []
    for name in DATASETS:
        dataset = load_dataset(str(find_bundled(name)))
        texts = [
            build_embedding_text(one.title, piece.heading_path, piece.text)
            for one in dataset.documents
            for piece in chunker.chunk(one.title, one.text).pieces
        ]
        questions = [case.query for case in dataset.cases]
        means += [plain.embed(_sample(every, passages)).mean(axis=0) for every in (texts, questions)]
        print(f"{name}: {len(texts):,} passages, {len(dataset.cases):,} questions", file=sys.stderr, flush=True)
    return [round(float(value), DECIMALS) for value in np.mean(means, axis=0)]


def _sample(texts: list[str], most: int) -> list[str]:
    return texts[:: max(1, len(texts) * len(DATASETS) // most)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fit_centre", description=__doc__)
    parser.add_argument("--passages", type=int, default=300, help="passages, and questions, of all datasets together")
    asked = parser.parse_args(arguments)
    centre = fit(asked.passages)
    Path(str(resources.files("assay.embedding").joinpath(CENTRE))).write_text(
        f"{json.dumps(centre)}\n", encoding="utf-8"
    )
    print(f"the length of what is shared: {np.linalg.norm(centre):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
