"""The only place that builds concrete objects from settings, one module for each kind of thing built.

`stores` opens stores, `embedders` what makes vectors, `engines` the memory, `systems` what is evaluated, `tuning` what
is tuned, `keeping` how long what is kept, `online` what runs beside a memory in use, `tracing` spans of what it does,
`server` a memory that serves others, `shelves` the files that a caller may see, `research` what answers questions.
What is heavy or optional is imported inside the function that needs it: the base install has no SQLAlchemy, and
`assay --help` must not wait for it.
"""

from __future__ import annotations

from assay.wiring.embedders import configured_embedder, load_embedder
from assay.wiring.engines import flags_of, open_engine
from assay.wiring.keeping import create_checkpoint, delete_checkpoint, restore_archive, run_retention
from assay.wiring.models import JudgeChoice, has_model, open_judge, open_judging, open_model
from assay.wiring.online import interleaved_search, ladder_of, shadow_of, treatment_of
from assay.wiring.research import open_research
from assay.wiring.server import serving
from assay.wiring.shelves import claim_files, shelf_of
from assay.wiring.simulating import open_simulation
from assay.wiring.stores import list_checkpoints, open_store, restore_checkpoint, scope_of, sign_ins_of, store_options
from assay.wiring.systems import corpus_settings, lookup_of, open_system, registry_of
from assay.wiring.tracing import trace
from assay.wiring.tuning import open_tunable

__all__ = [
    "JudgeChoice",
    "claim_files",
    "configured_embedder",
    "corpus_settings",
    "create_checkpoint",
    "delete_checkpoint",
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
    "restore_archive",
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
