"""Labelling by hand: one question and one candidate at a time, every key kept at once.

`tasks` what there is to label, `journal` the file that every key press goes into, `session` one person's way through
the tasks, `agreeing` how far two people agree, `applying` labels into a dataset.
"""

from assay.evaluation.labelling.agreeing import AgreementReport, agreement
from assay.evaluation.labelling.applying import Applied, apply_labels
from assay.evaluation.labelling.journal import Label, LabelJournal, standing
from assay.evaluation.labelling.session import LabelSession
from assay.evaluation.labelling.tasks import Task, read_tasks, tasks_of, write_tasks

__all__ = [
    "AgreementReport",
    "Applied",
    "Label",
    "LabelJournal",
    "LabelSession",
    "Task",
    "agreement",
    "apply_labels",
    "read_tasks",
    "standing",
    "tasks_of",
    "write_tasks",
]
