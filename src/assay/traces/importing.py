"""A file or a request into the store: find its form, read it span by span, store the spans in batches.

Every batch is one transaction, so an import that was stopped has stored whole batches, and the same file again adds
what is missing. Memory does not grow with the file.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from assay.errors import InputError
from assay.records.traces import RejectReason, SpanNote, SpanRole, TraceFormat, TraceImport, TraceSpan
from assay.regular_files import open_regular
from assay.storage.repositories.traces import MaskedTexts
from assay.traces import langfuse, langsmith, otlp_json, otlp_protobuf, phoenix
from assay.traces.json_stream import JsonStream, JsonValue, Read
from assay.traces.reading import ReadSpan, RefusedSpan

if TYPE_CHECKING:
    from assay.records import Scope
    from assay.storage import Store

BATCH = 2_000
"""Spans that are stored in one transaction."""
MOST_EXAMPLES = 5
MOST_UNPACKED = 200
"""Times its own size that a packed file may unpack to."""
FREE_UNPACKED = 4 << 20
"""Bytes that any packed file may unpack to."""
_LOOKED_AT = 1 << 20
_GZIP = b"\x1f\x8b"
LISTS = ("data", "runs")
"""Names under which exports have their spans in one list."""

Reader = Callable[[Read], Iterator[ReadSpan]]
READERS: Mapping[TraceFormat, Reader] = {
    TraceFormat.OTLP: otlp_json.read_otlp_json,
    TraceFormat.OTLP_PROTOBUF: otlp_protobuf.read_otlp_protobuf,
    TraceFormat.LANGFUSE: langfuse.read_langfuse,
    TraceFormat.PHOENIX: phoenix.read_phoenix,
    TraceFormat.LANGSMITH: langsmith.read_langsmith,
}
Progress = Callable[[int], None]
"""Told how many spans were read."""


class _Placed(NamedTuple):
    """A span or a refused one, and the file it is in."""

    span: ReadSpan
    place: str


def import_files(
    store: Store,
    scope: Scope,
    paths: Sequence[Path],
    *,
    form: TraceFormat = TraceFormat.AUTO,
    on_progress: Progress | None = None,
) -> TraceImport:
    """Import files of traces; raises `InputError` for one that cannot be opened or whose form is not known."""
    for path in paths:
        with _reading(path) as read:
            find_format(read(_LOOKED_AT), path, form)
    return store_spans(store, scope, _read_files(paths, form), files=len(paths), on_progress=on_progress)


def _read_files(paths: Sequence[Path], form: TraceFormat) -> Iterator[_Placed]:
    for path in paths:
        with _reading(path) as read:
            begin = read(_LOOKED_AT)
            found = find_format(begin, path, form)
            reader = READERS[found](_with_begin(begin, read))
            for number, span in enumerate(_keep_reading(reader), start=1):
                yield _Placed(span, f"{path.name}, span {number:,}")


def import_request(store: Store, scope: Scope, body: bytes, form: TraceFormat) -> TraceImport:
    """Import the body of one request in a known form."""
    rest = iter((body, b""))
    spans = (_Placed(span, f"span {number}") for number, span in enumerate(READERS[form](lambda _: next(rest, b"")), 1))
    return store_spans(store, scope, spans, files=0)


def store_spans(
    store: Store, scope: Scope, spans: Iterable[_Placed], *, files: int, on_progress: Progress | None = None
) -> TraceImport:
    """Store spans in batches, and count what became of each."""
    counts = _Counts()
    texts = MaskedTexts()
    with store.reading(scope) as work:
        before = work.traces.last_number()
    stream = iter(spans)
    while batch := list(islice(stream, BATCH)):
        good = counts.sort_out(batch)
        if good:
            with store.writing(scope) as work:
                done = work.traces.add_many(good, texts)
            counts.stored += done.stored
            counts.traces += done.traces
            counts.rejected[RejectReason.DUPLICATE] += len(good) - done.stored
        if on_progress is not None:
            on_progress(counts.spans)
    if counts.stored:
        with store.reading(scope) as work:
            counts.noted[SpanNote.PARENT_MISSING] = work.traces.count_orphans(after=before)
    return counts.result(files)


class _Counts:
    """What became of the spans of an import."""

    def __init__(self) -> None:
        self.spans = self.stored = self.traces = 0
        self.rejected: Counter[RejectReason] = Counter()
        self.noted: Counter[SpanNote] = Counter()
        self._examples: list[str] = []

    def sort_out(self, batch: Iterable[_Placed]) -> list[TraceSpan]:
        """Count a batch, and return what can be stored."""
        good: list[TraceSpan] = []
        for span, place in batch:
            self.spans += 1
            if isinstance(span, RefusedSpan):
                self.rejected[span.reason] += 1
                if len(self._examples) < MOST_EXAMPLES:
                    self._examples.append(f"{place}: {span.reason.value}: {span.sentence}")
                continue
            if span.role is SpanRole.OTHER:
                self.noted[SpanNote.UNKNOWN_KIND] += 1
            good.append(span)
        return good

    def result(self, files: int) -> TraceImport:
        """Return the counts; what did not happen is left out."""
        return TraceImport(
            files=files,
            spans=self.spans,
            stored=self.stored,
            traces=self.traces,
            rejected=dict(+self.rejected),
            noted=dict(+self.noted),
            examples=tuple(self._examples),
        )


# --- Opening files, and finding out how they are written ---


@contextmanager
def _reading(path: Path) -> Iterator[Read]:
    """Open a file, plain or gzipped, for reading its bytes."""
    try:
        with open_regular(path) as raw:
            packed = raw.read(len(_GZIP)) == _GZIP
            raw.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=raw) as opened:
                    yield _bounded(path, raw, opened)
            else:
                yield raw.read
    except IsADirectoryError as problem:
        raise InputError(f"{path} is a folder", remedy="Name the files in it.") from problem
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise InputError(f"{path} cannot be unpacked: {problem}", remedy="Fetch or pack the file again.") from problem
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError(f"{path} cannot be read: {reason}", remedy="Check the path and its permissions.") from problem


def _bounded(path: Path, raw: BinaryIO, opened: gzip.GzipFile) -> Read:
    """Read a packed file, as long as it is not out of all proportion to its size."""
    total = 0

    def read(size: int) -> bytes:
        nonlocal total
        # What stands before a break is given first, and the break is raised by the next call.
        piece = opened.read1(size)
        total += len(piece)
        if total > FREE_UNPACKED and total > MOST_UNPACKED * max(raw.tell(), 1):
            raise InputError(
                f"{path} unpacks to over {MOST_UNPACKED} times its own size",
                remedy="If you trust it, unpack it with gunzip and name the plain file.",
            )
        return piece

    return read


def _with_begin(begin: bytes, read: Read) -> Read:
    """Read what was looked at already, then the rest."""
    waiting = [begin]

    def again(size: int) -> bytes:
        return waiting.pop() if waiting else read(size)

    return again


def _keep_reading(reader: Iterator[ReadSpan]) -> Iterator[ReadSpan]:
    """Every span; a packed file that breaks off is a refused span, since those before it are stored already."""
    try:
        yield from reader
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        yield RefusedSpan(RejectReason.MALFORMED, f"the file cannot be unpacked any further: {problem}")


def find_format(begin: bytes, path: Path, form: TraceFormat) -> TraceFormat:
    """The form of a file by its beginning, unless it is named; raises `InputError` where it is not known."""
    if form is not TraceFormat.AUTO:
        return form
    if not begin.strip():
        raise InputError(f"{path} is empty", remedy="Name a file with traces.")
    if begin.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
        # A request in protobuf begins with the tag of its first field, or with its length.
        if begin[:1] in (b"\x0a", b"\x00"):
            return TraceFormat.OTLP_PROTOBUF
        raise _unknown(path)
    if any(f'"{name}"'.encode() in begin[:_LOOKED_AT] for name in otlp_json.WALKED[:2]):
        return TraceFormat.OTLP
    first = next(_first_objects(begin), None)
    if first is not None:
        for found, looks_like in (
            (TraceFormat.PHOENIX, phoenix.looks_like_phoenix),
            (TraceFormat.LANGSMITH, langsmith.looks_like_langsmith),
            (TraceFormat.LANGFUSE, langfuse.looks_like_langfuse),
        ):
            if looks_like(first):
                return found
    raise _unknown(path)


def _first_objects(begin: bytes) -> Iterator[Mapping[str, Any]]:
    """The first objects of a file that are whole, those of a list under `data` or `runs` too."""
    rest = iter((begin,))
    for found in JsonStream(lambda _: next(rest, b""), LISTS, last=LISTS).values():
        if not isinstance(found, JsonValue):
            continue
        listed = found.value
        for name in LISTS:
            if isinstance(listed, Mapping) and isinstance(listed.get(name), list):
                listed = listed[name][0] if listed[name] else None
        if isinstance(listed, Mapping):
            yield listed


def _unknown(path: Path) -> InputError:
    known = ", ".join(form.value for form in TraceFormat if form is not TraceFormat.AUTO)
    return InputError(
        f"{path} is in no form of traces that Assay knows", remedy=f"Name its form with --format: {known}."
    )


def unpack_body(body: bytes, most: int) -> bytes | None:
    """The bytes of a gzipped request; None where there are more than `most`."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(body, most + 1)
    except zlib.error as problem:
        raise InputError(f"the body is not gzip: {problem}", remedy="Send it plain, or pack it again.") from problem
    if len(found) > most:
        return None
    if not unpacker.eof:
        raise InputError("the gzipped body ends too early", remedy="Send all of it.")
    return found


def describe_import(done: TraceImport) -> str:
    """One sentence on what was rejected, for a reply; empty: nothing was."""
    lost = {reason: count for reason, count in done.rejected.items() if reason is not RejectReason.DUPLICATE}
    if not lost:
        return ""
    counts = ", ".join(f"{count:,} {reason.value}" for reason, count in lost.items())
    return f"{counts}. {' | '.join(done.examples)}"[:1_000]


def to_json_reply(done: TraceImport) -> bytes:
    """The reply that OTLP asks for, as JSON: empty where every span was taken, else what was not and why."""
    return json.dumps(_partial(done)).encode()


def _partial(done: TraceImport) -> dict[str, Any]:
    rejected = count_rejected(done)
    # OTLP writes 64-bit numbers as text in JSON.
    said = {"rejectedSpans": str(rejected), "errorMessage": describe_import(done)}
    return {"partialSuccess": said} if rejected else {}


def to_protobuf_reply(done: TraceImport) -> bytes:
    """The same as protobuf."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - the extra
        ExportTracePartialSuccess,
        ExportTraceServiceResponse,
    )

    rejected = count_rejected(done)
    if not rejected:
        return b""
    partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message=describe_import(done))
    return bytes(ExportTraceServiceResponse(partial_success=partial).SerializeToString())


def count_rejected(done: TraceImport) -> int:
    """Spans that a sender has to know of; one that is stored already was taken."""
    return sum(count for reason, count in done.rejected.items() if reason is not RejectReason.DUPLICATE)
