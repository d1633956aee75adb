"""The address and the scheme of a caller who comes through a proxy that the settings trust.

`X-Forwarded-For` and `X-Forwarded-Proto` are believed only when the connection itself comes from a trusted proxy:
anybody can send them. Of several addresses the rightmost that is not a trusted proxy counts, since everything left of
it was written by that caller. A request that says it was forwarded is never taken for the user of this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from assay.errors import SettingError
from assay.gateway.hosts import Headers

UNKNOWN = "unknown"
"""The address of a caller whose connection has none."""
IPV6_PREFIX = 64
"""Bits of an IPv6 address that name a network: whoever has one address there has all of them."""
FORWARDING = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""Headers by which proxies tell for whom they ask."""
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Peer(NamedTuple):
    """Where a request comes from."""

    address: str
    scheme: str
    forwarded: bool
    """Whether it came through a proxy, trusted or not."""


class Proxies:
    """The proxies whose word about callers counts."""

    def __init__(self, trusted: Collection[str] = ()) -> None:
        self._networks = tuple(_network(text) for text in trusted)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: str) -> bool:
        """Whether connections from this address are those of a trusted proxy."""
        found = _parse(address)
        return found is not None and any(found in network for network in self._networks)

    def peer(self, address: str | None, scheme: str, headers: Headers) -> Peer:
        """Who really asks, and by which scheme, for a connection from an address."""
        forwarded = any(name in FORWARDING for name, _ in headers)
        if not self._networks or address is None or not self.trusts(address):
            return Peer(address or UNKNOWN, scheme, forwarded)
        protocols = [value for name, value in headers if name == "x-forwarded-proto"]
        if len(protocols) == 1 and protocols[0].strip().lower() in ("http", "https"):
            scheme = protocols[0].strip().lower()
        return Peer(self._origin_of(address, headers), scheme, forwarded=True)

    def _origin_of(self, address: str, headers: Headers) -> str:
        """The rightmost address in X-Forwarded-For that is not a trusted proxy; the last believed one otherwise."""
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
    """The name under which requests of an address are counted: an IPv6 address counts as its whole /64 network."""
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
    """An address, without the port or brackets that some proxies write; None for anything else."""
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
