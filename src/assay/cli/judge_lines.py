"""How judging is shown: who judged, what came of it, how far the judge can be trusted, and why not further."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from assay.evaluation.judged_scores import JudgeStanding, metrics_judged_by
from assay.evaluation.results import format_run_metric, format_value
from assay.evaluation.run_metrics import RUN_AREAS, RUN_JUDGING
from assay.formats.grid import grid
from assay.judging.calibration import EVIDENCE
from assay.metrics.aggregate import Aggregate
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Outcome, OutcomeKind
from assay.records.judging import Calibration, Usage

if TYPE_CHECKING:
    from assay.evaluation.gold_check import CheckedGold
    from assay.evaluation.run_judging import JudgedRun
    from assay.judging.rerun import Rerun, SpotCheck

_LISTED = 10


def judgement_as_json(judged: JudgedRun) -> dict[str, Any]:
    """A judged run for machines."""
    names = {name for standing in judged.standings for name in metrics_judged_by(standing.about)}
    metrics = {
        str(spec): aggregate.as_json() for spec, aggregate in judged.result.aggregates.items() if spec.name in names
    }
    return {
        "run": judged.result.run_id,
        "judges": [standing.as_json() for standing in judged.standings],
        "metrics": metrics,
        "run_metrics": {str(spec): found.value for spec, found in _run_metrics(judged).items()},
    }


def _run_metrics(judged: JudgedRun) -> dict[MetricSpec, Outcome]:
    """What judging adds to the metrics of the whole run: risk over coverage, tokens, cost and time."""
    names = {MetricSpec.parse(name) for name in (*RUN_AREAS, *RUN_JUDGING)}
    return {spec: found for spec, found in judged.result.run_metrics.items() if spec in names}


def judgement_lines(judged: JudgedRun) -> Iterator[str]:
    """A judged run for people."""
    names = {name for standing in judged.standings for name in metrics_judged_by(standing.about)}
    rows = [
        (str(spec), format_value(aggregate), *_coverage(aggregate))
        for spec, aggregate in judged.result.aggregates.items()
        if spec.name in names
    ]
    rows += [(str(spec), format_run_metric(spec, found.value), "", "") for spec, found in _run_metrics(judged).items()]
    yield f"{judged.result.name} on {judged.result.manifest.dataset}"
    yield from grid(rows, indent="  ")
    for standing in judged.standings:
        yield from ("", *_standing(standing))


def _coverage(found: Aggregate) -> tuple[str, str]:
    """How many cases have a value, and how far the mean could move if the others had one."""
    missing = found.cases - found.scored - found.others.get(OutcomeKind.NOT_APPLICABLE, 0)
    if not missing:
        return f"{found.scored} cases", ""
    ends = ["-" if end is None else f"{end:.3f}" for end in (found.worst, found.best)]
    return f"{found.scored} cases, {missing} without a value", f"worst to best {ends[0]} to {ends[1]}"


def _standing(one: JudgeStanding) -> Iterator[str]:
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(one.outcomes.items())) or "nothing to judge"
    cached = f", {one.cached} from the cache" if one.cached else ""
    yield f"{one.about}: {one.judge} ({one.fingerprint_id})"
    yield f"  verdicts   {counted}{cached}"
    if one.usage.requests:
        yield f"  requests   {_requests(one.usage)}"
        yield f"  tokens     {_tokens(one.usage)}"
    if one.most_cost_usd is not None and one.usage.requests:
        yield f"  cost       {_cost(one)}"
    if one.took_s is not None and one.judged:
        yield f"  time       {one.took_s:.3f} s"
    if one.other_served:
        yield f"  served by  {', '.join(one.served)} ({one.model} was asked)"
    if one.alias:
        yield f"  ALIAS      {one.alias}"
    yield from _licence_lines(one)
    if one.among_labels:
        yield f"  labels     {one.among_labels} of {one.judged} judged cases ask questions of its calibration"
    if one.flagged:
        yield f"  flagged    {one.flagged} cases whose text speaks to the judge"
    if one.void:
        yield f"  VOID       {one.void}"
    yield f"  gates      {'listen to it' if one.gates else f'do not listen: {one.why}'}"


def _licence_lines(one: JudgeStanding) -> Iterator[str]:
    if one.attempts:
        failed = f", {one.failed_attempts} without success" if one.failed_attempts else ""
        times = "once" if one.attempts == 1 else f"{one.attempts} times"
        yield f"  calibrated {times}{failed}"
    if one.certificate is not None:
        yield f"  certified  {_format_certificate(one.certificate)}"


def _format_certificate(certificate: Mapping[str, Any]) -> str:
    accepts, rejects = certificate["false_accepts"], certificate["false_rejects"]
    until = f"until {certificate['expires_at'][:10]}" if certificate["passed"] else "without success"
    return f"{until}: {accepts:.1%} false accepts, {rejects:.1%} false rejects of {certificate['cases']} answers"


def _requests(usage: Usage) -> str:
    failed = f", {usage.failed:,} failed" if usage.failed else ""
    return f"{usage.requests:,} sent{failed}"


def _tokens(usage: Usage) -> str:
    most = usage.most_prompt_tokens + usage.most_completion_tokens
    more = f"; at most {most:,} more in requests that were not counted" if most else ""
    return f"{usage.prompt_tokens:,} sent, {usage.completion_tokens:,} replied{more}"


def _cost(standing: JudgeStanding) -> str:
    most = f"at most {standing.most_cost_usd:.4f} USD"
    if standing.cost_usd is None:
        return f"not known, the server did not count all tokens; {most}"
    return f"{standing.cost_usd:.4f} USD" + (f", {most}" if standing.most_cost_usd != standing.cost_usd else "")


def calibration_lines(calibration: Calibration, judge: str) -> Iterator[str]:
    """A calibration for people."""
    seen = calibration.figures
    until = f"may decide gates until {calibration.expires_at:%Y-%m-%d}"
    yield f"{judge} ({calibration.fingerprint_id}): {until if calibration.passed else 'diagnostic only'}"
    yield from grid(_rows(seen), indent="  ")
    yield from (f"  not enough: {shortcoming}" for shortcoming in seen["shortcomings"])


def _rows(seen: Mapping[str, Any]) -> list[tuple[str, str]]:
    outcomes = ", ".join(f"{count} {kind}" for kind, count in sorted(seen["outcomes"].items()))
    usage, attempts = seen["usage"], seen["attempts"]
    copies = f" ({seen['copies']} copies left out)" if seen["copies"] else ""
    consistency, position, verbosity = seen["self_consistency"], seen["position_bias"], seen["verbosity_bias"]
    rows = [
        ("labelled cases", f"{seen['labelled']}: {outcomes}{copies}"),
        (f"kappa ({seen['kappa_weights']})", _format_with_level(seen["kappa"])),
        ("alpha", _format_agreement(seen["alpha"])),
        ("accuracy", _format_agreement(seen["accuracy"])),
        ("judge minus people", f"{seen['mean_difference']:+.2f}"),
    ]
    if "within_one" in seen:
        rows.insert(4, ("within one point", _format_agreement(seen["within_one"])))
    if consistency.get("cases"):
        rows.append((f"same over {consistency['repeats']} askings", _format_agreement(consistency["same"])))
    for name, found in (("passages turned round", position), ("padded with nothing", verbosity)):
        if found.get("cases"):
            rows.append((name, f"{found['mean_move']:+.2f} on average, {_format_agreement(found['moved'])} moved"))
    means = seen["means"]
    if "corrected" in means:
        rows.append(("mean, judge alone", f"{means['judge_unlabelled']:.2f} over {means['unlabelled']} cases"))
        rows.append(("mean, corrected", f"{_format_agreement(means['corrected'])} if the labels are a random sample"))
    if "withheld" in means:
        rows.append(("mean, corrected", f"- {means['withheld']}"))
    if usage["requests"] or usage["cached"]:
        served = f" by {', '.join(seen['served'])}" if seen["served"] else ""
        rows.append(("replies", f"{usage['fresh']} fresh{served}, {usage['cached']} from the cache"))
    if attempts["number"] > 1 or attempts["other_judges"]:
        rows.append(("attempts", _attempts(attempts)))
    if "kappa_of_all_attempts" in seen:
        rows.append(("kappa, all attempts", _format_with_level(seen["kappa_of_all_attempts"])))
    return rows


def _attempts(attempts: Mapping[str, Any]) -> str:
    parts = [f"number {attempts['number']} of this judge, {attempts['failed_before']} failed before"]
    if attempts["left_out_cases"]:
        parts.append(f"{attempts['left_out_cases']} cases of earlier ones are left out now and still count")
    if attempts["other_judges"]:
        others = attempts["other_judges"]
        judges = "1 other judge was" if others == 1 else f"{others} other judges were"
        parts.append(f"{judges} tried on {attempts['shared_cases']} of these cases")
    return "; ".join(parts)


def _format_with_level(agreement: Mapping[str, Any]) -> str:
    """An agreement; with the level of its interval where several attempts raised it."""
    level = agreement.get("level", 0.95)
    return _format_agreement(agreement) if level <= 0.95 else f"{_format_agreement(agreement)} at {level * 100:.4g} %"


def _format_agreement(one: Mapping[str, Any]) -> str:
    if one.get("value") is None:
        return "-"
    limits = "" if one.get("low") is None else f" [{one['low']:.2f}, {one['high']:.2f}]"
    return f"{one['value']:.2f}{limits}"


def calibration_json(calibration: Calibration) -> dict[str, Any]:
    """A calibration for machines; the labelled cases themselves stay in the store."""
    return {
        "fingerprint": calibration.fingerprint_id,
        "judge": dict(calibration.fingerprint),
        "about": calibration.kind.value,
        "passed": calibration.passed,
        "made_at": calibration.made_at.isoformat(),
        "expires_at": calibration.expires_at.isoformat(),
        "labels": calibration.labels_hash,
        "cases": calibration.cases,
        "figures": {name: value for name, value in calibration.figures.items() if name != EVIDENCE},
    }


def calibration_list_lines(calibrations: Sequence[Calibration], now: datetime) -> Iterator[str]:
    """Every attempt at calibrating a judge, the newest first, for people."""
    if not calibrations:
        yield "No judge was calibrated yet. Calibrate one: assay judge calibrate --labels FILE"
        return
    head = ("made", "judge", "id", "labels", "cases", "kappa", "attempt", "gates")
    yield from grid([head, *(_calibration_row(calibration, now) for calibration in calibrations)])
    for calibration in calibrations:
        for reason in calibration.figures.get("shortcomings", ()):
            yield f"  {calibration.made_at:%Y-%m-%d %H:%M} {calibration.fingerprint_id}: {reason}"


def _calibration_row(calibration: Calibration, now: datetime) -> tuple[str, ...]:
    figures = calibration.figures
    attempt = figures.get("attempts", {}).get("number")
    if not calibration.passed:
        gates = "do not listen"
    else:
        gates = "listen until" if calibration.gates_at(now) else "no longer since"
        gates = f"{gates} {calibration.expires_at:%Y-%m-%d}"
    return (
        f"{calibration.made_at:%Y-%m-%d %H:%M}",
        str(calibration.fingerprint.get("judge", "-")),
        calibration.fingerprint_id,
        calibration.labels_hash.removeprefix("sha256:")[:8],
        str(calibration.cases),
        _format_agreement(figures.get("kappa", {})),
        "-" if attempt is None else str(attempt),
        gates,
    )


def gold_lines(found: CheckedGold) -> Iterator[str]:
    """Reference answers that look wrong, for people."""
    count = len(found.suspects)
    yield f"{found.dataset}: {count} of {found.checked} reference answers with evidence contradict it"
    for suspect in found.suspects:
        seen = suspect.reading
        yield f"  {suspect.case_id}  {suspect.question}"
        yield f"    gold      {suspect.gold}"
        yield f"    problem   {seen.problem}: it states {', '.join(seen.states)}"
        yield f"    evidence  {', '.join(seen.evidence)}"


def rerun_lines(found: Rerun) -> Iterator[str]:
    """Two judges side by side, for people."""
    told = found.as_json()
    yield f"{found.about} of {found.run_id}: {found.first} then, {found.second} now"
    if found.void:
        yield f"  VOID  {found.void}"
    if not told["both"]:
        yield f"  no case has both verdicts: {found.judged[0][1].verdict.reason}"
        return
    rows = [
        ("cases", f"{told['both']} of {told['cases']} have both verdicts"),
        ("mean then", f"{told['mean_first']:.2f}"),
        ("mean now", f"{told['mean_second']:.2f}"),
        ("kappa", "-" if told["kappa"] is None else _format_agreement(told["kappa"])),
        ("moved", f"{len(told['moved'])} cases"),
    ]
    yield from grid(rows, indent="  ")
    for case in told["moved"][:_LISTED]:
        yield f"  {case['case']}  {case['first']:g} -> {case['second']:g}  {case['reason']}"


def spot_lines(found: SpotCheck) -> Iterator[str]:
    """A spot check for people."""
    rate = found.rate
    yield f"{found.first} looked at again by {found.second}"
    limits = "" if rate.low is None or rate.high is None else f" [{rate.low * 100:.0f}, {rate.high * 100:.0f}]"
    yield (
        f"  disagree on {len(found.disagreements)} of {found.checked}: {rate.estimate * 100:.0f} %{limits}"
        f" ({found.of} verdicts in all, {found.unjudged} without a second one)"
    )
    for disagreement in found.disagreements[:_LISTED]:
        yield f"  {disagreement.case_id}  {disagreement.first:g} and {disagreement.second:g}  {disagreement.reason}"
    if found.warns:
        yield "  WARNING  above 20 %: do not read anything into small differences of either judge"
