"""What the program itself and every command share: the options before or after a command's name, and JSON output.

This module is loaded for `assay --help`, so it imports nothing of Assay that is heavy.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
DbOption = Annotated[str | None, typer.Option("--db", metavar="PATH|URL", help="The store to use.")]
TenantOption = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Whose rows are meant.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The settings file to use, instead of one found.")
]
OfflineOption = Annotated[bool, typer.Option("--offline", help="Contact configured addresses only.")]
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print results, what must be known beside them, and errors only."),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say more; show where an error comes from.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """The options that every command has."""

    json: JsonOption = False
    db: DbOption = None
    tenant: TenantOption = None
    config: ConfigOption = None
    offline: OfflineOption = False
    quiet: QuietOption = False
    verbose: VerboseOption = False

    def over(self, outer: Common) -> Common:
        """These options, and the outer ones where these say nothing."""
        return Common(
            **{field.name: getattr(self, field.name) or getattr(outer, field.name) for field in fields(Common)}
        )


def with_common(function: Callable[..., None]) -> Callable[..., None]:
    """Give the common options to the program itself, before the name of a command."""
    _context, *own = inspect.signature(function, eval_str=True).parameters.values()
    return shape(function, [parameter for parameter in own if parameter.kind is not inspect.Parameter.VAR_KEYWORD])


def shape(run: Callable[..., None], own: list[inspect.Parameter]) -> Callable[..., None]:
    """Let typer see a context, these parameters and the common ones instead of `**given`."""
    annotations = inspect.get_annotations(Common, eval_str=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(field.name, keyword, default=field.default, annotation=annotations[field.name])
        for field in fields(Common)
    ]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *(parameter.replace(kind=keyword) for parameter in own), *shared]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what inspect.signature reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def print_json(value: Any) -> None:
    """One JSON document on standard output. NaN never passes."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()
