"""Tuning fusion: other weights and methods, tried on the lists that searches logged, without touching an index.

- `choices`: ways to fuse, the candidates to try, and the logged lists they are tried on.
- `replay`: what other ways to fuse would have shown.
- `spread`: the same on workers, with the same numbers.
- `decision`: cross-validation, the value of each channel, and whether to change anything.
"""

from assay.evaluation.tuning.choices import FusionChoice, LoggedCase, Space, gather, space_of
from assay.evaluation.tuning.decision import ChannelValue, Nested, Trials, Tuned, channel_values, cross_validate, tune
from assay.evaluation.tuning.replay import Replay
from assay.evaluation.tuning.spread import gather_on_workers, measure_on_workers

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
    "cross_validate",
    "gather",
    "gather_on_workers",
    "measure_on_workers",
    "space_of",
    "tune",
]
