"""Cross-encoders as ONNX files on disk: models that read a query and a text together and say how well they fit.

`load_cross_encoder` takes any pair model in a folder of its own: `model.onnx` and `tokenizer.json`.

A model gives each pair one number or two. One number is taken for a logit, as the usual models for reranking give it;
of two, the second is that of "fits". Either way the score is the logistic function of it: from 0 to 1, so that a
threshold means the same for every model of that kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from assay import cpu_budget
from assay.embedding.files import identify_model, sha256_of
from assay.embedding.onnx import (
    BATCH_TEXTS,
    NETWORK,
    TOKENIZER,
    OnnxOptions,
    check_model_folder,
    load_session,
    load_tokenizer,
)
from assay.embedding.protocol import PairScores, by_length
from assay.errors import ModelDamaged

LONGEST_PAIR = 512
"""Tokens of a query and a text together that are read, those the model adds included."""
LONGEST_QUERY = 128
"""Tokens of a query that are read: a long one must leave room for the text it is compared with."""
BATCH_PAIR_TOKENS = 2_048
"""Padded tokens in one batch."""


class OnnxCrossEncoder:
    """Scores pairs with a model file and its tokenizer file. One may be used by several threads."""

    def __init__(self, *, name: str, network: Path, tokenizer: Path, options: OnnxOptions) -> None:
        self.name = name
        self._network = network
        self._tokenizer = load_tokenizer(tokenizer)
        self._session = load_session(network, options)
        self._inputs = [model_input.name for model_input in self._session.get_inputs()]
        self._added = self._tokenizer.num_special_tokens_to_add(is_pair=True)
        # Also the check that the model is a pair model, before a search depends on it.
        self.score("a", ["b"])

    def score(self, query: str, texts: Sequence[str]) -> PairScores:
        """How well each text fits the query, from 0 to 1, in the order given."""
        encoded = self._encode(query, texts)
        lengths = [len(pair.ids) for pair in encoded]
        scores = np.zeros(len(texts))
        for batch in by_length(lengths, most_texts=BATCH_TEXTS, most_tokens=BATCH_PAIR_TOKENS):
            cpu_budget.check("reranking results")
            scores[batch] = self._run([encoded[position] for position in batch])
        return scores

    def _encode(self, query: str, texts: Sequence[str]) -> list[Encoding]:
        asked = self._tokenizer.encode(query, add_special_tokens=False)
        asked.truncate(LONGEST_QUERY)
        room = LONGEST_PAIR - self._added - len(asked.ids)
        pairs = []
        for text in self._tokenizer.encode_batch(list(texts), add_special_tokens=False):
            text.truncate(room)
            pairs.append(self._tokenizer.post_process(asked, text))
        return pairs

    def _run(self, batch: Sequence[Encoding]) -> PairScores:
        width = max(len(pair.ids) for pair in batch)
        given = {name: np.zeros((len(batch), width), dtype=np.int64) for name in _FIELDS}
        for row, pair in enumerate(batch):
            for name, field in _FIELDS.items():
                values = getattr(pair, field)
                given[name][row, : len(values)] = values
        (output,) = self._session.run(None, {name: given[name] for name in self._inputs})[:1]
        return _to_scores(np.asarray(output, dtype=np.float64), len(batch), self._network)


_FIELDS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""The inputs of a model, and where a tokenized pair has them."""


def _to_scores(output: NDArray[np.float64], pairs: int, network: Path) -> PairScores:
    rows = output.reshape(pairs, -1) if output.ndim <= 2 and output.size % pairs == 0 else output
    if rows.ndim != 2 or rows.shape[1] not in (1, 2) or not np.isfinite(rows).all():
        raise ModelDamaged(
            f"the model {network} gave numbers of the shape {output.shape} for {pairs} pairs of texts",
            remedy="Give a cross-encoder: a model that gives each pair of texts one finite number, or two.",
        )
    logits = rows[:, 0] if rows.shape[1] == 1 else rows[:, 1] - rows[:, 0]
    scores: PairScores = 0.5 * (
        1.0 + np.tanh(0.5 * logits)
    )  # the logistic function, which cannot overflow in this form
    return scores


def load_cross_encoder(folder: Path, *, options: OnnxOptions = OnnxOptions()) -> OnnxCrossEncoder:  # noqa: B008 - frozen
    """Load the pair model in a folder. Its name carries a hash of its files, so an exchanged file is another model."""
    check_model_folder(folder)
    hashes = {file.name: sha256_of(file) for file in (*folder.glob(f"{NETWORK}*"), folder / TOKENIZER)}
    return OnnxCrossEncoder(
        name=identify_model(folder.name, hashes, longest=LONGEST_PAIR, query=LONGEST_QUERY),
        network=folder / NETWORK,
        tokenizer=folder / TOKENIZER,
        options=options,
    )
