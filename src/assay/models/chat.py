"""Chat models: the protocol, a limit on concurrent calls, a cache of replies, and fingerprints of weights.

- The protocol of a chat model.
- Limit concurrent calls.
- Cache replies.
- Which weights answer under a name.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from assay.clock import Clock
from assay.errors import EndpointUnavailable, ModelError, SettingError
from assay.hashing import HASH_PREFIX, content_hash

if TYPE_CHECKING:
    from assay.models.endpoint import Endpoint


# --- The protocol of a chat model ---
#
# `ChatModel` is what judges, the panel and the research pipeline ask. The client of real endpoints, the budget and the
# cache all are one, so they can be put around each other; a scripted one for tests is in `assay.testing`.


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRequest:
    """A request to a chat model, with the form of the reply."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """A JSON schema the reply should follow, where the server can hold the model to one."""
    schema_name: str = "verdict"
    max_tokens: int = 1_024
    temperature: float = 0.0
    seed: int = 0
    repeat: int = 0
    """Distinguishes repeated calls with the same request, for the cache."""
    fresh: bool = False
    """Ask the model even where a reply is kept; the new reply takes its place."""
    deadline_s: float | None = None
    """How long this call may take in all; None: as long as the model's own settings say."""
    attempts: int | None = None
    """How often it may be sent, passing faults included; None: as often as the model's own settings say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatReply:
    """What came back."""

    text: str
    model: str
    """The model as the server names it."""
    latency_ms: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = ""
    cached: bool = False
    tries: int = 1
    """How often it was sent."""
    worked_on: int = 0
    """Earlier tries that the server may have worked on, and may ask money for, though nothing came of them."""

    @property
    def tokens(self) -> int | None:
        """Both directions together; None when the server did not count."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFingerprint:
    """Which model answers, as far as that can be known."""

    model: str
    digest: str | None = None
    """Digest of the weights, where the server reports it."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What moves its answers: temperature, seed, the most tokens."""


class ChatModel(Protocol):
    """Something that answers. A failure is an `EndpointUnavailable`, `EndpointMisbehaved` or `BudgetExhausted`."""

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        ...

    def fingerprint(self) -> ModelFingerprint:
        """Which model this is. May ask the server, once."""
        ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask, and wait for the reply."""
        ...


def storable(text: str) -> str:
    """Return a text that every store can keep: what is not a character becomes a replacement character."""
    return text.encode(errors="replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")


# --- Limit concurrent calls ---

Given = TypeVar("Given")
Made = TypeVar("Made")


class LimitedModel:
    """Lets so many calls through at once; the others wait, within their own deadline."""

    def __init__(self, model: ChatModel, *, most: int, clock: Clock, deadline_s: float = 60.0) -> None:
        self._model = model
        self._most = most
        self._places = threading.BoundedSemaphore(most)
        self._clock = clock
        self._deadline_s = deadline_s

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        return self._model.name

    def fingerprint(self) -> ModelFingerprint:
        """That of the model inside."""
        return self._model.fingerprint()

    def complete(self, request: ChatRequest) -> ChatReply:
        """Wait for a place, then ask with the time that is left."""
        allowed = request.deadline_s or self._deadline_s
        began = self._clock.monotonic()
        if not self._places.acquire(timeout=allowed):
            raise EndpointUnavailable(
                f"none of the {self._most} places at {self.name} became free within {allowed:g} s",
                remedy="Send fewer requests at once, or raise model.concurrency.",
            )
        try:
            left = max(allowed - (self._clock.monotonic() - began), 0.001)
            return self._model.complete(replace(request, deadline_s=left))
        finally:
            self._places.release()


def side_by_side(work: Callable[[Given], Made], items: Iterable[Given], *, threads: int) -> Iterator[Made]:
    """Do the work for each item, `threads` at a time; results in the order of the items.

    Items are drawn as places become free. What one raises ends it: no further item is drawn, and none is waited for.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="assay-model")
    waiting: list[Future[Made]] = []
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= threads:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# --- Cache replies ---
#
# The key holds everything that moves a reply: messages, schema, parameters, the model's fingerprint, and the repeat,
# so that asking three times for self-consistency asks three times. A reply that was cut off or is empty is not kept. A
# request that is marked as fresh is always sent, and its reply replaces the kept one.


class Replies(Protocol):
    """Where replies are kept."""

    def get(self, key: str) -> ChatReply | None:
        """The reply under a key."""
        ...

    def put(self, key: str, reply: ChatReply) -> None:
        """Keep a reply; a newer one replaces an older one."""
        ...


class RepliesInMemory:
    """Kept as long as the process lives."""

    def __init__(self) -> None:
        self._kept: dict[str, ChatReply] = {}
        self._gate = threading.Lock()

    def get(self, key: str) -> ChatReply | None:
        """The reply under a key."""
        with self._gate:
            return self._kept.get(key)

    def put(self, key: str, reply: ChatReply) -> None:
        """Keep a reply."""
        with self._gate:
            self._kept[key] = reply


class CachedModel:
    """Calls the model only for requests that are not in the cache."""

    def __init__(self, model: ChatModel, replies: Replies) -> None:
        self._model = model
        self._replies = replies

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        return self._model.name

    def fingerprint(self) -> ModelFingerprint:
        """That of the model inside."""
        return self._model.fingerprint()

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply that is kept, or a new one."""
        key = reply_key(request, self._model.fingerprint())
        kept = None if request.fresh else self._replies.get(key)
        if kept is not None:
            return replace(kept, cached=True, latency_ms=0.0, tries=0, worked_on=0)
        reply = self._model.complete(request)
        if reply.text.strip() and reply.finish_reason != "length":
            self._replies.put(key, reply)
        return reply


def reply_key(request: ChatRequest, fingerprint: ModelFingerprint) -> str:
    """One hash of everything that moves the reply."""
    asked = [
        [[message.role, message.content] for message in request.messages],
        None if request.schema is None else [request.schema_name, dict(request.schema)],
        [request.max_tokens, request.temperature, request.seed, request.repeat],
        [fingerprint.model, fingerprint.digest, dict(fingerprint.parameters)],
    ]
    return content_hash(asked)


# --- Which weights answer under a name ---
#
# A name alone says little: `latest` is another model next month. Such names are refused unless somebody allows them,
# and where a digest is known it is part of the judge's fingerprint, so that exchanged weights are another judge.
# `alias_reason` says whether a name tells which weights answer; a judge behind one that does not decides no gate.

PROBE_S = 3.0
OLLAMA = "ollama:"
"""Prefix of digests that an Ollama server reports."""
_TAG = re.compile(r"[:@][^/:@]+$")
_DIGIT = re.compile(r"\d")
_FLOATING = re.compile(r"(?:^|[:@/_.-])(latest|main|master|current|preview|default)$", re.IGNORECASE)


def is_floating(name: str) -> bool:
    """Whether a name promises to mean another model some day."""
    return _FLOATING.search(name.strip()) is not None


def refuse_floating(name: str, *, allowed: bool) -> None:
    """Refuse a name that does not say which model it means."""
    if is_floating(name) and not allowed:
        raise SettingError(
            f"the model {name!r} is a floating alias: verdicts of two days could be those of two models",
            remedy="Name a version, such as qwen3:14b, or allow it with --allow-floating.",
        )


def alias_reason(name: str, digest: str | None, served: Collection[str] = ()) -> str:
    """Return why a name does not identify the weights that answer; empty when it does.

    `served` are the names the server itself put on its replies: a hosted service that answers to `small-model` often
    reports there that it was `small-model-2026-03-01`, which is a version.
    """
    if is_floating(name):
        return f"the model name {name!r} is an alias that can mean other weights tomorrow"
    if _TAG.search(name) is not None:
        return ""
    if digest is not None:
        is_ollama = digest.startswith(OLLAMA)
        return f"the model name {name!r} has no tag, so Ollama reads it as {name}:latest" if is_ollama else ""
    if _DIGIT.search(name) or (served and all(other != name and _DIGIT.search(other) for other in served)):
        return ""
    return f"the model name {name!r} has no tag or version, and its server does not tell which weights it loaded"


def digest_of(root: Endpoint, name: str) -> str | None:
    """Return what identifies the weights of a model; None where the server does not report it.

    `root` is the server without its `/v1`. It gets few requests, once, and its answers are trusted. An error means that
    it cannot report the weights, and a server that does not answer at all gets no further requests.
    """
    probes: tuple[Callable[[Endpoint, str], str | None], ...] = (_ollama, _llama_cpp)
    for probe in probes:
        try:
            found = probe(root, name)
        except EndpointUnavailable as problem:
            if problem.status is None:
                return None
        except ModelError:
            continue
        else:
            if found is not None:
                return found
    return None


def _ask(root: Endpoint, path: str, question: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    found = root.send(path, question, deadline_s=PROBE_S, attempts=1).value
    return found if isinstance(found, Mapping) else {}


def _ollama(root: Endpoint, name: str) -> str | None:
    models = _ask(root, "/api/tags").get("models")
    known = [model for model in models if isinstance(model, Mapping)] if isinstance(models, list) else []
    wanted = {name, f"{name}:latest"}
    digests = [model.get("digest") for model in known if model.get("name") in wanted or model.get("model") in wanted]
    found = next((digest for digest in digests if isinstance(digest, str) and digest), None)
    # The digest names weights, template and parameters together; `show` would only list them again.
    return None if found is None else f"{OLLAMA}{found[:80]}"


def _llama_cpp(root: Endpoint, name: str) -> str | None:
    props = _ask(root, "/props")
    path = props.get("model_path")
    if not isinstance(path, str) or not path:
        return None
    told = [_file_name(path), props.get("build_info"), props.get("chat_template"), _size(root, name)]
    return f"llama.cpp:{content_hash([str(part) for part in told]).removeprefix(HASH_PREFIX)[:32]}"


def _size(root: Endpoint, name: str) -> list[str]:
    """Parameters, bytes and vocabulary of what is loaded: it does not hash its file, and these differ for others."""
    with suppress(ModelError):
        listed = _ask(root, "/v1/models").get("data")
        models = [model for model in listed if isinstance(model, Mapping)] if isinstance(listed, list) else []
        for model in (*(model for model in models if model.get("id") == name), *models):
            meta = model.get("meta")
            if isinstance(meta, Mapping):
                return [f"{key}={meta.get(key)}" for key in ("n_params", "size", "n_vocab", "n_embd")]
    return []


def _file_name(path: str) -> str:
    """Without its folder: the same file elsewhere is the same model, and the path is nobody's business."""
    return PureWindowsPath(PurePosixPath(path).name).name
