"""Assay measures, explains and safely improves what an agent remembers and what a RAG system retrieves.

Public names are loaded when first used, so that `import assay` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api import Dataset, Memory, Research, compare, evaluate, gate, measure, open_store, report, why
    from assay.client import Client
    from assay.errors import AssayError
    from assay.records import Scope
    from assay.settings import Settings, load_settings

_HOME = {
    "AssayError": "assay.errors",
    "Client": "assay.client",
    "Dataset": "assay.api",
    "Memory": "assay.api",
    "Research": "assay.api",
    "Scope": "assay.records",
    "Settings": "assay.settings",
    "compare": "assay.api",
    "evaluate": "assay.api",
    "gate": "assay.api",
    "load_settings": "assay.settings",
    "measure": "assay.api",
    "open_store": "assay.api",
    "report": "assay.api",
    "why": "assay.api",
}

__all__ = [
    "AssayError",
    "Client",
    "Dataset",
    "Memory",
    "Research",
    "Scope",
    "Settings",
    "compare",
    "evaluate",
    "gate",
    "load_settings",
    "measure",
    "open_store",
    "report",
    "why",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'assay' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
