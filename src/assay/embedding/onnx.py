"""Sentence encoders as ONNX files on disk.

- Running one: tokens in, mean of the last layer under the mask, unit length.
- Many batches side by side.
- Any encoder in a folder of its own: `model.onnx` and `tokenizer.json`, mean pooling.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from assay.embedding.files import identify_model, sha256_of
from assay.embedding.protocol import Embedder, Progress, SimilarityProfile, Vectors, by_length
from assay.embedding.quiet_runtime import onnxruntime
from assay.errors import InputError, ModelDamaged

# --- Running one: tokens in, mean of the last layer under the mask, unit length ---
#
# The session is shared by all threads; nothing in it changes after loading. A model whose output has one row a text
# (pooled already) is taken as it is. Control returns to Python after each small batch, so an interrupt is soon heard.

LONGEST = 256
"""Tokens of one text that are read, those the model adds at its ends included."""
BATCH_TEXTS = 8
BATCH_TOKENS = 512
"""Padded tokens in one batch: more only cost memory."""

_KNOWN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


@dataclass(frozen=True, kw_only=True, slots=True)
class OnnxOptions:
    """How a model is run."""

    threads: int = 0
    """Threads that make vectors, within one batch or with a batch each; 0 is one for each core."""
    run_once: bool = False
    """Start sooner and run slower: for a program that embeds one query and ends."""
    longest: int = LONGEST


class OnnxEmbedder:
    """An `Embedder` over a model file and its tokenizer file."""

    def __init__(
        self,
        *,
        model: str,
        network: Path | bytes,
        tokenizer: Path | bytes,
        options: OnnxOptions = OnnxOptions(),  # noqa: B008 - frozen
        profile: SimilarityProfile = SimilarityProfile(),  # noqa: B008 - frozen
    ) -> None:
        """Both as files, or as their content."""
        self.model = model
        self.profile = profile
        self._tokenizer = load_tokenizer(tokenizer)
        self._session = load_session(network, options)
        self._threads = options.threads or count_cores()
        self._bulk = _OnDemandSession(partial(load_session, network, replace(options, threads=1)))
        self._inputs = [model_input.name for model_input in self._session.get_inputs()]
        self.token_limit = options.longest - self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self.dimension = self._width()

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, without the ones the model adds at its ends."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text, in the order given."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        encoded = [self._encode(text) for text in texts]
        batches = list(_plan(encoded))
        many = self._threads > 1 and len(batches) >= BATCHES_SIDE_BY_SIDE * self._threads
        session = self._bulk.load() if many else self._session

        def run(batch: list[int]) -> int:
            rows[batch] = self._run([encoded[position] for position in batch], session)
            return len(batch)

        # Closed, so that the other threads stop when `progress` raises, such as at the end of a budget.
        with closing(run_side_by_side(run, batches, threads=self._threads if many else 1)) as finished:
            for done in finished:
                if progress is not None:
                    progress(done)
        return rows

    def plan_batches(self, texts: Sequence[str]) -> list[list[int]]:
        """Positions of the texts that `embed` runs through the model together."""
        return list(_plan([self._encode(text) for text in texts]))

    def _width(self) -> int:
        told = self._session.get_outputs()[0].shape[-1]
        return told if isinstance(told, int) else self._run([self._encode("a")], self._session).shape[1]

    def _encode(self, text: str) -> Encoding:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        encoding.truncate(self.token_limit)
        return self._tokenizer.post_process(encoding)

    def _run(self, batch: Sequence[Encoding], session: onnxruntime.InferenceSession) -> Vectors:
        width = max(len(encoding.ids) for encoding in batch)
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(batch):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (output,) = session.run(None, {name: given[name] for name in self._inputs})[:1]
        return _unit(_pool(np.asarray(output), mask))


def _plan(encoded: Sequence[Encoding]) -> Iterator[list[int]]:
    lengths = [len(encoding.ids) for encoding in encoded]
    return by_length(lengths, most_texts=BATCH_TEXTS, most_tokens=BATCH_TOKENS)


def load_tokenizer(file: Path | bytes) -> Tokenizer:
    """Load a tokenizer without the padding and truncation that its file asks for."""
    try:
        tokenizer = Tokenizer.from_buffer(file) if isinstance(file, bytes) else Tokenizer.from_file(str(file))
    except Exception as problem:  # the library raises bare Exception
        raise _unusable(file, "tokenizer", problem) from problem
    # Files ship with padding and truncation of their own choosing; both are ours to decide.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def load_session(file: Path | bytes, options: OnnxOptions) -> onnxruntime.InferenceSession:
    """Load a network whose inputs are among those that a tokenizer gives."""
    onnxruntime.disable_telemetry_events()
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = options.threads
    chosen.inter_op_num_threads = 1
    chosen.log_severity_level = 3
    # Threads that wait in a busy loop cost half as much again as the work, and take it from whoever else is running.
    chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if options.run_once:
        chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        given = file if isinstance(file, bytes) else str(file)
        session = onnxruntime.InferenceSession(given, chosen, providers=["CPUExecutionProvider"])
    except Exception as problem:  # the library's errors have no common base
        raise _unusable(file, "model", problem) from problem
    unknown = {model_input.name for model_input in session.get_inputs()} - _KNOWN_INPUTS
    if unknown:
        raise ModelDamaged(
            f"{_name('model', file)} asks for the input {min(unknown)!r}",
            remedy=f"Use a model whose inputs are among {', '.join(sorted(_KNOWN_INPUTS))}.",
        )
    return session


def _name(what: str, file: Path | bytes) -> str:
    return f"the {what} of {len(file):,} bytes" if isinstance(file, bytes) else f"the {what} {file}"


def _unusable(file: Path | bytes, what: str, problem: Exception) -> ModelDamaged:
    return ModelDamaged(
        f"{_name(what, file)} cannot be loaded: {str(problem)[:200]}",
        remedy=f"Give a {what} file that is whole and of the right kind.",
    )


def _pool(output: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    if output.ndim == 2:
        return output
    kept = mask[..., None].astype(np.float32)
    mean: NDArray[np.float32] = (output * kept).sum(axis=1) / kept.sum(axis=1)
    return mean


def _unit(rows: NDArray[np.float32]) -> Vectors:
    unit: Vectors = np.divide(rows, np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
    return unit


# --- Many batches side by side ---
#
# Two threads within a batch cost an eighth more processor time than one: they wait for each other at every layer. So
# many texts go through a session of one thread, with a batch for each core; what a batch gives does not depend on it.
# The second session takes as much memory as the first, and is loaded when there are many texts for the first time.

BATCHES_SIDE_BY_SIDE = 4
"""Batches for each thread from which they are run side by side. Fewer are split among the threads, one after the other:
a single text comes sooner."""
Batch = TypeVar("Batch")


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _OnDemandSession:
    """A session that is loaded when it is needed for the first time."""

    def __init__(self, load: Callable[[], onnxruntime.InferenceSession]) -> None:
        self._load = load
        self._loaded: onnxruntime.InferenceSession | None = None
        self._lock = threading.Lock()

    def load(self) -> onnxruntime.InferenceSession:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


def run_side_by_side(run: Callable[[Batch], int], batches: Iterable[Batch], *, threads: int) -> Generator[int]:
    """Run every batch in this thread and `threads - 1` others; yields what `run` returned, in this thread.

    What `run` raises is raised here. Whoever stops in the middle waits for the batches at hand, and no others begin.
    """
    waiting, done = deque(batches), queue.SimpleQueue[int]()

    def work() -> None:
        while True:
            try:
                batch = waiting.pop()  # the longest first, so that all end together
            except IndexError:
                return
            done.put(run(batch))

    if threads == 1:
        while waiting:
            yield run(waiting.popleft())
        return
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="assay-embed") as pool:
        helpers = [pool.submit(work) for _ in range(min(threads - 1, len(waiting)))]
        try:
            while True:
                try:
                    batch = waiting.pop()
                except IndexError:
                    break
                done.put(run(batch))
                yield from _take_all(done)
            for helper in helpers:
                helper.result()
        finally:
            waiting.clear()
    yield from _take_all(done)


def _take_all(done: queue.SimpleQueue[int]) -> Iterator[int]:
    with suppress(queue.Empty):
        while True:
            yield done.get_nowait()


# --- Any encoder in a folder of its own: `model.onnx` and `tokenizer.json`, mean pooling ---
#
# Its name carries a hash of everything that moves its vectors, so an exchanged file is another model.

NETWORK = "model.onnx"
TOKENIZER = "tokenizer.json"


def check_model_folder(folder: Path) -> None:
    """Refuse a folder that lacks a file of a model."""
    for name in (NETWORK, TOKENIZER):
        if not (folder / name).is_file():
            raise InputError(
                f"the folder {folder} has no {name}", remedy=f"Give a folder with {NETWORK} and {TOKENIZER}."
            )


def load_local(
    folder: Path,
    *,
    options: OnnxOptions = OnnxOptions(),  # noqa: B008 - frozen
    profile: SimilarityProfile = SimilarityProfile(),  # noqa: B008 - frozen
) -> Embedder:
    """The model in a folder."""
    check_model_folder(folder)
    # Large models keep their weights beside the network, as model.onnx.data or model.onnx_data.
    hashes = {file.name: sha256_of(file) for file in (*folder.glob(f"{NETWORK}*"), folder / TOKENIZER)}
    return OnnxEmbedder(
        model=identify_model(folder.name, hashes, longest=options.longest, pooling="mean"),
        network=folder / NETWORK,
        tokenizer=folder / TOKENIZER,
        options=options,
        profile=profile,
    )
