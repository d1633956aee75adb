"""Simulated use: what learning from feedback does to results over many rounds, before anybody has to live with it.

`users` read and vote as people do, wrongly at times; `rounds` lets them search a copy of a dataset's memory day after
day while it learns; `numbers` measures what became of exposure and quality, beside a control that learns nothing.
"""

from assay.evaluation.simulating.numbers import Drift, RoundNumbers
from assay.evaluation.simulating.rounds import Simulated, SimulatedClock, SimulationOptions, simulate
from assay.evaluation.simulating.users import Habits

__all__ = ["Drift", "Habits", "RoundNumbers", "Simulated", "SimulatedClock", "SimulationOptions", "simulate"]
