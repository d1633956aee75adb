"""How judging is shown: who judged, what came of it, how far the judge can be trusted, and why not further."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from assay.formats.grid import grid

if TYPE_CHECKING:
    from assay.evaluation.judged import JudgedRun
    from assay.evaluation.judged_scores import JudgeStanding
    from assay.judging.rerun import Rerun
    from assay.judging.spot_check import SpotCheck
    from assay.records.judging import Calibration

_LISTED = 10


def judged_json(judged: JudgedRun) -> dict[str, Any]:
    """A judged run for machines."""
    from assay.evaluation.judged_scores import JUDGED  # noqa: PLC0415 - not for the help

    names = {name for one in judged.standings for name in JUDGED[one.about]}
    metrics = {str(spec): one.as_json() for spec, one in judged.result.aggregates.items() if spec.name in names}
    return {
        "run": judged.result.run_id,
        "judges": [{**asdict(one), "about": one.about.value} for one in judged.standings],
        "metrics": metrics,
    }


def judged_lines(judged: JudgedRun) -> Iterator[str]:
    """A judged run for people."""
    from assay.evaluation.judged_scores import JUDGED  # noqa: PLC0415 - not for the help
    from assay.evaluation.results import shown_value  # noqa: PLC0415 - the same

    names = {name for one in judged.standings for name in JUDGED[one.about]}
    rows = [
        (str(spec), shown_value(one), f"{one.scored} cases")
        for spec, one in judged.result.aggregates.items()
        if spec.name in names
    ]
    yield f"{judged.result.name} on {judged.result.manifest.dataset}"
    yield from grid(rows, indent="  ")
    for one in judged.standings:
        yield from ("", *_standing(one))


def _standing(one: JudgeStanding) -> Iterator[str]:
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(one.outcomes.items())) or "nothing to judge"
    cached = f", {one.cached} from the cache" if one.cached else ""
    yield f"{one.about}: {one.judge} ({one.fingerprint_id})"
    yield f"  verdicts   {counted}{cached}"
    if one.prompt_tokens or one.completion_tokens:
        yield f"  tokens     {one.prompt_tokens:,} sent, {one.completion_tokens:,} replied"
    if one.flagged:
        yield f"  flagged    {one.flagged} cases whose text speaks to the judge"
    if one.void:
        yield f"  VOID       {one.void}"
    yield f"  gates      {'listen to it' if one.gates else f'do not listen: {one.why}'}"


def calibrated_lines(calibration: Calibration, judge: str) -> Iterator[str]:
    """A calibration for people."""
    seen = calibration.figures
    verdict = "may decide gates" if calibration.passed else "diagnostic only"
    yield f"{judge} ({calibration.fingerprint_id}): {verdict} until {calibration.expires_at:%Y-%m-%d}"
    yield from grid(_rows(seen), indent="  ")
    yield from (f"  not enough: {one}" for one in seen["shortcomings"])


def _rows(seen: Mapping[str, Any]) -> list[tuple[str, str]]:
    outcomes = ", ".join(f"{count} {kind}" for kind, count in sorted(seen["outcomes"].items()))
    consistency, position, verbosity = seen["self_consistency"], seen["position_bias"], seen["verbosity_bias"]
    rows = [
        ("labelled cases", f"{seen['labelled']}: {outcomes}"),
        (f"kappa ({seen['kappa_weights']})", _shown(seen["kappa"])),
        ("alpha", _shown(seen["alpha"])),
        ("accuracy", _shown(seen["accuracy"])),
        ("judge minus people", f"{seen['mean_difference']:+.2f}"),
    ]
    if "within_one" in seen:
        rows.insert(4, ("within one point", _shown(seen["within_one"])))
    if consistency.get("cases"):
        rows.append((f"same over {consistency['repeats']} askings", _shown(consistency["same"])))
    for name, found in (("passages turned round", position), ("padded with nothing", verbosity)):
        if found.get("cases"):
            rows.append((name, f"{found['mean_move']:+.2f} on average, {_shown(found['moved'])} moved"))
    means = seen["means"]
    if "corrected" in means:
        rows.append(("mean, judge alone", f"{means['judge_unlabelled']:.2f} over {means['unlabelled']} cases"))
        rows.append(("mean, corrected", _shown(means["corrected"])))
    return rows


def _shown(one: Mapping[str, Any]) -> str:
    if one.get("value") is None:
        return "-"
    limits = "" if one.get("low") is None else f" [{one['low']:.2f}, {one['high']:.2f}]"
    return f"{one['value']:.2f}{limits}"


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
        ("kappa", "-" if told["kappa"] is None else _shown(told["kappa"])),
        ("moved", f"{len(told['moved'])} cases"),
    ]
    yield from grid(rows, indent="  ")
    for one in told["moved"][:_LISTED]:
        yield f"  {one['case']}  {one['first']:g} -> {one['second']:g}  {one['reason']}"


def spot_lines(found: SpotCheck) -> Iterator[str]:
    """A spot check for people."""
    rate = found.rate
    yield f"{found.first} looked at again by {found.second}"
    limits = "" if rate.low is None or rate.high is None else f" [{rate.low * 100:.0f}, {rate.high * 100:.0f}]"
    yield (
        f"  disagree on {len(found.disagreements)} of {found.checked}: {rate.estimate * 100:.0f} %{limits}"
        f" ({found.of} verdicts in all, {found.unjudged} without a second one)"
    )
    for one in found.disagreements[:_LISTED]:
        yield f"  {one.case_id}  {one.first:g} and {one.second:g}  {one.reason}"
    if found.warns:
        yield "  WARNING  above 20 %: do not read anything into small differences of either judge"
