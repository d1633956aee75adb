"""What a tool is: name, act, arguments, result, and the function between. Also what every call shares.

Arguments are read strictly from JSON: a text is no number, an unknown field is refused. What is wrong is told by the
field's name, with the field's own description as the remedy. Every field states its limits in its schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from mcp_types import Tool as Described
from mcp_types import ToolAnnotations
from pydantic import BaseModel, TypeAdapter, ValidationError

from assay import wiring
from assay.mcp.policies import Act, Grant, Policy
from assay.records import Scope
from assay.verbs.faults import refuse

if TYPE_CHECKING:
    from assay.evaluation.shelf import Shelf
    from assay.memory.engine import Engine
    from assay.settings import Settings


A = TypeVar("A", bound=BaseModel)
R = TypeVar("R")
Progress = Callable[[float, float | None, str], None]
"""Told how much is done, of how much, and what; stops the work when the caller has gone."""


class Calling(NamedTuple):
    """What a tool works with."""

    engine: Engine
    settings: Settings
    grant: Grant
    """What the caller may do, and in whose rows: the server's word, never the client's."""
    read_only: bool
    """The caller may read alone, so nothing is written down of the call but logs."""
    progress: Progress

    @property
    def scope(self) -> Scope:
        """Whose rows."""
        return self.grant.scope

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
            output_schema=self.output_schema(),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.policy.reads_only,
                destructive_hint=self.policy.destructive,
                idempotent_hint=self.policy.idempotent,
                open_world_hint=False,
            ),
        )

    def output_schema(self) -> dict[str, Any]:
        """Return the schema of the structured content."""
        schema: dict[str, Any] = TypeAdapter(self.result).json_schema(mode="serialization")
        return schema

    def structure(self, result: R) -> dict[str, Any]:
        """Return a result as structured content."""
        structured: dict[str, Any] = TypeAdapter(self.result).dump_python(result, mode="json")
        return structured

    def read(self, given: Mapping[str, Any]) -> A:
        """The arguments, checked; raises `BadValue` with every field at fault."""
        try:
            return self.arguments.model_validate_json(json.dumps(dict(given)), strict=True)
        except ValidationError as problem:
            raise refuse(problem, self.name, self.arguments) from problem
