"""One shape for every error, `{"error": {"code", "message", "remedy", "request_id"}}`, and the status of each kind.

A browser that requests a page gets the same content as HTML (`wants_page`, `PAGE`); addresses of the API send JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from assay import errors
from assay.errors import AssayError, BadValue
from assay.gateway.refusal import RequestRefused as RequestRefused  # noqa: PLC0414 - offered beside the others
from assay.server.services import REQUEST_ID

SHOWN = 60
"""Characters of a wrong value that an error repeats."""
STATUSES: Mapping[type[AssayError], int] = {
    errors.RecordNotFound: 404,
    errors.RunNotFound: 404,
    errors.CheckpointNotFound: 404,
    errors.UnknownFlag: 404,
    errors.UnknownSystem: 404,
    errors.NotAllowed: 403,
    errors.RecordExists: 409,
    errors.NotReady: 409,
    errors.NotComparable: 409,
    errors.NoBaseline: 404,
    errors.BrokenSeal: 409,
    errors.BudgetExhausted: 402,
    errors.MissingExtra: 501,
    errors.InputError: 422,
    errors.StoreFull: 507,
    errors.EndpointUnavailable: 502,
    errors.EndpointMisbehaved: 502,
    errors.StorageError: 503,
    errors.ServerBusy: 503,
    errors.RequestTooCostly: 503,
    AssayError: 500,
}
"""The status of an error's class, or of its nearest base class that is listed."""
RETRY_S = 1
API = "/api/"
"""The beginning of every address of the API."""
MEANINGS = {
    400: "The request cannot be read.",
    401: "The token is missing or invalid.",
    402: "The budget for models is used up.",
    403: "This caller may not do that, or the request comes from a page that may not send it.",
    404: "It does not exist in this scope.",
    405: "This address does not support that method.",
    409: "It conflicts with the current state, or another step is needed first.",
    413: "The request is too large.",
    415: "The body has an unsupported content type.",
    421: "This server does not serve that Host.",
    422: "A value is invalid; the message names it.",
    429: "Too many requests; see Retry-After.",
    500: "A bug in Assay.",
    501: "An optional part of Assay that this needs is not installed.",
    502: "A model's endpoint failed.",
    503: "The store or the server cannot do it now; see Retry-After.",
    507: "No disk space is left for the store.",
}


class Fault(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(description="The stable name of the kind of error.", examples=["record_not_found"])
    message: str = Field(description="What is wrong, naming the value at fault.")
    remedy: str = Field(description="What to do next.")
    request_id: str = Field(description="Names this request in the server's log.")


class ErrorBody(BaseModel):
    """The one shape of an error."""

    model_config = ConfigDict(extra="forbid")

    error: Fault


def status_of(problem: AssayError | RequestRefused) -> int:
    """Return the HTTP status of an error."""
    if isinstance(problem, RequestRefused):
        return problem.status
    return next(STATUSES[kind] for kind in type(problem).__mro__ if kind in STATUSES)


def to_json_response(problem: AssayError | RequestRefused, request_id: str) -> Response:
    """Return an error as a JSON response."""
    status = status_of(problem)
    fault = {**problem.as_json()["error"], "request_id": request_id}
    headers = dict(problem.headers) if isinstance(problem, RequestRefused) else {}
    if status == 503:
        headers.setdefault("Retry-After", str(RETRY_S))
    # A message may repeat input that cannot be encoded as UTF-8, so everything but ASCII is escaped.
    body = json.dumps({"error": fault}, ensure_ascii=True).encode()
    return Response(body, status_code=status, headers=headers, media_type="application/json")


class ErrorPage(Protocol):
    """Makes a page of an error."""

    def __call__(self, scope: Scope, problem: AssayError | RequestRefused) -> Response:
        """Return the page. The caller is authenticated only if the scope holds a grant."""
        ...


def to_response(scope: Scope, problem: AssayError | RequestRefused, page: ErrorPage | None) -> Response:
    """Return an error as a page for a browser, as JSON for others; `page` is None if the server has no pages."""
    plain = to_json_response(problem, str(scope.get(REQUEST_ID, "")))
    if page is None or not wants_page(scope):
        return plain
    shown = page(scope, problem)
    shown.headers.update({name: value for name, value in plain.headers.items() if name not in _OF_THE_BODY})
    return shown


_OF_THE_BODY = {"content-type", "content-length"}


def wants_page(scope: Scope) -> bool:
    """Whether a browser requests an HTML page."""
    if scope["path"].startswith(API):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


_SCHEMAS = "#/components/schemas/"


def document_statuses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of errors with these statuses.

    It refers to the schema by name: given the model itself, FastAPI would make a validator for each status of each
    route, which takes half of a server's start-up time.
    """
    body = {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{ErrorBody.__name__}"}}}
    return {status: {"description": MEANINGS[status], "content": body} for status in sorted(set(statuses))}


def describe_body() -> dict[str, Any]:
    """Return the schemas that `document_statuses` refers to, by name."""
    schema = ErrorBody.model_json_schema(ref_template=_SCHEMAS + "{model}")
    return {**schema.pop("$defs", {}), ErrorBody.__name__: schema}


def add_handlers(app: FastAPI) -> None:
    """Let the application answer every error in the one shape."""

    @app.exception_handler(AssayError)
    async def _handle_assay_error(request: Request, problem: AssayError) -> Response:
        return _respond(request, problem)

    @app.exception_handler(RequestRefused)
    async def _handle_refusal(request: Request, problem: RequestRefused) -> Response:
        return _respond(request, problem)

    @app.exception_handler(RequestValidationError)
    async def _handle_invalid(request: Request, problem: RequestValidationError) -> Response:
        return _respond(request, _bad_value(problem))

    @app.exception_handler(Exception)
    async def _handle_bug(request: Request, problem: Exception) -> Response:  # noqa: ARG001 - the guard writes it to the log
        return _respond(request, internal())

    @app.exception_handler(HTTPException)
    async def _handle_http(request: Request, problem: HTTPException) -> Response:
        return _respond(request, _of_http(request, problem))


def internal() -> RequestRefused:
    """Return the error for a bug: it points to the server's log and reveals nothing else."""
    return RequestRefused(
        500, "internal_error", "Assay itself failed", remedy="This is a bug; the server's log says more."
    )


def page_of(app: FastAPI) -> ErrorPage | None:
    """Return what makes pages of errors; None: this server has no pages."""
    found: ErrorPage | None = getattr(app.state, PAGE, None)
    return found


def _respond(request: Request, problem: AssayError | RequestRefused) -> Response:
    return to_response(request.scope, problem, page_of(request.app))


PAGE = "error_page"
"""The name of the `ErrorPage` in the application's state."""


def _of_http(request: Request, problem: HTTPException) -> RequestRefused:
    if problem.status_code == 404:
        return RequestRefused(
            404, "not_found", f"there is nothing at {request.url.path}", remedy="See /api/openapi.json."
        )
    if problem.status_code == 405:
        allowed = (problem.headers or {}).get("Allow", "")
        remedy = f"It takes {allowed}." if allowed else "See /api/openapi.json."
        message = f"{request.url.path} does not take {request.method}"
        return RequestRefused(405, "method_not_allowed", message, remedy=remedy, headers=problem.headers)
    return RequestRefused(problem.status_code, "refused", str(problem.detail), remedy="See /api/openapi.json.")


def _bad_value(problem: RequestValidationError) -> AssayError:
    faults = dict.fromkeys(_fault(fault) for fault in problem.errors())
    return BadValue("; ".join(list(faults)[:10]), remedy="Send what /api/openapi.json describes.")


def _fault(fault: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in fault["loc"][1:]) or str(fault["loc"][0] if fault["loc"] else "the request")
    if fault["type"] == "missing":
        return f"{where} is missing"
    if fault["type"] == "extra_forbidden":
        return f"there is no field {where}"
    message = str(fault["msg"]).removeprefix("Value error, ")
    value = ascii(fault.get("input"))
    return f"{where}: {message[:1].lower()}{message[1:]}, not {value if len(value) <= SHOWN else value[:SHOWN] + '...'}"
