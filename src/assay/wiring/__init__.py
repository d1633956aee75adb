"""The only place that builds concrete objects from settings, one module for each kind of thing built.

`stores` opens stores, `embedders` what makes vectors, `engines` the memory, `systems` what is evaluated, `extras`
refuses what is not installed. What is heavy or optional is imported inside the function that needs it: the base install
has no SQLAlchemy, and `assay --help` must not wait for it.
"""

from __future__ import annotations

from assay.wiring.embedders import configured_embedder, load_embedder
from assay.wiring.engines import flags_of, open_engine
from assay.wiring.extras import need_extra
from assay.wiring.stores import list_checkpoints, open_store, restore_checkpoint, scope_of, store_options
from assay.wiring.systems import corpus_settings, lookup_of, open_system, registry_of

__all__ = [
    "configured_embedder",
    "corpus_settings",
    "flags_of",
    "list_checkpoints",
    "load_embedder",
    "lookup_of",
    "need_extra",
    "open_engine",
    "open_store",
    "open_system",
    "registry_of",
    "restore_checkpoint",
    "scope_of",
    "store_options",
]
