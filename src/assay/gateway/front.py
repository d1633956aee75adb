"""The checks of every HTTP request, the same for the API, its pages and MCP.

In this order: framing (400), Host (421), Origin (403), length of the address (400), caller (401, or 429 after too many
invalid tokens), rate (429), length of the body (413, 503). Further checks belong to each server: routes, forms and
repeated writes of the API (`server.security.guard`), sessions of MCP (`mcp.http`). `assay serve --mcp` uses one `Front`
for both, so a caller has one request rate and one count of failures for both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple, Protocol, Self, TypeVar

from starlette.types import Scope

from assay.clock import Clock
from assay.gateway.headers import UNKNOWN, Headers, Hosts, Peer, Proxies, check_framing, key_of
from assay.gateway.protocol import note_known
from assay.gateway.quotas import (
    LONGEST_BODY,
    LONGEST_UNKNOWN_BODY,
    BodyReader,
    BodyRoom,
    RateCounter,
    SharedCounts,
    TokenFailures,
    rates_of,
    spend,
)
from assay.gateway.refusal import RequestRefused
from assay.settings import Settings

LONGEST_QUERY = 16_384
"""Bytes after the question mark."""


class KnownCaller(Protocol):
    """An authenticated caller."""

    @property
    def token(self) -> str | None:
        """The token or sign-in secret of the caller. None: the user of this machine, who needs none."""
        ...


Caller = TypeVar("Caller", bound=KnownCaller)


class Credentials(NamedTuple):
    """The token or cookie that a request carries."""

    token: str | None
    by_cookie: bool = False


class Arrival(NamedTuple):
    """A request that passed the checks of framing, Host, Origin and address length."""

    headers: Headers
    """Names in lower case."""
    peer: Peer


class Front:
    """Checks requests and refuses those that fail. Used from one event loop."""

    def __init__(
        self, *, hosts: Hosts, proxies: Proxies, rates: RateCounter, failures: TokenFailures, room: BodyRoom
    ) -> None:
        self._hosts = hosts
        self._proxies = proxies
        self._rates = rates
        self._failures = failures
        self._room = room

    @classmethod
    def of(
        cls,
        settings: Settings,
        names: Collection[str],
        clock: Clock,
        *,
        origins: Collection[str] = (),
        failures: TokenFailures | None = None,
        counts: SharedCounts | None = None,
    ) -> Self:
        """Make the checks from the settings, for a server with these names besides those of this machine.

        Pages of `origins` may use it too. `failures`: a counter of invalid tokens that is shared with something else.
        `counts`: where all servers of a store count requests together; None: this process counts by itself.
        """
        return cls(
            hosts=Hosts(names, origins),
            proxies=Proxies(settings.server_trusted_proxies),
            rates=rates_of(clock, settings.server_requests_per_minute, counts, kind="requests"),
            failures=failures or TokenFailures(clock, counts),
            room=BodyRoom(),
        )

    def for_origins(self, names: Collection[str], origins: Collection[str]) -> Front:
        """Return a front with the same counts and limits that also accepts these names and origins."""
        return Front(
            hosts=Hosts(names, origins),
            proxies=self._proxies,
            rates=self._rates,
            failures=self._failures,
            room=self._room,
        )

    def receive(self, scope: Scope) -> Arrival:
        """Check framing, Host, Origin and address length. With trusted proxies, put the real caller into the scope."""
        headers = decode_headers(scope["headers"])
        check_framing(headers)
        client = scope.get("client")
        peer = self._proxies.peer(client[0] if client else None, scope["scheme"], headers)
        if self._proxies:
            scope.update(client=(peer.address, 0), scheme=peer.scheme)
        self._hosts.check(scope["method"], headers, peer.scheme)
        if len(scope.get("query_string", b"")) > LONGEST_QUERY:
            raise RequestRefused(400, "too_long", "the address is too long", remedy="Send long values in a body.")
        return Arrival(headers, peer)

    async def identify(
        self,
        scope: Scope,
        arrival: Arrival,
        shown: Credentials,
        find: Callable[[Credentials], Awaitable[Caller | None]],
        *,
        public: bool = False,
    ) -> Caller | None:
        """Find the caller; refuse an unknown one (401), or return None at an address that is `public`.

        A valid token is accepted however many invalid ones came from the same address.
        """
        caller = await find(shown)
        if caller is not None and caller.token is None and arrival.peer.forwarded:
            # A request through a proxy does not come from the user of this machine.
            caller = None
        if caller is not None:
            note_known(scope)
        elif not public:
            if shown.token is not None:
                await self._failures.count(key_of(arrival.peer.address), shown.token)
            raise _unknown()
        return caller

    async def spend(self, arrival: Arrival, caller: KnownCaller) -> None:
        """Count a request of a known caller; refuse it (429) when there were too many."""
        await spend(self._rates, caller.token or key_of(arrival.peer.address))

    def body_reader(self, arrival: Arrival, caller: KnownCaller | None) -> BodyReader:
        """Return a reader of the body: within the caller's share of memory, and small for an unknown caller."""
        if caller is None:
            return BodyReader(self._room, key_of(arrival.peer.address), LONGEST_UNKNOWN_BODY)
        return BodyReader(self._room, caller.token or key_of(arrival.peer.address), LONGEST_BODY)


def decode_headers(raw: Collection[tuple[bytes, bytes]]) -> Headers:
    """Headers as text, names in lower case."""
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]


def bearer_token(headers: Headers) -> Credentials | None:
    """Return the token of the Authorization header, empty if it is malformed; None: there is no such header."""
    given = [value for name, value in headers if name == "authorization"]
    if not given:
        return None
    kind, _, token = given[0].partition(" ")
    return Credentials(token.strip() if len(given) == 1 and kind.lower() == "bearer" else "")


def address_key(scope: Scope) -> str:
    """Return the key under which requests from the caller's address are counted."""
    client = scope.get("client")
    return key_of(client[0] if client else UNKNOWN)


def _unknown() -> RequestRefused:
    return RequestRefused(
        401,
        "unknown_caller",
        "no token of this server was shown",
        remedy="Send Authorization: Bearer TOKEN; `assay token create` makes one.",
        headers={"WWW-Authenticate": 'Bearer realm="assay"'},
    )
