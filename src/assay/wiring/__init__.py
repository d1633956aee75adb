"""The only place that builds concrete objects from settings, one module for each kind of object.

- `stores`: open stores and checkpoints.
- `engines`: the memory with its embedder, and an engine for measuring saves.
- `search_options`: how the settings weigh and fuse what a search finds.
- `alerts`: alerts about rates that changed, sent to a webhook and a file.
- `models`: chat models and judges.
- `judge_kinds`: registers the judges that come with Assay.
- `research`: the pipeline that answers questions.
- `systems`: systems, datasets and runs.
- `referee`: systems, readers and judges of `assay bench`.
- `executors`: threads, processes or a Dask cluster.
- `system_kinds`: registers the kinds of system that come with Assay.
- `adapter_kinds`: registers adapters of frameworks, vector stores and search engines.
- `experiments`: simulations and tuning.
- `retention`: how long rows are kept, and archives.
- `variants`: other configurations of a memory's search.
- `server`: shadow runs and the ladder of a memory that serves others.
- `tracing`: OpenTelemetry spans around an engine.
- `network`: which hosts may be contacted, with which key.
- `extensions`: parts of installed packages that Assay cannot use.

A name is loaded with its module when it is first used. `retention`, `research`, `server`, `variants` and `experiments`
need the extra "memory" and import at their top. The others also work in the base install, or must not slow down a
search: they import what is optional or heavy inside the function that needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.extras import missing_extra

if TYPE_CHECKING:
    from assay.wiring.engines import flags_of, load_embedder, open_embedder, open_engine, open_remembering_embedder
    from assay.wiring.executors import (
        WorkOptions,
        connect_cluster,
        open_executor,
        remote_system,
        spread_embedder,
        spread_judges,
    )
    from assay.wiring.experiments import open_simulation, open_tunable, simulate_on_workers
    from assay.wiring.models import JudgeChoice, has_model, open_judge, open_judging, open_model
    from assay.wiring.research import open_research
    from assay.wiring.retention import run_retention
    from assay.wiring.server import ladder_of, replay_shadow, serving, shadow_of
    from assay.wiring.stores import (
        list_checkpoints,
        move_store,
        open_store,
        restore_checkpoint,
        scope_of,
        sign_ins_of,
        store_options,
    )
    from assay.wiring.systems import claim_files, corpus_settings, lookup_of, open_system, registry_of, shelf_of
    from assay.wiring.tracing import trace

_HOME = {
    "JudgeChoice": "models",
    "WorkOptions": "executors",
    "connect_cluster": "executors",
    "open_executor": "executors",
    "remote_system": "executors",
    "simulate_on_workers": "experiments",
    "spread_embedder": "executors",
    "spread_judges": "executors",
    "claim_files": "systems",
    "open_embedder": "engines",
    "corpus_settings": "systems",
    "flags_of": "engines",
    "has_model": "models",
    "ladder_of": "server",
    "list_checkpoints": "stores",
    "load_embedder": "engines",
    "lookup_of": "systems",
    "move_store": "stores",
    "open_engine": "engines",
    "open_remembering_embedder": "engines",
    "open_judge": "models",
    "open_judging": "models",
    "open_model": "models",
    "open_research": "research",
    "open_simulation": "experiments",
    "open_store": "stores",
    "open_system": "systems",
    "open_tunable": "experiments",
    "registry_of": "systems",
    "replay_shadow": "server",
    "restore_checkpoint": "stores",
    "run_retention": "retention",
    "scope_of": "stores",
    "serving": "server",
    "shadow_of": "server",
    "shelf_of": "systems",
    "sign_ins_of": "stores",
    "store_options": "stores",
    "trace": "tracing",
}
"""The module of each name."""

__all__ = [
    "JudgeChoice",
    "WorkOptions",
    "claim_files",
    "connect_cluster",
    "corpus_settings",
    "flags_of",
    "has_model",
    "ladder_of",
    "list_checkpoints",
    "load_embedder",
    "lookup_of",
    "move_store",
    "open_embedder",
    "open_engine",
    "open_executor",
    "open_judge",
    "open_judging",
    "open_model",
    "open_remembering_embedder",
    "open_research",
    "open_simulation",
    "open_store",
    "open_system",
    "open_tunable",
    "registry_of",
    "remote_system",
    "replay_shadow",
    "restore_checkpoint",
    "run_retention",
    "scope_of",
    "serving",
    "shadow_of",
    "shelf_of",
    "sign_ins_of",
    "simulate_on_workers",
    "spread_embedder",
    "spread_judges",
    "store_options",
    "trace",
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
