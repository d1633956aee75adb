"""One thing that was looked at, and what it means."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that was looked at.

    The state is `ok`, `note` (works, but worth knowing), or `problem` (something will not work until it is mended).
    """

    subject: str
    state: str
    seen: str
    meaning: str = ""
    remedy: str = ""
