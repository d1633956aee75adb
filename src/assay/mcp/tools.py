"""Tools made from the table of verbs: the arguments are the request, the structured content is the result.

Fields that an agent cannot give or is not shown are left out of both schemas. Stored text comes with the notice that it
is data. Whoever calls through an agent is a program, whatever the token says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from assay.mcp.framing import NOTICE
from assay.mcp.tool import Calling, Tool
from assay.verbs import FAMILIES, Caller, McpTool, Surface, Verb
from assay.verbs.verb import leave_out


@dataclass(frozen=True, kw_only=True, slots=True)
class VerbTool(Tool[Any, Any]):
    """A tool that is a verb."""

    verb: Verb[Any, Any]
    masked: frozenset[str]

    def output_schema(self) -> dict[str, Any]:
        """Return the schema of the result without what an agent is not shown."""
        schema: dict[str, Any] = self.verb.adapter.json_schema(mode="serialization")
        target = schema["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        shown = {name: inner for name, inner in target["properties"].items() if name not in self.masked}
        about = {"type": "string", "const": NOTICE, "title": "About"}
        required = ["about", *(name for name in target.get("required", ()) if name not in self.masked)]
        whole = {**target, "properties": {"about": about, **shown}, "required": required}
        return {**whole, **_definitions(whole, schema.get("$defs", {}))}

    def structure(self, result: Any) -> dict[str, Any]:
        """Return a result without what an agent is not shown."""
        return {"about": NOTICE, **self.verb.to_json(result, without=self.masked)}


def _definitions(schema: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definitions that a schema refers to, directly or through others: an agent reads every word of them."""
    needed: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, Mapping):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name in known and name not in needed:
                needed[name] = known[name]
                waiting.append(known[name])
            waiting += part.values()
    return {"$defs": dict(sorted(needed.items()))} if needed else {}


def tool_of(verb: Verb[Any, Any], tool: McpTool) -> VerbTool:
    """Return the tool of one verb."""
    return VerbTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        act=verb.act,
        arguments=_arguments(verb, tool),
        result=verb.result,
        call=_call(verb, tool.name),
        readable=tool.read_as,
        verb=verb,
        masked=tool.masked,
    )


def _arguments(verb: Verb[Any, Any], tool: McpTool) -> type[BaseModel]:
    if not tool.without:
        return verb.request
    return leave_out(verb.request, tool.without, verb.request.__name__)


def _call(verb: Verb[Any, Any], name: str) -> Callable[[Calling, BaseModel], Any]:
    def call(calling: Calling, arguments: BaseModel) -> Any:
        caller = Caller(
            opened=calling.engine,
            settings=calling.settings,
            grant=calling.grant._replace(person=False),
            surface=Surface.MCP,
            via=f"mcp {name}",
            progress=calling.progress,
        )
        if isinstance(arguments, verb.request):
            return verb.call(caller, arguments)
        given = {field: getattr(arguments, field) for field in arguments.model_fields_set}
        return verb.call(caller, verb.request.model_validate(given))

    return call


TOOLS: tuple[VerbTool, ...] = tuple(
    tool_of(verb, verb.tool) for family in FAMILIES for verb in family.verbs if verb.tool is not None
)
"""Every tool there is, in the order a client is shown them."""
BY_NAME: Mapping[str, VerbTool] = {tool.name: tool for tool in TOOLS}
