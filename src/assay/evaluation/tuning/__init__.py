"""Tuning fusion: other weights and methods, tried on what searches logged, without touching an index.

`choices` one way to fuse and how it is set, `space` which ones are tried, `trails` what was logged for each case,
`replaying` what a way to fuse would have shown (thousands of them a second), `validating` what choosing the best of
them is really worth (nested cross-validation), `shapley` what each channel is worth, `verdict` all of it in one answer.
"""

from assay.evaluation.tuning.choices import FusionChoice
from assay.evaluation.tuning.replaying import Replay
from assay.evaluation.tuning.shapley import ChannelValue, channel_values
from assay.evaluation.tuning.space import Space, space_of
from assay.evaluation.tuning.trails import LoggedCase, gather
from assay.evaluation.tuning.validating import Nested, Trials, nested
from assay.evaluation.tuning.verdict import Tuned, tune

__all__ = [
    "ChannelValue",
    "FusionChoice",
    "LoggedCase",
    "Nested",
    "Replay",
    "Space",
    "Trials",
    "Tuned",
    "channel_values",
    "gather",
    "nested",
    "space_of",
    "tune",
]
