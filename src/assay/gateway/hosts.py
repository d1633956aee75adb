"""Whether a request is meant for this server, and comes from one of its own pages.

A page that a browser shows can reach a port of this machine by a name that it made point here; the Host it sends gives
it away. So Host is looked at always, wherever the server is bound, and Origin whenever there is one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from assay.errors import SettingError
from assay.gateway.refusal import Refused

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
Headers = Sequence[tuple[str, str]]
REMEMBERED = 64
"""Addresses that need not be taken apart again: most requests name the same one."""


class Origin(NamedTuple):
    """What a page comes from: all three must be the same for two pages to be of one server."""

    scheme: str
    name: str
    port: int


class Hosts:
    """The names this server answers to, and the other origins whose pages may use it."""

    def __init__(self, names: Collection[str], origins: Collection[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in (*LOOPBACK, *names))
        self._origins = frozenset(_allowed_origin(text) for text in origins)

    def check(self, method: str, headers: Headers, scheme: str = "http") -> None:
        """Refuse what is meant for another host, or sent by another's page; `scheme` is the request's own."""
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or name_in(f"//{hosts[0]}") not in self._names:
            shown = ascii(", ".join(hosts))
            raise Refused(
                421,
                "wrong_host",
                f"this server does not answer to the Host {shown}",
                remedy="Start it with --allow-host NAME.",
            )
        listed = False
        for text in (value for name, value in headers if name == "origin"):
            listed = origin_of(text) in self._origins
            if not listed and not _is_own(text, f"{scheme}://{hosts[0]}"):
                raise Refused(
                    403, "foreign_origin", f"pages of {text!a} may not use this server", remedy="Use its own pages."
                )
        crossed = any(name == "sec-fetch-site" and value in ("cross-site", "same-site") for name, value in headers)
        if crossed and not listed and method not in SAFE:
            raise Refused(403, "foreign_origin", "another site's page sent this", remedy="Use this server's own pages.")


def _is_own(text: str, own_address: str) -> bool:
    """Whether an Origin is that of this server's own pages."""
    origin, own = origin_of(text), origin_of(own_address)
    if origin is None or own is None:
        return False
    # A TLS proxy that was not declared: its pages are https, and what reaches this server is http. Nobody else can have
    # such pages, since they need the certificate of the name; but a name of loopback proves nothing.
    behind_tls = own._replace(scheme="https", port=443 if own.port == 80 else own.port)
    return origin == own or (own.name not in LOOPBACK and origin == behind_tls)


def _allowed_origin(text: str) -> Origin:
    found = origin_of(text)
    if found is None:
        raise SettingError(
            f"mcp.allowed_origins has {text!a}, which is not an origin", remedy='Write it like "http://localhost:6274".'
        )
    return found


@lru_cache(REMEMBERED)
def origin_of(address: str) -> Origin | None:
    """Scheme, host and port of an http or https address; None for anything else."""
    name = name_in(address)
    if name is None:
        return None
    parts = urlsplit(address)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return None if standard is None else Origin(parts.scheme, name, standard if parts.port is None else parts.port)


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
