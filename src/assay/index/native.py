"""The compiled vector index, loaded so that it can live beside the embedder's runtime, and what it frees given back.

The wheel of usearch carries a C++ library of its own. Loaded before the system's, it gives its symbols to all C++ code
that is loaded later, and onnxruntime then ends the process with a segmentation fault. So the system's is loaded first.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

if sys.platform == "linux":
    # A machine without it has no onnxruntime to protect either.
    with suppress(OSError):
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)

from usearch.index import Index, search

__all__ = ["Index", "give_back", "search"]


def give_back() -> None:
    """Let the system have the memory that a large piece of work has left behind: the C library keeps it otherwise."""
    if sys.platform == "linux":
        # Other C libraries have no such call.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
