"""Making a graph of vectors: in memory, or in a file by a program that leaves this process free (`graph_program`).

Both take vectors in the order of their rows, in a thread, so that words are analysed meanwhile.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from assay.index.native import Index
from assay.index.options import IndexOptions
from assay.index.scoring import Halves

_PROGRAM = Path(__file__).with_name("graph_program.py")
_COUNT_BYTES = 8
NICENESS = 5
"""How far the program steps back."""
_POLL_S = 0.05


class GrowingGraph(Protocol):
    """A graph that takes vectors; one thread at a time."""

    def add(self, vectors: Halves) -> None:
        """Take the vectors of the next rows."""
        ...

    def finish(self, go_on: Callable[[], None]) -> Index:
        """Return the graph, to be searched; `go_on` is called now and then and raises to give up."""
        ...

    def give_up(self) -> None:
        """Let go what is held; nothing after `finish`."""
        ...


class GraphInMemory:
    """A graph that lies in no file."""

    def __init__(self, dimension: int, options: IndexOptions) -> None:
        self._graph = Index(**_settings(dimension, options), enable_key_lookups=False)

    def add(self, vectors: Halves) -> None:
        """Take the vectors of the next rows."""
        first = len(self._graph)
        keys = np.arange(first, first + len(vectors), dtype=np.uint64)
        # One thread: the same vectors in the same order make the same graph.
        self._graph.add(keys, vectors.astype(np.float32), threads=1)

    def finish(self, go_on: Callable[[], None]) -> Index:  # noqa: ARG002 - nothing is left to wait for
        """Return the graph."""
        return self._graph

    def give_up(self) -> None:
        """Nothing is held that would not go by itself."""


class GraphInFile:
    """A graph that a program of its own writes into a file, beginning with another file's or with none."""

    def __init__(
        self, target: Path, dimension: int, options: IndexOptions, *, source: Path | None = None, threads: int = 1
    ) -> None:
        self._target = target
        asked = {
            "target": str(target),
            "source": None if source is None else str(source),
            "settings": _settings(dimension, options),
            # One thread: the same vectors in the same order make the same graph.
            "threads": threads,
            "niceness": NICENESS,
        }
        # -P, since this folder has names that would stand before those of libraries.
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no user input on its command line
            [sys.executable, "-P", str(_PROGRAM), json.dumps(asked)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C is for this process, which then ends the program.
            start_new_session=True,
        )

    def add(self, vectors: Halves) -> None:
        """Take the vectors of the next rows."""
        if len(vectors):
            self._send(len(vectors).to_bytes(_COUNT_BYTES, "little"))
            self._send(np.ascontiguousarray(vectors, np.float16).data.cast("B"))

    def finish(self, go_on: Callable[[], None]) -> Index:
        """Wait for the file, and return the graph in it."""
        self.complete(go_on)
        return open_graph(self._target)

    def complete(self, go_on: Callable[[], None]) -> None:
        """Wait until the file is written; whoever wants the graph opens it."""
        self._send((0).to_bytes(_COUNT_BYTES, "little"))
        while True:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_POLL_S)
                break
            go_on()
        if self._process.returncode:
            self._fail()
        self.give_up()

    def give_up(self) -> None:
        """End the program if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _send(self, data: bytes | memoryview) -> None:
        if self._process.stdin is None:
            raise ValueError("the program has no input")
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError:
            self._fail()

    def _fail(self) -> NoReturn:
        """Say what the program said last."""
        said = b"" if self._process.stderr is None else self._process.stderr.read()
        lines = said.decode("utf-8", "replace").strip().splitlines()
        code = self._process.wait()
        self.give_up()
        because = lines[-1] if lines else f"its program ended with {code}"
        raise OSError(errno.EIO, f"the graph of vectors cannot be written: {because}", str(self._target))


def open_graph(path: Path) -> Index:
    """The graph of a file, mapped; OSError when it is none."""
    # It is asked by vector only: a table of the keys would take ten times as long to make as all else.
    graph = Index.restore(str(path), view=True, enable_key_lookups=False)
    if graph is None:
        raise OSError(errno.EIO, "the graph cannot be read", str(path))
    return graph


def _settings(dimension: int, options: IndexOptions) -> dict[str, Any]:
    return {
        "ndim": dimension,
        "metric": "ip",
        "dtype": "i8",
        "connectivity": options.connectivity,
        "expansion_add": options.expansion_build,
        "expansion_search": options.expansion_search,
    }
