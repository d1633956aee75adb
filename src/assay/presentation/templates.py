"""The one Jinja environment: everything is escaped, and a name that a template misspells is an error.

`environment` gives the templates of a folder, with the shared macros and filters. Characters that no HTML document may
hold (control characters, halves of surrogate pairs) are shown as U+FFFD.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from assay.presentation import wording

_SHARED = Path(__file__).with_name("templates")
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_FILTERS = ("number", "signed", "percent", "milliseconds", "moment", "ago", "plain", "beginning", "one_line")


def environment(folder: Path, **names: Any) -> Environment:
    """Return the templates of `folder` and the shared ones; `names` are known in all of them."""
    made = Environment(
        loader=FileSystemLoader([folder, _SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=replace_unfit,
    )
    # NaN is not JSON: a figure that holds one is a fault, not a blank chart.
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "sort_keys": False}
    made.filters |= {name: getattr(wording, name) for name in _FILTERS}
    made.globals |= {
        "tone": wording.tone,
        "score_tone": wording.score_tone,
        "counted": wording.counted,
        "GOOD_SCORE": wording.GOOD_SCORE,
        "POOR_SCORE": wording.POOR_SCORE,
        "LONGEST_SHOWN": wording.LONGEST_SHOWN,
        **names,
    }
    return made


def replace_unfit(value: Any) -> Any:
    """Return a text without the characters that no HTML document may hold; other values stay as they are."""
    return _UNFIT.sub("\ufffd", value) if isinstance(value, str) and not isinstance(value, Markup) else value
