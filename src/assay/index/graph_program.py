"""The program that makes or grows a graph of vectors; `graphs` starts it by its file, so that it loads very little.

usearch keeps Python's lock while it reads or writes a graph: a fifth of a second for 100,000 vectors, seconds for
millions. In the process of a server no search could go on meanwhile, so this is a process of its own.

Its input is blocks: how many vectors, as eight bytes, then the vectors as float16. A block of none says that all have
come: the graph is written and the program ends. An input that ends before that came from somebody who is gone.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import BinaryIO

import numpy as np
from usearch.index import Index

COUNT_BYTES = 8


def main() -> None:
    """Read vectors from the standard input until all have come, then write the graph."""
    asked = json.loads(sys.argv[1])
    _step_back(asked["niceness"])
    graph = Index(**asked["settings"], enable_key_lookups=False)
    if asked["source"] is not None:
        graph.load(asked["source"])
        graph.expansion_add = asked["settings"]["expansion_add"]  # type: ignore[misc]  # its setter has no type
    while count := int.from_bytes(_read(sys.stdin.buffer, COUNT_BYTES), "little"):
        rows = np.frombuffer(_read(sys.stdin.buffer, count * asked["settings"]["ndim"] * 2), np.float16)
        keys = np.arange(len(graph), len(graph) + count, dtype=np.uint64)
        graph.add(keys, rows.reshape(count, -1).astype(np.float32), threads=asked["threads"])
    graph.save(asked["target"])


def _read(source: BinaryIO, size: int) -> bytes:
    found = source.read(size)
    if len(found) < size:
        sys.exit("the vectors stopped coming")
    return found


def _step_back(niceness: int) -> None:
    """Give searches priority: making a graph takes seconds of a core and is not urgent."""
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(niceness)


if __name__ == "__main__":
    main()
