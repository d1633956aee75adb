"""Everything a package or a program needs to add to Assay.

    from assay.extend import CaseView, metric

    @metric(summary="How many words does the answer have?", better="lower")
    def answer_words(case: CaseView) -> float | None:
        return None if case.answer is None else len(case.answer.text.split())

There is one decorator for each kind of thing: `metric`, `system`, `judge`, `gate_rule`, `dataset_format`,
`channel`, `embedder`. What they
register is found by name from then on: `evaluate(metrics=["answer_words"])`. An installed package names the same
functions as entry points (`assay.metrics`, `assay.systems`, `assay.judges`, `assay.gate_rules`,
`assay.dataset_formats`, `assay.channels`, `assay.embedders`), and every command finds them. The other names here are
what such code is given or returns.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.embedding.registry import EmbedderRequest, embedder
    from assay.evaluation.datasets.formats import dataset_format
    from assay.evaluation.gating import Question, RuleVerdict, Status
    from assay.evaluation.gating.rules import gate_rule
    from assay.judging.registry import judge
    from assay.memory.searching.channels import Ask, channel
    from assay.metrics.catalog import Parameter, metric
    from assay.metrics.inputs import CaseView
    from assay.metrics.outcomes import not_applicable
    from assay.records.answers import GivenAnswer
    from assay.records.datasets import Case, Dataset, Document, Grade
    from assay.records.evaluations import Retrieved
    from assay.records.judging import AbstentionVerdict, CorrectnessVerdict, GroundednessVerdict, JudgeInput
    from assay.systems.protocol import System
    from assay.systems.registry import system
    from assay.systems.replies import Reply

_HOME = {
    "AbstentionVerdict": "assay.records.judging",
    "Ask": "assay.memory.searching.channels",
    "Case": "assay.records.datasets",
    "CaseView": "assay.metrics.inputs",
    "CorrectnessVerdict": "assay.records.judging",
    "Dataset": "assay.records.datasets",
    "Document": "assay.records.datasets",
    "Embedder": "assay.embedding.protocol",
    "EmbedderRequest": "assay.embedding.registry",
    "GivenAnswer": "assay.records.answers",
    "Grade": "assay.records.datasets",
    "GroundednessVerdict": "assay.records.judging",
    "JudgeInput": "assay.records.judging",
    "Parameter": "assay.metrics.catalog",
    "Question": "assay.evaluation.gating",
    "Reply": "assay.systems.replies",
    "Retrieved": "assay.records.evaluations",
    "RuleVerdict": "assay.evaluation.gating",
    "Status": "assay.evaluation.gating",
    "System": "assay.systems.protocol",
    "channel": "assay.memory.searching.channels",
    "dataset_format": "assay.evaluation.datasets.formats",
    "embedder": "assay.embedding.registry",
    "gate_rule": "assay.evaluation.gating.rules",
    "judge": "assay.judging.registry",
    "metric": "assay.metrics.catalog",
    "not_applicable": "assay.metrics.outcomes",
    "system": "assay.systems.registry",
}

__all__ = [
    "AbstentionVerdict",
    "Ask",
    "Case",
    "CaseView",
    "CorrectnessVerdict",
    "Dataset",
    "Document",
    "Embedder",
    "EmbedderRequest",
    "GivenAnswer",
    "Grade",
    "GroundednessVerdict",
    "JudgeInput",
    "Parameter",
    "Question",
    "Reply",
    "Retrieved",
    "RuleVerdict",
    "Status",
    "System",
    "channel",
    "dataset_format",
    "embedder",
    "gate_rule",
    "judge",
    "metric",
    "not_applicable",
    "system",
]


def __getattr__(name: str) -> Any:
    # Loaded when first used, so that a package that adds a metric does not load the judges.
    if name not in _HOME:
        raise AttributeError(f"module 'assay.extend' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
