"""Baselines: one reviewed JSON file, and blessing a run as the baseline.

- The baseline file.
- Blessing a run, and the reasons not to.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, BadValue, BrokenSeal, InputError, NoBaseline, NotReady
from assay.evaluation.caveats import seal_caveat
from assay.evaluation.gating.rules import QUALITY_RULE as UNASKED
from assay.evaluation.gating.rules import judge, refuse_nothing
from assay.evaluation.gating.verdict import GateOptions, Status
from assay.evaluation.readings import Reading
from assay.evaluation.running import files
from assay.formats.files import write_lines
from assay.formats.strict_json import one_line, read_object, to_indented_json
from assay.hashing import canonical_json, content_hash
from assay.metrics.catalog import describe_added, recall
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseStatus, Outcome, OutcomeKind
from assay.records.run_results import Caveat, CaveatKind, read_caveat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

# --- The baseline file ---
#
# It holds each metric's mean, every case's values and outcomes, both fingerprints, times and the host. Means are there
# for the reader of a diff; the paired test reads the cases. It is written only when somebody blesses a run, and
# carries a seal (`running.seals`): a file that was edited since is refused.

FILE_NAME = "baseline.json"
VERSION = 1
_KIND = "assay baseline"


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """A reading that was blessed as the baseline."""

    reading: Reading
    blessed_at: datetime
    note: str = ""
    """Why it was blessed, as given by the person who blessed it."""
    despite: str = ""
    """Why it was blessed although something was wrong with it; empty: nothing was."""
    shortcomings: tuple[str, ...] = ()
    """What was wrong with it."""


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write the file whole or not at all: one case a line, sorted, so that a diff shows which cases changed."""
    whole = files.add_seal(baseline_json(baseline))
    cases = [f"    {_text(case)}: {_text(entry)}" for case, entry in whole.pop("cases").items()]
    head = to_indented_json(whole).rstrip().removesuffix("}").rstrip()
    write_lines(path, [head, ',\n  "cases": {\n', ",\n".join(cases), "\n  }\n}\n"])


def baseline_json(baseline: Baseline) -> dict[str, Any]:
    """What the file holds. Values keep every digit: rounding would move the paired test."""
    reading = baseline.reading
    return {
        "kind": _KIND,
        "version": VERSION,
        "blessed_at": baseline.blessed_at.isoformat(),
        "note": baseline.note,
        **({"despite": baseline.despite, "shortcomings": list(baseline.shortcomings)} if baseline.shortcomings else {}),
        "run": {"id": reading.run_id, "name": reading.name, "host": reading.host},
        "dataset": {"name": reading.dataset, "version": reading.dataset_version},
        "metrics": {metric: reading.mean(metric) for metric in reading.metrics},
        **({"own_metrics": own} if (own := describe_added(_names(reading.metrics))) else {}),
        "latency": _latency(reading),
        "channels": dict(reading.channels),
        "floors": dict(reading.floors),
        "caveats": [caveat.as_json() for caveat in reading.caveats],
        "instrument": json.loads(canonical_json(dict(reading.instrument))),
        "instrument_hash": content_hash(dict(reading.instrument)),
        "subject": json.loads(canonical_json(dict(reading.subject))),
        "subject_hash": content_hash(dict(reading.subject)),
        "cases": {case: _case(reading, case) for case in reading.cases},
    }


def _names(metrics: Iterable[str]) -> list[str]:
    return [MetricSpec.parse(metric).name for metric in metrics]


def load_baseline(path: Path) -> Baseline:
    """Read the file; raises `NoBaseline` for anything else and `BrokenSeal` for a baseline that was edited."""
    if not path.is_file():
        raise no_baseline(path, f"there is no baseline {path}")
    try:
        return _read(path, {name: _drop_lines(placed.value) for name, placed in read_object(path).items()})
    except BrokenSeal:
        raise
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as problem:
        reason = problem.message if isinstance(problem, AssayError) else f"{type(problem).__name__}: {problem}"
        raise NoBaseline(
            f"{path} cannot be read as a baseline: {reason}",
            remedy="Take it from version control again, or bless a run anew with `assay baseline bless`.",
        ) from problem


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineHead:
    """Which run a baseline is, without its cases."""

    run_id: str
    run: str
    """The name of the run."""
    dataset: str
    blessed_at: datetime
    note: str


def read_head(path: Path) -> BaselineHead | None:
    """Return which run a baseline file holds; None where there is no such file, or it cannot be read."""
    try:
        found = json.loads(path.read_bytes())
        return BaselineHead(
            run_id=str(found["run"]["id"]),
            run=str(found["run"]["name"]),
            dataset=str(found["dataset"]["name"]),
            blessed_at=datetime.fromisoformat(found["blessed_at"]),
            note=str(found.get("note", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def no_baseline(path: Path, message: str, *, names: Iterable[str] = ()) -> NoBaseline:
    """The error for a baseline that is not there, with the JSON files beside it and the names that are near."""
    beside = sorted(file.name for file in path.parent.glob("*.json")) if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, [*beside, *names], n=2)
    hint = f"Did you mean {' or '.join(str(path.parent / name) for name in near)}? " if near else ""
    return NoBaseline(message, remedy=f"{hint}Make one with `assay baseline bless`, or give another with --baseline.")


def _drop_lines(value: Any) -> Any:
    """A value without the lines on which its elements stand."""
    return [placed.value for placed in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return one_line(value).rstrip("\n")


def _latency(reading: Reading) -> dict[str, float | int | None]:
    found = reading.latency()
    return {"p50": found.p50, "p95": found.p95, "p99": found.p99, "mean": found.mean, "timed": found.timed}


def _case(reading: Reading, case: str) -> dict[str, Any]:
    noise = {metric: cases[case] for metric, cases in reading.noise.items() if cases.get(case)}
    whole = {
        "query": reading.queries.get(case),
        "status": [status.value for status in reading.statuses[case]],
        "ms": list(reading.times.get(case, ())),
        "waited_ms": list(reading.waited[case]) if case in reading.waited else None,
        "values": {metric: _value(cases[case]) for metric, cases in reading.outcomes.items() if case in cases},
        "noise": noise or None,
        "cluster": reading.clusters.get(case),
    }
    return {name: value for name, value in whole.items() if value is not None}


def _value(outcome: Outcome) -> float | str:
    """The value, or the outcome by its name where there is none."""
    return outcome.kind.value if outcome.value is None else outcome.value


def _read(path: Path, found: Mapping[str, Any]) -> Baseline:
    if found.get("kind") != _KIND:
        raise BadValue(f"its kind is {found.get('kind')!r}, not {_KIND!r}", remedy="Is it another file?")
    if found["version"] != VERSION:
        raise BadValue(f"its version is {found['version']!r}, not {VERSION}", remedy="Bless a run anew.")
    sealed = files.check_seal(
        found, path, "Take it from version control again, or bless a run: `assay baseline bless RUN`."
    )
    return Baseline(
        reading=_with_caveats(replace(_reading(found), sealed=sealed), found),
        blessed_at=datetime.fromisoformat(found["blessed_at"]),
        note=found.get("note", ""),
        despite=found.get("despite", ""),
        shortcomings=tuple(found.get("shortcomings", ())),
    )


def _with_caveats(reading: Reading, found: Mapping[str, Any]) -> Reading:
    """The reading of a file, with what must be read beside it."""
    caveats = [] if reading.sealed else [seal_caveat(f"the baseline {reading.name}")]
    if found.get("shortcomings"):
        sentence = f"The baseline was blessed although {'; '.join(found['shortcomings'])}. Reason: {found['despite']}."
        caveats.append(Caveat(kind=CaveatKind.OTHER, sentence=sentence))
    return replace(reading, caveats=(*caveats, *(caveat for caveat in reading.caveats if caveat not in caveats)))


def _reading(found: Mapping[str, Any]) -> Reading:
    cases: Mapping[str, Any] = found["cases"]
    recall(found["metrics"], found.get("own_metrics") or {})
    metrics = [str(MetricSpec.parse(name)) for name in found["metrics"]]
    return Reading(
        name=found["run"]["name"],
        run_id=found["run"]["id"],
        host=found["run"]["host"],
        dataset=found["dataset"]["name"],
        dataset_version=found["dataset"]["version"],
        instrument=found["instrument"],
        subject=found["subject"],
        outcomes={
            metric: {
                case: _outcome(entry["values"][metric]) for case, entry in cases.items() if metric in entry["values"]
            }
            for metric in metrics
        },
        noise={
            metric: noise
            for metric in metrics
            if (
                noise := {
                    case: entry["noise"][metric] for case, entry in cases.items() if metric in entry.get("noise", {})
                }
            )
        },
        statuses={case: tuple(CaseStatus(status) for status in entry["status"]) for case, entry in cases.items()},
        times={case: tuple(map(float, entry["ms"])) for case, entry in cases.items() if entry["ms"]},
        waited={case: tuple(map(float, entry["waited_ms"])) for case, entry in cases.items() if entry.get("waited_ms")},
        clusters={case: entry["cluster"] for case, entry in cases.items() if entry.get("cluster")},
        channels=found["channels"],
        queries={case: entry["query"] for case, entry in cases.items() if "query" in entry},
        floors=found["floors"],
        caveats=tuple(map(read_caveat, found.get("caveats", ()))),
    )


def _outcome(value: float | str) -> Outcome:
    if isinstance(value, str):
        return Outcome.missing(OutcomeKind(value), "as in the baseline")
    return Outcome.scored(value)


# --- Blessing a run, and the reasons not to ---
#
# A run under its floors, one in which too many cases failed or were never tried, a sample, one that no seal protects
# or that a gate could not decide would lower the bar without anybody wanting that. It is refused, unless somebody says
# why it is blessed all the same: the reason and what was wrong are then written into the file, and every gate repeats
# them.

_NAMED = 3


def bless(
    reading: Reading, *, at: datetime, note: str = "", despite: str = "", options: GateOptions | None = None
) -> Baseline:
    """Return the run as a baseline; raise `NotReady` for a run that is not fit, unless `despite` gives a reason."""
    refuse_nothing(reading)
    wrong = tuple(shortcomings(reading, options))
    if wrong and not despite.strip():
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise NotReady(
            f"the run {reading.name} cannot be blessed: {'; '.join(wrong[:_NAMED])}{more}",
            remedy='Run again, or say why it is blessed all the same: --despite "REASON" writes that into the file.',
        )
    return Baseline(
        reading=reading,
        blessed_at=at,
        note=note,
        despite=despite.strip() if wrong else "",
        shortcomings=wrong,
    )


def shortcomings(reading: Reading, options: GateOptions | None = None) -> Iterator[str]:
    """Why a run should not be a baseline, one sentence a reason."""
    whole = len(reading.cases)
    if reading.sample is not None and reading.sample < 1.0:
        yield f"it is a sample of {reading.sample:.0%} of the cases"
    untried = sum(CaseStatus.SKIPPED in statuses for statuses in reading.statuses.values())
    if untried:
        yield f"{untried:,} of {whole:,} cases were never tried"
    for status in (Status.FAIL, Status.INCONCLUSIVE):
        # That nothing is asked of quality yet is what a first baseline is for.
        yield from (rule.sentence for rule in judge(reading, None, options).of(status) if rule.rule != UNASKED)
