"""All probes together, and what is said of items besides."""

from __future__ import annotations

from collections.abc import Mapping

from tests.truth import columns, datasets, fields, flags, settings
from tests.truth.probing import Probe, collect

PROBES: Mapping[str, Probe] = collect(flags.PROBES, settings.PROBES, datasets.PROBES, fields.PROBES, columns.PROBES)
"""By item."""
