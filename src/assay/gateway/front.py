"""The checks that every HTTP request passes, whichever server it reaches: the API, its pages, or MCP.

In turn: does it have one end (400), is it meant for us (421), from a page that may use us (403), is its address short
enough (400), who calls (401, or 429 after too many tokens that open nothing), how often (429), how long is its body
(413, 503). What comes after that is each server's own: routes, forms and repeated writes for the API
(`server.security.guard`), sessions for MCP (`mcp.http`). Both of `assay serve --mcp` share one `Front`, so a caller has
one allowance and one count of failures for both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple, Protocol, Self, TypeVar

from starlette.types import Scope

from assay.clock import Clock
from assay.gateway.headers import UNKNOWN, Headers, Hosts, Peer, Proxies, check_framing, key_of
from assay.gateway.protocol import note_known
from assay.gateway.quotas import LONGEST_BODY, LONGEST_UNKNOWN_BODY, BodyReader, BodyRoom, Rates, TokenFailures
from assay.gateway.refusal import RequestRefused
from assay.settings import Settings

LONGEST_QUERY = 16_384
"""Bytes after the question mark."""


class KnownCaller(Protocol):
    """A caller that a server recognised."""

    @property
    def token(self) -> str | None:
        """What the caller showed: a token, or the secret of a sign-in. None: the user of this machine."""
        ...


Caller = TypeVar("Caller", bound=KnownCaller)


class Credentials(NamedTuple):
    """What a request shows of its caller."""

    token: str | None
    by_cookie: bool = False


class Arrival(NamedTuple):
    """A request that is meant for this server."""

    headers: Headers
    """Names in lower case."""
    peer: Peer


class Front:
    """Lets requests in, or refuses them. Used from one event loop."""

    def __init__(
        self, *, hosts: Hosts, proxies: Proxies, rates: Rates, failures: TokenFailures, room: BodyRoom
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
    ) -> Self:
        """The checks as the settings say, for a server with these names besides those of this machine.

        Pages of `origins` may use it too. `failures` counts tokens that open nothing where something else does so, too.
        """
        return cls(
            hosts=Hosts(names, origins),
            proxies=Proxies(settings.server_trusted_proxies),
            rates=Rates(clock, settings.server_requests_per_minute),
            failures=failures or TokenFailures(clock),
            room=BodyRoom(),
        )

    def for_origins(self, names: Collection[str], origins: Collection[str]) -> Front:
        """The same counts and limits for addresses that pages of these origins may use as well."""
        return Front(
            hosts=Hosts(names, origins),
            proxies=self._proxies,
            rates=self._rates,
            failures=self._failures,
            room=self._room,
        )

    def receive(self, scope: Scope) -> Arrival:
        """Look at where a request goes and comes from; with trusted proxies, the scope names the real caller after."""
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
        """Find out who calls. None only where it does not matter: at an address that is `public`.

        A good token is let in however many others failed from the same address.
        """
        caller = await find(shown)
        if caller is not None and caller.token is None and arrival.peer.forwarded:
            # Whoever came through a proxy does not sit at this machine.
            caller = None
        if caller is not None:
            note_known(scope)
        elif not public:
            if shown.token is not None:
                self._failures.count(key_of(arrival.peer.address), shown.token)
            raise _unknown()
        return caller

    def spend(self, arrival: Arrival, caller: KnownCaller) -> None:
        """Count a request of a known caller; refuse it (429) when there were too many."""
        self._rates.spend(caller.token or key_of(arrival.peer.address))

    def body_reader(self, arrival: Arrival, caller: KnownCaller | None) -> BodyReader:
        """What reads the body: a small one of somebody who is not known, and each caller within a share of memory."""
        if caller is None:
            return BodyReader(self._room, key_of(arrival.peer.address), LONGEST_UNKNOWN_BODY)
        return BodyReader(self._room, caller.token or key_of(arrival.peer.address), LONGEST_BODY)


def decode_headers(raw: Collection[tuple[bytes, bytes]]) -> Headers:
    """Headers as text, names in lower case."""
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]


def bearer_token(headers: Headers) -> Credentials | None:
    """The token in the header of a request; None: it has no such header. One that cannot be read opens nothing."""
    given = [value for name, value in headers if name == "authorization"]
    if not given:
        return None
    kind, _, token = given[0].partition(" ")
    return Credentials(token.strip() if len(given) == 1 and kind.lower() == "bearer" else "")


def address_key(scope: Scope) -> str:
    """The name under which requests from the caller's address are counted."""
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
