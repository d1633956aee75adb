"""The whole error tree. Every message names the value at fault; every remedy is what to do next.

AssayError
  InputError              the caller can fix it (exit 3)
    BadValue              a value no store can keep: NaN, lone surrogate, beyond 64 bit, wrong shape
    SettingError          an unknown key, a value of the wrong kind, an unreadable settings file
      SettingNotApproved  a file that the user did not approve names an address, a key variable or a program
      AddressRefused      offline is on, and the address is not a configured one
    RecordNotFound        nothing is stored under that id in this scope
    RecordExists          that id or key is already taken in this scope
    NotAllowed            this caller may not do that to what is stored there
      AccessTooLow        it needs more access than the caller has, or a person
      PersonNeeded        a program tried what only a person may do
    CheckpointNotFound    no checkpoint has that id or name
    TargetNotEmpty        a store cannot be moved to a place that holds rows already
    MissingExtra          an optional part of Assay is not installed
    UnknownMetric         no metric, parameter or value has that name; near names are given
    NameTaken             two metrics, systems, judges, ... were registered under one name; both origins are given
    ExtensionFailed       code that a package or program added raised, or returned something that cannot be used
    UnknownFlag           no feature flag has that name; near names are given
    MalformedFile         a file cannot be read as what it should be; the line and what was expected are given
    NothingMeasured       there is no case a value could be computed from (exit 2)
    UnknownSystem         no system under test has that name, or its description cannot be read
    RunNotFound           no run has that id or name, or it was not finished
    NotCovered            the index does not hold what the dataset needs (exit 2)
    UnresolvedAnchors     gold anchors name places that the notes no longer have (exit 2)
    NotReady              something has to happen first; what is missing is named (exit 2)
    NotComparable         two runs were measured with different instruments; the field is named (exit 2)
    NoBaseline            the baseline file does not exist or is not a baseline (exit 2)
    BrokenSeal            a file of a run or a baseline was changed after Assay wrote it (exit 2)
  StorageError            the store cannot do it now (exit 4)
    StoreNotFound         there is no store at that place yet
    NotAStore             the file, folder or address is something else
    StoreBusy             another process holds the write lock for longer than the time allowed
    StoreReadOnly         the file, folder or server accepts no writes
    StoreUnavailable      the file cannot be opened, or PostgreSQL does not answer
    StoreFull             no space is left where the store lives
    StoreFault            the disk or server failed in the middle of an operation
    StoreCorrupt          the content is damaged
    OtherModel            a vector of one model was to be compared with those of another
    SearchTimeout         a full-text question took longer than it was allowed
    StoreClosed           used after close, or carried into a forked process
    SchemaTooNew          written by a newer Assay
    SchemaTooOld          written by an older Assay, and this call was not to change it
    SchemaChanged         another process migrated or restored the store while it was open
    MigrationFailed       the schema could not be brought up to date; the old one is untouched
    ExtensionMissing      PostgreSQL lacks pgvector
    CheckpointFailed      a checkpoint could not be made, verified or restored; nothing was replaced
    MoveFailed            a moved store is not the same as its source; the target is as it was
  ModelError              a model cannot do it now (exit 4)
    ModelDamaged          a model's file is not what it should be: damaged, exchanged or of another kind
    EndpointUnavailable   an endpoint refused, failed or did not answer in time
    EndpointMisbehaved    an endpoint answered with something that cannot be used
    BudgetExhausted       a call could cost more than is left of the budget; it was not made (exit 2)
  RunFailed               a run cannot go on: its files cannot be written, or its system is away; finished cases are
                          kept (exit 4)
  ClusterFailed           a cluster cannot go on: no worker is left that can do the work, or its scheduler is gone;
                          what was finished is kept (exit 4)
  ReportFailed            a report cannot be written; the one that was there is untouched (exit 4)
  ServerBusy              more calls wait than the server takes on (exit 4)
  RequestTooCostly        a request used more processor time than it may (exit 4)
  ChannelUnavailable      one channel of the search is not available now; the search goes on with the others (exit 4)

`code` is the stable name a machine matches on: it is the class name in snake case.
"""

from __future__ import annotations

import re
from typing import ClassVar


class AssayError(Exception):
    """Base of everything Assay raises on purpose."""

    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, *, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    @property
    def code(self) -> str:
        """The stable name of this kind of error, such as `store_busy`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def as_json(self) -> dict[str, dict[str, str]]:
        """The one shape an error has on every surface."""
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy}}

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments are lost by the default pickling, and errors cross process pools.
        return (_rebuild, (type(self), self.message, self.remedy))


def _rebuild(kind: type[AssayError], message: str, remedy: str) -> AssayError:
    return kind(message, remedy=remedy)


class InputError(AssayError):
    """The caller can fix it."""

    exit_code = 3


class BadValue(InputError):
    """A value no store can keep: NaN, a lone surrogate, beyond 64 bit, of the wrong shape."""


class SettingError(InputError):
    """An unknown settings key, a value of the wrong kind, or an unreadable settings file."""


class SettingNotApproved(SettingError):
    """A settings file that the user did not approve names an address, a key variable or a program."""


class AddressRefused(SettingError):
    """Offline is on, and the address is not a configured one."""


class RecordNotFound(InputError):
    """Nothing is stored under that id in this scope."""


class RecordExists(InputError):
    """That id or key is already taken in this scope."""


class NotAllowed(InputError):
    """This caller may not do that to what is stored there."""


class AccessTooLow(NotAllowed):
    """It needs more access than the caller has, or a person."""


class PersonNeeded(NotAllowed):
    """A program tried what only a person may do."""


class CheckpointNotFound(InputError):
    """No checkpoint has that id or name."""


class TargetNotEmpty(InputError):
    """A store cannot be moved to a place that holds rows already."""


class MissingExtra(InputError):
    """An optional part of Assay is not installed."""


class UnknownMetric(InputError):
    """No metric, parameter or value has that name."""


class NameTaken(InputError):
    """Two things were registered under one name."""


class ExtensionFailed(InputError):
    """A metric, judge, gate rule or other part that was added raised, or returned something that cannot be used."""


class UnknownFlag(InputError):
    """No feature flag has that name."""


class MalformedFile(InputError):
    """A file cannot be read as what it should be."""


class NothingMeasured(InputError):
    """There is no case a value could be computed from."""

    exit_code = 2


class UnresolvedAnchors(InputError):
    """Gold anchors name places that the notes no longer have."""

    exit_code = 2


class UnknownSystem(InputError):
    """No system under test has that name, or its description cannot be read."""


class RunNotFound(InputError):
    """No run has that id or name, or it was not finished."""


class NotCovered(InputError):
    """The index does not hold what the dataset needs."""

    exit_code = 2


class NotReady(InputError):
    """Something has to happen first."""

    exit_code = 2


class NotComparable(InputError):
    """Two runs were measured with different instruments."""

    exit_code = 2


class NoBaseline(InputError):
    """The baseline file does not exist or is not a baseline."""

    exit_code = 2


class BrokenSeal(InputError):
    """A file of a run or a baseline was changed after Assay wrote it."""

    exit_code = 2


class StorageError(AssayError):
    """The store cannot do it now."""


class StoreNotFound(StorageError):
    """There is no store at that place yet."""

    exit_code = 3


class NotAStore(StorageError):
    """The file, folder or address is something else."""

    exit_code = 3


class StoreBusy(StorageError):
    """Another process holds the write lock for longer than the time allowed."""


class StoreReadOnly(StorageError):
    """The file, folder or server accepts no writes."""


class StoreUnavailable(StorageError):
    """The file cannot be opened, or PostgreSQL does not answer."""


class StoreFull(StorageError):
    """No space is left where the store lives."""


class StoreFault(StorageError):
    """The disk or server failed in the middle of an operation."""


class StoreCorrupt(StorageError):
    """The content is damaged."""


class OtherModel(StorageError):
    """A vector of one model was to be compared with those of another."""


class SearchTimeout(StorageError):
    """A full-text question took longer than it was allowed."""


class StoreClosed(StorageError):
    """Used after close, or carried into a forked process."""


class SchemaTooNew(StorageError):
    """Written by a newer Assay."""


class SchemaTooOld(StorageError):
    """Written by an older Assay, and this call was not to change it."""


class SchemaChanged(StorageError):
    """Another process migrated or restored the store while it was open."""


class MigrationFailed(StorageError):
    """The schema could not be brought up to date; the old one is untouched."""


class ExtensionMissing(StorageError):
    """PostgreSQL lacks pgvector."""


class CheckpointFailed(StorageError):
    """A checkpoint could not be made, verified or restored; nothing was replaced."""


class MoveFailed(StorageError):
    """A moved store is not the same as its source; the target is as it was."""


class ModelError(AssayError):
    """A model cannot do it now."""

    tries: int = 0
    """Requests that were sent to an endpoint."""
    worked_on: int = 0
    """Those of them that the other side may have worked on, and may ask money for."""


class ModelDamaged(ModelError):
    """A model's file is not what it should be: damaged, exchanged or of another kind."""


class EndpointUnavailable(ModelError):
    """An endpoint refused, failed or did not answer in time."""

    status: int | None = None
    """Of the last answer, where there was one."""
    body: bytes = b""
    """Of the same."""
    unreachable: bool = False
    """Nothing answered: no connection could be made, or it broke off."""


class EndpointMisbehaved(ModelError):
    """An endpoint answered with something that cannot be used."""


class BudgetExhausted(ModelError):
    """A call could cost more than is left of the budget; it was not made."""

    exit_code = 2


class RunFailed(AssayError):
    """A run cannot go on: its files cannot be written, or its system is away; finished cases are kept."""


class ClusterFailed(AssayError):
    """A cluster cannot go on: no worker is left that can do the work, or its scheduler is gone."""


class ReportFailed(AssayError):
    """A report cannot be written; the one that was there is untouched."""


class ServerBusy(AssayError):
    """More calls wait than the server takes on."""


class RequestTooCostly(AssayError):
    """A request used more processor time than it may; nothing of it was kept."""


class ChannelUnavailable(AssayError):
    """One channel of the search is not available now; the search goes on with the others."""
