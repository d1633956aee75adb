"""`assay analyze`: what answered questions add up to, where they score low, and what could be changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records.analysis import Aggregates, Analysis, Pattern, Patterns, ScoreSummary, Trend
from assay.records.evaluations import Interval
from assay.records.research_log import QuestionOutcome
from assay.verbs import analysis as analysis_verbs

SinceOption = Annotated[str | None, typer.Option(metavar="TIME", help="Asked at this moment or later.")]
UntilOption = Annotated[str | None, typer.Option(metavar="TIME", help="Asked before this moment.")]
LeastOption = Annotated[float | None, typer.Option("--least-score", help="Overall score from here on.")]
MostOption = Annotated[float | None, typer.Option("--most-score", help="Overall score up to here.")]
OutcomeOption = Annotated[QuestionOutcome | None, typer.Option("--outcome", help="With this outcome.")]
FailureOption = Annotated[str | None, typer.Option("--failure", metavar="TYPE", help="With this failure type.")]
FailedOption = Annotated[str | None, typer.Option("--failed", metavar="DIMENSION", help="Below the bar of this.")]
EscalatedOption = Annotated[bool | None, typer.Option("--escalated/--not-escalated", help="Seen by the larger model.")]
PlansOption = Annotated[int | None, typer.Option("--least-iterations", help="With this many plans or more.")]
MostPlansOption = Annotated[int | None, typer.Option("--most-iterations", help="With this many plans or fewer.")]
PromptOption = Annotated[str | None, typer.Option("--prompt", metavar="PROMPT@VERSION", help="Asked with this prompt.")]
FdrOption = Annotated[float | None, typer.Option("--fdr", help="Share of the patterns told that may be chance.")]
SupportOption = Annotated[int | None, typer.Option("--support", help="Questions a pattern needs.")]
DropOption = Annotated[float | None, typer.Option("--drop", help="How much lower the mean has to be.")]
QuestionsOption = Annotated[int, typer.Option("--questions", min=0, help="Questions shown for each pattern.")]
ModelOption = Annotated[bool, typer.Option("--model", help="Let the configured model word the suggestions.")]
BAR = 30
TRUE_BINS = 10
MOST_WEEKS = 12
SHORT = 90


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "analyze")
    def analyze(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        since: SinceOption = None,
        until: UntilOption = None,
        least_score: LeastOption = None,
        most_score: MostOption = None,
        outcome: OutcomeOption = None,
        failure: FailureOption = None,
        failed: FailedOption = None,
        escalated: EscalatedOption = None,
        least_iterations: PlansOption = None,
        most_iterations: MostPlansOption = None,
        prompt: PromptOption = None,
        fdr: FdrOption = None,
        support: SupportOption = None,
        drop: DropOption = None,
        questions: QuestionsOption = 3,
        model: ModelOption = False,
    ) -> None:
        """Sum up answered questions, find what low scores have in common, and suggest what to change."""
        found = surface.call(
            analysis_verbs.ANALYZE,
            since=since,
            until=until,
            least_score=least_score,
            most_score=most_score,
            outcome=outcome,
            failure_type=failure,
            failed_dimension=failed,
            escalated=escalated,
            least_iterations=least_iterations,
            most_iterations=most_iterations,
            prompt_version=prompt,
            fdr=fdr,
            least_support=support,
            least_drop=drop,
            model=model,
        )
        surface.show(analysis_verbs.ANALYZE, found, "\n".join(_lines(found, questions)))


def _lines(found: Analysis, questions: int) -> Iterator[str]:
    yield from _totals(found.aggregates)
    yield ""
    yield from _scores(found.aggregates)
    yield ""
    yield from _histogram(found.aggregates.histogram)
    if found.aggregates.failures:
        yield ""
        yield from _failures(found.aggregates)
    yield ""
    yield from _trend(found.aggregates.trend)
    yield ""
    yield from _patterns(found.patterns, questions)
    if found.patterns.cut:
        yield "There are more sessions; patterns were looked for in the newest of them."


def _totals(found: Aggregates) -> Iterator[str]:
    yield f"{found.sessions:,} sessions, {_distinct(found)}"
    yield from grid([("outcome", "sessions", "share"), *_outcomes(found)])
    yield ""
    plans = found.iterations
    made = ", ".join(f"{count:,} with {number}" for number, count in sorted(plans.sessions.items()))
    yield from grid(
        [
            ("pass rate", _rate(found.pass_rate), f"over the {found.judged:,} that were judged"),
            ("not in it", f"{found.skipped:,} skipped, {found.judge_failed:,} let pass unread", ""),
            ("plans made", "-" if plans.mean is None else f"{plans.mean:.2f} on average", made),
            ("last attempt failed", _rate(plans.exhausted), ""),
            ("escalated", _rate(found.escalated), ""),
            ("flagged severe", f"{found.severe:,}", f"{found.regenerated:,} answers made again"),
            ("abstained", f"{found.abstained:,}", f"{found.withheld:,} withheld"),
        ],
        indent="  ",
    )


def _outcomes(found: Aggregates) -> Iterator[tuple[str, str, str]]:
    for entry in found.outcomes:
        yield entry.outcome.value.replace("_", " "), f"{entry.sessions:,}", _rate(entry.share)
    if found.without_outcome:
        yield "not recorded", f"{found.without_outcome:,}", "asked with an earlier version"


def _distinct(found: Aggregates) -> str:
    """Return the number of questions, and how many independent sessions repeated questions amount to."""
    again = found.asked_again
    newest = f" in the newest {again.sessions:,}" if again.sessions < found.sessions else ""
    told = f"{again.questions:,} distinct question{'' if again.questions == 1 else 's'}{newest}"
    return f"{told}; intervals are those of {found.independent:.1f} independent sessions" if again.same else told


def _scores(found: Aggregates) -> Iterator[str]:
    named = {**found.scores, **found.dimensions}
    rows = [(name, *_score(share)) for name, share in named.items() if share is not None]
    if not rows:
        yield "No session has a score."
        return
    yield from grid([("score", "mean", "95 % interval", "range", "sessions"), *rows])


def _score(one: ScoreSummary) -> tuple[str, ...]:
    return (
        f"{one.mean.estimate:.3f}",
        f"[{one.mean.low:.3f}, {one.mean.high:.3f}]",
        f"{one.least:.2f} to {one.most:.2f}",
        f"{one.mean.n:,}",
    )


def _histogram(bins: tuple[int, ...]) -> Iterator[str]:
    """Two bins to a line."""
    wide = len(bins) // TRUE_BINS
    counts = [sum(bins[start : start + wide]) for start in range(0, len(bins), wide)]
    most = max(counts)
    yield "overall scores"
    for place, count in enumerate(counts):
        bar = "#" * (0 if not count else max(1, round(BAR * count / most)))
        yield f"  {place / TRUE_BINS:.1f} to {(place + 1) / TRUE_BINS:.1f}   {count:>7,}   {bar}".rstrip()


def _failures(found: Aggregates) -> Iterator[str]:
    rows = [
        (
            failure.dimension,
            f"{failure.sessions:,}",
            "-" if failure.share is None else f"{failure.share:.0%} of those scored",
        )
        for failure in found.failures
    ]
    yield from grid([("below the bar", "sessions", ""), *rows])
    if found.failure_types:
        yield "failure types: " + ", ".join(f"{name} {count:,}" for name, count in found.failure_types.items())


def _trend(trend: Trend) -> Iterator[str]:
    rows = [
        (
            f"{week.begins:%Y-%m-%d}",
            f"{week.sessions:,}",
            "-" if week.pass_rate is None else f"{week.pass_rate:.0%}",
            "-" if week.score is None else f"{week.score.mean.estimate:.3f}",
        )
        for week in trend.weeks[-MOST_WEEKS:]
    ]
    yield from grid([("week of", "sessions", "passed", "overall"), *rows])
    if trend.low is not None and trend.high is not None:
        span = f"{trend.change:+.3f} [{trend.low:+.3f}, {trend.high:+.3f}]"
        yield f"The last four weeks beside the four before: {trend.direction}, {span}."


def _patterns(found: Patterns, questions: int) -> Iterator[str]:
    over = f"{found.tested:,} tests over {found.questions:,} questions"
    if not found.found:
        yield f"No pattern: nothing that low scores have in common is more than chance ({over})."
        return
    count = "1 pattern" if len(found.found) == 1 else f"{len(found.found)} patterns"
    yield f"{count} ({over}; of what is told so, {found.options.fdr:.0%} may be chance)"
    for pattern in found.found:
        yield ""
        yield from _pattern(pattern, questions)


def _pattern(one: Pattern, questions: int) -> Iterator[str]:
    yield f"{one.impact.upper()}  {one.sentence}"
    effect = "" if one.effect is None else f", {one.effect:.1f} standard deviations"
    yield f"  drop {one.drop:.2f}{effect}; costs {one.loss:.3f} of the mean; p {one.p_adjusted:.2g} adjusted"
    alike = [str(trait) for trait in (*one.same_as, *one.also)]
    if alike:
        yield f"  the same seen otherwise: {', '.join(alike)}"
    for affected in one.affected[:questions]:
        yield f"  {affected.score:.2f}  {_short(affected.text)}  ({affected.log_ids[-1]})"
    if len(one.affected) > questions:
        yield f"  and {len(one.affected) - questions:,} more"
    by = "" if one.suggestion.by == "builtin" else f" ({one.suggestion.by})"
    yield f"  try{by}: assay prompts set {one.suggestion.prompt_id} --add '{_shell(one.suggestion.sentence)}'"
    if one.suggestion.problem:
        yield f"  the model gave no wording: {one.suggestion.problem}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else line[: SHORT - 3] + "..."


def _shell(text: str) -> str:
    """Inside single quotes of a shell."""
    return text.replace("'", "'\\''")


def _rate(found: Interval | None) -> str:
    """An interval of a share, or that there is none."""
    return "-" if found is None else f"{found.estimate:.0%} [{found.low:.0%}, {found.high:.0%}]"
