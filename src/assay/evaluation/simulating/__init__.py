"""Simulated use: what learning from feedback does to results over many rounds, before anybody has to live with it.

`users` read and vote as people do, wrongly at times; `rounds` lets them search a copy of a dataset's memory day after
day while it learns; `numbers` measures what became of exposure and quality, beside a control that learns nothing.
"""

from assay.evaluation.simulating.numbers import Drift, RoundNumbers, Verdict
from assay.evaluation.simulating.rounds import Judged, Simulated, SimulatedClock, SimulationOptions, judge, simulate
from assay.evaluation.simulating.users import Habits

__all__ = [
    "Drift",
    "Habits",
    "Judged",
    "RoundNumbers",
    "Simulated",
    "SimulatedClock",
    "SimulationOptions",
    "Verdict",
    "judge",
    "simulate",
]
