"""The gatekeeper: which addresses Assay may contact.

Everything in Assay that opens a connection to a service calls a `Gatekeeper` first: the endpoint client (models,
embedders, HTTP systems, `assay.Client`), the road to MCP servers over HTTP, and the exporter of spans. With offline on,
only configured addresses pass; anything else is refused by name before a socket is made or a name is looked up.
`tests/cli/test_egress_rules.py` holds that no other module opens connections.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from assay.errors import AddressRefused, SettingError

OFFLINE_VARIABLE = "ASSAY_OFFLINE"
ALLOW_VARIABLE = "ASSAY_NETWORK_ALLOW"
_ON = frozenset({"1", "true", "yes", "on"})
_PORTS = {"http": 80, "https": 443, "postgresql": 5432, "postgres": 5432}


@dataclass(frozen=True, kw_only=True, slots=True)
class Gatekeeper:
    """Decides for every address whether it may be contacted."""

    offline: bool = False
    allowed: frozenset[str] = frozenset()
    """Scheme, host and port of each address that may be contacted with offline on; see `origin_of`."""

    @classmethod
    def of(cls, addresses: Iterable[str], *, offline: bool) -> Self:
        """A gatekeeper that lets these addresses pass when offline is on; empty ones are left out."""
        if not offline:
            return cls()
        return cls(offline=True, allowed=frozenset(origin_of(address) for address in addresses if address.strip()))

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], addresses: Iterable[str] = ()) -> Self:
        """The gatekeeper of a program that has no settings file: ASSAY_OFFLINE and ASSAY_NETWORK_ALLOW."""
        offline = environment.get(OFFLINE_VARIABLE, "").strip().lower() in _ON
        return cls.of([*addresses, *split_addresses(environment.get(ALLOW_VARIABLE, ""))], offline=offline)

    def check(self, url: str) -> None:
        """Refuse an address that may not be contacted."""
        if not self.offline:
            return
        origin = origin_of(url)
        if origin not in self.allowed:
            raise AddressRefused(
                f"offline is on, and {origin} is not a configured address",
                remedy=f'Add it to network.allow, such as allow = "{origin}" under [network], or switch offline off.',
            )


ANYWHERE = Gatekeeper()
"""Lets everything pass: offline is off."""


def split_addresses(text: str) -> list[str]:
    """The addresses in a list with commas between."""
    return [part.strip() for part in text.split(",") if part.strip()]


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, written in one way: `https://example.com:443`."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError) as problem:
        raise _unreadable(url) from problem
    if not parts.hostname:
        raise _unreadable(url)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}"


def _unreadable(url: str) -> SettingError:
    # Without what stands before an @: it may be a password.
    shown = url.rpartition("@")[2][:200]
    return SettingError(
        f"{shown!r} is not an http or https address", remedy="Give one such as https://api.example.com/v1."
    )
