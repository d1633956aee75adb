"""Parts of installed packages that Assay cannot use, over all registries."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

_REGISTRIES = {
    "assay.metrics.catalog": "METRICS",
    "assay.systems.registry": "SYSTEMS",
    "assay.evaluation.gating.rules": "GATE_RULES",
    "assay.evaluation.datasets.formats": "DATASET_FORMATS",
    "assay.judging.registry": "JUDGES",
    "assay.memory.searching.channels": "CHANNELS",
}
_OF_MEMORY = ("assay.judging.registry", "assay.memory.searching.channels")
"""Those that need the extra `memory`."""


def extension_problems() -> list[str]:
    """Return one line for each part of an installed package that cannot be loaded."""
    has_memory = find_spec("sqlalchemy") is not None
    return [
        problem
        for module, name in _REGISTRIES.items()
        if has_memory or module not in _OF_MEMORY
        for problem in getattr(importlib.import_module(module), name).problems()
    ]
