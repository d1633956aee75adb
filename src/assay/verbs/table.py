"""The table of verbs: `FAMILIES` for surfaces with a place for each family, `VERBS` for those that call by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.verbs import (
    access,
    analysis,
    auditing,
    datasets,
    documents,
    files,
    flags,
    health,
    judgments,
    ladder,
    learning,
    maintenance,
    memory,
    metrics,
    prompts,
    reading,
    research,
    runs,
    searching,
    sessions,
    store_audits,
    traces,
    usage,
    variants,
)
from assay.verbs.verb import Family, Verb

FAMILIES: tuple[Family, ...] = (
    access.FAMILY,
    analysis.FAMILY,
    auditing.FAMILY,
    datasets.FAMILY,
    documents.FAMILY,
    files.FAMILY,
    flags.FAMILY,
    health.FAMILY,
    judgments.FAMILY,
    ladder.FAMILY,
    learning.FAMILY,
    maintenance.FAMILY,
    memory.FAMILY,
    metrics.FAMILY,
    prompts.FAMILY,
    reading.FAMILY,
    research.FAMILY,
    runs.FAMILY,
    searching.FAMILY,
    sessions.FAMILY,
    store_audits.FAMILY,
    traces.FAMILY,
    usage.FAMILY,
    variants.FAMILY,
)
VERBS: Mapping[str, Verb[Any, Any]] = {verb.name: verb for family in FAMILIES for verb in family.verbs}
"""Every verb by its name."""
