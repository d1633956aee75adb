"""The table `[research]` of the settings file, checked: numbers over their defaults, and dimensions of the user's own.

A key that does not exist is an error with the nearest name, as everywhere in the settings.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import BadValue, SettingError
from assay.judging.panel_options import PanelOptions
from assay.judging.prompts import parse_prompt
from assay.records.research import Checkpoint, Dimension
from assay.research.custom import CustomDimension
from assay.research.options import ResearchOptions
from assay.settings import Settings

Made = TypeVar("Made")

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
"""Who speaks where neither `[research.models]` nor `model.name` says."""
EVALUATE = ("auto", "builtin", "model", "off")
_TABLES = ("plan", "retrieval", "answer", "weights", "bars", "thresholds", "escalation", "models", "custom")
_REMEDY = "See docs/concepts/research.md for what [research] holds."


def research_options(settings: Settings) -> ResearchOptions:
    """The options the settings file gives, over the defaults; a key that does not exist is an error."""
    given, own = settings.research, ResearchOptions()
    plain = [one.name for one in fields(own) if one.name not in ("panel", "checkpoints")]
    _refuse_unknown(given, ("evaluate", *plain, *_TABLES), "research")
    _refuse_unknown(table(settings, "models"), tuple(DEFAULT_MODELS), "research.models")
    checkpoints = {one: _over(own.checkpoints[one], table(settings, one.value), one.value) for one in Checkpoint}
    simple = {name: given[name] for name in plain if name in given}
    panel = _check(partial(_panel, settings, own), "research")
    return _check(partial(replace, own, panel=panel, checkpoints=checkpoints, **simple), "research")


def _panel(settings: Settings, own: ResearchOptions) -> PanelOptions:
    known = tuple(one.value for one in Dimension)
    for name in ("weights", "bars"):
        _refuse_unknown(table(settings, name), known, f"research.{name}")
    _refuse_unknown(table(settings, "thresholds"), tuple(one.value for one in Checkpoint), "research.thresholds")
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
        **escalation,
    )


def custom_dimensions(settings: Settings) -> tuple[CustomDimension, ...]:
    """The dimensions that `[research.custom.NAME]` describes."""
    settings.refuse_withheld("research.custom.")
    return tuple(_custom(name, one) for name, one in table(settings, "custom").items())


def _custom(name: str, given: Any) -> CustomDimension:
    where = f"research.custom.{name}"
    if not isinstance(given, Mapping):
        raise SettingError(f"{where} is no table", remedy=_REMEDY)
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


def evaluated_how(settings: Settings) -> str:
    """`auto`, `builtin`, `model` or `off`."""
    chosen = settings.research.get("evaluate", "auto")
    if chosen not in EVALUATE:
        raise SettingError(f"research.evaluate {chosen!r} is not known", remedy=f"Give one of {', '.join(EVALUATE)}.")
    return str(chosen)


def _over(own: Any, given: Mapping[str, Any], name: str) -> Any:
    _refuse_unknown(given, tuple(one.name for one in fields(own)), f"research.{name}")
    return _check(lambda: replace(own, **given), f"research.{name}")


def _check(make: Callable[[], Made], where: str) -> Made:
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
        raise SettingError(f"research.{name} is no table", remedy=f"Write [research.{name}] above it.")
    return found


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise SettingError(f"{where} has the key {name!r}, which is no setting", remedy=f"{hint}{_REMEDY}")
