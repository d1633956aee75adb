"""Registries as they were: what a test registers is gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from assay.evaluation.gating.registering import GATE_RULES
from assay.judging.registering import JUDGES
from assay.metrics.registering import METRICS
from assay.registry import Registry
from assay.systems.registering import SYSTEMS


@pytest.fixture(autouse=True)
def restored_registries() -> Iterator[None]:
    """Take out what a test added."""
    registries: tuple[Registry[Any], ...] = (METRICS, SYSTEMS, JUDGES, GATE_RULES)
    before = [registry.save() for registry in registries]
    yield
    for registry, saved in zip(registries, before, strict=True):
        registry.restore(saved)
