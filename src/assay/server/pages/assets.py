"""The files that pages need, from the installed packages alone: our own, the shared ones, and plotly's script.

An address carries the hash of its content, so an answer may be kept for ever and a new version has a new address.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from assay.errors import RecordNotFound
from assay.presentation.templates import PLOTLY, SHARED, read_shared

FOLDER = "/assets"
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
KEEP = "public, max-age=31536000, immutable"


class Asset(NamedTuple):
    """One file as it is sent."""

    content: bytes
    kind: str
    """Its media type."""
    version: str


@cache
def read(name: str) -> Asset:
    """The file of that name; a name that is not ours is not looked for on the disk."""
    if name == PLOTLY:
        content = files("plotly").joinpath("package_data", PLOTLY).read_bytes()
    elif name in SHARED:
        content = read_shared(name).encode()
    elif name in own_names():
        content = files(__package__).joinpath("assets", name).read_bytes()
    else:
        raise RecordNotFound(f"there is no asset {name!r}", remedy="Load the page again.")
    return Asset(content, TYPES[name.rpartition(".")[2]], hashlib.sha256(content).hexdigest()[:12])


@cache
def own_names() -> frozenset[str]:
    """The files that come with these pages."""
    return frozenset(one.name for one in files(__package__).joinpath("assets").iterdir() if one.name[0] != ".")


def address_of(name: str) -> str:
    """Where pages find a file."""
    return f"{FOLDER}/{name}?v={read(name).version}"
