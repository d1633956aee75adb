"""Fields of routes that are not made from verbs: those that requests share, and ids that stand in paths."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from assay.verbs.fields import NAME, Id, Moment, SessionId, Share, YesNo

__all__ = ["Id", "IdInPath", "Moment", "SessionId", "Share", "YesNo"]

IdInPath = Annotated[str, Path(min_length=1, max_length=128, pattern=NAME)]
