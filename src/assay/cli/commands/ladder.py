"""`assay ladder`: a change on its way from the offline gate to everybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from assay import wiring
from assay.cli.commands.shadow import FlagArgument, as_json
from assay.cli.surface import Surface, command
from assay.evaluation.datasets import load_dataset
from assay.evaluation.gating import GateOptions, judge
from assay.evaluation.gating.verdict import Status
from assay.evaluation.readings import reading_of
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import run_dataset, share_held
from assay.formats.grid import grid
from assay.records.datasets import Dataset
from assay.records.fields import one_of
from assay.records.flags import LadderStep, StepOutcome, VoteKind

if TYPE_CHECKING:
    from assay.online.ladder import LadderPage
    from assay.online.trials import TrialStanding

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset by name or path.")]
KindOption = Annotated[
    str,
    typer.Option(
        "--kind",
        help="Where votes come from: paired (shadow runs with judgments), interleaved, or split (half the sessions).",
    ),
]
WhyOption = Annotated[str, typer.Option("--why", help="Kept with the step.")]
MARKS = {True: "holds", False: "does not hold", None: "not known yet"}


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Take a change up step by step, and down again when it breaks.", no_args_is_help=True)
    app.add_typer(group, name="ladder")
    _looking(group)
    _climbing(group)
    _standing_there(group)


def _looking(group: typer.Typer) -> None:
    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List every change that took a step, and where it stands."""
        with wiring.open_engine(surface.settings) as engine, engine.store.reading(surface.scope) as work:
            last = {name: work.ladder_steps.of(name)[-1] for name in work.ladder_steps.features()}
        rows = [("flag", "last step", "outcome", "when", "what"), *(_line(step) for step in last.values())]
        empty = "No change is on the ladder. Begin with `assay ladder offline FLAG DATASET`."
        surface.result([_step_json(step) for step in last.values()], "\n".join(grid(rows)) if last else empty)

    @command(group, "show")
    def show(surface: Surface, flag: FlagArgument) -> None:
        """Show everything known of a change: its steps, its test, and the four conditions of graduation."""
        with wiring.open_engine(surface.settings) as engine:
            page = wiring.ladder_of(engine).page(surface.scope, flag, rng=np.random.default_rng(0))
        surface.result(_page_json(page), "\n".join(_page(page)))


def _climbing(group: typer.Typer) -> None:
    @command(group, "offline")
    def offline(surface: Surface, flag: FlagArgument, dataset: DatasetArgument) -> None:
        """Run a dataset with the flag off and on, and write down what it gained; exit 1 when it failed."""
        step = _offline(surface, flag, dataset)
        _tell(surface, step)
        if step.outcome is StepOutcome.FAILED:
            raise typer.Exit(1)

    @command(group, "begin")
    def begin(surface: Surface, flag: FlagArgument, kind: KindOption = "paired") -> None:
        """Begin a sequential test, or a new attempt after one that ended."""
        with wiring.open_engine(surface.settings) as engine:
            test = wiring.ladder_of(engine).trials.begin(surface.scope, flag, kind=one_of(VoteKind)(kind, "--kind"))
            unseen = kind == VoteKind.PAIRED and not engine.flag_states(surface.scope)[flag].shadow
        surface.result(
            {"feature_id": flag, "attempt": test.attempt, "kind": kind},
            f"Attempt {test.attempt} at {flag} began. Votes come with use: `assay ladder collect {flag}`.",
        )
        if unseen:
            surface.note(
                f"Paired votes come from judged shadow runs, and the shadow of {flag} is off. Replay past searches with"
                f" `assay shadow replay {flag}`, or switch the shadow on and begin again."
            )

    @command(group, "pause")
    def pause(surface: Surface, flag: FlagArgument, why: WhyOption = "Paused by hand.") -> None:
        """Stop taking votes."""
        with wiring.open_engine(surface.settings) as engine:
            test = wiring.ladder_of(engine).trials.pause(surface.scope, flag, why)
        surface.result({"feature_id": flag, "status": str(test.status)}, f"Attempt {test.attempt} at {flag} is paused.")

    @command(group, "resume")
    def resume(surface: Surface, flag: FlagArgument) -> None:
        """Go on with a paused test and the votes it has; refused when the flag or the split is not as it should be."""
        with wiring.open_engine(surface.settings) as engine:
            test = wiring.ladder_of(engine).trials.resume(surface.scope, flag)
        surface.result(
            {"feature_id": flag, "status": str(test.status), "attempt": test.attempt, "votes": test.sample_count},
            f"Attempt {test.attempt} at {flag} goes on, with its {test.sample_count} votes.",
        )

    @command(group, "collect")
    def collect(surface: Surface, flag: FlagArgument) -> None:
        """Turn what was seen since the last time into votes, and decide what can be decided."""
        counted, step = _collect(surface, flag)
        surface.result(
            {"votes": counted, "step": None if step is None else _step_json(step)},
            f"{counted} votes." + ("" if step is None else f" {step.outcome}: {step.sentence}"),
        )


def _standing_there(group: typer.Typer) -> None:
    @command(group, "graduate")
    def graduate(surface: Surface, flag: FlagArgument) -> None:
        """Give a change to everybody; refused while one of the four conditions does not hold."""
        with wiring.open_engine(surface.settings) as engine:
            step = wiring.ladder_of(engine).graduate(surface.scope, flag)
        _tell(surface, step)

    @command(group, "rollback")
    def rollback(surface: Surface, flag: FlagArgument, why: WhyOption = "Taken back by hand.") -> None:
        """Set a flag back to what it was before it graduated."""
        with wiring.open_engine(surface.settings) as engine:
            step = wiring.ladder_of(engine).rollback(surface.scope, flag, why)
        _tell(surface, step)

    @command(group, "watch")
    def watch(surface: Surface) -> None:
        """Look after what has graduated, and take back what breaks a guardrail; exit 1 when something did."""
        with wiring.open_engine(surface.settings) as engine:
            seen = wiring.ladder_of(engine).watch(surface.scope, rng=np.random.default_rng(0))
        rows = [
            (name, one.name, {True: "BROKEN", False: "holds", None: "not known yet"}[one.broken], one.sentence)
            for name, found in seen.items()
            for one in found
        ]
        value = {name: [one._asdict() for one in found] for name, found in seen.items()}
        surface.result(value, "\n".join(grid(rows)) if rows else "Nothing has graduated, so nothing is watched.")
        if any(one.broken for found in seen.values() for one in found):
            raise typer.Exit(1)


def _offline(surface: Surface, flag: str, name: str) -> LadderStep:
    from assay.online.ladder import offline_evidence  # noqa: PLC0415 - the extra "memory"

    dataset = load_dataset(name, registry=wiring.registry_of(surface.settings))
    control, treatment = (_run(surface, dataset, f"assay:flags.{flag}={side}") for side in ("off", "on"))
    verdict = judge(reading_of(treatment), None, GateOptions(floors=surface.settings.floors))
    passed = verdict.status is not Status.FAIL
    with wiring.open_engine(surface.settings) as engine:
        with engine.store.reading(surface.scope) as work:
            own = share_held(work, [document.id for document in dataset.documents])
        evidence = offline_evidence(control, treatment, gate_passed=passed, rng=np.random.default_rng(0), own_share=own)
        return wiring.ladder_of(engine).offline(surface.scope, flag, evidence)


def _run(surface: Surface, dataset: Dataset, spec: str) -> RunResult:
    surface.progress(f"Running {spec} over {dataset.name}: {len(dataset.cases)} cases ...")
    return run_dataset(dataset, lambda scored: closing(wiring.open_system(spec, scored)), RunOptions(spec=spec))


def _collect(surface: Surface, flag: str) -> tuple[int, LadderStep | None]:
    from assay.online.interleaving import collect  # noqa: PLC0415 - the extra "memory"

    with wiring.open_engine(surface.settings) as engine:
        ladder = wiring.ladder_of(engine)
        counted = collect(engine.store, surface.scope, ladder.trials, flag, engine.clock)
        return counted, ladder.decide(surface.scope, flag)


def _page(page: LadderPage) -> Iterator[str]:
    state = page.state
    yield f"{state.flag.name} is {'off' if not state.on else f'on for {state.percent} %'}"
    yield f"  {state.flag.meaning}"
    yield ""
    if page.steps:
        yield from grid([("step", "outcome", "when", "what"), *(_line(step)[1:] for step in page.steps)])
    else:
        yield f"No step taken yet. The first is `assay ladder offline {state.flag.name} DATASET`."
    if page.standing is not None:
        yield ""
        yield from _test(page.standing)
    if page.shadow.runs or page.shadow.dropped:
        classes = ", ".join(f"{count} {name}" for name, count in sorted(page.shadow.classes.items()))
        yield ""
        found = f"{page.shadow.runs} runs{', ' if classes else ''}{classes}"
        yield f"Shadow: {found}; {page.shadow.problems} failed, {page.shadow.dropped} searches dropped."
    yield ""
    yield "Graduation"
    yield from grid([(one.name, MARKS[one.holds], one.sentence) for one in page.conditions], indent="  ")


def _test(standing: TrialStanding) -> Iterator[str]:
    test, limits = standing.test, standing.interval
    gained = "no votes yet" if standing.mean is None else f"{standing.mean:+.4f}"
    known = limits is not None and limits.low is not None and limits.high is not None
    span = f" [{limits.low:+.4f}, {limits.high:+.4f}]" if limits is not None and known else ""
    ended = standing.decision or "undecided"
    yield f"Test, attempt {test.attempt}: {test.status}, {ended} by {test.sample_count} votes"
    yield (
        f"  gain {gained}{span}; ln K {test.log_likelihood_ratio:.2f} of {test.upper_bound:.2f} needed"
        f" (alpha {standing.alpha:.2g})"
    )
    shown = "no votes yet" if standing.chance is None else f"{standing.chance:.3f}"
    yield f"  {standing.chance_label} {shown}"
    if standing.repeats:
        yield f"  {standing.repeats} repeated searches have no vote: their query had voted"
    if standing.ratio is not None:
        yield f"  split: {standing.ratio.sentence}"
    if standing.withheld:
        yield f"  {standing.withheld}"


def _line(step: LadderStep) -> tuple[str, ...]:
    return step.feature_id, str(step.step), str(step.outcome), f"{step.created_at:%Y-%m-%d %H:%M}", step.sentence


def _tell(surface: Surface, step: LadderStep) -> None:
    surface.result(_step_json(step), f"{step.outcome}  {step.sentence}")


def _step_json(step: LadderStep) -> dict[str, Any]:
    return {
        "feature_id": step.feature_id,
        "attempt": step.attempt,
        "step": str(step.step),
        "outcome": str(step.outcome),
        "sentence": step.sentence,
        "detail": dict(step.detail),
        "created_at": step.created_at.isoformat(),
        "actor": step.actor,
    }


def _page_json(page: LadderPage) -> dict[str, Any]:
    standing = page.standing
    return {
        "flag": page.state.flag.name,
        "percent": page.state.percent,
        "steps": [_step_json(step) for step in page.steps],
        "shadow": as_json(page.shadow),
        "test": None if standing is None else _test_json(standing),
        "conditions": [one._asdict() for one in page.conditions],
        "may_graduate": page.may_graduate,
    }


def _test_json(standing: TrialStanding) -> dict[str, Any]:
    limits = standing.interval
    return {
        "attempt": standing.test.attempt,
        "status": str(standing.test.status),
        "decision": standing.decision,
        "kind": str(standing.kind),
        "votes": standing.test.sample_count,
        "arms": dict(standing.arms),
        "mean": standing.mean,
        "interval": None if limits is None else [limits.low, limits.high],
        "alpha": standing.alpha,
        "log_bound": standing.test.upper_bound,
        "repeats": standing.repeats,
        "treatment_better": standing.chance,
        "treatment_better_means": standing.chance_label,
        "sample_ratio_p": standing.ratio_p,
        "withheld": standing.withheld or None,
        "path": [list(one) for one in standing.path],
    }
