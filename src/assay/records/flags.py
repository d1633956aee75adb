"""Feature flags: what can be switched, and how a flag stands for one tenant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from assay.hashing import bucket


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """One feature that can be switched."""

    name: str
    meaning: str
    owner: str
    """The part of Assay that answers for it."""
    default: bool
    minimum_samples: int = 100
    """Queries a test needs before the flag can graduate."""
    graduation_threshold: float = 0.02
    """The gain on the evaluation corpus below which it does not graduate."""
    rollout_percent: int = 100
    """How many identities see it when it is on and nobody said otherwise."""
    shadow: bool = False
    """Whether it runs beside the control by default, unseen."""
    graduates_itself: bool = False
    """Whether it is switched on when it has earned that, or a person is asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagState:
    """A flag as it stands for one tenant."""

    flag: Flag
    percent: int
    """How many of a hundred identities see it; 0 is off."""
    shadow: bool
    origin: str
    """`environment`, `file`, `stored` or `default`."""
    place: str = ""
    """The variable, the file, or who stored it."""
    activated_at: datetime | None = None
    """When it was first on here; kept when it is switched off and on again."""
    reviewed_at: datetime | None = None
    held_off: str = ""
    """Why a flag that is on does nothing yet, and what to do about it; only `Flags.describe` looks for it."""

    @property
    def on(self) -> bool:
        """Whether anybody sees it."""
        return self.percent > 0

    def enabled(self, identity: str = "") -> bool:
        """Whether this identity sees it. Who has no identity is in no partial rollout."""
        if self.percent in (0, 100):
            return self.on
        return bool(identity) and bucket(identity, self.flag.name) < self.percent


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagList:
    """Every flag as it stands for one tenant."""

    flags: tuple[FlagState, ...]
