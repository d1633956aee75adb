"""The options after the question mark of an adapter's name: `chroma:./db#notes?id=source`."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl

from assay.errors import UnknownSystem


def read_options(text: str, query: str, known: Collection[str]) -> dict[str, str]:
    """Read `option=value&...`; `text` is the whole name, for the error about an option that is unknown or empty."""
    given = dict(parse_qsl(query, keep_blank_values=True))
    unknown = next((key for key in given if key not in known or not given[key]), None)
    if unknown is not None or (query and not given):
        raise UnknownSystem(
            f"{text!r} has the option {unknown or query!r}",
            remedy=f"Options have a value and are: {', '.join(known)}.",
        )
    return given
