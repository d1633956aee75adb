"""The style sheet, the scripts and the one Jinja environment of every page.

- Style sheet and scripts.
- The Jinja environment.
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, StrictUndefined
from markupsafe import Markup

from assay.presentation import wording
from assay.presentation.markdown import render_markdown
from assay.regular_files import read_packaged_text

# --- Style sheet and scripts ---

STYLE = "assay.css"
CHARTS = "charts.js"
SHARED = frozenset({STYLE, CHARTS})
"""The files of this folder that pages may ask for."""


@cache
def read_shared(name: str) -> str:
    """Return one of the shared files."""
    return read_packaged_text("presentation", "assets", name)


# --- The Jinja environment ---
#
# `environment` gives the templates of a folder, with the shared macros and filters. Characters that no HTML document
#   may
# hold (control characters, halves of surrogate pairs) are shown as U+FFFD.

_SHARED = Path(__file__).with_name("templates")
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_FILTERS = (
    "number",
    "with_sign",
    "percent",
    "milliseconds",
    "duration",
    "moment",
    "ago",
    "plain",
    "beginning",
    "one_line",
)


def environment(folder: Path, **names: Any) -> Environment:
    """Return the templates of `folder` and the shared ones; `names` are known in all of them."""
    made = Environment(
        loader=ChoiceLoader([FileSystemLoader([folder, _SHARED]), FunctionLoader(partial(_read_packed, folder))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=replace_unfit,
    )
    # NaN is not JSON: a figure that holds one is a fault, not a blank chart.
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "sort_keys": False}
    made.filters |= {name: getattr(wording, name) for name in _FILTERS}
    made.filters["markdown"] = render_markdown
    made.globals |= {
        "tone": wording.tone,
        "count_of": wording.count_of,
        "LONGEST_SHOWN": wording.LONGEST_SHOWN,
        **names,
    }
    return made


def _read_packed(folder: Path, name: str) -> str | None:
    """Return a template that an installed package has packed; None if there is none."""
    return next((pages[name] for place in (folder, _SHARED) if name in (pages := _read_pages(place))), None)


@cache
def _read_pages(folder: Path) -> dict[str, str]:
    """Return the templates of a folder that an installed package has packed together, by name."""
    place = folder / "packed.json.gz"
    pages: dict[str, str] = json.loads(gzip.decompress(place.read_bytes())) if place.is_file() else {}
    return pages


def replace_unfit(value: Any) -> Any:
    """Return a text without the characters that no HTML document may hold; other values stay as they are."""
    return _UNFIT.sub("\ufffd", value) if isinstance(value, str) and not isinstance(value, Markup) else value
