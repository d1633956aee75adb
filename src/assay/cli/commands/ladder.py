"""`assay ladder`: the steps of a change from the offline gate to all users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated

import numpy as np
import typer

from assay import wiring
from assay.cli.colours import colour_verdicts
from assay.cli.commands.shadow import FlagArgument
from assay.cli.progress import count_as, count_cases, show_progress
from assay.cli.surface import Surface, command
from assay.evaluation.comparison import compare_two
from assay.evaluation.datasets import load_dataset
from assay.evaluation.gating import GateOptions, judge
from assay.evaluation.gating.verdict import Status
from assay.evaluation.readings import reading_of
from assay.evaluation.result_rows import regression_row
from assay.evaluation.results import RunResult
from assay.evaluation.running.own_memory import share_held
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, as_row, run_dataset
from assay.formats.grid import grid
from assay.presentation.wording import count_of
from assay.records.datasets import Dataset
from assay.records.flags import LadderPage, LadderStep, ShadowSummary, StepOutcome, TrialStanding
from assay.systems.protocol import System
from assay.verbs import flags as flag_verbs
from assay.verbs import ladder as ladder_verbs

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset by name or path.")]
KindOption = Annotated[
    str,
    typer.Option(
        "--kind",
        help="Where votes come from: paired (shadow runs with judgments), interleaved, or split (half the sessions).",
    ),
]
WhyOption = Annotated[str | None, typer.Option("--why", help="Kept with the step.")]
WATCHED = {True: "BROKEN", False: "holds", None: "not known yet"}
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
        """List every change that took a step, and its current step."""
        found = surface.call(ladder_verbs.LIST, create=True)
        rows = [("flag", "last step", "outcome", "when", "what"), *map(_line, found.changes)]
        empty = "No change is on the ladder. Begin with `assay ladder offline FLAG DATASET`."
        surface.show(ladder_verbs.LIST, found, "\n".join(grid(rows)) if found.changes else empty)

    @command(group, "show")
    def show(surface: Surface, flag: FlagArgument) -> None:
        """Show everything known of a change: its steps, its test, and the four conditions of graduation."""
        page = surface.call(ladder_verbs.SHOW, create=True, feature_id=flag)
        surface.show(ladder_verbs.SHOW, page, colour_verdicts("\n".join(_page(page))))


def _climbing(group: typer.Typer) -> None:
    @command(group, "offline")
    def offline(surface: Surface, flag: FlagArgument, dataset: DatasetArgument) -> None:
        """Run a dataset with the flag off and on, and write down what it gained; exit 1 when it failed."""
        step = _offline(surface, flag, dataset)
        _show_step(surface, step)
        if step.outcome is StepOutcome.FAILED:
            raise typer.Exit(1)

    @command(group, "begin")
    def begin(surface: Surface, flag: FlagArgument, kind: KindOption = "paired", why: WhyOption = None) -> None:
        """Begin a sequential test, or a new attempt after one that ended."""
        test = surface.call(ladder_verbs.BEGIN, create=True, feature_id=flag, kind=kind, why=why)
        text = f"Attempt {test.attempt} at {flag} began. Votes come with use: `assay ladder collect {flag}`."
        surface.show(ladder_verbs.BEGIN, test, text)
        if test.no_votes_because:
            surface.note(f"No vote can come yet. {test.no_votes_because}")

    @command(group, "pause")
    def pause(surface: Surface, flag: FlagArgument, why: WhyOption = None) -> None:
        """Stop taking votes."""
        test = surface.call(ladder_verbs.PAUSE, create=True, feature_id=flag, why=why)
        surface.show(ladder_verbs.PAUSE, test, f"Attempt {test.attempt} at {flag} is paused.")

    @command(group, "resume")
    def resume(surface: Surface, flag: FlagArgument, why: WhyOption = None) -> None:
        """Go on with a paused test and the votes it has; refused when the flag or the split is not as it should be."""
        test = surface.call(ladder_verbs.RESUME, create=True, feature_id=flag, why=why)
        text = f"Attempt {test.attempt} at {flag} goes on, with its {count_of(test.votes, 'vote')}."
        surface.show(ladder_verbs.RESUME, test, text)

    @command(group, "collect")
    def collect(surface: Surface, flag: FlagArgument) -> None:
        """Turn what was seen since the last time into votes, and decide what can be decided."""
        found = surface.call(ladder_verbs.COLLECT, create=True, feature_id=flag)
        decided = "" if found.step is None else f" {found.step.outcome}: {found.step.sentence}"
        because = f" {found.no_votes_because}" if found.no_votes_because else ""
        surface.show(ladder_verbs.COLLECT, found, f"{count_of(found.votes, 'vote')}.{decided}{because}")


def _standing_there(group: typer.Typer) -> None:
    @command(group, "graduate")
    def graduate(surface: Surface, flag: FlagArgument, why: WhyOption = None) -> None:
        """Give a change to all users; refused while one of the four conditions does not hold."""
        _show_step(surface, surface.call(ladder_verbs.GRADUATE, create=True, feature_id=flag, why=why))

    @command(group, "rollback")
    def rollback(surface: Surface, flag: FlagArgument, why: WhyOption = None) -> None:
        """Set a flag back to what it was before it graduated."""
        _show_step(surface, surface.call(ladder_verbs.ROLL_BACK, create=True, feature_id=flag, why=why))

    @command(group, "watch")
    def watch(surface: Surface) -> None:
        """Look after what has graduated, and take back what breaks a guardrail; exit 1 when something did."""
        found = surface.call(ladder_verbs.WATCH, create=True)
        rows = [
            (name, guardrail.name, WATCHED[guardrail.broken], guardrail.sentence)
            for name, guardrails in found.guardrails.items()
            for guardrail in guardrails
        ]
        empty = "Nothing has graduated, so nothing is watched."
        surface.show(ladder_verbs.WATCH, found, "\n".join(grid(rows)) if rows else empty)
        if any(guardrail.broken for guardrails in found.guardrails.values() for guardrail in guardrails):
            raise typer.Exit(1)


def _offline(surface: Surface, flag: str, name: str) -> LadderStep:
    from assay.online.ladder import offline_evidence  # noqa: PLC0415 - the extra "memory"

    dataset = load_dataset(name, registry=wiring.registry_of(surface.settings))
    change = surface.call(flag_verbs.SHOW, create=True, name=flag).flag
    specs = ("assay", change.spec) if change.spec else (f"assay:flags.{flag}=off", f"assay:flags.{flag}=on")
    control, treatment = (_run(surface, dataset, spec) for spec in specs)
    verdict = judge(reading_of(treatment), None, GateOptions(floors=surface.settings.floors))
    passed = verdict.status is not Status.FAIL
    compared = compare_two(reading_of(control), reading_of(treatment))
    with wiring.open_engine(surface.settings) as engine:
        at = engine.clock.now()
        with engine.store.writing(surface.scope) as work:
            own = share_held(work, dataset.documents)
            # Neither side counts for evaluation cycles: each is one flag away from what the memory does.
            for side in (control, treatment):
                work.results.add(as_row(side, dataset=dataset, feature_id=flag))
            work.results.add(regression_row(compared.treatment, compared, verdict, at=at, feature_id=flag))
        evidence = offline_evidence(control, treatment, gate_passed=passed, rng=np.random.default_rng(0), own_share=own)
        return wiring.ladder_of(engine).offline(surface.scope, flag, evidence)


def _run(surface: Surface, dataset: Dataset, spec: str) -> RunResult:
    with show_progress(surface, f"{spec}: documents") as show:
        if show is None:
            surface.progress(f"Running {spec} over {dataset.name}: {len(dataset.cases)} cases ...")

        def open_system(scored: Dataset) -> closing[System]:
            return closing(wiring.open_system(spec, scored, on_document=count_as(show, f"{spec}: documents")))

        running = Running(on_case=count_cases(show, f"{spec}: cases"))
        return run_dataset(dataset, open_system, RunOptions(spec=spec), running)


def _page(page: LadderPage) -> Iterator[str]:
    state = page.state
    yield f"{state.flag.name} is {'off' if not state.on else f'on for {state.percent} %'}"
    yield f"  {state.flag.meaning}"
    yield ""
    if page.steps:
        yield from grid([("step", "outcome", "when", "what"), *(_line(step)[1:] for step in page.steps)])
    else:
        yield f"No step taken yet. The first is `assay ladder offline {state.flag.name} DATASET`."
    if page.test is not None:
        yield ""
        yield from _test(page.test)
    if page.shadow.runs or page.shadow.dropped:
        classes = ", ".join(f"{count} {name}" for name, count in sorted(page.shadow.classes.items()))
        yield ""
        found = f"{page.shadow.runs} runs{', ' if classes else ''}{classes}"
        yield f"Shadow: {found}; {page.shadow.problems} failed, {page.shadow.dropped} searches dropped."
        yield from _agreement(page.shadow)
    yield ""
    yield "Graduation"
    yield from grid(
        [(condition.name, MARKS[condition.holds], condition.sentence) for condition in page.conditions], indent="  "
    )


def _agreement(shadow: ShadowSummary) -> Iterator[str]:
    """How alike the lists were, and which differ most."""
    if shadow.agreement is not None:
        alike = shadow.agreement
        yield (
            f"  lists: overlap {_mean(alike.set_overlap)}, RBO {_mean(alike.rbo)}, tau {_mean(alike.rank_correlation)},"
            f" {_mean(alike.order_differences)} pairs in another order; another first result in {alike.top_changed}"
        )
    if shadow.mean_mrr_delta is not None and shadow.mean_ndcg_delta is not None:
        gained = f"mrr@5 {shadow.mean_mrr_delta:+.3f}, ndcg@10 {shadow.mean_ndcg_delta:+.3f}"
        yield f"  {gained} over {shadow.judged} judged searches"
    for search in shadow.most_changed:
        moved = [f"+{memory_id}" for memory_id in search.entered] + [f"-{memory_id}" for memory_id in search.left]
        yield f"  {search.query_id} {search.classified}: {' '.join(moved) or 'another order'}"


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _test(test: TrialStanding) -> Iterator[str]:
    limits = test.interval
    gained = "no votes yet" if test.mean is None else f"{test.mean:+.4f}"
    known = limits is not None and limits.low is not None and limits.high is not None
    span = f" [{limits.low:+.4f}, {limits.high:+.4f}]" if limits is not None and known else ""
    ended = test.decision or "undecided"
    yield f"Test, attempt {test.attempt}: {test.status}, {ended} by {test.votes} votes"
    yield (
        f"  gain {gained}{span}; ln K {test.log_evidence:.2f} of {test.log_bound:.2f} needed (alpha {test.alpha:.2g})"
    )
    shown = "no votes yet" if test.treatment_better is None else f"{test.treatment_better:.3f}"
    yield f"  {test.treatment_better_means} {shown}"
    if test.repeats:
        yield f"  {test.repeats} repeated searches have no vote: their query had voted"
    if test.split is not None:
        yield f"  split: {test.split.sentence}"
    for name, sides in test.outcomes.items():
        yield f"  {name} {sides.control:.3f} without it, {sides.treatment:.3f} with it"
    if test.withheld:
        yield f"  {test.withheld}"
    if test.no_votes_because:
        yield f"  no vote can come: {test.no_votes_because}"


def _line(step: LadderStep) -> tuple[str, ...]:
    return step.feature_id, str(step.step), str(step.outcome), f"{step.created_at:%Y-%m-%d %H:%M}", step.sentence


def _show_step(surface: Surface, step: LadderStep) -> None:
    surface.show(ladder_verbs.GRADUATE, step, colour_verdicts(f"{step.outcome}  {step.sentence}"))
