"""Values of the domain as JSON: what `--json` prints of a record, field by field, nothing renamed."""

from __future__ import annotations

from assay.records.fields import plain

__all__ = ["plain"]
