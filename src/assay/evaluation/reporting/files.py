"""The files of a report: all of them are there, or the old ones are.

Each is written under a passing name first; only when every one is on the disk do they take their places. A disk that
refuses is named with its file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from assay.errors import ReportFailed
from assay.evaluation.gating import Verdict
from assay.evaluation.readings import Reading
from assay.evaluation.reporting.content import Line
from assay.evaluation.reporting.judges import NOBODY, ReportedJudge, judges_of
from assay.evaluation.results import RunResult, latency_json, rate_json
from assay.evaluation.running.files import manifest_json
from assay.evaluation.waterfall import Waterfall
from assay.private_files import make_private_folder, open_new_private

DEFAULT_FOLDER = Path("reports")
METRICS = "metrics.json"
CONFIG = "config.json"


def default_name(date: str) -> str:
    """What a report of a day is called, without its ending."""
    return f"rag-eval-{date}"


def as_text(value: Mapping[str, Any]) -> str:
    """A value as a JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_all(contents: Mapping[Path, str]) -> None:
    """Write every file, or leave everything as it was."""
    with ExitStack() as passing:
        staged = [(passing.enter_context(_staged(path, text)), path) for path, text in contents.items()]
        for beside, path in staged:
            with _naming(path):
                beside.replace(path)


@contextmanager
def _staged(path: Path, text: str) -> Iterator[Path]:
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _naming(path):
            make_private_folder(path.parent)
            with open_new_private(beside) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise ReportFailed(
            f"cannot write {path}: {problem.strerror or problem}",
            remedy="Make room there or give another folder with --output. The report that was there is untouched.",
        ) from problem


def metrics_json(run: RunResult, verdict: Verdict, lines: Sequence[Line], water: Waterfall | None) -> dict[str, Any]:
    """`metrics.json`: every number, for machines."""
    return {
        "run_id": run.run_id,
        "run": run.name,
        "dataset": run.manifest.dataset,
        "dataset_version": run.manifest.dataset_version,
        "relevance_level": run.manifest.instrument.get("relevance_level"),
        "verdict": verdict.as_json(),
        "summary": [_line_json(line) for line in lines],
        "metrics": {str(spec): one.as_json() for spec, one in run.aggregates.items()},
        "latency": {stage: latency_json(one) for stage, one in run.latency.items()},
        "rates": {name: rate_json(one) for name, one in run.rates.items()},
        "counts": {status.value: count for status, count in run.counts.items()},
        "caveats": [caveat.as_json() for caveat in run.caveats],
        "waterfall": None if water is None else _waterfall_json(water),
        **_reliability_json(judges_of(run.manifest)),
        "result_hash": run.result_hash,
    }


def _reliability_json(judges: Sequence[ReportedJudge]) -> dict[str, Any]:
    """By what was judged, how far its judge can be trusted; without a judge null, and why."""
    return {
        "judge_reliability": {judge.about: judge.reliability() for judge in judges} or None,
        "judge_reliability_reason": None if judges else NOBODY,
    }


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "metric": line.metric,
        "value": line.value,
        "interval": [line.low, line.high],
        "baseline": line.baseline,
        "paired_value": line.paired,
        "pairs": line.pairs,
        "change": line.change,
        "change_beyond_chance": line.certain if line.change is not None else None,
        "required": line.floor,
        "unit": line.unit,
        "status": line.status.value,
    }


def _waterfall_json(water: Waterfall) -> dict[str, Any]:
    return {
        "k": water.k,
        "gold": len(water.fates),
        "missed": len(water.missed),
        "untried": water.untried,
        "passed": {step.value: water.reached(step) for step in water.steps},
        "not_known": {step.value: water.doubtful(step) for step in water.steps},
        "lost": {stage.value: count for stage, count in water.lost.items()},
    }


def config_json(run: RunResult, baseline: Reading | None) -> dict[str, Any]:
    """`config.json`: what was run with what, and what it was held against."""
    against = None
    if baseline is not None:
        against = {"name": baseline.name, "run_id": baseline.run_id, "subject": dict(baseline.subject)}
    return {
        **manifest_json(run.manifest),
        "instrument_hash": run.manifest.instrument_hash,
        "subject_hash": run.manifest.subject_hash,
        "judges": [judge.as_config() for judge in judges_of(run.manifest)],
        "baseline": against,
    }
