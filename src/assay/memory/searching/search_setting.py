"""What a search was asked, and what it runs on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.embedding.protocol import CrossEncoder
from assay.flags import FlagStates
from assay.index import SearchView
from assay.memory.searching.channels import QueryVector
from assay.memory.searching.modes import ModeChoice
from assay.memory.searching.options import SearchOptions
from assay.memory.sessions import History, Turn
from assay.records import Intent, Scope, SearchRequest
from assay.storage import Work


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request and everything that was decided before the store was read."""

    scope: Scope
    request: SearchRequest
    intent: Intent
    choice: ModeChoice
    vector: QueryVector | None
    now: datetime
    before: str | None = None
    """The query up to which history counts; None: all of it."""

    @property
    def identity(self) -> str:
        """The identity that a partial rollout decides by: the session, or else the principal."""
        return self.request.session_id or self.scope.principal


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a search runs on: one snapshot of the store, and the state of this process."""

    work: Work
    view: SearchView | None
    states: FlagStates
    history: History
    past: Callable[[], Sequence[Turn]]
    """Results of other searches, loaded only if the session has something to compare them with."""
    options: SearchOptions
    cross_encoder: CrossEncoder | None
