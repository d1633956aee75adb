"""A memory with everything filled in, and a tiny collection with something to find."""

from __future__ import annotations

from typing import Any

from assay.records import MemoryRecord, Tier
from assay.testing.clock import START


def note(id: str = "m_1", **given: Any) -> MemoryRecord:  # noqa: A002 - the record's own word
    """Return a memory with defaults for everything that does not matter to the test."""
    filled: dict[str, Any] = {
        "title": f"Note {id}",
        "body": f"What {id} says.",
        "created_at": START,
        "updated_at": START,
        "valid_from": START,
    }
    return MemoryRecord(id=id, **{**filled, **given})


NOTES = (
    note(
        "m_pkce",
        title="Sign-in uses PKCE",
        body="Every client signs in with the authorisation code flow and PKCE. Implicit flow is switched off.",
        folder="decisions",
        tier=Tier.IMPORTANT,
        triggers=("oauth flow", "sign in"),
        tags=("auth",),
    ),
    note(
        "m_cookies",
        title="Session cookies",
        body="The session cookie is HttpOnly and SameSite=Strict and lives for twelve hours.",
        folder="decisions",
        tags=("auth",),
    ),
    note(
        "m_deploy",
        title="Deploys go out before noon",
        body="Nothing is released after 12:00, so that whoever is on call is awake when it breaks.",
        folder="operations",
        tier=Tier.CRITICAL,
        tags=("release",),
    ),
)
