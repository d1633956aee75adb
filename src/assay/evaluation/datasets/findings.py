"""What a check found: how bad, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether a dataset can be used all the same."""

    ERROR = "error"
    """Numbers measured on it would be wrong, or cannot be had."""
    WARNING = "warning"
    """Numbers can be had; somebody should look."""
    NOTE = "note"
    """Good to know."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing about a dataset."""

    severity: Severity
    code: str
    """The stable name of this kind of finding, such as `dangling-id`."""
    where: str
    """The case, document, or file and line."""
    message: str
    remedy: str = ""


def error(code: str, where: str, message: str, remedy: str) -> Finding:
    """Something that makes numbers wrong."""
    return Finding(severity=Severity.ERROR, code=code, where=where, message=message, remedy=remedy)


def warning(code: str, where: str, message: str, remedy: str) -> Finding:
    """Something to look at."""
    return Finding(severity=Severity.WARNING, code=code, where=where, message=message, remedy=remedy)


def note(code: str, where: str, message: str, remedy: str = "") -> Finding:
    """Something good to know."""
    return Finding(severity=Severity.NOTE, code=code, where=where, message=message, remedy=remedy)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Errors before warnings before notes; within each as they were found."""
    order = list(Severity)
    return sorted(findings, key=lambda one: order.index(one.severity))


def some(names: Iterable[str], most: int = 3) -> str:
    """A few names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(repr(one) for one in found[:most]) + more
