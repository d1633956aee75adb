"""Whose rows a call may see, and ids that sort by time.

- Scopes: whose rows are read and written.
- Ids that sort by the time they were made.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from assay.clock import Clock
from assay.records import values

# --- Scopes: whose rows are read and written ---

DEFAULT_TENANT = "default"
ID_MARK = "#"
"""Between the name of a principal and its id."""
MAX_NAME = 300
"""Characters of a principal's name in its identity: together with the id it must fit a column that an index holds."""
_IDENTITY = re.compile(r"#t_[0-9A-Z]{26}$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """The tenant whose rows are read and written, and the principal of the call."""

    tenant: str = DEFAULT_TENANT
    principal: str = "local"
    """Who acts: written to the audit log, never used to find rows."""
    principal_id: str = ""
    """Distinguishes principals of the same name, such as two tokens; empty where the name is enough."""
    via: str = field(default="", compare=False)
    """From where: `command line`, `http 10.0.0.7`, `mcp stdio`; empty when unknown. Only the audit log has it."""

    def __post_init__(self) -> None:
        values.identifier(self.tenant, "tenant")
        values.label(self.principal, "principal")
        values.optional_label(self.via, "via")
        if self.principal_id:
            values.identifier(self.principal_id, "principal_id")

    @property
    def identity(self) -> str:
        """The principal's name, unique within the tenant. Labels and grades are stored under it."""
        return f"{self.principal[:MAX_NAME]}{ID_MARK}{self.principal_id}" if self.principal_id else self.principal


def name_of(identity: str) -> str:
    """Return the name that people know a principal by, from its `Scope.identity`."""
    return _IDENTITY.sub("", identity)


# --- Ids that sort by the time they were made ---
#
# A ULID is 48 bits of time and 80 of chance.
# Ids made by one factory always grow, also within a millisecond and when the clock goes back.

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_RANDOM_BITS = 80
_DIGITS = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


class IdFactory:
    """Makes ids such as `m_01JABCDEFGHJKMNPQRSTVWXYZ0`."""

    def __init__(self, clock: Clock, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._clock = clock
        self._entropy = entropy
        self._last = 0
        self._lock = threading.Lock()

    def new(self, prefix: str) -> str:
        """The next id."""
        milliseconds = int(self._clock.now().timestamp() * 1000)
        fresh = (milliseconds << _RANDOM_BITS) | int.from_bytes(self._entropy(_RANDOM_BITS // 8), "big")
        with self._lock:
            self._last = max(fresh, self._last + 1)
            number = self._last
        return f"{prefix}_{_crockford(number)}"


def first_id(prefix: str, moment: datetime) -> str:
    """Return the smallest id that can be made at a moment."""
    return f"{prefix}_{_crockford(int(moment.timestamp() * 1000) << _RANDOM_BITS)}"


def moment_of_id(made: str) -> datetime | None:
    """Return when an id was made, to the millisecond; None for one that no factory made."""
    _, _, digits = made.rpartition("_")
    if not _DIGITS.fullmatch(digits):
        return None
    number = 0
    for digit in digits:
        number = number << 5 | _ALPHABET.index(digit)
    return _read_milliseconds(number >> _RANDOM_BITS)


def _read_milliseconds(milliseconds: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _crockford(number: int) -> str:
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])
