"""Models and judges as the settings name them: endpoint, budget, concurrency and cache, in this order, inside out.

Endpoints come from settings alone. A key is tied to the host it was first sent to: settings that later name another
host for the same key are refused until the user confirms them, so that an edited file cannot carry a key away.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from assay.clock import Clock, SystemClock
from assay.errors import BadValue, SettingError
from assay.judging.model_judge import JudgeOptions, LlmJudge
from assay.judging.registry import JUDGES, JudgeRequest, find_judge
from assay.judging.rubric import load_rubric
from assay.models.budget import NANO, BudgetedModel, Limits, Prices
from assay.models.chat import CachedModel, LimitedModel, digest_of, refuse_floating
from assay.models.endpoint import Endpoint, EndpointOptions, key_from
from assay.models.endpoint_chat import EndpointChat
from assay.settings import Settings
from assay.wiring.network import gatekeeper_of, hold_to_host

if TYPE_CHECKING:
    from assay.judging.protocol import Judging
    from assay.models.chat import ChatModel
    from assay.records import Scope
    from assay.records.judging import RubricKind
    from assay.storage import Store

LARGEST_REPLY = 4_000_000
"""Bytes of one answer of a chat service; the longest honest one is far shorter."""
BUILTIN_JUDGE = "builtin"
"""The registered judge that uses no model."""
MODEL_KEYS = ("model.url", "model.key_variable")
"""Settings that say where questions and a key are sent."""


class JudgeChoice(NamedTuple):
    """Which judge to use; empty fields are taken from the settings."""

    model: str = ""
    rubric: str = ""
    """The path of one, instead of the one that comes with Assay."""
    builtin: bool = False
    """Use no model, even if the settings name one."""
    name: str = ""
    """A registered judge, such as one that a package adds."""


def has_model(settings: Settings) -> bool:
    """Whether a model may be used; refuses when an unapproved file names one."""
    settings.refuse_withheld(*MODEL_KEYS)
    return bool(settings.model_url)


def open_model(
    settings: Settings, store: Store, scope: Scope, *, name: str = "", cached: bool = True, clock: Clock | None = None
) -> ChatModel:
    """The model the settings name, or another at the same address; its replies and its costs are kept in the store."""
    from assay.judging.persistence import StoredReplies  # noqa: PLC0415 - see the package's docstring

    clock = clock or SystemClock()
    asked = _with_budget(settings, store, scope, _endpoint_chat(settings, name or settings.model_name, clock), clock)
    limited = LimitedModel(asked, most=settings.model_concurrency, clock=clock, deadline_s=settings.model_deadline_s)
    return CachedModel(limited, StoredReplies(store, scope)) if cached else limited


def open_judge(
    settings: Settings, store: Store, scope: Scope, *, rubric: str, model: str = "", clock: Clock | None = None
) -> LlmJudge:
    """A judge by the name of its rubric, or by the path of one."""
    from assay.judging.persistence import guard_of  # noqa: PLC0415 - the same

    found = load_rubric(rubric)
    asked = open_model(settings, store, scope, name=model or settings.judge_model, clock=clock)
    options = JudgeOptions(max_tokens=settings.model_max_tokens, deadline_s=settings.model_deadline_s)
    return LlmJudge(asked, found, guard=guard_of(store, scope), options=options)


def _endpoint_chat(settings: Settings, name: str, clock: Clock) -> ChatModel:
    options = _options(settings)
    if not name:
        raise SettingError("model.url is set and model.name is not", remedy="Set model.name, such as qwen3:14b.")
    refuse_floating(name, allowed=settings.model_allow_floating == "yes")
    rng = np.random.default_rng()
    gate = gatekeeper_of(settings)
    root = Endpoint(replace(options, url=server_root(options.url)), gate=gate, clock=clock, rng=rng)
    endpoint = Endpoint(options, gate=gate, clock=clock, rng=rng)
    return EndpointChat(endpoint, name=name, clock=clock, digest=lambda: digest_of(root, name))


def _options(settings: Settings) -> EndpointOptions:
    settings.refuse_withheld(*MODEL_KEYS)
    if not settings.model_url:
        raise SettingError(
            "no model is set up", remedy="Set model.url and model.name, for example in assay.toml, or ASSAY_MODEL_URL."
        )
    key = key_from(os.environ, settings.model_key_variable)
    if key:
        hold_to_host(settings.model_key_variable, settings.model_url, os.environ)
    return EndpointOptions(
        url=settings.model_url, key=key, deadline_s=settings.model_deadline_s, max_bytes=LARGEST_REPLY
    )


def server_root(url: str) -> str:
    """The server without the `/v1` of its OpenAI-compatible part."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").removesuffix("/v1")))


def model_prices(settings: Settings) -> Prices | None:
    """What tokens of the model cost; None unless the settings say both prices."""
    if settings.model_price_in is None or settings.model_price_out is None:
        return None
    return Prices.per_million(settings.model_price_in, settings.model_price_out)


def _with_budget(settings: Settings, store: Store, scope: Scope, model: ChatModel, clock: Clock) -> ChatModel:
    if settings.model_budget_usd is None and settings.model_budget_tokens is None:
        return model
    from assay.judging.persistence import StoredSpending  # noqa: PLC0415 - see the package's docstring

    price_in, price_out = settings.model_price_in, settings.model_price_out
    if settings.model_budget_usd is not None and (price_in is None or price_out is None):
        raise SettingError(
            "model.budget_usd is set, and the price of a token is not",
            remedy="Set model.price_in and model.price_out, in dollars for a million tokens.",
        )
    money = None if settings.model_budget_usd is None else int(settings.model_budget_usd * NANO)
    return BudgetedModel(
        model,
        spending=StoredSpending(store, scope, period=settings.model_budget_period, clock=clock),
        limits=Limits(settings.model_budget_tokens, money),
        prices=Prices.per_million(price_in or 0.0, price_out or 0.0),
    )


def open_judging(settings: Settings, store: Store, scope: Scope, about: RubricKind, choice: JudgeChoice) -> Judging:
    """Open the judge that was named; else the model the settings name, else what is built in."""
    return find_judge(judge_name(settings, choice), about).open(
        JudgeRequest(about=about, rubric=choice.rubric, model=choice.model, settings=settings, store=store, scope=scope)
    )


def list_judge_kinds(settings: Settings, choice: JudgeChoice) -> tuple[RubricKind, ...]:
    """Return everything that the chosen judge can judge."""
    name = judge_name(settings, choice)
    entry = JUDGES.find(name)
    if entry is None:
        raise BadValue(JUDGES.explain_missing(name), remedy=f"There are: {', '.join(JUDGES.names())}.")
    return entry.about


def judge_name(settings: Settings, choice: JudgeChoice) -> str:
    """Return the registered name of the judge that is chosen."""
    if choice.name:
        # builtin:overlap is what people type; a registered name has no colon.
        return choice.name.replace(":", "-") if choice.name.startswith(f"{BUILTIN_JUDGE}:") else choice.name
    return BUILTIN_JUDGE if choice.builtin or not has_model(settings) else "model"


class Spent(NamedTuple):
    """What models cost in the current period, and what they may cost; None: no limit of that kind."""

    period: str
    tokens: int
    usd: float
    most_tokens: int | None
    most_usd: float | None


def read_spending(settings: Settings, store: Store, scope: Scope, clock: Clock) -> Spent | None:
    """Return what was spent of the budget; None where no budget is set, since only then costs are kept."""
    if settings.model_budget_usd is None and settings.model_budget_tokens is None:
        return None
    from assay.judging.persistence import StoredSpending  # noqa: PLC0415 - see the package's docstring

    spent = StoredSpending(store, scope, period=settings.model_budget_period, clock=clock).spent()
    return Spent(
        settings.model_budget_period,
        spent.tokens,
        spent.nano_usd / NANO,
        settings.model_budget_tokens,
        settings.model_budget_usd,
    )
