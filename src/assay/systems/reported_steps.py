"""What a system reports about how it made its list: the candidates of its channels, and the stages after them.

Both stand in a reply beside `results`, and both are optional:

    {
        "results": [...],
        "candidates": {"bm25": ["a", "c"], "dense": [("b", 0.71), ("a", 0.64)]},
        "stages": [
            {"name": "filter", "in": 90, "out": 85, "dropped": ["d"]},
            {"name": "fusion", "in": 85, "out": ["a", "b", "c"]},
            {"name": "rerank", "ms": 12.5, "dropped": ["c"]},
        ],
    }

`candidates` may also be a list of objects with `name` and `results`. A candidate is read like a result. In a stage,
`in` and `out` are counts or lists of ids; where both are lists, `dropped` may be left out. `ms` is how long it took; an
object of milliseconds by name, `{"rerank": 12.5}`, reports times and nothing else. A system that lists its stages lists
all of them. What is kept with the case is bounded: `MOST_KEPT` ids of a list, `MOST_LISTS` channels and as many stages.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records.evaluations import Seen, SeenStage

MOST_KEPT = 1_000
"""Ids of one channel or stage that are kept with a case."""
MOST_LISTS = 32
"""Channels that are kept with a case, and stages."""
SCOPE_STAGES = frozenset({"filter", "scope"})
"""Names of stages that take out what the caller may not or does not want to see."""
FUSION_STAGES = frozenset({"fusion"})
"""Names of stages that join the lists of channels. Every other stage counts as one after fusion."""
_CANDIDATES = 'Give {"bm25": ["a", "b"], "dense": [("c", 0.7)]}, or objects with \'name\' and \'results\'.'
_STAGES = 'Give {"rerank": 12.5}, or objects such as {"name": "rerank", "ms": 12.5, "in": 90, "dropped": ["c"]}.'
_STAGE_KEYS = ("name", "ms", "in", "out", "dropped")

ReadIds = Callable[[Any, str], tuple[tuple[str, ...], tuple[float, ...] | None]]
"""Reads a list of results: their ids, and their scores where they have some. The text names the list in errors."""


class ReportedSteps(NamedTuple):
    """What a reply says of the way to its list."""

    seen: Seen | None
    """None: nothing but times."""
    milliseconds: dict[str, float]
    notes: tuple[str, ...]


def read_steps(reply: Mapping[str, Any], read_ids: ReadIds) -> ReportedSteps:
    """Read `candidates` and `stages` of a reply. Raises `BadValue` for what cannot be read."""
    cut: dict[str, str] = {}
    channels, scores = _read_candidates(reply.get("candidates"), read_ids, cut)
    stages, milliseconds, fused = _read_stages(reply.get("stages"), read_ids, cut)
    if channels is None and stages is None:
        return ReportedSteps(None, milliseconds, ())
    scope = [stage for stage in stages or () if stage.name in SCOPE_STAGES]
    known = stages is not None and all(stage.dropped is not None for stage in scope)
    seen = Seen(
        channels=channels,
        names_all_channels=channels is not None,
        channel_scores=scores or None,
        # A system that lists its stages and has no filter among them takes nothing out.
        excluded=tuple(name for stage in scope for name in stage.dropped or ()) if known else None,
        fused=fused,
        stages=stages,
        cut=tuple(cut),
    )
    return ReportedSteps(seen, milliseconds, tuple(cut.values()))


def _read_candidates(
    given: Any, read_ids: ReadIds, cut: dict[str, str]
) -> tuple[dict[str, tuple[str, ...]] | None, dict[str, tuple[float, ...]]]:
    if given is None:
        return None, {}
    lists = dict(_name_lists(given))
    channels: dict[str, tuple[str, ...]] = {}
    scores: dict[str, tuple[float, ...]] = {}
    for name, listed in _bound(lists.items(), "candidates", "channels", cut):
        ids, found = _read_first_places(*read_ids([] if listed is None else listed, f"candidates of {name!r}"))
        channels[name] = _bound(ids, f"candidates: {name}", "ids", cut)
        if found is not None:
            scores[name] = tuple(found[:MOST_KEPT])
    return channels, scores


def _name_lists(given: Any) -> Iterable[tuple[str, Any]]:
    """Return each channel's name with its list."""
    if isinstance(given, Mapping):
        return [(_name(name, "a channel"), listed) for name, listed in given.items()]
    if isinstance(given, (list, tuple)) and all(isinstance(channel, Mapping) for channel in given):
        return [_read_channel(channel, place) for place, channel in enumerate(given, start=1)]
    raise BadValue(f"'candidates' is {_describe(given)}", remedy=_CANDIDATES)


def _read_channel(channel: Mapping[str, Any], place: int) -> tuple[str, Any]:
    missing = [name for name in ("name", "results") if name not in channel]
    if missing:
        raise BadValue(
            f"channel {place} of 'candidates' has {_keys(channel)} and no {missing[0]!r}", remedy=_CANDIDATES
        )
    return _name(channel["name"], f"channel {place} of 'candidates'"), channel["results"]


def _read_first_places(
    ids: tuple[str, ...], scores: tuple[float, ...] | None
) -> tuple[tuple[str, ...], tuple[float, ...] | None]:
    """Keep the first place of each document: a channel may offer several passages of one."""
    places: dict[str, int] = {}
    for place, identifier in enumerate(ids):
        places.setdefault(identifier, place)
    return tuple(places), None if scores is None else tuple(scores[place] for place in places.values())


def _read_stages(
    given: Any, read_ids: ReadIds, cut: dict[str, str]
) -> tuple[tuple[SeenStage, ...] | None, dict[str, float], tuple[str, ...] | None]:
    """Return the stages, milliseconds by name, and the list after fusion; None for what is not reported."""
    if given is None:
        return None, {}, None
    described = list(_list_stages(given))
    milliseconds = {name: _number(stage["ms"], name, "ms") for name, stage in described if stage.get("ms") is not None}
    telling = [(name, stage) for name, stage in described if set(stage) - {"name", "ms"}]
    if not telling:
        return None, milliseconds, None
    fused = None
    stages = []
    for name, stage in _bound(described, "stages", "stages", cut):
        made, out = _read_stage(name, stage, read_ids, cut)
        stages.append(made)
        fused = out if name in FUSION_STAGES and out is not None else fused
    return tuple(stages), milliseconds, fused


def _list_stages(given: Any) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if isinstance(given, Mapping):
        given = [
            {"name": name, **(stage if isinstance(stage, Mapping) else {"ms": stage})} for name, stage in given.items()
        ]
    if not isinstance(given, (list, tuple)):
        raise BadValue(f"'stages' is {_describe(given)}", remedy=_STAGES)
    for place, stage in enumerate(given, start=1):
        if not isinstance(stage, Mapping) or "name" not in stage:
            what = _keys(stage) if isinstance(stage, Mapping) else _describe(stage)
            raise BadValue(f"stage {place} has {what} and no 'name'", remedy=_STAGES)
        strange = [key for key in stage if key not in _STAGE_KEYS]
        if strange:
            raise BadValue(
                f"stage {stage['name']!r} has the key {strange[0]!r}", remedy=f"Known: {', '.join(_STAGE_KEYS)}."
            )
        yield _name(stage["name"], f"stage {place}"), stage


def _read_stage(
    name: str, stage: Mapping[str, Any], read_ids: ReadIds, cut: dict[str, str]
) -> tuple[SeenStage, tuple[str, ...] | None]:
    """Return a stage, and what it let through where that is a list."""
    what = f"stage {name!r}: "
    entered = _read_flow(stage.get("in"), f"{what}'in'", read_ids)
    left = _read_flow(stage.get("out"), f"{what}'out'", read_ids)
    dropped = None if stage.get("dropped") is None else read_ids(stage["dropped"], f"{what}'dropped'")[0]
    if dropped is None and isinstance(entered, tuple) and isinstance(left, tuple):
        kept = set(left)
        dropped = tuple(identifier for identifier in entered if identifier not in kept)
    made = SeenStage(
        name=name,
        entered=len(entered) if isinstance(entered, tuple) else entered,
        left=len(left) if isinstance(left, tuple) else left,
        dropped=None if dropped is None else _bound(dropped, f"stage: {name}", "dropped ids", cut),
    )
    return made, _bound(left, f"stage: {name}", "ids", cut) if isinstance(left, tuple) else None


def _read_flow(value: Any, what: str, read_ids: ReadIds) -> int | tuple[str, ...] | None:
    """A count, or the documents themselves."""
    if value is None:
        return None
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_whole and int(value) >= 0:
        return int(value)
    if isinstance(value, (list, tuple)):
        return tuple(dict.fromkeys(read_ids(value, what)[0]))
    raise BadValue(f"{what} is {_describe(value)}", remedy="Give a whole number or a list of ids.")


def _bound(items: Iterable[Any], name: str, what: str, cut: dict[str, str]) -> tuple[Any, ...]:
    """Keep what is allowed, and note what was left out."""
    given = tuple(items)
    most = MOST_LISTS if what in ("channels", "stages") else MOST_KEPT
    if len(given) > most:
        cut[name] = f"{name}: the first {most:,} of {len(given):,} {what} are kept"
    return given[:most]


def _name(value: Any, what: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise BadValue(f"the name of {what} is {_describe(value)}", remedy="Use text as names.")


def _number(value: Any, stage: str, key: str) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise BadValue(f"stage {stage!r} has {_describe(value)} as {key!r}", remedy=_STAGES)


def _keys(found: Mapping[str, Any]) -> str:
    return f"the keys {', '.join(map(repr, list(found)[:8]))}" if found else "no keys"


def _describe(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return f"a list of {len(value)}"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
