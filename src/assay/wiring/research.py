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
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import SettingError
from assay.settings import Settings
from assay.wiring.models import has_model, open_model
from assay.wiring.research_options import DEFAULT_MODELS, custom_dimensions, evaluated_how, research_options, table

if TYPE_CHECKING:
    from assay.judging.prompts import Prompt
    from assay.memory.engine import Engine
    from assay.models.chat import ChatModel
    from assay.records import Scope
    from assay.research.custom import CustomDimension
    from assay.research.options import ResearchOptions
    from assay.research.pipeline import ResearchPipeline


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
    from assay.judging.panel import Panel  # noqa: PLC0415 - see the package's docstring
    from assay.research.checkpoints import Checkpoints  # noqa: PLC0415 - the same
    from assay.research.pipeline import ResearchPipeline  # noqa: PLC0415 - the same
    from assay.research.running import Parts  # noqa: PLC0415 - the same
    from assay.research.searching import MemorySearch  # noqa: PLC0415 - the same

    choice = choice or Choice()
    seats = _Seats(settings, engine, scope, choice)
    custom = (*custom_dimensions(settings), *custom)
    options = _with_custom(research_options(settings), custom)
    if not choice.evaluate or seats.evaluate == "off":
        options = _without_evaluation(options)
    panel = Panel(seats.members(custom), clock=engine.clock, options=options.panel, reviewer=seats.reviewer())
    planner, synthesiser = seats.makers(options)
    parts = Parts(
        planner=planner,
        synthesiser=synthesiser,
        find=MemorySearch(engine.searcher),
        checkpoints=Checkpoints(panel, options=options, clock=engine.clock),
        clock=engine.clock,
        options=options,
    )
    return ResearchPipeline(parts, store=engine.store)


class _Seats:
    """Who plans, answers and evaluates."""

    def __init__(self, settings: Settings, engine: Engine, scope: Scope, choice: Choice) -> None:
        self._settings = settings
        self._engine = engine
        self._scope = scope
        self.asks_models = has_model(settings) and not choice.builtin
        self.evaluate = evaluated_how(settings)
        if self.evaluate == "model" and not has_model(settings):
            raise SettingError(
                'research.evaluate is "model", and no model is set up', remedy="Set model.url and model.name."
            )
        self._models: dict[str, ChatModel] = {}

    @property
    def _by_model(self) -> bool:
        return self.asks_models and self.evaluate != "builtin"

    def _model(self, seat: str) -> ChatModel:
        named = table(self._settings, "models").get(seat) or self._settings.model_name or DEFAULT_MODELS[seat]
        if named not in self._models:
            self._models[named] = open_model(
                self._settings, self._engine.store, self._scope, name=named, clock=self._engine.clock
            )
        return self._models[named]

    def _prompts(self) -> dict[str, Prompt]:
        from assay.judging.prompts import prompts_in_use  # noqa: PLC0415 - see the package's docstring

        with self._engine.store.reading(self._scope) as work:
            return prompts_in_use(work.prompts.active())

    def members(self, custom: tuple[CustomDimension, ...]) -> Any:
        """Every seat of the panel."""
        from assay.judging.keeping import guard_of  # noqa: PLC0415 - see the package's docstring
        from assay.judging.roles import builtin_members, model_members  # noqa: PLC0415 - the same
        from assay.records.research import Role  # noqa: PLC0415 - the same
        from assay.research.custom import with_custom  # noqa: PLC0415 - the same

        if not self._by_model:
            seated = builtin_members(self._engine.embedder)
        else:
            models = {role: self._model(role.value) for role in Role}
            guard = guard_of(self._engine.store, self._scope)
            most = self._settings.model_max_tokens
            seated = model_members(models, self._prompts(), guard=guard, max_tokens=most)
        if not custom:
            return seated
        model = self._model("custom") if self.asks_models else None
        return with_custom(seated, custom, model=model, guard=guard_of(self._engine.store, self._scope))

    def reviewer(self) -> Any:
        """Who is asked when the panel is unsure; nobody without a model."""
        if not self._by_model:
            return None
        from assay.judging.escalation import ModelReviewer  # noqa: PLC0415 - see the package's docstring
        from assay.judging.keeping import guard_of  # noqa: PLC0415 - the same
        from assay.judging.prompts import REVIEWER  # noqa: PLC0415 - the same

        guard = guard_of(self._engine.store, self._scope)
        most = self._settings.model_max_tokens
        return ModelReviewer(self._model("escalation"), self._prompts()[REVIEWER], guard=guard, max_tokens=most)

    def makers(self, options: ResearchOptions) -> tuple[Any, Any]:
        """Who plans and who answers."""
        from assay.judging.builtin.evidence import Evidence  # noqa: PLC0415 - see the package's docstring
        from assay.judging.keeping import guard_of  # noqa: PLC0415 - the same
        from assay.judging.prompts import PLANNER, SYNTHESISER  # noqa: PLC0415 - the same
        from assay.records.research import Checkpoint  # noqa: PLC0415 - the same
        from assay.research.model_planner import ModelPlanner  # noqa: PLC0415 - the same
        from assay.research.model_synthesiser import ModelSynthesiser  # noqa: PLC0415 - the same
        from assay.research.planner import RulePlanner  # noqa: PLC0415 - the same
        from assay.research.synthesiser import ExtractiveSynthesiser  # noqa: PLC0415 - the same

        rules = ExtractiveSynthesiser(partial(Evidence, embedder=self._engine.embedder))
        if not self.asks_models:
            return RulePlanner(), rules
        prompts, guard = self._prompts(), guard_of(self._engine.store, self._scope)
        planner = ModelPlanner(
            self._model("planner"),
            prompts[PLANNER],
            guard=guard,
            deadline_s=options.checkpoints[Checkpoint.PLAN].timeout_s,
            max_tokens=self._settings.model_max_tokens,
        )
        synthesiser = ModelSynthesiser(
            self._model("synthesiser"),
            prompts[SYNTHESISER],
            guard=guard,
            rules=rules,
            deadline_s=options.synthesis_s,
            max_tokens=2 * self._settings.model_max_tokens,
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
