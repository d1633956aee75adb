"""Whether a request is meant for this server, and comes from one of its own pages.

A page that a browser shows can reach a port of this machine by a name that it made point here; the Host it sends gives
it away. So Host is looked at always, wherever the server is bound, and Origin whenever there is one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from assay.server.errors import Refused

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
Headers = Sequence[tuple[str, str]]
REMEMBERED = 64
"""Addresses that need not be taken apart again: most requests name the same one."""


class Hosts:
    """The names this server answers to."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(name.lower() for name in (*LOOPBACK, *names))

    def check(self, method: str, headers: Headers) -> None:
        """Refuse what is meant for another host, or sent by another's page."""
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or name_in(f"//{hosts[0]}") not in self._names:
            shown = ascii(", ".join(hosts))
            raise Refused(
                421,
                "wrong_host",
                f"this server does not answer to the Host {shown}",
                remedy="Start it with --allow-host NAME.",
            )
        own = authority(f"//{hosts[0]}")
        for origin in (value for name, value in headers if name == "origin"):
            if authority(origin) != own:
                raise Refused(
                    403,
                    "foreign_origin",
                    f"pages of {origin!a} may not use this server",
                    remedy="Use its own pages.",
                )
        crossed = any(name == "sec-fetch-site" and value in ("cross-site", "same-site") for name, value in headers)
        if crossed and method not in SAFE:
            raise Refused(403, "foreign_origin", "another site's page sent this", remedy="Use this server's own pages.")


@lru_cache(REMEMBERED)
def name_in(address: str) -> str | None:
    """The host an address names, without its port; None for what is no address."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return None if parts.username is not None or not parts.hostname else parts.hostname.lower()


@lru_cache(REMEMBERED)
def authority(address: str) -> tuple[str, int | None] | None:
    """Host and port; the port a scheme has by itself counts as none."""
    name = name_in(address)
    if name is None:
        return None
    parts = urlsplit(address)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return name, None if parts.port in (standard, 80, 443) else parts.port


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
