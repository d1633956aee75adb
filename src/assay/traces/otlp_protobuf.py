"""OTLP as protobuf: one request, or many of them each behind its length. Needs the extra `otel`.

The messages that hold spans are walked field by field on the wire, so that a request larger than memory is read span
by span; the spans themselves are read by the package `opentelemetry-proto`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from assay.extras import need_extra
from assay.records.traces import RejectReason
from assay.records.values import MAX_NESTING
from assay.traces.conventions import RawSpan, read_span
from assay.traces.reading import ReadSpan, RefusedSpan, SpanProblem, malformed, read_nanoseconds

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    from assay.traces.json_stream import Read

LONGEST_SPAN = 4 << 20
"""Bytes of one span."""
CHUNK = 1 << 20
_RESOURCE_SPANS, _SCOPE_SPANS, _SPANS = 1, 2, 2
"""Numbers of the fields on the way from a request to its spans."""
_PATH = (_RESOURCE_SPANS, _SCOPE_SPANS, _SPANS)
_VARINT, _FIXED_64, _DELIMITED, _FIXED_32 = 0, 1, 2, 5
_LENGTH_BYTES = 4
_ERROR = 2


class _Wire:
    """Bytes of a file, read as protobuf writes them."""

    def __init__(self, read: Read, begin: bytes = b"") -> None:
        self._read = read
        self._held = begin
        self._at = 0
        self.place = 0
        """Bytes that were read so far."""

    def take(self, size: int) -> bytes:
        """So many bytes; raises `SpanProblem` where the file ends before."""
        while len(self._held) - self._at < size:
            piece = self._read(max(CHUNK, size))
            if not piece:
                raise malformed("the file ends inside a message")
            self._held = self._held[self._at :] + piece
            self._at = 0
        self._at += size
        self.place += size
        return self._held[self._at - size : self._at]

    def skip(self, size: int) -> None:
        """Go behind so many bytes, keeping none of them."""
        while size > 0:
            size -= len(self.take(min(size, CHUNK)))

    def has_more(self) -> bool:
        """Whether anything follows."""
        if self._at < len(self._held):
            return True
        self._held, self._at = self._read(CHUNK), 0
        return bool(self._held)

    def varint(self) -> int:
        """A number of up to 64 bits."""
        number = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise malformed("a number of the wire has more than ten bytes")


def read_otlp_protobuf(read: Read) -> Iterator[ReadSpan]:
    """Every span of a file or request, or why it cannot be read."""
    need_extra("otel", "opentelemetry")
    begin = read(CHUNK)
    wire = _Wire(read, begin)
    # A field's tag is never 0, and a message behind its length in four bytes is under 16 MiB: the first byte tells.
    framed = begin[:1] == b"\x00"
    try:
        while wire.has_more():
            if framed:
                yield from _message(wire, int.from_bytes(wire.take(_LENGTH_BYTES), "big"), 0)
            else:
                yield from _field(wire, 0)
    except SpanProblem as problem:
        # Where a length is wrong, nothing behind it can be found.
        yield RefusedSpan(problem.refused.reason, f"{problem.refused.sentence}; nothing behind it can be read")


def _message(wire: _Wire, length: int, level: int) -> Iterator[ReadSpan]:
    end = wire.place + length
    while wire.place < end:
        yield from _field(wire, level)
    if wire.place != end:
        raise malformed("a message is longer than its length says")


def _field(wire: _Wire, level: int) -> Iterator[ReadSpan]:
    tag = wire.varint()
    number, kind = tag >> 3, tag & 7
    if number == 0:
        raise malformed("these bytes are not an OTLP message")
    if kind == _VARINT:
        wire.varint()
    elif kind == _FIXED_64:
        wire.skip(8)
    elif kind == _FIXED_32:
        wire.skip(4)
    elif kind != _DELIMITED:
        raise malformed("these bytes are not an OTLP message")
    else:
        yield from _delimited(wire, number, wire.varint(), level)


def _delimited(wire: _Wire, number: int, length: int, level: int) -> Iterator[ReadSpan]:
    if number != _PATH[level]:
        wire.skip(length)
    elif level < len(_PATH) - 1:
        yield from _message(wire, length, level + 1)
    elif length > LONGEST_SPAN:
        wire.skip(length)
        yield RefusedSpan(RejectReason.TOO_LARGE, f"it has {length:,} bytes, over {LONGEST_SPAN:,}")
    else:
        yield _read_bytes(wire.take(length))


def _read_bytes(data: bytes) -> ReadSpan:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # noqa: PLC0415 - the extra
    from opentelemetry.proto.trace.v1.trace_pb2 import Span  # noqa: PLC0415 - the same

    try:
        return _read_message(Span.FromString(data))
    except DecodeError as problem:
        deep = "recursion" in str(problem).lower() or "depth" in str(problem).lower()
        reason = RejectReason.TOO_DEEP if deep else RejectReason.MALFORMED
        return RefusedSpan(reason, f"it is not a span of OTLP: {problem}")
    except SpanProblem as problem:
        return problem.refused


def _read_message(span: Span) -> ReadSpan:
    return read_span(
        RawSpan(
            trace_id=_hexadecimal(span.trace_id, "trace_id", 16),
            span_id=_hexadecimal(span.span_id, "span_id", 8),
            parent_id=span.parent_span_id.hex() or None,
            name=span.name,
            started_at=read_nanoseconds(span.start_time_unix_nano, "start_time_unix_nano"),
            ended_at=read_nanoseconds(span.end_time_unix_nano, "end_time_unix_nano")
            if span.end_time_unix_nano
            else None,
            problem=(span.status.message or "the span reports an error") if span.status.code == _ERROR else "",
            attributes={entry.key: _any_value(entry.value, 0) for entry in span.attributes},
        )
    )


def _hexadecimal(value: bytes, what: str, length: int) -> str:
    if len(value) != length or not any(value):
        raise malformed(f"{what} {value[:32].hex()!r} is not {length} bytes")
    return value.hex()


def _any_value(value: Any, depth: int) -> Any:
    if depth > MAX_NESTING:
        raise SpanProblem(RejectReason.TOO_DEEP, f"an attribute is nested deeper than {MAX_NESTING} levels")
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_any_value(item, depth + 1) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {entry.key: _any_value(entry.value, depth + 1) for entry in value.kvlist_value.values}
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return None if kind is None else getattr(value, kind)
