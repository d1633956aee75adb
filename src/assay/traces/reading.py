"""What readers share: refused spans, times, texts and documents in other systems' forms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.hashing import HASH_PREFIX, content_hash
from assay.records.traces import RejectReason, SpanRole, TraceDocument, TraceSpan
from assay.records.values import MAX_NESTING, MAX_SHORT_LABEL

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:#-]{0,127}")
_SHOWN = 120
ASKED_KEYS = ("question", "query", "query_str", "query_bundle", "input", "user_input", "text", "prompt", "message")
"""Members of an input object that hold the question, the most telling first."""
ANSWERED_KEYS = ("answer", "output", "result", "response", "text", "content", "output_text")
_SPEAKERS = frozenset({"user", "assistant", "system", "tool", "function"})
_ID_KEYS = ("id", "doc_id", "document_id", "chunk_id")
"""Members of a document's metadata that are an id of its own."""
STALE_KEYS = ("superseded_at", "valid_to", "valid_until", "expires_at")
"""Members of a document's metadata that state when it stopped being valid."""


class RefusedSpan(NamedTuple):
    """A span that is not stored, and why."""

    reason: RejectReason
    sentence: str


class SpanProblem(Exception):
    """Ends the reading of one span; becomes a `RefusedSpan`."""

    def __init__(self, reason: RejectReason, sentence: str) -> None:
        super().__init__(sentence)
        self.refused = RefusedSpan(reason, sentence)


ReadSpan = TraceSpan | RefusedSpan


def malformed(sentence: str) -> SpanProblem:
    """The problem of a span that cannot be read."""
    return SpanProblem(RejectReason.MALFORMED, sentence)


def build_span(**fields: Any) -> TraceSpan:
    """Make a span; what its checks refuse is a `SpanProblem`."""
    try:
        return TraceSpan(**fields)
    except BadValue as problem:
        too_large = "characters, over" in problem.message or "more than" in problem.message
        reason = RejectReason.TOO_LARGE if too_large else RejectReason.MALFORMED
        raise SpanProblem(reason, problem.message) from problem


def shorten(value: Any) -> str:
    """A value in a message."""
    shown = ascii(value)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."


# --- Ids and times ---


def read_id(value: Any, what: str) -> str:
    """An id as other systems make them: hexadecimal, a UUID, or a name."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise malformed(f"{what} {shorten(value)} is not an id of 1 to 128 letters, digits or _ . : # -")
    return value


def read_optional_id(value: Any, what: str) -> str | None:
    """The same, where nothing means that there is none."""
    return None if value is None or value == "" else read_id(value, what)


def read_nanoseconds(value: Any, what: str) -> datetime:
    """A time as OTLP writes it: nanoseconds since 1970, as a number or as its digits."""
    # More than twenty digits are more than 64 bits; `int` of very many of them would take its time.
    digits = "" if isinstance(value, (bool, float)) or (isinstance(value, str) and len(value) > 20) else value
    try:
        return EPOCH + timedelta(microseconds=int(digits) // 1_000)
    except (TypeError, ValueError, OverflowError) as problem:
        raise malformed(f"{what} {shorten(value)} is not a time in nanoseconds") from problem


def read_time(value: Any, what: str) -> datetime:
    """A time in ISO 8601 (UTC where it names no zone), or as milliseconds since 1970, as exports write it."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return EPOCH + timedelta(milliseconds=value)
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as problem:
        raise malformed(f"{what} {shorten(value)} is not a time") from problem


def read_optional_time(value: Any, what: str) -> datetime | None:
    """The same, where nothing means that it is not known."""
    return None if value is None or value == "" else read_time(value, what)


def read_count(value: Any) -> int | None:
    """A number of tokens; None where it is missing or is not one."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, float) and value.is_integer() and 0 <= value < 2**53:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def read_number(value: Any) -> float | None:
    """A number, also one in digits; None where it is missing or is not one."""
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def read_name(value: Any) -> str:
    """The name of a span, shortened to what an index holds."""
    return value[:MAX_SHORT_LABEL] if isinstance(value, str) else ""


def read_label(value: Any) -> str | None:
    """A session or model; None where there is none."""
    return value[:MAX_SHORT_LABEL] if isinstance(value, str) and value.strip() else None


# --- Texts ---


def check_depth(value: Any) -> None:
    """Refuse a value that is nested too deeply."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [inner for outer in level if isinstance(outer, (dict, list)) for inner in _members(outer)]
        if not level:
            return
    raise SpanProblem(RejectReason.TOO_DEEP, f"it is nested deeper than {MAX_NESTING} levels")


def _members(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def parse_json(text: Any) -> Any:
    """The value of a JSON text; the text itself where it is not JSON."""
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        found = json.loads(text)
    except RecursionError as problem:
        raise SpanProblem(RejectReason.TOO_DEEP, f"it is nested deeper than {MAX_NESTING} levels") from problem
    except ValueError:
        return text
    check_depth(found)
    return found


def find_text(value: Any, keys: tuple[str, ...], role: str) -> str:
    """The text of an input or output: the text itself, a message's content, or a telling member of an object.

    `role` is whose message of a conversation is wanted, `user` or `assistant`. What has no text of its own is given as
    its JSON, so that nothing is lost.
    """
    value = parse_json(value)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _last_message(value, keys, role)
    if isinstance(value, Mapping):
        return _member_text(value, keys, role)
    return json.dumps(value)


def _member_text(value: Mapping[str, Any], keys: tuple[str, ...], role: str) -> str:
    for key, read in (("messages", _last_message), ("generations", _first_generation)):
        if isinstance(value.get(key), list):
            return read(value[key], keys, role)
    if "role" not in value and _roles_of(value) & _SPEAKERS:
        value = {"role": role, **content} if (content := _content_of(value)) else value
    for key in ("content", "parts") if "role" in value else keys:
        inner = value.get(key)
        if isinstance(inner, str):
            return inner
        if isinstance(inner, (list, Mapping)) and inner:
            return find_text(inner, keys, role)
    single = list(value.values())
    if len(single) == 1 and isinstance(single[0], str):
        return single[0]
    return json.dumps(value, ensure_ascii=False) if value else ""


def _first_generation(value: Any, keys: tuple[str, ...], role: str) -> str:
    """What a model of LangChain wrote first, of all that it was asked to write."""
    while isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, Mapping) and isinstance(value.get("text"), str) and value["text"]:
        return str(value["text"])
    message = value.get("message") if isinstance(value, Mapping) else None
    return find_text(message or value, keys, role)


def _last_message(value: list[Any], keys: tuple[str, ...], role: str) -> str:
    """The last message of a role; the parts of one message are joined."""
    while len(value) == 1 and isinstance(value[0], list) and not _is_pair(value[0]):
        # LangChain asks for many conversations at once, and traces a list of one.
        value = value[0]
    value = [{"role": item[0], "content": item[1]} if _is_pair(item) else item for item in value]
    messages = [message for message in value if isinstance(message, Mapping)]
    spoken = [message for message in messages if role in _roles_of(message)]
    if spoken:
        return _member_text({"role": role, **_content_of(spoken[-1])}, keys, role)
    parts = [part for item in value if (part := _part_text(item))]
    return "\n".join(parts) if parts else (json.dumps(value, ensure_ascii=False) if value else "")


def _is_pair(value: Any) -> bool:
    """Whether it is a message as LangChain takes it in short: its role and its text."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(part, str) for part in value)
        and bool(_roles_of({"role": value[0]}) & _SPEAKERS)
    )


def _roles_of(message: Mapping[str, Any]) -> set[str]:
    """Whose message it may be: by its role, or by its kind as LangChain writes it."""
    named = [message.get("role"), message.get("type")]
    for place in (message.get("kwargs"), message.get("data")):
        named += [place.get("role"), place.get("type")] if isinstance(place, Mapping) else []
    kinds = message.get("id")
    named += kinds[-1:] if isinstance(kinds, list) else []
    found = {
        name.casefold().removesuffix("message").removesuffix("messagechunk") for name in named if isinstance(name, str)
    }
    return {{"human": "user", "ai": "assistant"}.get(name, name) for name in found}


def _content_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a message, also where it stands below `kwargs` or `data`, as LangChain writes it."""
    for place in (message, message.get("kwargs"), message.get("data")):
        if isinstance(place, Mapping) and (place.get("content") or place.get("parts")):
            return {"content": place.get("content"), "parts": place.get("parts")}
    return {}


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        inner = part.get("content") or part.get("text")
        return inner if isinstance(inner, str) else ""
    return ""


# --- Documents ---


def read_documents(value: Any) -> tuple[TraceDocument, ...]:
    """Documents in any of the forms of other systems, in the order given."""
    value = parse_json(value)
    if isinstance(value, Mapping):
        inner = next((value[key] for key in ("documents", "output", "results", "records") if key in value), None)
        value = parse_json(inner) if inner is not None else [value]
    if not isinstance(value, list):
        return ()
    return tuple(_read_each(value))


def _read_each(value: list[Any]) -> Iterator[TraceDocument]:
    for place, item in enumerate(value, start=1):
        if isinstance(item, str):
            yield build_document(None, item, None, {}, place)
        elif isinstance(item, Mapping):
            yield _read_document(item, place)


def _read_document(item: Mapping[str, Any], place: int) -> TraceDocument:
    nested = item.get("document")
    fields = nested if isinstance(nested, Mapping) else item
    if isinstance(fields.get("kwargs"), Mapping):
        fields = fields["kwargs"]

    def find(*names: str) -> Any:
        return next(
            (fields[key] for name in names for key in (name, f"document.{name}") if fields.get(key) is not None), None
        )

    metadata = parse_json(find("metadata"))
    return build_document(
        find("id", "doc_id", "document_id", "memory_id"),
        find("content", "page_content", "text", "body", "memory"),
        find("score", "relevance_score", "similarity"),
        metadata if isinstance(metadata, Mapping) else {},
        place,
    )


def build_document(identifier: Any, content: Any, score: Any, metadata: Mapping[str, Any], place: int) -> TraceDocument:
    """Make a document. Without an id its metadata may name it; else it is known by its text, else by its place."""
    text = content if isinstance(content, str) else ("" if content is None else json.dumps(content, ensure_ascii=False))
    named = identifier if identifier not in (None, "") else _name_in(metadata)
    score = score if score is not None else metadata.get("score", metadata.get("relevance_score"))
    try:
        return TraceDocument(
            id=_name_document(named, text, place),
            score=read_number(score),
            text=text,
            stale_after=_read_stale(metadata),
        )
    except BadValue as problem:
        reason = RejectReason.TOO_LARGE if "characters, over" in problem.message else RejectReason.MALFORMED
        raise SpanProblem(reason, f"document {place}: {problem.message}") from problem


def _name_in(metadata: Mapping[str, Any]) -> Any:
    return next((metadata[key] for key in (*_ID_KEYS, "source") if metadata.get(key)), None)


def has_own_id(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata name the document itself, and not only where it is from."""
    return any(metadata.get(key) for key in _ID_KEYS)


def _name_document(named: Any, text: str, place: int) -> str:
    """An id, or a hash of one that is too long for an index, or of the text."""
    if named is not None and len(str(named)) <= MAX_SHORT_LABEL:
        return str(named)
    if named is None and not text:
        return f"unnamed-{place}"
    kind, content = ("text", text) if named is None else ("long", str(named))
    return f"{kind}-{content_hash(content).removeprefix(HASH_PREFIX)[:16]}"


def _read_stale(metadata: Mapping[str, Any]) -> datetime | None:
    for key in STALE_KEYS if metadata else ():
        if isinstance(metadata.get(key), str) and metadata[key]:
            try:
                return read_time(metadata[key], key)
            except SpanProblem:
                continue
    return None


# --- Roles ---

ROLES: Mapping[str, SpanRole] = {
    "retriever": SpanRole.RETRIEVER,
    "retrieval": SpanRole.RETRIEVER,
    "reranker": SpanRole.RERANKER,
    "rerank": SpanRole.RERANKER,
    "llm": SpanRole.MODEL,
    "generation": SpanRole.MODEL,
    "chat": SpanRole.MODEL,
    "text_completion": SpanRole.MODEL,
    "generate_content": SpanRole.MODEL,
    "embedding": SpanRole.EMBEDDING,
    "embeddings": SpanRole.EMBEDDING,
    "tool": SpanRole.TOOL,
    "execute_tool": SpanRole.TOOL,
    "chain": SpanRole.CHAIN,
    "agent": SpanRole.CHAIN,
    "invoke_agent": SpanRole.CHAIN,
    "create_agent": SpanRole.CHAIN,
    "invoke_workflow": SpanRole.CHAIN,
    "search_memory": SpanRole.MEMORY_SEARCH,
    "create_memory": SpanRole.MEMORY_WRITE,
    "update_memory": SpanRole.MEMORY_WRITE,
    "upsert_memory": SpanRole.MEMORY_WRITE,
    "delete_memory": SpanRole.MEMORY_WRITE,
    "guardrail": SpanRole.CHAIN,
    "evaluator": SpanRole.CHAIN,
    "prompt": SpanRole.CHAIN,
    "parser": SpanRole.CHAIN,
    "span": SpanRole.CHAIN,
    "event": SpanRole.CHAIN,
}
"""What spans of each kind or operation do, by all conventions; names are compared in small letters."""


def role_of(*names: Any) -> SpanRole:
    """The role of the first name that is known."""
    for name in names:
        found = ROLES.get(name.casefold()) if isinstance(name, str) else None
        if found is not None:
            return found
    return SpanRole.OTHER
