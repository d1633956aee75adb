"""`assay judge`: judge the answers of a run, judge them again with another judge, calibrate and certify a judge.

Without a model in the settings the built-in judges are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.certificate_lines import certificate_json, certificate_lines, certificate_list_lines
from assay.cli.judge_lines import (
    calibration_json,
    calibration_lines,
    calibration_list_lines,
    gold_lines,
    judgement_as_json,
    judgement_lines,
    rerun_lines,
    spot_lines,
)
from assay.cli.progress import count_as, show_progress
from assay.cli.runs import RunArgument, RunsOption, SeedOption, lookup
from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption
from assay.clock import SystemClock
from assay.errors import NothingMeasured
from assay.evaluation.results import RunResult
from assay.extras import need_extra
from assay.judging.calibration import CalibrationOptions
from assay.judging.calibration import calibrate as hold
from assay.judging.certification import CertificationOptions
from assay.judging.certification import certify as show_cases
from assay.judging.certification_cases import with_files
from assay.judging.labels import Labels, case_key, read_labels
from assay.judging.protocol import Judging
from assay.records.datasets import Dataset
from assay.records.judging import RubricKind
from assay.settings import Settings
from assay.wiring.models import JudgeChoice, list_judge_kinds, model_prices, open_judging

if TYPE_CHECKING:
    from assay.storage import Store

BELOW_THE_FLOOR = 2
MOST_LISTED = 100
"""Calibrations, and certificates, that `judge list` shows."""
AboutOption = Annotated[
    list[RubricKind] | None, typer.Option("--about", help="What to judge; default: all that can be.")
]
OneAboutOption = Annotated[RubricKind, typer.Option("--about", help="What the judge judges.")]
ModelOption = Annotated[str, typer.Option("--model", metavar="NAME", help="Another model at model.url.")]
RubricOption = Annotated[str, typer.Option("--rubric", metavar="FILE", help="A rubric of your own.")]
BuiltinOption = Annotated[bool, typer.Option("--built-in", help="Ask no model.")]
JudgeOption = Annotated[
    str, typer.Option("--judge", metavar="NAME", help="A registered judge: builtin, model, or one of a package.")
]
DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset by name, or its file.")]
CasesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="GROUP=FILE",
        help="Answers of your own for a group: right, verbose, specific, vague, abstaining or attacked.",
    ),
]
FloatingOption = Annotated[bool, typer.Option("--allow-floating", help="Accept a model name such as latest.")]
LabelsOption = Annotated[Path, typer.Option("--labels", metavar="FILE", help="Cases that people judged, as JSONL.")]
OnRunOption = Annotated[
    str, typer.Option("--on", metavar="RUN", help="Correct the mean of this judged run by what the labels show.")
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask the model again also where its replies are kept.")]
ShareOption = Annotated[float, typer.Option("--share", help="How many verdicts to look at again, from 0 to 1.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Judge answers, and find out how far the judge can be trusted.", no_args_is_help=True)
    app.add_typer(group, name="judge")
    _register_run(group)
    _register_rerun(group)
    _register_calibrate(group)
    _register_certify(group)
    _register_gold(group)
    _register_list(group)
    _register_spot_check(group)


def _register_run(group: typer.Typer) -> None:
    @command(group, "run")
    def run(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        run: RunArgument = "latest",
        about: AboutOption = None,
        model: ModelOption = "",
        rubric: RubricOption = "",
        built_in: BuiltinOption = False,
        judge_name: JudgeOption = "",
        allow_floating: FloatingOption = False,
        fresh: FreshOption = False,
        runs: RunsOption = None,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
    ) -> None:
        """Judge every answer of a finished run; its numbers then include groundedness, correctness, abstention."""
        need_extra("judge")
        from assay.evaluation.run_judging import Bench, judge_run  # noqa: PLC0415 - the extra "memory"

        settings = _settings(surface, allow_floating=allow_floating)
        result, dataset = _found(surface, run, runs)
        choice = JudgeChoice(model=model, rubric=rubric, builtin=built_in, name=judge_name)
        kinds = about or list_judge_kinds(settings, choice)
        options = wiring.WorkOptions(processes=processes, cluster=cluster)
        with (
            closing(wiring.open_executor(settings, options)) as executor,
            wiring.open_store(settings) as store,
            _progress(surface, "verdicts") as told,
        ):
            judges = [open_judging(settings, store, surface.scope, kind, choice) for kind in kinds]
            bench = Bench(
                store=store,
                scope=surface.scope,
                clock=SystemClock(),
                threads=settings.model_concurrency,
                on_verdict=told,
                prices=model_prices(settings),
                fresh=fresh,
                spread=wiring.spread_judges(settings, executor, choice),
            )
            judged = judge_run(result, dataset, judges, bench)
        surface.result(judgement_as_json(judged), "\n".join(judgement_lines(judged)))


def _register_rerun(group: typer.Typer) -> None:
    @command(group, "rerun")
    def rerun(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        run: RunArgument = "latest",
        about: OneAboutOption = RubricKind.GROUNDEDNESS,
        model: ModelOption = "",
        rubric: RubricOption = "",
        built_in: BuiltinOption = False,
        judge_name: JudgeOption = "",
        allow_floating: FloatingOption = False,
        runs: RunsOption = None,
    ) -> None:
        """Ask another judge about what an earlier one was shown; nothing is run again."""
        need_extra("judge")
        from assay.judging.persistence import to_stored_verdict  # noqa: PLC0415 - the extra "memory"
        from assay.judging.rerun import load_judged  # noqa: PLC0415 - the extra "memory"
        from assay.judging.rerun import rerun as ask_again  # noqa: PLC0415 - the extra "memory"

        settings = _settings(surface, allow_floating=allow_floating)
        run_id = lookup(surface, runs).result(run).run_id
        choice = JudgeChoice(model=model, rubric=rubric, builtin=built_in, name=judge_name)
        with wiring.open_store(settings) as store:
            given = load_judged(store, surface.scope, run_id, about)
            judge = open_judging(settings, store, surface.scope, about, choice)
            found = ask_again(run_id, given, judge, threads=settings.model_concurrency)
            now = SystemClock().now()
            with store.writing(surface.scope) as work:
                work.judging.put_verdicts(
                    [to_stored_verdict(run_id, old.case_id, new, now, old.repeat) for old, new in found.judged]
                )
        surface.result(found.as_json(), "\n".join(rerun_lines(found)))


def _register_calibrate(group: typer.Typer) -> None:
    @command(group, "calibrate")
    def calibrate(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        labels: LabelsOption,
        about: OneAboutOption = RubricKind.GROUNDEDNESS,
        model: ModelOption = "",
        rubric: RubricOption = "",
        built_in: BuiltinOption = False,
        judge_name: JudgeOption = "",
        on: OnRunOption = "",
        allow_floating: FloatingOption = False,
        runs: RunsOption = None,
        seed: SeedOption = 0,
    ) -> None:
        """Hold a judge against people; exit 2 if it may not decide gates."""
        need_extra("judge")
        settings = _settings(surface, allow_floating=allow_floating)
        labelled = read_labels(labels, about)
        options = CalibrationOptions(
            floor=settings.judge_floor,
            days=settings.judge_calibration_days,
            threads=settings.model_concurrency,
            seed=seed,
        )
        choice = JudgeChoice(model=model, rubric=rubric, builtin=built_in, name=judge_name)
        with wiring.open_store(settings) as store, _progress(surface, "questions") as told:
            judge = open_judging(settings, store, surface.scope, about, choice)
            run_id = lookup(surface, runs).result(on).run_id if on else ""
            rest = _scores(surface, store, judge, labelled, run_id) if on else []
            with store.reading(surface.scope) as work:
                earlier = work.judging.calibrations_about(about)
            found = hold(
                judge,
                labelled,
                clock=SystemClock(),
                options=options,
                unlabelled=rest,
                on_case=told,
                earlier=earlier,
            )
            with store.writing(surface.scope) as work:
                work.judging.put_calibration(found.calibration)
        surface.result(calibration_json(found.calibration), "\n".join(calibration_lines(found.calibration, judge.name)))
        if not found.calibration.passed:
            raise typer.Exit(BELOW_THE_FLOOR)


def _register_certify(group: typer.Typer) -> None:
    @command(group, "certify")
    def certify(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        judge_name: JudgeOption = "",
        model: ModelOption = "",
        rubric: RubricOption = "",
        built_in: BuiltinOption = False,
        data: CasesOption = None,
        allow_floating: FloatingOption = False,
        seed: SeedOption = 0,
    ) -> None:
        """Show a judge of correctness answers that are wrong on purpose; exit 2 if it accepts too many of them."""
        need_extra("judge")
        settings = _settings(surface, allow_floating=allow_floating)
        cases = with_files(data or ())
        options = CertificationOptions(
            days=settings.judge_calibration_days, threads=settings.model_concurrency, seed=seed
        )
        choice = JudgeChoice(model=model, rubric=rubric, builtin=built_in, name=judge_name)
        with wiring.open_store(settings) as store, _progress(surface, "answers") as told:
            judge = open_judging(settings, store, surface.scope, RubricKind.CORRECTNESS, choice)
            with store.reading(surface.scope) as work:
                earlier = work.judging.certificates(fingerprint_id=judge.fingerprint().id)
            found = show_cases(judge, cases, clock=SystemClock(), options=options, on_case=told, earlier=earlier)
            with store.writing(surface.scope) as work:
                work.judging.put_certificate(found.certificate)
        surface.result(certificate_json(found.certificate), "\n".join(certificate_lines(found, judge.name)))
        if not found.certificate.passed:
            raise typer.Exit(BELOW_THE_FLOOR)


def _register_gold(group: typer.Typer) -> None:
    @command(group, "gold")
    def gold(surface: Surface, dataset: DatasetArgument) -> None:
        """List reference answers of a dataset that contradict the documents named as their evidence."""
        from assay.evaluation.gold_check import check_dataset_gold  # noqa: PLC0415 - the extra "memory"

        need_extra("judge")
        found = lookup(surface, None).dataset(dataset)
        if found is None:
            raise NothingMeasured(
                f"there is no dataset {dataset!r}", remedy="List them: assay dataset list, or give a file."
            )
        checked = check_dataset_gold(found)
        surface.result(checked.as_json(), "\n".join(gold_lines(checked)))


def _register_list(group: typer.Typer) -> None:
    @command(group, "list")
    def list_calibrations(surface: Surface) -> None:
        """List every calibration and certificate of every judge, failed ones included, the newest first."""
        need_extra("judge")
        settings = _settings(surface, allow_floating=False)
        with wiring.open_store(settings) as store, store.reading(surface.scope) as work:
            found = work.judging.calibrations(limit=MOST_LISTED)
            certificates = work.judging.certificates(limit=MOST_LISTED)
        now = SystemClock().now()
        lines = [*calibration_list_lines(found, now), *certificate_list_lines(certificates, now)]
        told = {
            "calibrations": [calibration_json(calibration) for calibration in found],
            "certificates": [certificate_json(certificate) for certificate in certificates],
        }
        surface.result(told, "\n".join(lines))


def _register_spot_check(group: typer.Typer) -> None:
    @command(group, "spot-check")
    def spot_check(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        run: RunArgument = "latest",
        about: OneAboutOption = RubricKind.GROUNDEDNESS,
        model: ModelOption = "",
        rubric: RubricOption = "",
        built_in: BuiltinOption = False,
        judge_name: JudgeOption = "",
        share: ShareOption = 0.1,
        allow_floating: FloatingOption = False,
        runs: RunsOption = None,
        seed: SeedOption = 0,
    ) -> None:
        """Have a second judge look at a share of the verdicts; warns when they disagree on more than 20 %."""
        need_extra("judge")
        from assay.evaluation.run_judging import record_spot_check  # noqa: PLC0415 - the extra "memory"
        from assay.judging.rerun import load_judged  # noqa: PLC0415 - the extra "memory"
        from assay.judging.rerun import spot_check as look  # noqa: PLC0415 - the extra "memory"

        settings = _settings(surface, allow_floating=allow_floating)
        result = lookup(surface, runs).result(run)
        run_id = result.run_id
        choice = JudgeChoice(
            model=model or settings.judge_second_model, rubric=rubric, builtin=built_in, name=judge_name
        )
        with wiring.open_store(settings) as store:
            given = load_judged(store, surface.scope, run_id, about)
            second = open_judging(settings, store, surface.scope, about, choice)
            threads = settings.model_concurrency
            found = look(run_id, given, second, share=share, seed=seed, threads=threads)
        recorded = record_spot_check(result, about, found)
        told = {**found.as_json(), "recorded": recorded is not None}
        surface.result(told, "\n".join(spot_lines(found)))
        if recorded is None:
            surface.note(f"Not part of the run's report: its numbers about {about} come from another judge.")


def _settings(surface: Surface, *, allow_floating: bool) -> Settings:
    return surface.settings.change(model_allow_floating="yes") if allow_floating else surface.settings


def _found(surface: Surface, run: str, runs: Path | None) -> tuple[RunResult, Dataset]:
    place = lookup(surface, runs)
    result = place.result(run)
    dataset = place.dataset(result.manifest.dataset)
    if dataset is None or dataset.content_hash != result.manifest.instrument.get("dataset"):
        raise NothingMeasured(
            f"the dataset {result.manifest.dataset} of the run {result.name} is missing or has changed",
            remedy="Import it again as it was when the run was made: assay dataset import.",
        )
    return result, dataset


def _scores(surface: Surface, store: Store, judge: Judging, labels: Labels, run_id: str) -> list[float]:
    """The verdicts on those cases of a run that have no label."""
    labelled = {case_key(case.input) for case in labels.cases}
    with store.reading(surface.scope) as work:
        found = [
            verdict
            for verdict in work.judging.verdicts(run_id, fingerprint_id=judge.fingerprint().id)
            if verdict.kind is judge.about
        ]
        scores = [
            verdict.score
            for verdict in found
            if verdict.score is not None and case_key(work.judging.input(verdict.input_hash)) not in labelled
        ]
    if not any(verdict.score is not None for verdict in found):
        raise NothingMeasured(
            f"this judge has given no verdict about {judge.about} on the run {run_id}",
            remedy=f"Judge it first: assay judge run {run_id} --about {judge.about}.",
        )
    return scores


@contextmanager
def _progress(surface: Surface, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """How far it is, on a terminal; silence elsewhere."""
    with show_progress(surface, unit) as show:
        yield count_as(show, unit)
