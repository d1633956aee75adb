"""OTLP over HTTP: a collector or an SDK sends its spans to `/v1/traces`, as JSON or protobuf, plain or gzipped.

The reply is what OTLP asks for: 200 with the number of spans that were not taken and why, in the form of the request. A
body that is no request at all is refused in the shape of every error. Sending a request again changes nothing.
"""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from assay.access import acts
from assay.errors import InputError
from assay.gateway.refusal import RequestRefused
from assay.records.traces import RejectReason, TraceFormat, TraceImport
from assay.server.limits import JSON
from assay.server.routing import Asked, Resource, RouteCall
from assay.server.services import Lane
from assay.traces.importing import import_request, to_json_reply, to_protobuf_reply, unpack_body

RESOURCE = Resource("", "traces")
PROTOBUF = "application/x-protobuf"
FORMS = {JSON: TraceFormat.OTLP, PROTOBUF: TraceFormat.OTLP_PROTOBUF}
LONGEST_UNPACKED = 16 * 1024 * 1024
"""Bytes of a gzipped body when it is unpacked."""
REPLIES = {
    200: {
        "description": "Taken; `partialSuccess` counts the spans that were not.",
        "content": {JSON: {"schema": {"type": "object"}}, PROTOBUF: {"schema": {"type": "string"}}},
    }
}


@RESOURCE.post("/v1/traces", acts.TRACE_SEND, raw_kinds=tuple(FORMS), responses=REPLIES)
async def receive_spans(asked: Asked, request: Request) -> Response:
    """Take spans of OpenTelemetry (OTLP/HTTP).

    The body is an ExportTraceServiceRequest as JSON or protobuf, plain or with `Content-Encoding: gzip`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    packing = request.headers.get("content-encoding", "identity").strip().lower()
    body = await request.body()
    return await asked.services.run(lambda: _take(asked, kind, packing, body), Lane.SHORT)


def _take(asked: RouteCall, kind: str, packing: str, body: bytes) -> Response:
    done = import_request(asked.engine.store, asked.scope, _unpack(packing, body), FORMS.get(kind, TraceFormat.OTLP))
    if done.spans and set(done.rejected) == {RejectReason.MALFORMED} and _nothing_read(done):
        raise InputError(f"the body is not an OTLP request: {done.examples[0]}", remedy=f"Send {' or '.join(FORMS)}.")
    reply = to_protobuf_reply(done) if kind == PROTOBUF else to_json_reply(done)
    return Response(reply, media_type=kind)


def _nothing_read(done: TraceImport) -> bool:
    return done.stored == 0 and done.spans == done.rejected[RejectReason.MALFORMED] == 1


def _unpack(packing: str, body: bytes) -> bytes:
    if packing in ("identity", ""):
        return body
    if packing != "gzip":
        raise RequestRefused(
            415, "wrong_kind", f"the content encoding {packing[:40]!a} is not supported", remedy="Send gzip or plain."
        )
    unpacked = unpack_body(body, LONGEST_UNPACKED)
    if unpacked is None:
        raise RequestRefused(
            413, "too_large", f"the body unpacks to over {LONGEST_UNPACKED:,} bytes", remedy="Send fewer spans at once."
        )
    return unpacked
