"""Registries as they were: what a test or an example registers is gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assay.embedding.registry import EMBEDDERS
from assay.evaluation.datasets.formats import DATASET_FORMATS
from assay.evaluation.gating.rules import GATE_RULES
from assay.judging.registry import JUDGES
from assay.memory.searching.channels import CHANNELS
from assay.metrics.catalog import METRICS
from assay.registry import Registry
from assay.systems.registry import SYSTEMS

REGISTRIES: tuple[Registry[Any], ...] = (METRICS, SYSTEMS, JUDGES, GATE_RULES, DATASET_FORMATS, CHANNELS, EMBEDDERS)


@contextmanager
def kept_registries() -> Iterator[None]:
    """Take out what was added meanwhile."""
    before = [registry.save() for registry in REGISTRIES]
    try:
        yield
    finally:
        for registry, saved in zip(REGISTRIES, before, strict=True):
            registry.restore(saved)
