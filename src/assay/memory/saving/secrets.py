"""Secrets are masked before anything is stored, embedded or compared: `[masked: AWS access key]` stands in their place.

What a secret is, `assay.text.secrets` knows; here every field of a draft is looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.records import Draft, Mask
from assay.text.secrets import mask_json, mask_text

__all__ = ["mask", "mask_text"]


def mask(draft: Draft) -> tuple[Draft, tuple[Mask, ...]]:
    """Return the draft without its secrets, and what was masked where. A draft without any comes back as it is."""
    masks: list[Mask] = []
    fields: dict[str, Any] = {
        name: mask_text(getattr(draft, name), name, masks)
        for name in ("title", "body", "rel_path", "folder", "context_type", "entity_type")
    }
    for name in ("triggers", "tags"):
        fields[name] = tuple(mask_text(text, name, masks) for text in getattr(draft, name))
    if draft.source_id is not None:
        fields["source_id"] = mask_text(draft.source_id, "source_id", masks)
    fields["metadata"] = mask_json(draft.metadata, "metadata", masks)
    return (replace(draft, **fields), tuple(masks)) if masks else (draft, ())
