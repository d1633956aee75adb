"""A unit of work: every repository over one connection, one scope, one transaction.

Repositories that neither a search nor a save needs are imported where they are first asked for: `assay search` is one
short process, and waits for every module that it loads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import Connection

from assay.clock import Clock
from assay.records import Scope
from assay.storage.repositories.access import AccessTokens, FlagRows, LoginSessions, OwnedFiles, RequestKeys
from assay.storage.repositories.base import Bound, Meta, open_savepoint
from assay.storage.repositories.chunks import Indexed, TriggerRows
from assay.storage.repositories.coordination import Leases, LiveQuestionRows, SharedLimits
from assay.storage.repositories.edges import Edges
from assay.storage.repositories.evidence import (
    AbTests,
    Feedback,
    Interleavings,
    Judgments,
    LadderSteps,
    Lists,
    Results,
    ShadowRuns,
    VoteRows,
)
from assay.storage.repositories.facts import Facts
from assay.storage.repositories.history import Audit, Changes
from assay.storage.repositories.learning import LearnedTermRows, LearningRows
from assay.storage.repositories.memories import Memories
from assay.storage.repositories.passage_filters import FilteredPassages
from assay.storage.repositories.passages import Passages
from assay.storage.repositories.prepared import driver_of
from assay.storage.repositories.queries import Queries, Usage
from assay.storage.repositories.sessions import KnownFiles, Saves, SessionRows, Tasks
from assay.storage.repositories.stems import Stems
from assay.storage.repositories.vectors import Vectors

if TYPE_CHECKING:
    from assay.storage.repositories.erasure import Erasure, StoredSecrets
    from assay.storage.repositories.judging import JudgeRows, PromptRows, ReplyRows, SpendingRows
    from assay.storage.repositories.memory_lists import MemoryLists
    from assay.storage.repositories.research import ResearchRows
    from assay.storage.repositories.retention import Retention
    from assay.storage.repositories.tenants import Tenants
    from assay.storage.repositories.traces import Traces

Made = TypeVar("Made")


class made_once(Generic[Made]):  # noqa: N801 - named like `property`, which it stands beside
    """A property that is computed once; without the lock of `cached_property`, since one thread has a unit of work."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Made:
        made = instance.__dict__[self._name] = self._make(instance)
        return made


class Work:
    """All repositories of one scope. Made by `Store.reading` and `Store.writing`."""

    def __init__(self, connection: Connection, scope: Scope, clock: Clock) -> None:
        self._bound = Bound(connection=connection, scope=scope, clock=clock, driver=driver_of(connection))
        self.needs_savepoints = self._bound.driver is None
        """Whether a failed statement ends the transaction unless a savepoint was opened before it."""

    @property
    def scope(self) -> Scope:
        """The tenant and principal of these rows."""
        return self._bound.scope

    def is_of(self, connection: Connection, scope: Scope) -> bool:
        """Whether it reads through this connection in this scope."""
        return self._bound.connection is connection and self._bound.scope == scope

    def now(self) -> datetime:
        """The moment by the store's clock."""
        return self._bound.clock.now()

    def open_savepoint(self) -> AbstractContextManager[object]:
        """Open a savepoint, so that a statement which fails inside leaves this unit of work usable."""
        return open_savepoint(self._bound.connection)

    @made_once
    def memories(self) -> Memories:
        """Memories and their chunks."""
        return Memories(self._bound)

    @made_once
    def memory_lists(self) -> MemoryLists:
        """Memories as sorted lists, and what waits for a decision."""
        from assay.storage.repositories.memory_lists import MemoryLists

        return MemoryLists(self._bound)

    @made_once
    def passages(self) -> Passages:
        """Chunks as search and derived indexes read them."""
        return Passages(self._bound)

    @made_once
    def vectors(self) -> Vectors:
        """Vectors of chunks, by model."""
        return Vectors(self._bound)

    @made_once
    def stems(self) -> Stems:
        """The word index in PostgreSQL, for tenants that are indexed there."""
        return Stems(self._bound)

    @made_once
    def filtered(self) -> FilteredPassages:
        """Passages by filter, for tenants that are indexed in PostgreSQL."""
        return FilteredPassages(self._bound)

    @made_once
    def triggers(self) -> TriggerRows:
        """Trigger phrases."""
        return TriggerRows(self._bound)

    @made_once
    def facts(self) -> Facts:
        """What memories state, and until when it holds."""
        return Facts(self._bound)

    @made_once
    def saves(self) -> Saves:
        """What saves decided."""
        return Saves(self._bound)

    @made_once
    def indexed(self) -> Indexed:
        """How documents were split and embedded."""
        return Indexed(self._bound)

    @made_once
    def flags(self) -> FlagRows:
        """Feature flags as they were switched."""
        return FlagRows(self._bound)

    @made_once
    def edges(self) -> Edges:
        """Edges between memories."""
        return Edges(self._bound)

    @made_once
    def changes(self) -> Changes:
        """The change log."""
        return Changes(self._bound)

    @made_once
    def audit(self) -> Audit:
        """The audit log."""
        return Audit(self._bound)

    @made_once
    def meta(self) -> Meta:
        """Facts about the store itself."""
        return Meta(self._bound)

    @made_once
    def queries(self) -> Queries:
        """The query log."""
        return Queries(self._bound)

    @made_once
    def judgments(self) -> Judgments:
        """Grades."""
        return Judgments(self._bound)

    @made_once
    def results(self) -> Results:
        """Results of runs."""
        return Results(self._bound)

    @made_once
    def feedback(self) -> Feedback:
        """Feedback events."""
        return Feedback(self._bound)

    @made_once
    def ab_tests(self) -> AbTests:
        """Sequential tests."""
        return AbTests(self._bound)

    @made_once
    def shadow_runs(self) -> ShadowRuns:
        """Shadow comparisons."""
        return ShadowRuns(self._bound)

    @made_once
    def judging(self) -> JudgeRows:
        """Inputs and verdicts of judges, and their calibrations."""
        from assay.storage.repositories.judging import JudgeRows

        return JudgeRows(self._bound)

    @made_once
    def model_replies(self) -> ReplyRows:
        """Cached replies of models."""
        from assay.storage.repositories.judging import ReplyRows

        return ReplyRows(self._bound)

    @made_once
    def spending(self) -> SpendingRows:
        """The cost of calls to models."""
        from assay.storage.repositories.judging import SpendingRows

        return SpendingRows(self._bound)

    @made_once
    def sessions(self) -> SessionRows:
        """Sessions, as recorded in the query log and the feedback."""
        return SessionRows(self._bound)

    @made_once
    def tasks(self) -> Tasks:
        """Tasks with their preflight and postflight."""
        return Tasks(self._bound)

    @made_once
    def files(self) -> KnownFiles:
        """Files outside the database that hold rows."""
        return KnownFiles(self._bound)

    @made_once
    def learning(self) -> LearningRows:
        """Votes, and what learning changed."""
        return LearningRows(self._bound)

    @made_once
    def learned_terms(self) -> LearnedTermRows:
        """What memories learned from use."""
        return LearnedTermRows(self._bound)

    @made_once
    def usage(self) -> Usage:
        """Log and feedback as learning reads them."""
        return Usage(self._bound)

    @made_once
    def retention(self) -> Retention:
        """Rows that are old enough to leave."""
        from assay.storage.repositories.retention import Retention

        return Retention(self._bound)

    @made_once
    def votes(self) -> VoteRows:
        """Votes of sequential tests."""
        return VoteRows(self._bound)

    @made_once
    def interleavings(self) -> Interleavings:
        """Merged lists that were shown."""
        return Interleavings(self._bound)

    @made_once
    def ladder_steps(self) -> LadderSteps:
        """Steps of changes on their way up."""
        return LadderSteps(self._bound)

    @made_once
    def research(self) -> ResearchRows:
        """Answered questions with their evaluation."""
        from assay.storage.repositories.research import ResearchRows

        return ResearchRows(self._bound)

    @made_once
    def traces(self) -> Traces:
        """Traces of other systems."""
        from assay.storage.repositories.traces import Traces

        return Traces(self._bound)

    @made_once
    def prompts(self) -> PromptRows:
        """Versions of prompts."""
        from assay.storage.repositories.judging import PromptRows

        return PromptRows(self._bound)

    @made_once
    def access_tokens(self) -> AccessTokens:
        """Tokens that open a server."""
        return AccessTokens(self._bound)

    @made_once
    def tenants(self) -> Tenants:
        """Every tenant of the store."""
        from assay.storage.repositories.tenants import Tenants

        return Tenants(self._bound)

    @made_once
    def login_sessions(self) -> LoginSessions:
        """Browsers that signed in."""
        return LoginSessions(self._bound)

    @made_once
    def lists(self) -> Lists:
        """Long lists in pages."""
        return Lists(self._bound)

    @made_once
    def request_keys(self) -> RequestKeys:
        """Writes that callers named."""
        return RequestKeys(self._bound)

    @made_once
    def owned_files(self) -> OwnedFiles:
        """Runs, datasets, label journals and reports that belong to this tenant."""
        return OwnedFiles(self._bound)

    @made_once
    def leases(self) -> Leases:
        """Leases of background work, of the whole store."""
        return Leases(self._bound)

    @made_once
    def shared_limits(self) -> SharedLimits:
        """Rate limits of all servers, of the whole store."""
        return SharedLimits(self._bound)

    @made_once
    def live_questions(self) -> LiveQuestionRows:
        """Questions that are being answered, with their events."""
        return LiveQuestionRows(self._bound)

    @made_once
    def stored_secrets(self) -> StoredSecrets:
        """Secrets that an older version stored in clear."""
        from assay.storage.repositories.erasure import StoredSecrets

        return StoredSecrets(self._bound)

    @made_once
    def erasure(self) -> Erasure:
        """Erasing rows in every table."""
        from assay.storage.repositories.erasure import Erasure

        return Erasure(self._bound)
