"""`/evaluation/settings`: how answers are evaluated, checkpoint by checkpoint, and where every setting comes from.

Settings are read when the server starts. They stay in the file and the environment: this page says what is in force
and which lines would change it. How answers are evaluated concerns every tenant; paths, addresses and the other
settings of the server are shown to an operator alone.
"""

from __future__ import annotations

from typing import Any

from assay.access import acts
from assay.records.research import DIMENSIONS, OWNERS, Checkpoint
from assay.server.pages.viewing import Page, Pages, View
from assay.settings import KNOWN, fit_to_show
from assay.wiring.research import evaluated_how, research_options

pages = Pages("settings")


@pages.get("/evaluation/settings", acts.SETTINGS_READ)
def shown(view: View) -> Page:
    """What is in force."""
    options = research_options(view.settings)
    checkpoints = [
        {
            "name": one.value,
            "options": options.checkpoints[one],
            "threshold": options.panel.thresholds[one],
            "again": _again(one, options),
            "dimensions": [
                {
                    "name": dimension.value,
                    "weight": options.panel.weights[dimension.value],
                    "bar": options.panel.bars.get(dimension.value),
                    "owner": OWNERS[dimension].value,
                }
                for dimension in DIMENSIONS[one]
            ],
        }
        for one in Checkpoint
    ]
    return Page(
        template="settings.html",
        context={
            "checkpoints": checkpoints,
            "options": options,
            "how": evaluated_how(view.settings),
            "models": bool(view.settings.model_url),
            "known": _known(view),
        },
    )


def _again(checkpoint: Checkpoint, options: Any) -> str:
    """What a checkpoint that does not pass leads to."""
    if checkpoint is Checkpoint.PLAN:
        return f"a new plan, up to {options.max_attempts}" if options.iterate else "nothing"
    if checkpoint is Checkpoint.ANSWER:
        return "a new answer, once" if options.regenerate else "nothing"
    return "a warning to the user"


def _known(view: View) -> list[tuple[Any, str]] | None:
    """Every setting with its value; None for a caller who is not an operator."""
    if not view.grant.allows(acts.SETTINGS_READ_ALL.policy):
        return None
    return [(known, _value(view.settings, known)) for known in KNOWN]


def _value(settings: Any, one: Any) -> str:
    """As it may be shown: a store's address without its password."""
    return fit_to_show(getattr(settings, one.name))
