"""Experiments: one change of configuration, run against what is in force, judged, and written down for good.

`performing` runs both sides and compares them, `deciding` says whether the change may go in, `record` is one experiment
as a value, `book` the file that keeps them all.
"""

from assay.evaluation.experiments.book import FILE_NAME, Book, Try, count_tries
from assay.evaluation.experiments.deciding import Decision, Outcome, decide
from assay.evaluation.experiments.performing import Plan, perform
from assay.evaluation.experiments.record import Experiment

__all__ = ["FILE_NAME", "Book", "Decision", "Experiment", "Outcome", "Plan", "Try", "count_tries", "decide", "perform"]
