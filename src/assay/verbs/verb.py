"""What a verb is: one thing a user can do, with one request, one result and one policy on every surface.

A surface asks a verb for what it needs: the HTTP route takes method, path and schemas, the MCP server a tool, the
client a method, the command line the JSON that `--json` prints. None of them maps a request or a result by itself.

A request is a frozen pydantic model whose fields say limits, defaults and descriptions. A result is a value of the
domain, usually the record that the engine returns; its JSON is its fields, nothing renamed.

Modules of verbs import nothing heavy: the HTTP client uses this table in an installation without a store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from assay.access.acts import Act
from assay.access.policies import Grant, Policy
from assay.errors import AccessTooLow
from assay.records import Scope
from assay.records.access import Access
from assay.verbs.faults import refuse

if TYPE_CHECKING:
    from assay.access.tokens import SignIns, Tokens
    from assay.evaluation.shelf import Shelf
    from assay.memory.engine import Engine
    from assay.research.custom import CustomDimension
    from assay.research.events import Listen
    from assay.settings import Settings
    from assay.work.jobs import Executor


class Request(BaseModel):
    """What a caller gives: no unknown fields, no NaN. Numbers and truth values are strict by their own fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def leave_out(request: type[Request], names: Collection[str], title: str) -> type[Request]:
    """Return a request type under another title that lacks some fields, for a surface that gives them another way."""
    hints = get_type_hints(request, include_extras=True)
    left: dict[str, Any] = {
        name: (hints[name], ... if info.is_required() else info.get_default(call_default_factory=True))
        for name, info in request.model_fields.items()
        if name not in names
    }
    return create_model(title, __base__=Request, __doc__=request.__doc__, **left)


class Surface(StrEnum):
    """Where a call comes from."""

    PYTHON = "python"
    COMMAND_LINE = "command line"
    HTTP = "http"
    MCP = "mcp"


Progress = Callable[[float, float | None, str], None]
"""Told how much is done, of how much, and what; may raise to stop the work."""


def report_nothing(done: float, of: float | None, what: str) -> None:
    """Progress that nobody wants to hear of."""


def remember_nothing() -> None:
    """Forget tokens where nobody remembers any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who calls, from where, and what serves them."""

    opened: Engine | None
    """The memory; None where a verb does without, such as one that restores a store which cannot be opened."""
    settings: Settings
    grant: Grant
    surface: Surface
    via: str
    """What the caller used, such as `assay save` or `mcp memory_save`: kept as `written_with`."""
    progress: Progress = report_nothing
    listen: Listen | None = None
    """Told of every step of a question while it is answered; None: nobody is."""
    dimensions: tuple[CustomDimension, ...] = ()
    """Dimensions by which a program judges answers besides those of the settings; only Python can give some."""
    executor: Executor | None = None
    """Who does work that can be spread, as a command asked for; None: this process."""
    forget_tokens: Callable[[], None] = remember_nothing
    """Makes a server ask the store again who may come in, at once; elsewhere nothing is remembered."""

    @property
    def engine(self) -> Engine:
        """The memory."""
        if self.opened is None:
            raise RuntimeError("this verb needs a memory, and was called without one")
        return self.opened

    @property
    def scope(self) -> Scope:
        """Whose rows: the word of the surface, never of the request."""
        return self.grant.scope

    @property
    def is_program(self) -> bool:
        """Whether the caller counts as a program, which never replaces what a person wrote."""
        return not self.grant.person

    @property
    def shelf(self) -> Shelf:
        """The runs, datasets and labels that the caller may see: there is no other way to them."""
        # The wiring needs the store, which a client of another machine's server does without.
        from assay import wiring  # noqa: PLC0415

        return wiring.shelf_of(self.settings, self.engine, self.scope)

    @property
    def tokens(self) -> Tokens:
        """The tokens of the store."""
        from assay.access.tokens import Tokens  # noqa: PLC0415 - needs the store, as above

        return Tokens(self.engine.store, self.engine.clock)

    @property
    def sign_ins(self) -> SignIns:
        """The sign-ins of browsers, which last as long as the settings say."""
        from assay import wiring  # noqa: PLC0415 - needs the store, as above

        return wiring.sign_ins_of(self.settings, self.engine.store, self.engine.clock)

    def require(self, access: Access, *, person: bool, what: str, remedy: str) -> None:
        """Raise `AccessTooLow` unless the caller has the access, and is a person where one is needed."""
        if not self.grant.access.includes(access) or (person and self.is_program):
            raise AccessTooLow(what, remedy=remedy)


class ShownOnce(NamedTuple):
    """What of an answer is shown once and never stored: a repeat under the same `Idempotency-Key` goes without it."""

    fields: tuple[str, ...]
    """Fields of the answer that a repeat has as null."""
    notice: str
    """What the field `notice` of a repeat says: that it was shown once, and what to do if it is lost."""


class HttpRoute(NamedTuple):
    """The address of a verb."""

    method: str
    path: str
    """Names in braces are fields of the request."""
    errors: tuple[int, ...] = ()
    """Statuses it may answer with besides those that any route may."""
    streams: bool = False
    """Whether the body may say `stream`: then every step of the work is a server-sent event, the result the last."""

    shown_once: ShownOnce | None = None
    """What of the answer is a secret that only its first receiver may see."""

    @property
    def path_fields(self) -> tuple[str, ...]:
        """Fields of the request that stand in the path; the others are the query of a GET or DELETE, else the body."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def has_body(self) -> bool:
        """Whether the other fields are sent as a body."""
        return self.method in {"POST", "PUT", "PATCH"}


class McpTool(NamedTuple):
    """A verb as agents see it."""

    name: str
    title: str
    description: str
    without: frozenset[str] = frozenset()
    """Fields of the request that an agent cannot give."""
    masked: frozenset[str] = frozenset()
    """Fields of the result that an agent is not shown."""
    read_as: Callable[[Any], str] | None = None
    """How a result reads as text; None: as its JSON."""


Q = TypeVar("Q", bound=Request)
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Verb(Generic[Q, R]):
    """One thing a user can do, on any surface."""

    name: str
    """A noun and a verb, such as `memory.save`."""
    summary: str
    """One plain sentence."""
    act: Act
    request: type[Q]
    result: Any
    """The type of the result: a dataclass, a pydantic model, or a union of them."""
    call: Callable[[Caller, Q], R]
    before_reading: Callable[[Any], None] | None = None
    """Makes names known that a result from elsewhere may hold; None: there are none."""
    http: HttpRoute | None = None
    tool: McpTool | None = None
    command: str = ""
    """The command that does it; empty: there is none."""
    client: str = ""
    """The method of `Client`; empty: there is none."""
    python: str = ""
    """The public function or method, such as `Memory.save`; empty: there is none."""

    @property
    def policy(self) -> Policy:
        """Who may call it, the same on every surface."""
        return self.act.policy

    @cached_property
    def adapter(self) -> TypeAdapter[R]:
        """Writes results as JSON, and reads them back."""
        return TypeAdapter(self.result)

    def make(self, given: Mapping[str, Any]) -> Q:
        """Return a request of these fields, without those that are None; raises `BadValue` naming all at fault."""
        try:
            return self.request.model_validate({name: value for name, value in given.items() if value is not None})
        except ValidationError as problem:
            raise refuse(problem, self.name, self.request) from problem

    def to_json(self, result: R, *, without: frozenset[str] = frozenset()) -> Any:
        """Return a result in JSON's own types, without the fields that a surface masks."""
        return self.adapter.dump_python(result, mode="json", exclude=set(without) or None)

    def write(self, result: R) -> bytes:
        """Return a result as a JSON document."""
        return self.adapter.dump_json(result)

    def read(self, told: Any) -> R:
        """Return the result that a JSON value tells of."""
        if self.before_reading is not None:
            self.before_reading(told)
        return self.adapter.validate_python(told)


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """The verbs of one subject."""

    name: str
    verbs: tuple[Verb[Any, Any], ...]
