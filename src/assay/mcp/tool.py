"""What a tool is: name, act, arguments, result, and the function between. Also what every call shares.

Arguments are read strictly from JSON: a text is no number, an unknown field is refused. What is wrong is told by the
field's name, with the field's own description as the remedy. Every field states its limits in its schema.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

from mcp_types import Tool as Described
from mcp_types import ToolAnnotations
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from assay import wiring
from assay.errors import BadValue
from assay.mcp.policies import Act, Policy
from assay.records import Scope

if TYPE_CHECKING:
    from assay.evaluation.shelf import Shelf
    from assay.memory.engine import Engine
    from assay.settings import Settings

SHOWN = 60
"""Characters of a wrong value that an error repeats."""


class Arguments(BaseModel):
    """What a client sends to a tool."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Result(BaseModel):
    """What a tool gives back as structured content."""

    model_config = ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=Result)
Progress = Callable[[float, float | None, str], None]
"""Told how much is done, of how much, and what; stops the work when the caller has gone."""


class Calling(NamedTuple):
    """What a tool works with."""

    engine: Engine
    settings: Settings
    scope: Scope
    """Whose rows: the server's word, never the client's."""
    read_only: bool
    """The caller may read alone, so nothing is written down of the call but logs."""
    progress: Progress

    @property
    def shelf(self) -> Shelf:
        """The runs, datasets and labels that the caller may see: there is no other way to them."""
        return wiring.shelf_of(self.settings, self.engine, self.scope)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool(Generic[A, R]):
    """One tool."""

    name: str
    title: str
    description: str
    act: Act
    """What it does, from the table of acts; the policy is the act's."""
    arguments: type[A]
    result: type[R]
    call: Callable[[Calling, A], R]
    readable: Callable[[R], str] | None = None
    """How a result reads; None: as the JSON it is."""

    @property
    def policy(self) -> Policy:
        """The policy of its act, the same as on every other surface."""
        return self.act.policy

    def described(self) -> Described:
        """What a client is told of it."""
        return Described(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.result.model_json_schema(mode="serialization"),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.policy.reads_only,
                destructive_hint=self.policy.destructive,
                idempotent_hint=self.policy.idempotent,
                open_world_hint=False,
            ),
        )

    def read(self, given: Mapping[str, Any]) -> A:
        """The arguments, checked; raises `BadValue` with every field at fault."""
        try:
            return self.arguments.model_validate_json(json.dumps(dict(given)))
        except ValidationError as problem:
            raise self._refused(problem.errors(include_url=False, include_context=False)) from problem

    def _refused(self, faults: list[ErrorDetails]) -> BadValue:
        told = "; ".join(dict.fromkeys(_fault(one) for one in faults))
        remedies = " ".join(dict.fromkeys(self._remedy(one) for one in faults))
        return BadValue(f"{self.name} cannot take this: {told}", remedy=remedies)

    def _remedy(self, fault: ErrorDetails) -> str:
        field = str(fault["loc"][0]) if fault["loc"] else ""
        known = self.arguments.model_fields
        if field in known:
            return f"{field}: {known[field].description}"
        near = difflib.get_close_matches(field, known, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        return f"{hint}{self.name} takes {', '.join(known) or 'nothing'}."


def _fault(fault: ErrorDetails) -> str:
    where = ".".join(map(str, fault["loc"])) or "the arguments"
    said = fault["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    if fault["type"] == "missing":
        return f"{where} is missing"
    if fault["type"] == "extra_forbidden":
        return f"there is no field {where}"
    shown = repr(fault["input"])
    return f"{where}: {said}, not {shown if len(shown) <= SHOWN else shown[:SHOWN] + '...'}"


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]
"""ISO 8601; without a zone it is UTC."""
MemoryId = Annotated[str, Field(min_length=1, max_length=500, description="The memory's id, as a search gives it.")]
SessionId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=500,
        description="Any name for the present conversation, the same in each call: what it was given is known.",
    ),
]
