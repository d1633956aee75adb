"""The research pipeline of the settings: options, learning from earlier questions, and the parts themselves.

- The table `[research]` of the settings file.
- What a pipeline takes from earlier questions.
- Planner, panel and synthesiser.
"""

from __future__ import annotations

import difflib
import importlib
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from assay.analysis.offline import newest
from assay.analysis.patterns import Caution, cautions_of, find_patterns, issues_for
from assay.analysis.thresholds import RatedSession, tune
from assay.clock import Clock
from assay.errors import BadValue, SettingError
from assay.flags import FlagStates
from assay.judging.builtin.evaluators import remember_vectors
from assay.judging.builtin.similar_questions import AlikeQuestions
from assay.judging.panel import ModelReviewer, Panel
from assay.judging.panel_options import PanelOptions
from assay.judging.persistence import guard_of
from assay.judging.prompts import PLANNER, REVIEWER, SYNTHESISER, Dealt, dealt, parse_prompt
from assay.judging.roles import builtin_members, model_members
from assay.memory.engine import Engine
from assay.models.chat import ChatModel
from assay.records import Scope
from assay.records.research import Checkpoint, Dimension, Role
from assay.records.research_log import EvaluatedBy
from assay.regular_files import read_packaged_text
from assay.research.checkpoints import CheckpointEvaluator, SimilarEvaluations
from assay.research.custom import CustomDimension, with_custom
from assay.research.options import ResearchOptions
from assay.research.pipeline import ResearchPipeline
from assay.research.planner import ModelPlanner, PatternPlanner, Planner, RulePlanner
from assay.research.rating import rating_of
from assay.research.run import PipelineParts
from assay.research.search import MemorySearch
from assay.research.synthesiser import ExtractiveSynthesiser, ModelSynthesiser
from assay.settings import Settings
from assay.storage import Work
from assay.wiring.models import has_model, open_model
from assay.wiring.tracing import research_observer

# --- The table `[research]` of the settings file ---
#
# A key that does not exist is an error with the nearest name, as everywhere in the settings.

CheckedOption = TypeVar("CheckedOption")

DEFAULT_MODELS = {
    "planner": "qwen3:14b",
    "synthesiser": "qwen3:14b",
    "intent_analyst": "llama3.1:8b",
    "coverage_checker": "qwen3:14b",
    "faithfulness_judge": "llama3.1:8b",
    "quality_assessor": "qwen3:14b",
    "fact_checker": "qwen3:14b",
    "custom": "qwen3:14b",
    "escalation": "qwen3:30b",
}
"""The model of each role where neither `[research.models]` nor `model.name` names one."""
EVALUATE = ("auto", "builtin", "model", "off")
_TABLES = ("plan", "retrieval", "answer", "weights", "bars", "thresholds", "escalation", "models", "custom")
_REMEDY = f"[research] holds {', '.join(_TABLES)} and plain options; correct it in assay.toml."


def research_options(settings: Settings) -> ResearchOptions:
    """The options the settings file gives, over the defaults; a key that does not exist is an error."""
    given, own = settings.research, ResearchOptions()
    plain = [field.name for field in fields(own) if field.name not in ("panel", "checkpoints")]
    _refuse_unknown(given, ("evaluate", "evidence_from", *plain, *_TABLES), "research")
    _refuse_unknown(table(settings, "models"), tuple(DEFAULT_MODELS), "research.models")
    checkpoints = {
        checkpoint: _over(own.checkpoints[checkpoint], table(settings, checkpoint.value), checkpoint.value)
        for checkpoint in Checkpoint
    }
    simple = {name: given[name] for name in plain if name in given}
    panel = _check(partial(_panel, settings, own), "research")
    return _check(partial(replace, own, panel=panel, checkpoints=checkpoints, **simple), "research")


def _panel(settings: Settings, own: ResearchOptions) -> PanelOptions:
    known = tuple(dimension.value for dimension in Dimension)
    for name in ("weights", "bars"):
        _refuse_unknown(table(settings, name), known, f"research.{name}")
    _refuse_unknown(
        table(settings, "thresholds"), tuple(checkpoint.value for checkpoint in Checkpoint), "research.thresholds"
    )
    numbers = ("sure_from", "most_apart", "borderline", "quorum")
    escalation = table(settings, "escalation")
    _refuse_unknown(escalation, numbers, "research.escalation")
    panel = own.panel
    thresholds = {Checkpoint(name): value for name, value in table(settings, "thresholds").items()}
    return replace(
        panel,
        weights={**panel.weights, **table(settings, "weights")},
        bars={**panel.bars, **table(settings, "bars")},
        thresholds={**panel.thresholds, **thresholds},
        evidence_from=settings.research.get("evidence_from", panel.evidence_from),
        **escalation,
    )


def custom_dimensions(settings: Settings) -> tuple[CustomDimension, ...]:
    """The dimensions that `[research.custom.NAME]` describes."""
    settings.refuse_withheld("research.custom.")
    return tuple(_custom(name, described) for name, described in table(settings, "custom").items())


def _custom(name: str, given: Any) -> CustomDimension:
    where = f"research.custom.{name}"
    if not isinstance(given, Mapping):
        raise SettingError(f"{where} is not a table", remedy=_REMEDY)
    _refuse_unknown(given, ("checkpoint", "weight", "bar", "python", "rubric"), where)
    simple = {key: given[key] for key in ("checkpoint", "weight", "bar") if key in given}
    score = _function(given["python"], where) if "python" in given else None
    prompt = parse_prompt(name, _rubric(given["rubric"], where)) if "rubric" in given else None
    simple = {"checkpoint": "answer", "weight": 0.1, **simple}
    return _check(lambda: CustomDimension(name=name, score=score, prompt=prompt, **simple), where)


def _function(named: Any, where: str) -> Callable[..., Any]:
    module, _, name = str(named).partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as problem:
        raise SettingError(f"{where}.python {named!r}: {problem}", remedy='Write it as "module:function".') from problem
    if not callable(found):
        raise SettingError(f"{where}.python {named!r} cannot be called", remedy="Name a function.")
    made: Callable[..., Any] = found
    return made


def _rubric(named: Any, where: str) -> str:
    try:
        return Path(str(named)).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingError(f"{where}.rubric {named!r}: {problem}", remedy="Give the path of a TOML file.") from problem


def read_evaluate_mode(settings: Settings) -> str:
    """`auto`, `builtin`, `model` or `off`."""
    chosen = settings.research.get("evaluate", "auto")
    if chosen not in EVALUATE:
        raise SettingError(f"research.evaluate {chosen!r} is not known", remedy=f"Give one of {', '.join(EVALUATE)}.")
    return str(chosen)


def _over(own: Any, given: Mapping[str, Any], name: str) -> Any:
    _refuse_unknown(given, tuple(field.name for field in fields(own)), f"research.{name}")
    return _check(lambda: replace(own, **given), f"research.{name}")


def _check(make: Callable[[], CheckedOption], where: str) -> CheckedOption:
    try:
        return make()
    except BadValue as problem:
        raise SettingError(f"{where}: {problem.message}", remedy=problem.remedy) from problem
    except TypeError as problem:
        raise SettingError(f"{where}: a value is of the wrong kind ({problem})", remedy=_REMEDY) from problem


def table(settings: Settings, name: str) -> Mapping[str, Any]:
    """One table of `[research]`; empty when it is not there."""
    found = settings.research.get(name, {})
    if not isinstance(found, Mapping):
        raise SettingError(f"research.{name} is not a table", remedy=f"Write [research.{name}] above it.")
    return found


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise SettingError(f"{where} has the key {name!r}, which is not a setting", remedy=f"{hint}{_REMEDY}")


# --- What a pipeline takes from earlier questions ---
#
# `threshold_tuning` and `pattern_planning` look at the newest sessions of the tenant; the question that comes first
#   waits
# for it, and what was found is good for an hour. `similar_evaluations` remembers evaluations. All of it is kept in
# this process with its engine and nowhere else, so that nothing has to be erased. Whatever fails here is logged, and
# the pipeline works as if the flag were off.

THRESHOLDS, PATTERNS, SIMILAR = "threshold_tuning", "pattern_planning", "similar_evaluations"
"""The flags."""
GOOD_FOR = timedelta(hours=1)
RATED, LOOKED_AT = 500, 2_000
"""Sessions that ratings and patterns are looked for in, the newest first."""
_log = logging.getLogger("assay.research")
_SIMILAR: WeakKeyDictionary[Engine, dict[str, SimilarEvaluations]] = WeakKeyDictionary()
"""By engine and tenant."""
_FOUND: WeakKeyDictionary[Engine, dict[tuple[Any, ...], tuple[datetime, Any]]] = WeakKeyDictionary()
"""By engine, then by tenant and what it was found from: when, and what."""
Lesson = TypeVar("Lesson")


class Lessons(NamedTuple):
    """What a pipeline learns from earlier questions, where the caller's flags allow it."""

    engine: Engine
    scope: Scope
    states: FlagStates | None
    """None: they could not be read."""

    def on(self, flag: str) -> bool:
        """Whether this principal sees a flag."""
        return self.states is not None and self.states.enabled(flag, self.scope.principal)

    def options(self, own: ResearchOptions, by: EvaluatedBy) -> ResearchOptions:
        """Return the options with thresholds that ratings confirm. Ratings of other evaluators are not used."""
        if not self.on(THRESHOLDS):
            return own
        return self._safely(THRESHOLDS, partial(self._tune_options, own, by), own)

    def planner(self, inner: Planner) -> Planner:
        """Return the planner, with cautions about known weaknesses."""
        if not self.on(PATTERNS):
            return inner
        return self._safely(PATTERNS, partial(self._add_patterns, inner), inner)

    def similar(self) -> SimilarEvaluations | None:
        """Evaluations of earlier questions of the tenant; None: nothing is taken over."""
        if not self.on(SIMILAR):
            return None
        by_tenant = _SIMILAR.setdefault(self.engine, {})
        return by_tenant.setdefault(self.scope.tenant, SimilarEvaluations(AlikeQuestions(self.engine.embedder)))

    def _tune_options(self, own: ResearchOptions, by: EvaluatedBy) -> ResearchOptions:
        configured = own.panel.thresholds
        moved = self._find_within_hour(
            (THRESHOLDS, by, *configured.values()), partial(_find_moved, configured=configured, by=by)
        )
        return replace(own, panel=replace(own.panel, thresholds={**configured, **moved}))

    def _add_patterns(self, inner: Planner) -> Planner:
        known = self._find_within_hour((PATTERNS,), _cautions)
        return PatternPlanner(inner, partial(issues_for, cautions=known)) if known else inner

    def _find_within_hour(self, what: tuple[Any, ...], find: Callable[[Work], Lesson]) -> Lesson:
        """What was found within the hour, else what is found now."""
        kept, now = _FOUND.setdefault(self.engine, {}), self.engine.clock.now()
        at, found = kept.get((self.scope.tenant, *what), (None, None))
        if at is not None and now - at < GOOD_FOR:
            return cast("Lesson", found)
        with self.engine.store.reading(self.scope) as work:
            made = find(work)
        kept[self.scope.tenant, *what] = (now, made)
        return made

    def _safely(self, flag: str, work: Callable[[], Lesson], otherwise: Lesson) -> Lesson:
        try:
            return work()
        except Exception as problem:  # noqa: BLE001 - learning never breaks what it learns from
            _log.warning("%s: %s, going on without", flag, type(problem).__name__)
            return otherwise


def lessons_of(engine: Engine, scope: Scope) -> Lessons:
    """The flags of this moment; a store that cannot be read is no reason not to answer."""
    try:
        with engine.store.reading(scope) as work:
            return Lessons(engine, scope, engine.flags.states(work))
    except Exception as problem:  # noqa: BLE001 - learning never breaks what it learns from
        _log.warning("flags: %s, going on without", type(problem).__name__)
        return Lessons(engine, scope, None)


def _find_moved(work: Work, *, configured: Mapping[Checkpoint, float], by: EvaluatedBy) -> dict[Checkpoint, float]:
    return {
        threshold.checkpoint: threshold.after
        for threshold in tune(_read_rated(work, by), configured)
        if threshold.moved
    }


def _read_rated(work: Work, by: EvaluatedBy) -> Iterator[RatedSession]:
    """The newest sessions with a rating, judged in the same way as questions are judged now."""
    if not work.feedback.count():
        return
    for session in newest(work, None, RATED):
        scores = _scores(session.retrieval_score, session.answer_score)
        if session.evaluated_by is not by or not scores:
            continue
        trace = work.research.get(session.log_id).trace
        useful = None if trace is None else rating_of(work, trace)
        if useful is not None:
            yield RatedSession(log_id=session.log_id, useful=useful, scores=scores)


def _scores(retrieval: float | None, answer: float | None) -> dict[Checkpoint, float]:
    found = {Checkpoint.RETRIEVAL: retrieval, Checkpoint.ANSWER: answer}
    return {key: score for key, score in found.items() if score is not None}


def _cautions(work: Work) -> tuple[Caution, ...]:
    return cautions_of(find_patterns(newest(work, None, LOOKED_AT)))


# --- Planner, panel and synthesiser ---
#
# The table `[research]` of the settings file holds what a question may take and how it is judged:
#
#     [research]                 evaluate = "auto" | "builtin" | "model" | "off", and fields of `ResearchOptions`;
#                                evidence_from: the chance from which on passages count as evidence
#     [research.plan]            timeout_s, enabled, fail_action; so [research.retrieval] and [research.answer]
#     [research.weights]         by dimension; so [research.bars]; [research.thresholds] by checkpoint
#     [research.escalation]      sure_from, most_apart, borderline, quorum
#     [research.models]          by role, and planner, synthesiser, escalation; unset: model.name
#     [research.custom.NAME]     checkpoint, weight, bar, and python = "module:function" or rubric = "file.toml"


class Choice(NamedTuple):
    """A caller's options for one pipeline; they override the settings."""

    builtin: bool = False
    """Use no model, even if the settings name one."""
    evaluate: bool = True


OpenSeat = Callable[[str], "ChatModel"]
"""Opens the model of a seat: a role of the panel, `planner`, `synthesiser` or `escalation`."""


class RecordedResearch(NamedTuple):
    """A pipeline whose models replay recorded replies, and the questions it has replies for."""

    pipeline: ResearchPipeline
    questions: tuple[str, ...]


def open_recorded_research(settings: Settings, engine: Engine, scope: Scope, *parts: str) -> RecordedResearch:
    """Return a pipeline in which every model replays what a file that comes with Assay has recorded of its seat."""
    from assay.models.recorded import RecordedModel, Recording  # noqa: PLC0415 - see the package's docstring

    recording = Recording.read(read_packaged_text(*parts), parts[-1])
    pipeline = open_research(settings, engine, scope, open_seat=lambda seat: RecordedModel(recording, seat))
    return RecordedResearch(pipeline, recording.questions)


def open_research(
    settings: Settings,
    engine: Engine,
    scope: Scope,
    *,
    choice: Choice | None = None,
    custom: tuple[CustomDimension, ...] = (),
    clock: Clock | None = None,
    open_seat: OpenSeat | None = None,
) -> ResearchPipeline:
    """Return a pipeline over a memory. It uses models where `model.url` is set, else rules.

    Records carry the time of `clock`; by default that of the memory. `open_seat` opens the models instead of the
    settings.
    """
    choice = choice or Choice()
    custom = (*custom_dimensions(settings), *custom)
    asks = not choice.builtin and (open_seat is not None or has_model(settings))

    def parts_for(question: str | None) -> PipelineParts:
        seats = _Seats(settings, engine, scope, asks_models=asks, question=question, open_seat=open_seat)
        return _parts(seats, choice, custom, clock or engine.clock)

    def deal(question: str) -> PipelineParts | None:
        with engine.store.reading(scope) as work:
            split = bool(work.prompts.running_splits())
        return parts_for(question) if split else None

    return ResearchPipeline(
        parts_for(None), store=engine.store, observe=research_observer(engine), deal=deal if asks else None
    )


def _parts(seats: _Seats, choice: Choice, custom: tuple[CustomDimension, ...], clock: Clock) -> PipelineParts:
    settings, engine, scope = seats.settings, seats.engine, seats.scope
    options = _with_custom(research_options(settings), custom)
    lessons = lessons_of(engine, scope)
    if not choice.evaluate or seats.evaluate == "off":
        options = _without_evaluation(options)
    else:
        options = lessons.options(options, seats.judged_by)
    panel = Panel(seats.members(custom), clock=clock, options=options.panel, reviewer=seats.reviewer())
    planner, synthesiser = seats.makers(options)
    return PipelineParts(
        planner=lessons.planner(planner),
        synthesiser=synthesiser,
        find=MemorySearch(engine.searcher),
        checkpoints=CheckpointEvaluator(panel, options=options, clock=clock, similar=lessons.similar()),
        clock=clock,
        options=options,
        dealt=seats.dealt.keys if seats.asks_models else (),
    )


class _Seats:
    """Who plans, answers and evaluates."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        scope: Scope,
        *,
        asks_models: bool,
        question: str | None = None,
        open_seat: OpenSeat | None = None,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.scope = scope
        self.asks_models = asks_models
        self.evaluate = read_evaluate_mode(settings)
        self._open_seat = open_seat
        if self.evaluate == "model" and open_seat is None and not has_model(settings):
            raise SettingError(
                'research.evaluate is "model", and no model is set up', remedy="Set model.url and model.name."
            )
        self._question = question
        self._models: dict[str, ChatModel] = {}
        self.embedder = remember_vectors(engine.embedder)
        """Shared by the built-in check and the synthesiser, which compare the same sentences."""

    @property
    def _by_model(self) -> bool:
        return self.asks_models and self.evaluate != "builtin"

    @property
    def judged_by(self) -> EvaluatedBy:
        """What sessions of such a panel say of themselves."""
        return EvaluatedBy.MODEL if self._by_model else EvaluatedBy.BUILTIN

    def _model(self, seat: str) -> ChatModel:
        if self._open_seat is not None:
            return self._open_seat(seat)
        named = table(self.settings, "models").get(seat) or self.settings.model_name or DEFAULT_MODELS[seat]
        if named not in self._models:
            self._models[named] = open_model(
                self.settings, self.engine.store, self.scope, name=named, clock=self.engine.clock
            )
        return self._models[named]

    @cached_property
    def dealt(self) -> Dealt:
        """Return the prompts: the versions in use, or those that a split assigned to the question."""
        with self.engine.store.reading(self.scope) as work:
            splits = () if self._question is None else work.prompts.running_splits()
            return dealt(self._question or "", work.prompts.versions(), splits)

    def members(self, custom: tuple[CustomDimension, ...]) -> Any:
        """Every seat of the panel."""
        if not self._by_model:
            seated = builtin_members(self.embedder)
        else:
            models = {role: self._model(role.value) for role in Role}
            guard = guard_of(self.engine.store, self.scope)
            most = self.settings.model_max_tokens
            seated = model_members(models, self.dealt.prompts, guard=guard, max_tokens=most)
        if not custom:
            return seated
        model = self._model("custom") if self.asks_models else None
        return with_custom(seated, custom, model=model, guard=guard_of(self.engine.store, self.scope))

    def reviewer(self) -> Any:
        """Return the larger model that decides when the panel is unsure; None without a model."""
        if not self._by_model:
            return None
        guard = guard_of(self.engine.store, self.scope)
        most = self.settings.model_max_tokens
        return ModelReviewer(self._model("escalation"), self.dealt.prompts[REVIEWER], guard=guard, max_tokens=most)

    def makers(self, options: ResearchOptions) -> tuple[Any, Any]:
        """Who plans and who answers."""
        rules = ExtractiveSynthesiser(self.embedder, answer_from=options.answer_from)
        if not self.asks_models:
            return RulePlanner(), rules
        prompts, guard = self.dealt.prompts, guard_of(self.engine.store, self.scope)
        planner = ModelPlanner(
            self._model("planner"),
            prompts[PLANNER],
            guard=guard,
            deadline_s=options.checkpoints[Checkpoint.PLAN].timeout_s,
            max_tokens=self.settings.model_max_tokens,
        )
        synthesiser = ModelSynthesiser(
            self._model("synthesiser"),
            prompts[SYNTHESISER],
            guard=guard,
            rules=rules,
            deadline_s=options.synthesis_s,
            max_tokens=2 * self.settings.model_max_tokens,
        )
        return planner, synthesiser


def _with_custom(options: ResearchOptions, custom: tuple[CustomDimension, ...]) -> ResearchOptions:
    panel = options.panel
    weights = {**panel.weights, **{dimension.name: dimension.weight for dimension in custom}}
    bars = {**panel.bars, **{dimension.name: dimension.bar for dimension in custom}}
    return replace(options, panel=replace(panel, weights=weights, bars=bars))


def _without_evaluation(options: ResearchOptions) -> ResearchOptions:
    off = {key: replace(checkpoint, enabled=False) for key, checkpoint in options.checkpoints.items()}
    return replace(options, checkpoints=off)
