"""What the headers of a request must say: one stated end, a Host of ours, an allowed Origin, a real caller.

- Host and Origin.
- Requests whose end could be read in two ways.
- The caller's address and scheme behind a trusted proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from assay.errors import SettingError
from assay.gateway.refusal import RequestRefused

# --- Host and Origin ---
#
# A web page can reach a port of this machine through a DNS name that resolves to it ("DNS rebinding"); the Host header
# shows that name. So Host is always checked, whatever address the server is bound to, and Origin whenever it is sent.

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
Headers = Sequence[tuple[str, str]]
REMEMBERED = 64
"""Parsed addresses to cache: most requests name the same one."""


class PageOrigin(NamedTuple):
    """The origin of a page; pages belong to one server only if all three fields are equal."""

    scheme: str
    name: str
    port: int


class Hosts:
    """The names this server answers to, and the other origins whose pages may use it."""

    def __init__(self, names: Collection[str], origins: Collection[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in (*LOOPBACK, *names))
        self._origins = frozenset(_read_origin(text) for text in origins)

    def check(self, method: str, headers: Headers, scheme: str = "http") -> None:
        """Refuse a request for another host (421) or from a page of another origin (403)."""
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or name_in(f"//{hosts[0]}") not in self._names:
            shown = ascii(", ".join(hosts))
            raise RequestRefused(
                421,
                "wrong_host",
                f"this server does not answer to the Host {shown}",
                remedy="Start it with --allow-host NAME.",
            )
        listed = False
        for text in (value for name, value in headers if name == "origin"):
            listed = origin_of(text) in self._origins
            if not listed and not _is_own(text, f"{scheme}://{hosts[0]}"):
                raise RequestRefused(
                    403, "foreign_origin", f"pages of {text!a} may not use this server", remedy="Use its own pages."
                )
        crossed = any(name == "sec-fetch-site" and value in ("cross-site", "same-site") for name, value in headers)
        if crossed and not listed and method not in SAFE:
            raise RequestRefused(
                403, "foreign_origin", "another site's page sent this", remedy="Use this server's own pages."
            )


def _is_own(text: str, own_address: str) -> bool:
    """Whether an Origin belongs to this server's own pages."""
    origin, own = origin_of(text), origin_of(own_address)
    if origin is None or own is None:
        return False
    # Behind a TLS proxy that the settings do not name, pages are https while requests arrive as http. Pages of that
    # name need its certificate, so no other site can have them; a loopback name proves nothing.
    behind_tls = own._replace(scheme="https", port=443 if own.port == 80 else own.port)
    return origin == own or (own.name not in LOOPBACK and origin == behind_tls)


def _read_origin(text: str) -> PageOrigin:
    found = origin_of(text)
    if found is None:
        raise SettingError(
            f"mcp.allowed_origins has {text!a}, which is not an origin", remedy='Write it like "http://localhost:6274".'
        )
    return found


@lru_cache(REMEMBERED)
def origin_of(address: str) -> PageOrigin | None:
    """Return scheme, host and port of an http or https address; None for anything else."""
    name = name_in(address)
    if name is None:
        return None
    parts = urlsplit(address)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return None if standard is None else PageOrigin(parts.scheme, name, standard if parts.port is None else parts.port)


@lru_cache(REMEMBERED)
def name_in(address: str) -> str | None:
    """Return the host of an address, without its port; None for what is not an address."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return None if parts.username is not None or not parts.hostname else parts.hostname.lower()


@lru_cache(REMEMBERED)
def authority(address: str) -> tuple[str, int | None] | None:
    """Return host and port of an address; the standard port of its scheme is None."""
    name = name_in(address)
    if name is None:
        return None
    parts = urlsplit(address)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return name, None if parts.port in (standard, 80, 443) else parts.port


def is_loopback(host: str) -> bool:
    """Whether a server bound to this host can be reached from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# --- Requests whose end could be read in two ways ---
#
# A request with both Content-Length and Transfer-Encoding, or with either of them twice, ends at one place for a proxy
# and at another for this server; what follows would then be taken for a request of its own ("request smuggling").

CLOSE = {"Connection": "close"}
"""The connection is closed, since the bytes that follow cannot be trusted to be a request."""


def check_framing(headers: Headers) -> None:
    """Refuse a request (400, connection closed) whose body does not have exactly one stated end."""
    lengths = [value for name, value in headers if name == "content-length"]
    codings = [value for name, value in headers if name == "transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        stated = "Content-Length and Transfer-Encoding" if lengths and codings else "the length of its body twice"
        raise _ambiguous(f"the request states {stated}", "Send one Content-Length, or Transfer-Encoding: chunked.")
    if codings and codings[0].strip().lower() != "chunked":
        raise _ambiguous(f"the Transfer-Encoding {codings[0][:40]!a} is not known", "Send Transfer-Encoding: chunked.")
    if lengths and not (lengths[0].isascii() and lengths[0].isdigit()):
        raise _ambiguous(f"the Content-Length {lengths[0][:40]!a} is not a number", "Send the number of bytes.")


def _ambiguous(message: str, remedy: str) -> RequestRefused:
    return RequestRefused(400, "ambiguous_length", message, remedy=remedy, headers=CLOSE)


# --- The caller's address and scheme behind a trusted proxy ---
#
# `X-Forwarded-For` and `X-Forwarded-Proto` are believed only when the connection itself comes from a trusted proxy:
# anybody can send them. Of several addresses the rightmost that is not a trusted proxy counts, since everything left
# of it was written by that caller. A request that says it was forwarded is never taken for the user of this machine.

UNKNOWN = "unknown"
"""The address of a caller whose connection has none."""
IPV6_PREFIX = 64
"""Bits of an IPv6 address that identify its network: a client with one address there can use all of them."""
FORWARDING = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""Headers in which proxies give the address of the client."""
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Peer(NamedTuple):
    """Where a request comes from."""

    address: str
    scheme: str
    forwarded: bool
    """Whether it came through a proxy, trusted or not."""


class Proxies:
    """The trusted proxies, whose forwarding headers are believed."""

    def __init__(self, trusted: Collection[str] = ()) -> None:
        self._networks = tuple(_network(text) for text in trusted)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: str) -> bool:
        """Whether connections from this address are those of a trusted proxy."""
        found = _parse(address)
        return found is not None and any(found in network for network in self._networks)

    def peer(self, address: str | None, scheme: str, headers: Headers) -> Peer:
        """Return the real client and scheme of a request that arrived from `address`."""
        forwarded = any(name in FORWARDING for name, _ in headers)
        if not self._networks or address is None or not self.trusts(address):
            return Peer(address or UNKNOWN, scheme, forwarded)
        protocols = [value for name, value in headers if name == "x-forwarded-proto"]
        if len(protocols) == 1 and protocols[0].strip().lower() in ("http", "https"):
            scheme = protocols[0].strip().lower()
        return Peer(self._origin_of(address, headers), scheme, forwarded=True)

    def _origin_of(self, address: str, headers: Headers) -> str:
        """Return the rightmost address in X-Forwarded-For that is not a trusted proxy, else the last valid one."""
        stated = ",".join(value for name, value in headers if name == "x-forwarded-for").split(",")
        for text in reversed(stated):
            found = _parse(text.strip())
            if found is None:
                return address
            address = str(found)
            if not self.trusts(address):
                return address
        return address


@lru_cache(256)
def key_of(address: str) -> str:
    """Return the key under which requests of an address are counted; an IPv6 address counts as its /64 network."""
    found = _parse(address)
    if found is None:
        return f"address {address}"
    if isinstance(found, ipaddress.IPv6Address):
        return f"address {ipaddress.IPv6Network((int(found), IPV6_PREFIX), strict=False)}"
    return f"address {found}"


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError as problem:
        raise SettingError(
            f"server.trusted_proxies has {text!a}, which is not an address or network",
            remedy='Write it like ["127.0.0.1", "10.0.0.0/8"].',
        ) from problem


@lru_cache(256)
def _parse(text: str) -> _Address | None:
    """Parse an IP address, with or without the port or brackets that some proxies write; None if it is not one."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
