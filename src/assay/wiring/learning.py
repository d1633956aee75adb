"""What the settings say of learning from use."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from assay.errors import BadValue, SettingError
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.memory.learning.policy import Policy


def learning_policy(settings: Settings) -> Policy:
    """The safeguards, with the shadow period of the settings."""
    from assay.memory.learning.policy import Limits, Policy  # noqa: PLC0415 - see the package's docstring

    try:
        return Policy(limits=Limits(shadow=timedelta(days=settings.learning_shadow_days)))
    except BadValue as problem:
        raise SettingError(
            f"the setting learning.shadow_days is {settings.learning_shadow_days}, below 7", remedy=problem.remedy
        ) from problem
