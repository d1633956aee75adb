"""Spans over HTTP: JSON and protobuf, gzip within bounds, tokens, tenants, and the reply that OTLP asks for."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.testclient import TestClient
from tests.server.serving import FOREIGN, bearer, reaching, services_at
from tests.traces.made import QUESTION, Recorder, record_pool, to_otlp_json, to_protobuf

from assay.records.access import Access
from assay.server.otlp import LONGEST_UNPACKED
from assay.server.services import Services

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
GZIP = {"Content-Encoding": "gzip"}


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path) as found:
        yield found


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, local=False) as found:
        yield found


@pytest.fixture
def pool() -> Recorder:
    recorder = Recorder()
    record_pool(recorder)
    return recorder


def send(client: TestClient, body: bytes, *headers: dict[str, str]) -> tuple[int, bytes]:
    answer = client.post(
        "/v1/traces", content=body, headers={key: value for one in headers for key, value in one.items()}
    )
    return answer.status_code, answer.content


def test_json_and_protobuf_plain_and_packed_are_taken_once(
    client: TestClient, services: Services, pool: Recorder
) -> None:
    write = bearer(services, Access.WRITE)
    body = json.dumps(to_otlp_json(pool.spans)).encode()
    assert send(client, body, JSON, write) == (200, b"{}")
    assert send(client, to_protobuf(pool.spans), PROTOBUF, write) == (200, b"")
    assert send(client, gzip.compress(body), JSON, GZIP, write) == (200, b"{}")
    page = client.get("/api/traces", headers=write).json()
    assert (page["total"], page["traces"][0]["question"], page["traces"][0]["spans"]) == (1, QUESTION, 5)
    foreign = client.get("/api/traces", headers=bearer(services, Access.ADMIN, FOREIGN)).json()
    assert foreign["total"] == 0


def test_the_reply_says_in_the_form_of_the_request_what_was_not_taken(
    client: TestClient, services: Services, pool: Recorder
) -> None:
    write = bearer(services, Access.WRITE)
    request = to_otlp_json(pool.spans)
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].append({"name": "no ids"})
    status, reply = send(client, json.dumps(request).encode(), JSON, write)
    assert (status, json.loads(reply)["partialSuccess"]["rejectedSpans"]) == (200, "1")
    long_span = Recorder()
    long_span.span("long", {"openinference.span.kind": "LLM", "output.value": "x" * 1_000_001})
    long_span.span("fine", {"openinference.span.kind": "LLM"})
    status, reply = send(client, to_protobuf(long_span.spans), PROTOBUF, write)
    partial = ExportTraceServiceResponse.FromString(reply).partial_success
    assert (status, partial.rejected_spans) == (200, 1)
    assert "too large" in partial.error_message


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"hello", JSON, 422),
        (b"\xff\xff", PROTOBUF, 422),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {**JSON, "Content-Encoding": "br"}, 415),
        (b"not gzip", {**JSON, **GZIP}, 422),
        (gzip.compress(b" " * (LONGEST_UNPACKED + 1)), {**JSON, **GZIP}, 413),
        (b" " * (5 * 1024 * 1024), JSON, 413),
    ],
)
def test_what_is_no_request_is_refused_in_the_shape_of_every_error(
    client: TestClient, services: Services, body: bytes, headers: dict[str, str], status: int
) -> None:
    got, reply = send(client, body, headers, bearer(services, Access.WRITE))
    assert got == status
    assert json.loads(reply)["error"]["remedy"]


def test_sending_needs_a_token_that_may_write(client: TestClient, services: Services, pool: Recorder) -> None:
    body = json.dumps(to_otlp_json(pool.spans)).encode()
    assert send(client, body, JSON)[0] == 401
    assert send(client, body, JSON, bearer(services, Access.READ))[0] == 403
    assert send(client, body, JSON, {"Origin": "http://evil.example"}, bearer(services, Access.WRITE))[0] == 403


def test_a_program_on_this_machine_needs_no_csrf_token(services: Services, pool: Recorder) -> None:
    with reaching(services) as local:
        assert send(local, to_protobuf(pool.spans), PROTOBUF)[0] == 200


def test_one_key_on_the_page_makes_the_trace_a_case(services: Services, pool: Recorder) -> None:
    with reaching(services, pages=True) as client:
        send(client, to_protobuf(pool.spans), PROTOBUF)
        (trace,) = client.get("/api/traces").json()["traces"]
        address = f"/traces/{trace['trace_id']}"
        assert QUESTION in client.get("/traces").text
        page = client.get(address).text
        assert "make it a golden case" in page
        token = page.partition('name="csrf_token" value="')[2].partition('"')[0]
        assert "Label the cases" not in page, "there is nothing to label yet"
        form = {"csrf_token": token, "key": "g", "dataset": "prod"}
        assert client.post(address, data={**form, "csrf_token": "wrong"}).status_code == 403
        answer = client.post(address, data=form)
        assert answer.status_code == 303
        assert "It is a case of prod now" in client.get(answer.headers["location"]).text
        again = client.post(address, data=form)
        assert "already" in client.get(again.headers["location"]).text
        assert client.get("/api/datasets/prod").json()["cases"] == 1
        assert "prod" in client.get("/evaluation/label").text
        assert client.post(address, data={**form, "key": "x"}).status_code == 422
        client.post(address, data={**form, "dataset": ""})
        assert "Label the cases of traces" in client.get(address).text
