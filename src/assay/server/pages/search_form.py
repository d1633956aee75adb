"""The controls of the debugger: read from an address into one search, written as a spec and as a command.

A spec is what `assay run --system` and variants take, such as `assay:mode=quick,search.weights.bm25=0.5,flags.mmr=off`.
The command gives the same hits: settings and flags stand before it as variables of the environment.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.access import acts
from assay.errors import BadValue, InputError
from assay.flags import FLAGS, FlagStates
from assay.records import Channel, Filters, Intent, Mode, Origin, SearchRequest, Tier
from assay.records.flags import Flag
from assay.server.pages import filters
from assay.server.pages.page import PageView
from assay.settings.model import KNOWN
from assay.systems.registry import Configuration
from assay.verbs.fields import LONGEST_QUERY, MOST_RESULTS
from assay.wiring.variants import check_variant

FUSIONS = ("convex", "rrf")
AS_SERVED = "served"
"""What the field for the other side says for a search without any of the controls."""
MOST_ROWS = 50
BEYOND_CUT = 5
"""Places of each list that are shown below the cut at k."""
LARGEST_WEIGHT = 1_000.0
_SPEC = "assay:"
_VARIABLES = {known.key: known.variable for known in KNOWN}
_URL = "://"


class FlagControl(NamedTuple):
    """A flag that changes searches, and what is chosen for it."""

    flag: Flag
    is_on: bool
    """As it is served."""
    chosen: str
    """`on`, `off`, or empty: as it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchForm:
    """One search as the address describes it."""

    query: str
    k: int
    rows: int
    """Places of each list that are shown."""
    intent: Intent | None
    folder: str
    tier: Tier | None
    mode: Mode
    channels: tuple[str, ...]
    """Only these; empty: those of the mode."""
    fusion: str
    weights: Mapping[str, str]
    """As typed, by channel; only those that were filled in."""
    flags: Mapping[str, str]
    """`on` or `off`, by flag; only those that differ from what is served."""
    against: str
    """The other side: `served`, the name of a variant, a spec, or empty for none."""
    previous: str = ""
    """The question before in the same conversation; empty: none."""
    dataset: str = ""
    case_id: str = ""
    """The case of a dataset whose gold is marked; empty: grades of people are."""

    @property
    def spec(self) -> str:
        """What the controls change, as a spec; empty: nothing."""
        pairs = [
            *([] if self.mode is Mode.AUTO else [f"mode={self.mode.value}"]),
            *([f"channels={'+'.join(self.channels)}"] if self.channels else []),
            *([f"search.fusion={self.fusion}"] if self.fusion else []),
            *(f"search.weights.{channel}={weight}" for channel, weight in self.weights.items()),
            *(f"flags.{name}={value}" for name, value in self.flags.items()),
        ]
        return _SPEC + ",".join(pairs) if pairs else ""

    def make_request(self, min_relevance: float | None) -> SearchRequest:
        """Return the request; nothing is learned from a search of the dashboard."""
        return SearchRequest(
            query=self.query,
            previous_query=self.previous or None,
            k=self.k,
            intent=self.intent,
            filters=Filters(folder=self.folder or None, tiers=() if self.tier is None else (self.tier,)),
            min_relevance=min_relevance,
            explain=True,
            origin=Origin.EVALUATION,
            tool_name="dashboard",
        )


def read_form(view: PageView) -> SearchForm:
    """Read the controls of an address; raises `InputError` that names the field and its value."""
    query = _check_length(view.query_value("q"), "query")
    asked = filters.whole(view.query, "k", most=MOST_RESULTS)
    if asked == 0:
        raise BadValue("k is 0", remedy=f"Ask for 1 to {MOST_RESULTS} results.")
    k = asked or view.settings.search_k
    fusion = view.query_value("fusion")
    if fusion and fusion not in FUSIONS:
        raise BadValue(f"there is no fusion {fusion!r}", remedy=f"Choose one of {', '.join(FUSIONS)}.")
    channels = dict.fromkeys(text.strip() for text in view.request.query_params.getlist("channel") if text.strip())
    weights = {channel.value: _read_weight(view, f"weight.{channel.value}") for channel in Channel}
    flags = {flag.name: _read_switch(view, f"flag.{flag.name}") for flag in list_search_flags()}
    form = SearchForm(
        query=query,
        k=k,
        rows=filters.whole(view.query, "rows", most=MOST_ROWS) or min(k + BEYOND_CUT, MOST_ROWS),
        intent=filters.one_of(view.query, "intent", Intent),
        folder=view.query_value("folder"),
        tier=filters.one_of(view.query, "tier", Tier),
        mode=filters.one_of(view.query, "mode", Mode) or Mode.AUTO,
        channels=tuple(channels),
        fusion=fusion,
        weights={channel: weight for channel, weight in weights.items() if weight},
        flags={name: value for name, value in flags.items() if value},
        against=view.query_value("against"),
        previous=_check_length(view.query_value("previous").strip(), "question before"),
        dataset=view.query_value("dataset"),
        case_id=view.query_value("case"),
    )
    if form.spec:
        check_spec(view, form.spec)
    return form


def _check_length(text: str, what: str) -> str:
    if len(text) > LONGEST_QUERY:
        raise BadValue(
            f"the {what} has {len(text):,} characters", remedy=f"Search with up to {LONGEST_QUERY:,} characters."
        )
    return text


def _read_weight(view: PageView, field: str) -> str:
    """Return a weight as it was typed; empty: as it is set."""
    text = view.query_value(field)
    try:
        fits = not text or 0.0 < float(text) <= LARGEST_WEIGHT
    except ValueError:
        fits = False
    if not fits:
        raise BadValue(f"{field} {text!r} is not a weight", remedy=f"Give a number above 0, up to {LARGEST_WEIGHT:g}.")
    return text


def _read_switch(view: PageView, field: str) -> str:
    text = view.query_value(field)
    if text not in ("", "on", "off"):
        raise BadValue(f"{field} {text!r} is neither on nor off", remedy="Choose on, off, or nothing.")
    return text


def check_spec(view: PageView, spec: str) -> Configuration:
    """Return what a spec changes; raises `InputError` for one that this memory cannot be searched as."""
    parsed = check_variant(view.settings, "of this page", spec)
    if parsed.configuration is None:
        raise InputError(
            f"{spec!r} is not a configuration of this memory",
            remedy=f"Write it like {_SPEC}search.fusion=rrf,flags.mmr=off.",
        )
    return parsed.configuration


def find_other_side(view: PageView, against: str, states: FlagStates) -> str:
    """Return the spec of the other side; empty: as it is served."""
    if against == AS_SERVED:
        return ""
    named = next((state.flag.spec for state in states.variants if state.flag.name == against), against)
    check_spec(view, named)
    return named


def list_search_flags() -> list[Flag]:
    """Return the flags that change what a search gives."""
    return [flag for flag in FLAGS.values() if flag.owner == "searching" or flag.name == "negative_feedback"]


def list_flag_controls(form: SearchForm, states: FlagStates, identity: str) -> list[FlagControl]:
    """Return a control for each flag that changes searches."""
    return [
        FlagControl(flag, states.enabled(flag.name, identity), form.flags.get(flag.name, ""))
        for flag in list_search_flags()
    ]


def write_command(view: PageView, form: SearchForm) -> str:
    """Return the command that gives the same hits on the machine of the server."""
    configuration = check_spec(view, form.spec) if form.spec else Configuration()
    variables = [
        *(f"{_VARIABLES[key]}={shlex.quote(value)}" for key, value in configuration.settings.items()),
        *(f"ASSAY_FLAG_{name.upper()}={shlex.quote(value)}" for name, value in configuration.flags.items()),
    ]
    return " ".join([*variables, "assay", "search", *_list_options(view, form)])


def _list_options(view: PageView, form: SearchForm) -> Sequence[str]:
    # A query that begins with a dash must not be read as an option.
    query = [shlex.quote(form.query)] if not form.query.startswith("-") else []
    return [
        *query,
        f"-k {form.k}",
        *([] if form.mode is Mode.AUTO else [f"--mode {form.mode.value}"]),
        *([] if form.intent is None else [f"--intent {form.intent.value}"]),
        *([f"--previous-query {shlex.quote(form.previous)}"] if form.previous else []),
        *([f"--folder {shlex.quote(form.folder)}"] if form.folder else []),
        *([] if form.tier is None else [f"--tier {form.tier.value}"]),
        *(f"--channel {shlex.quote(channel)}" for channel in form.channels),
        "--explain",
        *_name_store(view),
        *([] if query else ["--", shlex.quote(form.query)]),
    ]


def _name_store(view: PageView) -> list[str]:
    """Return the options that name the store: a path, for those who may see it, and never an address."""
    db, tenant = str(view.settings.db), view.scope.tenant
    may_see = view.grant.allows(acts.SETTINGS_READ_ALL.policy) and _URL not in db
    return [
        *([f"--db {shlex.quote(db)}"] if may_see else []),
        *([f"--tenant {shlex.quote(tenant)}"] if tenant != "default" else []),
    ]
