"""A dataset from use: questions that were really asked, with what is known of their answers.

`harvest` the questions of the log and a fair sample of them, `weak_labels` what use says of results, `pooling` what
several ways of searching find now, `diversity` which questions to label by hand, `building` all of it as a dataset.
"""

from assay.evaluation.harvesting.building import BuildOptions, Built, build
from assay.evaluation.harvesting.harvest import By, Harvested, harvest, sample

__all__ = ["BuildOptions", "Built", "By", "Harvested", "build", "harvest", "sample"]
