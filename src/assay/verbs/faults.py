"""What is wrong with a request, in plain words: the field, the value, and the field's own description as the remedy."""

from __future__ import annotations

import difflib

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from assay.errors import BadValue

SHOWN = 60
"""Characters of a wrong value that an error repeats."""


def refuse(problem: ValidationError, name: str, request: type[BaseModel]) -> BadValue:
    """Return the error that names every field at fault."""
    faults = problem.errors(include_url=False, include_context=False)
    told = "; ".join(dict.fromkeys(map(_describe, faults)))
    remedies = " ".join(dict.fromkeys(_remedy(fault, name, request) for fault in faults))
    return BadValue(f"{name} cannot take this: {told}", remedy=remedies)


def _describe(fault: ErrorDetails) -> str:
    where = ".".join(map(str, fault["loc"])) or "the arguments"
    said = fault["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    if fault["type"] == "missing":
        return f"{where} is missing"
    if fault["type"] == "extra_forbidden":
        return f"there is no field {where}"
    shown = repr(fault["input"])
    return f"{where}: {said}, not {shown if len(shown) <= SHOWN else shown[:SHOWN] + '...'}"


def _remedy(fault: ErrorDetails, name: str, request: type[BaseModel]) -> str:
    field = str(fault["loc"][0]) if fault["loc"] else ""
    known = request.model_fields
    if field in known:
        return f"{field}: {known[field].description}"
    near = difflib.get_close_matches(field, known, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    return f"{hint}{name} takes {', '.join(known) or 'nothing'}."
