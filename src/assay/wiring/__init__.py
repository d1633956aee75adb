"""The only place that builds concrete objects from settings, one module for each kind of thing built.

`stores` opens stores, `embedders` what makes vectors, `engines` the memory, `systems` what is evaluated, `tuning` what
is tuned, `keeping` how long what is kept, `online` what runs beside a memory in use, `tracing` spans of what it does,
`server` a memory that serves others, `shelves` the files that a caller may see, `research` what answers questions.

A name is loaded with its module when it is first used. `keeping`, `online`, `research` with its parts, `server`,
`simulating` and `tuning` need the extra "memory" and import at their top. The others serve the base install too, or a
search that should not wait: they import what is optional or heavy inside the function that needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.extras import missing_extra

if TYPE_CHECKING:
    from assay.wiring.embedders import configured_embedder, load_embedder
    from assay.wiring.engines import flags_of, open_engine
    from assay.wiring.keeping import run_retention
    from assay.wiring.models import JudgeChoice, has_model, open_judge, open_judging, open_model
    from assay.wiring.online import interleaved_search, ladder_of, shadow_of, treatment_of
    from assay.wiring.research import open_research
    from assay.wiring.server import serving
    from assay.wiring.shelves import claim_files, shelf_of
    from assay.wiring.simulating import open_simulation
    from assay.wiring.stores import (
        list_checkpoints,
        open_store,
        restore_checkpoint,
        scope_of,
        sign_ins_of,
        store_options,
    )
    from assay.wiring.systems import corpus_settings, lookup_of, open_system, registry_of
    from assay.wiring.tracing import trace
    from assay.wiring.tuning import open_tunable

_HOME = {
    "JudgeChoice": "models",
    "claim_files": "shelves",
    "configured_embedder": "embedders",
    "corpus_settings": "systems",
    "flags_of": "engines",
    "has_model": "models",
    "interleaved_search": "online",
    "ladder_of": "online",
    "list_checkpoints": "stores",
    "load_embedder": "embedders",
    "lookup_of": "systems",
    "open_engine": "engines",
    "open_judge": "models",
    "open_judging": "models",
    "open_model": "models",
    "open_research": "research",
    "open_simulation": "simulating",
    "open_store": "stores",
    "open_system": "systems",
    "open_tunable": "tuning",
    "registry_of": "systems",
    "restore_checkpoint": "stores",
    "run_retention": "keeping",
    "scope_of": "stores",
    "serving": "server",
    "shadow_of": "online",
    "shelf_of": "shelves",
    "sign_ins_of": "stores",
    "store_options": "stores",
    "trace": "tracing",
    "treatment_of": "online",
}
"""The module of each name."""

__all__ = [
    "JudgeChoice",
    "claim_files",
    "configured_embedder",
    "corpus_settings",
    "flags_of",
    "has_model",
    "interleaved_search",
    "ladder_of",
    "list_checkpoints",
    "load_embedder",
    "lookup_of",
    "open_engine",
    "open_judge",
    "open_judging",
    "open_model",
    "open_research",
    "open_simulation",
    "open_store",
    "open_system",
    "open_tunable",
    "registry_of",
    "restore_checkpoint",
    "run_retention",
    "scope_of",
    "serving",
    "shadow_of",
    "shelf_of",
    "sign_ins_of",
    "store_options",
    "trace",
    "treatment_of",
]


if not TYPE_CHECKING:  # a checker would take every name for one that exists

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'assay.wiring' has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(f"assay.wiring.{_HOME[name]}"), name)
        except ModuleNotFoundError as problem:
            # Otherwise a program in the base install would be told of a package it never heard of.
            raise missing_extra(problem) or problem from problem
