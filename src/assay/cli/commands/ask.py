"""`assay ask`: a question answered from the memory, with citations, and what was found of its quality."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.surface import Surface, command
from assay.presentation.outcomes import TERMINAL_STYLES, describe_question, question_tone, question_words
from assay.records.judging import CheckpointResult
from assay.records.research_log import TracedAnswer
from assay.research.events import StageEvent
from assay.research.export import export
from assay.verbs import research as research_verbs

QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know, in your own words.")]
ExportOption = Annotated[Path | None, typer.Option("--export", metavar="DIR", help="Write the whole record there.")]
DetailsOption = Annotated[bool, typer.Option("--details", "-d", help="Show every attempt and dimension.")]
BuiltinOption = Annotated[bool, typer.Option("--builtin", help="Ask no model, whatever the settings say.")]
PlainOption = Annotated[bool, typer.Option("--no-evaluation", help="Answer without looking at the quality.")]
SessionOption = Annotated[str | None, typer.Option(metavar="ID", help="The session this belongs to.")]
TagOption = Annotated[list[str], typer.Option("--tag", help="A word to find it by later; may repeat.")]
RetryOption = Annotated[bool, typer.Option("--retry", help="QUESTION is a log id: answer it from a wider search.")]

WITHHELD, FAILED = 1, 4
"""Exit codes: the answer did not pass a checkpoint set to block; the search itself failed."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "ask")
    def ask(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        question: QuestionArgument,
        details: DetailsOption = False,
        export: ExportOption = None,
        builtin: BuiltinOption = False,
        no_evaluation: PlainOption = False,
        session: SessionOption = None,
        tag: TagOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        retry: RetryOption = False,
    ) -> None:
        """Answer a question from the memory, with citations or an honest "not answered", and score every step."""
        choice: dict[str, Any] = {"builtin": builtin, "evaluate": not no_evaluation}
        listen = _listener(surface)
        if retry:
            answer = surface.call(research_verbs.RETRY, run_once=True, listen=listen, log_id=question, **choice)
        else:
            answer = surface.call(
                research_verbs.ASK,
                run_once=True,
                listen=listen,
                question=question,
                session_id=session,
                tags=tag,
                **choice,
            )
        written = None if export is None else _export(answer, export)
        surface.show(research_verbs.ASK, answer, format_answer(answer, details=details))
        if written is not None:
            surface.note(f"The whole record is in {written}")
        code = {"withheld": WITHHELD, "failed": FAILED}.get(answer.status.value, 0)
        if code:
            raise typer.Exit(code)


def format_answer(answer: TracedAnswer, *, details: bool) -> RenderableType:
    """Format the answer with its references, scores and notices."""
    parts: list[RenderableType] = [
        Text(answer.synthesis.text, style="" if not answer.synthesis.abstained else "yellow")
    ]
    if answer.synthesis.abstained and answer.synthesis.reason not in answer.synthesis.text:
        parts.append(Text(f"({answer.synthesis.reason})", style="dim"))
    if answer.synthesis.citations:
        parts += [Text(), _references(answer)]
    parts += [Text(), _outcome(answer), _scores(answer)]
    if details:
        parts += _attempts(answer)
    told = [notice.message for notice in answer.notices if notice.message != answer.synthesis.text]
    parts += [Text.assemble(("note  ", "bold yellow"), message) for message in told]
    if answer.session.severe and answer.session.retry_of is None:
        parts.append(Text.assemble(("try   ", "bold"), f"assay ask {answer.log_id} --retry  (looks wider)"))
    return Group(*parts)


def _references(answer: TracedAnswer) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 1))
    for citation in answer.synthesis.citations:
        place = " > ".join(part for part in (citation.rel_path, citation.heading_path) if part)
        table.add_row(
            f"[{citation.number}]",
            Text(citation.title),
            Text(place, style="dim"),
            Text(citation.memory_id, style="dim"),
        )
    return table


def _outcome(answer: TracedAnswer) -> Text:
    """Format the outcome in the colour that pages use too."""
    style = TERMINAL_STYLES[question_tone(answer.session)]
    sentence = describe_question(answer.session, answer.trace.get("evidence"))
    return Text.assemble((f"{question_words(answer.session)}: ", f"bold {style}"), sentence)


def _scores(answer: TracedAnswer) -> Text:
    session = answer.session
    named = (("plan", session.plan_score), ("found", session.retrieval_score), ("answer", session.answer_score))
    parts = [f"{name} {_number(score)}" for name, score in named]
    plans = f"{session.iterations} plan{'' if session.iterations == 1 else 's'}"
    line = f"score {_number(session.overall_score)}  ({', '.join(parts)})  {plans}, by {session.evaluated_by}"
    return Text(f"{line}\n{session.log_id}  {session.latency_ms:.0f} ms", style="dim")


def _attempts(answer: TracedAnswer) -> list[RenderableType]:
    rows = [(f"plan {attempt.number}", attempt.result) for attempt in answer.plan_attempts]
    rows += [
        ("found", answer.retrieval),
        *((f"answer {attempt.number}", attempt.result) for attempt in answer.answer_attempts),
    ]
    table = Table("step", "score", "passed", "by dimension", "said", box=None, padding=(0, 1))
    for name, result in rows:
        table.add_row(
            name, _number(result.score), _format_passed(result), _dimensions(result), Text(_format_critique(result))
        )
    searched = Text("searched for: " + "; ".join(answer.plan.texts), style="dim")
    return [Text(), searched, table]


def _format_passed(result: CheckpointResult) -> str:
    return {True: "yes", False: "no", None: result.state.value.replace("_", " ")}[result.passed]


def _dimensions(result: CheckpointResult) -> str:
    scores = [f"{name} {score:.2f}" for name, score in result.scores.items()]
    reasons = {} if result.verdict is None else result.verdict.not_measured
    return "\n".join([*scores, *(f"{name} not measured: {why}" for name, why in reasons.items())])


def _format_critique(result: CheckpointResult) -> str:
    if result.verdict is None or result.reason:
        return result.reason
    said = dict.fromkeys(verdict.critique for verdict in result.verdict.results if verdict.critique)
    return "\n".join(said)


def _number(score: float | None) -> str:
    return "-" if score is None else f"{score:.2f}"


def _export(answer: TracedAnswer, folder: Path) -> Path:
    return export(answer.trace, folder)


def _listener(surface: Surface) -> Any:
    """Print the stages live, for a person at a terminal."""
    if surface.common.json or surface.common.quiet or not surface.common.verbose:
        return None

    def listen(event: StageEvent) -> None:
        score = event.data.get("score")
        told = f" {score:.2f}" if isinstance(score, float) else ""
        surface.note(f"{event.stage}: {event.kind} ({event.attempt}/{event.of}){told} {event.message}".rstrip())

    return listen
