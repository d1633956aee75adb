"""The audit log as surfaces show it: one page of entries, and whether the chains are whole."""

from __future__ import annotations

from dataclasses import dataclass

from assay.records.evidence import AuditEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditLine(AuditEntry):
    """One entry of the audit log, with the tenant whose log it stands in."""

    tenant: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditPage:
    """One page of the audit log, newest first."""

    entries: tuple[AuditLine, ...]
    next_cursor: str | None
    """What to give as `cursor` for the next page; None on the last page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditChain:
    """Whether the chain of one tenant's log is whole."""

    tenant: str
    is_whole: bool
    """Whether every entry fits the one before it."""
    entries: int
    """Entries that fit, from the first."""
    erased: int
    """Entries whose words were erased; the chain holds over them."""
    head: str
    """The hash of the last entry that fits; empty when there is none. Note it elsewhere to notice a shortened log."""
    broken_at: int | None
    """The place of the first entry that does not fit; None: the chain is whole."""
    problem: str
    """What is wrong there; empty when the chain is whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditChains:
    """The chains that were checked, by tenant."""

    chains: tuple[AuditChain, ...]

    @property
    def are_whole(self) -> bool:
        """Whether none of them is broken."""
        return all(chain.is_whole for chain in self.chains)
