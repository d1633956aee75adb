"""Chance for tests of statistics: always the same, never shared. And patience: a busy machine is no failure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)
