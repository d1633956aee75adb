"""The style sheet and the scripts that every page has, and plotly's own script from its package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from assay.extras import missing_modules

STYLE = "assay.css"
CHARTS = "charts.js"
PLOTLY = "plotly.min.js"
SHARED = frozenset({STYLE, CHARTS})
"""The files of this folder that pages may ask for."""


@cache
def read_shared(name: str) -> str:
    """Return one of the shared files."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def plotly_script() -> str | None:
    """Return the charts' script from the installed package; None where plotly is not installed."""
    if missing_modules("report"):
        return None
    return files("plotly").joinpath("package_data", PLOTLY).read_text(encoding="utf-8")
