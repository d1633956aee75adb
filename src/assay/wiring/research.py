"""The research pipeline the settings name: planner, panel and synthesiser, by models or by rules.

The table `[research]` of the settings file holds what a question may take and how it is judged:

    [research]                 evaluate = "auto" | "builtin" | "model" | "off", and fields of `ResearchOptions`
    [research.plan]            timeout_s, enabled, fail_action; so [research.retrieval] and [research.answer]
    [research.weights]         by dimension; so [research.bars]; [research.thresholds] by checkpoint
    [research.escalation]      sure_from, most_apart, borderline, quorum
    [research.models]          by role, and planner, synthesiser, escalation; unset: model.name
    [research.custom.NAME]     checkpoint, weight, bar, and python = "module:function" or rubric = "file.toml"
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from assay.errors import SettingError
from assay.judging.builtin.support import Evidence
from assay.judging.panel import ModelReviewer, Panel
from assay.judging.persistence import guard_of
from assay.judging.prompts import PLANNER, REVIEWER, SYNTHESISER, Dealt, dealt
from assay.judging.roles import builtin_members, model_members
from assay.memory.engine import Engine
from assay.models.chat import ChatModel
from assay.records import Scope
from assay.records.research import Checkpoint, Role
from assay.records.research_log import EvaluatedBy
from assay.research.checkpoints import CheckpointEvaluator
from assay.research.custom import CustomDimension, with_custom
from assay.research.options import ResearchOptions
from assay.research.pipeline import ResearchPipeline
from assay.research.planner import ModelPlanner, RulePlanner
from assay.research.run import PipelineParts
from assay.research.search import MemorySearch
from assay.research.synthesiser import ExtractiveSynthesiser, ModelSynthesiser
from assay.settings import Settings
from assay.wiring.models import has_model, open_model
from assay.wiring.research_learning import lessons_of
from assay.wiring.research_options import DEFAULT_MODELS, custom_dimensions, evaluated_how, research_options, table
from assay.wiring.tracing import research_observer


class Choice(NamedTuple):
    """What a caller wants of one pipeline, over what the settings say."""

    builtin: bool = False
    """Ask no model, whatever the settings say."""
    evaluate: bool = True


def open_research(
    settings: Settings,
    engine: Engine,
    scope: Scope,
    *,
    choice: Choice | None = None,
    custom: tuple[CustomDimension, ...] = (),
) -> ResearchPipeline:
    """A pipeline over a memory. Models are asked where `model.url` is set, else rules do everything."""
    choice = choice or Choice()
    custom = (*custom_dimensions(settings), *custom)

    def parts_for(question: str | None) -> PipelineParts:
        return _parts(_Seats(settings, engine, scope, choice, question), choice, custom)

    def deal(question: str) -> PipelineParts | None:
        with engine.store.reading(scope) as work:
            split = bool(work.prompts.running_splits())
        return parts_for(question) if split else None

    asks = not choice.builtin and has_model(settings)
    return ResearchPipeline(
        parts_for(None), store=engine.store, observe=research_observer(engine), deal=deal if asks else None
    )


def _parts(seats: _Seats, choice: Choice, custom: tuple[CustomDimension, ...]) -> PipelineParts:
    settings, engine, scope = seats.settings, seats.engine, seats.scope
    options = _with_custom(research_options(settings), custom)
    lessons = lessons_of(engine, scope)
    if not choice.evaluate or seats.evaluate == "off":
        options = _without_evaluation(options)
    else:
        options = lessons.options(options, seats.judged_by)
    panel = Panel(seats.members(custom), clock=engine.clock, options=options.panel, reviewer=seats.reviewer())
    planner, synthesiser = seats.makers(options)
    return PipelineParts(
        planner=lessons.planner(planner),
        synthesiser=synthesiser,
        find=MemorySearch(engine.searcher),
        checkpoints=CheckpointEvaluator(panel, options=options, clock=engine.clock, similar=lessons.similar()),
        clock=engine.clock,
        options=options,
        dealt=seats.dealt.keys if seats.asks_models else (),
    )


class _Seats:
    """Who plans, answers and evaluates."""

    def __init__(
        self, settings: Settings, engine: Engine, scope: Scope, choice: Choice, question: str | None = None
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.scope = scope
        self.asks_models = not choice.builtin and has_model(settings)
        self.evaluate = evaluated_how(settings)
        if self.evaluate == "model" and not has_model(settings):
            raise SettingError(
                'research.evaluate is "model", and no model is set up', remedy="Set model.url and model.name."
            )
        self._question = question
        self._models: dict[str, ChatModel] = {}

    @property
    def _by_model(self) -> bool:
        return self.asks_models and self.evaluate != "builtin"

    @property
    def judged_by(self) -> EvaluatedBy:
        """What sessions of such a panel say of themselves."""
        return EvaluatedBy.MODEL if self._by_model else EvaluatedBy.BUILTIN

    def _model(self, seat: str) -> ChatModel:
        named = table(self.settings, "models").get(seat) or self.settings.model_name or DEFAULT_MODELS[seat]
        if named not in self._models:
            self._models[named] = open_model(
                self.settings, self.engine.store, self.scope, name=named, clock=self.engine.clock
            )
        return self._models[named]

    @cached_property
    def dealt(self) -> Dealt:
        """What models are told: the versions in use, or what was dealt to the question."""
        with self.engine.store.reading(self.scope) as work:
            splits = () if self._question is None else work.prompts.running_splits()
            return dealt(self._question or "", work.prompts.versions(), splits)

    def members(self, custom: tuple[CustomDimension, ...]) -> Any:
        """Every seat of the panel."""
        if not self._by_model:
            seated = builtin_members(self.engine.embedder)
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
        """Who is asked when the panel is unsure; nobody without a model."""
        if not self._by_model:
            return None
        guard = guard_of(self.engine.store, self.scope)
        most = self.settings.model_max_tokens
        return ModelReviewer(self._model("escalation"), self.dealt.prompts[REVIEWER], guard=guard, max_tokens=most)

    def makers(self, options: ResearchOptions) -> tuple[Any, Any]:
        """Who plans and who answers."""
        rules = ExtractiveSynthesiser(partial(Evidence, embedder=self.engine.embedder))
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
    weights = {**panel.weights, **{one.name: one.weight for one in custom}}
    bars = {**panel.bars, **{one.name: one.bar for one in custom}}
    return replace(options, panel=replace(panel, weights=weights, bars=bars))


def _without_evaluation(options: ResearchOptions) -> ResearchOptions:
    off = {key: replace(one, enabled=False) for key, one in options.checkpoints.items()}
    return replace(options, checkpoints=off)
