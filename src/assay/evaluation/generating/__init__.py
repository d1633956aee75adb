"""Questions from a user's own documents, each with the place that answers it, for people to look at.

`sections` the parts of documents that say something, `templates` questions without a model, `asking` questions of a
model, `making` all of it as a dataset. Everything made here is tagged as generated: it does not count until labelled.
"""

from assay.evaluation.generating.making import Generated, GenerateOptions, generate

__all__ = ["GenerateOptions", "Generated", "generate"]
