"""The only client of services that use JSON over HTTP, and the only place that repeats failed calls.

A call ends within its deadline, tries and pauses included, even if the other side refuses, hangs, drips, or sends
without end. After several unanswered calls each further call is tried once (`AWAY_AFTER`). Redirects are not followed:
they would carry the key to an unknown address. The key comes from an environment variable and is in no message.
Calls go over the pooled connections of `models.http_pool`, so threads can share a client. The gatekeeper is called
before anything else: an address that it refuses is never looked up.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, urlsplit

import numpy as np

from assay.clock import Clock
from assay.errors import EndpointMisbehaved, EndpointUnavailable, ModelError, SettingError
from assay.models.http_pool import (
    SHARED_POOL,
    BrokenOff,
    HttpAnswer,
    HttpPool,
    HttpRequest,
    OutOfTime,
    TooLarge,
    Unsendable,
)
from assay.network import Gatekeeper

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses after which a second try may succeed."""
TOO_MANY = 429
"""The only one of these statuses which means that nothing was done."""
AWAY_AFTER = 5
"""Calls in a row that nothing answered. From then on each call is one try without a pause, until one is answered: a
thousand questions to a service that is down cost seconds, not the pauses between three thousand tries."""
Failure = TypeVar("Failure", bound=ModelError)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointOptions:
    """The address of a service, and its limits on time, tries and size."""

    url: str
    """Such as `https://api.example.com/v1`; a call's path is appended."""
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every call, beside those of JSON."""
    attempts: int = 3
    deadline_s: float = 60.0
    """For one call, tries and pauses included."""
    first_pause_s: float = 0.5
    """Doubled with each try, and shortened by chance down to half, so that callers do not return in step."""
    longest_pause_s: float = 20.0
    """A call is not repeated when the service requires a longer pause."""
    max_bytes: int = 64_000_000
    """An answer is read no further."""
    reads_json: bool = True
    """Whether the answer has to be JSON. Without it every answer from 200 to 299 will do, and its value is None."""
    again: frozenset[int] = AGAIN
    """Answers after which the same is tried once more."""


def key_from(environment: Mapping[str, str], variable: str) -> str:
    """The key in an environment variable; no variable named, no key."""
    if not variable:
        return ""
    key = environment.get(variable, "").strip()
    if not key:
        raise SettingError(f"the environment variable {variable} holds no key", remedy=f"Set {variable}.")
    if not (key.isascii() and key.isprintable()):
        raise SettingError(f"the key in {variable} has characters no header can hold", remedy=f"Set {variable} again.")
    return key


class _Question(NamedTuple):
    method: str
    path: str
    body: bytes | None
    headers: Mapping[str, str] = {}


class Answered(NamedTuple):
    """An answer's JSON, and what it took."""

    value: Any
    tries: int
    worked_on: int
    """Earlier tries that the service may have worked on, and may ask money for, though nothing came of them."""


class _Patience(NamedTuple):
    """How long one call is borne with."""

    deadline_s: float
    ends: float
    attempts: int


class _TryAgainError(Exception):
    """This try failed in a way the next may not."""

    def __init__(
        self,
        why: str,
        *,
        wait_s: float | None = None,
        misbehaved: bool = False,
        worked_on: bool = True,
        status: int | None = None,
        body: bytes = b"",
        unreachable: bool = False,
    ) -> None:
        super().__init__(why)
        self.why = why
        self.wait_s = wait_s
        self.misbehaved = misbehaved
        self.worked_on = worked_on
        self.status = status
        self.body = body
        self.unreachable = unreachable


class Endpoint:
    """A service at an address.

    It sends over the connections of `pool`, which the caller closes. The shared pool is closed when the program
    ends.
    """

    def __init__(
        self,
        options: EndpointOptions,
        *,
        gate: Gatekeeper,
        clock: Clock,
        rng: np.random.Generator,
        pause: Callable[[float], None] = time.sleep,
        pool: HttpPool = SHARED_POOL,
    ) -> None:
        self._options = options
        self._address = _address(options)
        gate.check(options.url)
        self._gate = gate
        self._pool = pool
        self._clock = clock
        self._rng = rng
        self._pause = pause
        self._unanswered = 0
        """Calls in a row that nothing answered; threads that count at once lose a count at worst."""

    @property
    def place(self) -> str:
        """Host and port, fit to show."""
        host = self._address.hostname or ""
        return f"{host}:{self._address.port}" if self._address.port else host

    def post(self, path: str, question: Mapping[str, Any]) -> Any:
        """Send a POST request, repeat it where that may help, and return the JSON of the answer."""
        return self.send(path, question).value

    def get(self, path: str) -> Any:
        """Send a GET request, which has no body; the path holds everything."""
        return self.send(path, None).value

    def send(
        self,
        path: str,
        question: Mapping[str, Any] | None,
        *,
        deadline_s: float | None = None,
        attempts: int | None = None,
        method: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Send a request; return the answer and the number of tries. A shorter deadline and fewer tries may be given.

        Errors have the number of tries in `tries`, and how many of them the service worked on in `worked_on`.
        """
        deadline = min(deadline_s or self._options.deadline_s, self._options.deadline_s)
        most = min(attempts or self._options.attempts, self._options.attempts)
        patience = _Patience(deadline, self._clock.monotonic() + deadline, most)
        body = None if question is None else json.dumps(question, allow_nan=False).encode()
        method = method or ("GET" if body is None else "POST")
        return self._call(_Question(method, path, body, headers or {}), patience)

    def _call(self, question: _Question, patience: _Patience) -> Answered:
        worked_on = 0
        attempts = patience.attempts if self._unanswered < AWAY_AFTER else 1
        for attempt in range(1, attempts + 1):
            try:
                answered = Answered(self._parse_answer(self._once(question, patience, attempt)), attempt, worked_on)
            except _TryAgainError as problem:
                worked_on += problem.worked_on
                wait = self._wait(attempt, problem)
                if attempt == attempts or self._clock.monotonic() + wait >= patience.ends:
                    self._unanswered = self._unanswered + 1 if problem.unreachable else 0
                    raise _note_tries(self._gave_up(problem, attempt), attempt, worked_on) from problem
                self._pause(wait)
            except (EndpointUnavailable, EndpointMisbehaved) as problem:
                self._unanswered = 0
                raise _note_tries(problem, attempt, worked_on + problem.worked_on) from problem.__cause__
            else:
                self._unanswered = 0
                return answered
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _wait(self, attempt: int, problem: _TryAgainError) -> float:
        """Return the seconds until the next try; infinity when the service requires too long a pause."""
        if problem.wait_s is not None:
            return problem.wait_s if problem.wait_s <= self._options.longest_pause_s else math.inf
        pause = self._options.first_pause_s * 2 ** (attempt - 1) * self._rng.uniform(0.5, 1.0)
        return float(min(pause, self._options.longest_pause_s))

    def _gave_up(self, problem: _TryAgainError, attempts: int) -> EndpointUnavailable | EndpointMisbehaved:
        tries = "1 try" if attempts == 1 else f"{attempts} tries"
        message = f"{self.place} {problem.why} ({tries})"
        remedy = "Check the address and the service, then try again."
        if problem.misbehaved:
            return EndpointMisbehaved(message, remedy=remedy)
        unavailable = EndpointUnavailable(message, remedy=remedy)
        unavailable.unreachable = problem.unreachable
        return _with_status(unavailable, problem.status, problem.body)

    def _once(self, question: _Question, patience: _Patience, attempt: int) -> HttpAnswer:
        left = max(patience.ends - self._clock.monotonic(), 0.001)
        request = HttpRequest(
            method=question.method,
            origin=f"{self._address.scheme}://{self._address.netloc}",
            target=self._target(question.path),
            headers={**self._headers(), **question.headers},
            body=question.body,
        )
        try:
            return self._pool.send(request, gate=self._gate, within_s=left, max_bytes=self._options.max_bytes)
        except OutOfTime as problem:
            raise self._too_late(patience, attempt) from problem
        except BrokenOff as problem:
            if self._clock.monotonic() >= patience.ends:
                raise self._too_late(patience, attempt) from problem
            raise _TryAgainError(f"broke off: {problem}", worked_on=problem.sent, unreachable=True) from problem
        except TooLarge as problem:
            raise _note_tries(self._endless(), 0, 1) from problem
        except Unsendable:
            raise SettingError(
                f"a request to {self.place} has characters that HTTP does not allow",
                remedy="Check the headers and the address for line breaks, control characters and accents.",
            ) from None

    def _target(self, path: str) -> str:
        target = self._address.path.rstrip("/") + path
        return target if target.startswith("/") else f"/{target}"

    def _too_late(self, patience: _Patience, attempt: int) -> EndpointUnavailable | EndpointMisbehaved:
        late = _TryAgainError(f"did not answer within {patience.deadline_s:g} s")
        return _note_tries(self._gave_up(late, attempt), attempt, 1)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        key = {"Authorization": f"Bearer {self._options.key}"} if self._options.key else {}
        return {**headers, **key, **self._options.headers}

    def _endless(self) -> EndpointMisbehaved:
        return EndpointMisbehaved(
            f"{self.place} sent more than {self._options.max_bytes:,} bytes",
            remedy="Ask for less at once, or check the address.",
        )

    def _parse_answer(self, answer: HttpAnswer) -> Any:
        if answer.status in self._options.again:
            raise _TryAgainError(
                f"answered {answer.status}{self._quote_answer(answer)}",
                wait_s=_retry_after(answer),
                worked_on=answer.status != TOO_MANY,
                status=answer.status,
                body=answer.body,
            )
        if not self._options.reads_json and 200 <= answer.status < 300:
            return None
        if answer.status != 200:
            raise self._build_refusal(answer)
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as problem:
            raise _TryAgainError(
                f"sent {len(answer.body):,} bytes that are not JSON: {_reason(problem)}", misbehaved=True
            ) from problem

    def _build_refusal(self, answer: HttpAnswer) -> EndpointUnavailable | EndpointMisbehaved:
        if 300 <= answer.status < 400:
            return EndpointMisbehaved(
                f"{self.place} answered {answer.status}, a redirect", remedy="Give the address it leads to."
            )
        remedy = "Check the key and what it may do." if answer.status in (401, 403) else "Check address and model name."
        refused = EndpointUnavailable(
            f"{self.place} answered {answer.status}{self._quote_answer(answer)}", remedy=remedy
        )
        return _with_status(refused, answer.status, answer.body)

    def _quote_answer(self, answer: HttpAnswer) -> str:
        text = " ".join(answer.body[:2_000].decode(errors="replace").split())
        # Some services repeat the key they did not like.
        for secret in filter(None, (self._options.key, *self._options.headers.values())):
            text = text.replace(secret, "***")
        return f": {text[:200]}" if text else ""


def _note_tries(problem: Failure, tries: int, worked_on: int) -> Failure:
    problem.tries, problem.worked_on = tries, worked_on
    return problem


def _with_status(problem: EndpointUnavailable, status: int | None, body: bytes) -> EndpointUnavailable:
    problem.status, problem.body = status, body
    return problem


def _address(options: EndpointOptions) -> SplitResult:
    try:
        address = urlsplit(options.url)
        fits = address.scheme in ("http", "https") and address.hostname and not address.query and address.port != 0
    except ValueError:
        fits = False
    if not fits or address.username or address.password:
        raise SettingError(
            "the endpoint's url is not an http or https address", remedy="Give one such as https://api.example.com/v1."
        )
    if options.key and address.scheme == "http" and address.hostname not in _LOOPBACK:
        raise SettingError(
            f"the key would go to {address.hostname} unencrypted", remedy="Use https, or leave out the key."
        )
    return address


def _retry_after(answer: HttpAnswer) -> float | None:
    """Return the pause in seconds that the service requires; None for a date or an invalid value."""
    told = answer.headers.get("retry-after", "").strip()
    return float(told) if told.isascii() and told.isdecimal() else None


def _reason(problem: Exception) -> str:
    return (str(problem) or type(problem).__name__)[:200]
