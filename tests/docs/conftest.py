from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.registries.kept import kept_registries


@pytest.fixture(autouse=True)
def restored_registries() -> Iterator[None]:
    """Take out what an example of a guide registered."""
    with kept_registries():
        yield
