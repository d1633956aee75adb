"""Two compiled libraries in one process."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("order", [("assay.index", "onnxruntime"), ("onnxruntime", "assay.index")])
def test_the_vector_index_and_the_embedders_runtime_load_in_either_order(order: tuple[str, str]) -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"import {order[0]}, {order[1]}; print('alive')"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.stdout == "alive\n", told.stderr
