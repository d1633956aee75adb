"""The whole error tree. Every message names the value at fault; every remedy says what to do next.

AssayError
  InputError              the caller can fix it (exit 3)
    BadValue              a value no store can keep: NaN, lone surrogate, beyond 64 bit, wrong shape
    SettingError          an unknown key, a value of the wrong kind, an unreadable settings file
    RecordNotFound        nothing is stored under that id in this scope
    RecordExists          that id or key is already taken in this scope
    CheckpointNotFound    no checkpoint has that id or name
    MissingExtra          an optional part of Assay is not installed
    UnknownMetric         no metric, parameter or value has that name; near names are given
    MalformedFile         a file cannot be read as what it should be; the line and what was expected are given
    NothingMeasured       there is no case a value could be computed from (exit 2)
  StorageError            the store cannot do it now (exit 4)
    StoreNotFound         there is no store at that place yet
    NotAStore             the file, folder or address is something else
    StoreBusy             another process holds the write lock for longer than the time allowed
    StoreReadOnly         the file, folder or server accepts no writes
    StoreUnavailable      the file cannot be opened, or PostgreSQL does not answer
    StoreFull             no space is left where the store lives
    StoreFault            the disk or server failed in the middle of an operation
    StoreCorrupt          the content is damaged
    StoreClosed           used after close, or carried into a forked process
    SchemaTooNew          written by a newer Assay
    SchemaTooOld          written by an older Assay, and this call was not to change it
    SchemaChanged         another process migrated or restored the store while it was open
    MigrationFailed       the schema could not be brought up to date; the old one is untouched
    ExtensionMissing      PostgreSQL lacks pgvector
    CheckpointFailed      a checkpoint could not be made, verified or restored; nothing was replaced

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


class RecordNotFound(InputError):
    """Nothing is stored under that id in this scope."""


class RecordExists(InputError):
    """That id or key is already taken in this scope."""


class CheckpointNotFound(InputError):
    """No checkpoint has that id or name."""


class MissingExtra(InputError):
    """An optional part of Assay is not installed."""


class UnknownMetric(InputError):
    """No metric, parameter or value has that name."""


class MalformedFile(InputError):
    """A file cannot be read as what it should be."""


class NothingMeasured(InputError):
    """There is no case a value could be computed from."""

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
