"""The real model, loaded once for each worker."""

from __future__ import annotations

import pytest

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder


@pytest.fixture(scope="session")
def bundled() -> Embedder:
    return load_bundled(threads=1)
