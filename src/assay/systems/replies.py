"""How systems are described in TOML files and how their replies become results.

- Description files: TOML with known keys, dotted paths into replies, placeholders.
- Replies of functions and services as `Retrieved`.

What a reply may say of channels and stages is read by `reported_steps`.
"""

from __future__ import annotations

import difflib
import numbers
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from assay.errors import BadValue, UnknownSystem
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.records.evaluations import Retrieved
from assay.records.fields import read_toml_text
from assay.regular_files import read_regular_text
from assay.systems.reported_steps import read_steps

if TYPE_CHECKING:
    from pathlib import Path

# --- Description files: TOML with known keys, dotted paths into replies, placeholders ---
#
# A path such as `data.hits.0.id` steps into objects by name and into lists by number. `${NAME}` is a variable of the
# environment, so that no secret stands in a file; `{name}` is filled in for every question or document.

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACE = re.compile(r"\{([a-z_]+)\}")
_REFUSE = object()
_MOST_SHOWN = 120


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file; `what` names what the file should be."""
    try:
        return read_toml_text(read_regular_text(path))
    except FileNotFoundError as problem:
        raise UnknownSystem(f"there is no file {path}", remedy=f"Give {what}.") from problem
    except (OSError, ValueError) as problem:
        raise UnknownSystem(f"cannot read {path}: {problem}", remedy="Write it as TOML in UTF-8.") from problem


def refuse_unknown(path: Path, found: Mapping[str, Any], names: Sequence[str]) -> None:
    """A key with a typo must not look like it was read."""
    for key in found:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise UnknownSystem(f"{path} has the key {key!r}", remedy=f"{hint}Known: {', '.join(names)}.")


def at_path(value: Any, path: str, *, default: Any = _REFUSE, what: str = "the reply") -> Any:
    """The value at a dotted path; the empty path is the value itself."""
    passed: list[str] = []
    for name in path.split(".") if path else ():
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif default is not _REFUSE:
            return default
        else:
            where = f"at {'.'.join(passed)!r}" if passed else "at its top"
            raise BadValue(
                f"{what} has nothing at {path!r}; {where} it has {shape_of(value)}", remedy="Mend the path in the file."
            )
        passed.append(name)
    return value


def shape_of(value: Any) -> str:
    """What a value is, short enough to read."""
    if isinstance(value, Mapping):
        return f"the keys {', '.join(map(repr, list(value)[:8]))}" if value else "an object without keys"
    if isinstance(value, list):
        inner = f", the first with {shape_of(value[0])}" if value and isinstance(value[0], Mapping) else ""
        return f"a list of {len(value)}{inner}"
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + '...'} ({type(value).__name__})"


def from_environment(text: str, environment: Mapping[str, str] | None, what: str) -> str:
    """A text with `${NAME}` replaced by the environment's values; None: those of this process."""
    environment = os.environ if environment is None else environment
    missing = [variable for variable in VARIABLE.findall(text) if not environment.get(variable)]
    if missing:
        raise UnknownSystem(f"{what} needs the environment variable {missing[0]}", remedy="Set it.")
    return VARIABLE.sub(lambda found: environment[found[1]], text)


def headers_for(url: str, headers: Mapping[str, str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Headers as they are sent to an address; a secret never leaves the machine unencrypted."""
    address = urlsplit(url)
    open_road = address.scheme == "http" and address.hostname not in ("localhost", "127.0.0.1", "::1")
    found = {}
    for name, value in headers.items():
        found[name] = from_environment(value, environment, f"the header {name}")
        if open_road and VARIABLE.search(value):
            raise UnknownSystem(f"the header {name} would go to {address.hostname} unencrypted", remedy="Use https.")
    return found


STEP_PATHS = ("candidates", "candidate_id", "candidate_score", "stages")
"""Paths of a description file to what a reply says of its channels and stages. The two in the middle lead from a
candidate to its id and score; without them those of a result do."""


def map_steps(reply: Any, paths: Mapping[str, str], what: str) -> dict[str, Any]:
    """Return `candidates` and `stages` of a service's reply as `read_reply` reads them; a reply may lack them."""
    found = {name: at_path(reply, paths[name], default=None) for name in ("candidates", "stages") if name in paths}
    if found.get("candidates") is not None:
        found["candidates"] = _map_candidates(found["candidates"], paths, what)
    return {name: value for name, value in found.items() if value is not None}


def _map_candidates(given: Any, paths: Mapping[str, str], what: str) -> Any:
    """Read each candidate by the paths of the file, in an object of lists or a list of named lists."""
    if isinstance(given, Mapping):
        return {name: _map_channel(listed, paths, f"{what} {name}") for name, listed in given.items()}
    if isinstance(given, list) and all(isinstance(channel, Mapping) for channel in given):
        return [
            {**channel, "results": _map_channel(channel["results"], paths, f"{what} {channel.get('name')}")}
            if "results" in channel
            else channel
            for channel in given
        ]
    return given


def _map_channel(listed: Any, paths: Mapping[str, str], what: str) -> Any:
    identifier, score = (paths.get(f"candidate_{name}", paths.get(name, "")) for name in ("id", "score"))
    if not isinstance(listed, list) or not identifier:
        return listed
    return [
        candidate
        if not isinstance(candidate, Mapping)
        else {
            "id": at_path(candidate, identifier, what=f"{what}, candidate {place}"),
            "score": at_path(candidate, score, default=None) if score else None,
        }
        for place, candidate in enumerate(listed, start=1)
    ]


def refuse_missing_steps(reply: Any, paths: Mapping[str, str], table: str) -> None:
    """Refuse a path to candidates or stages that leads nowhere, naming the keys that are there."""
    for name in ("candidates", "stages"):
        if name in paths:
            at_path(reply, paths[name], what=f"[{table}] {name}: the reply")


def fill_template(template: Any, known: Mapping[str, Any]) -> Any:
    """A template with every `{name}` filled in; a name alone keeps its type: `"{k}"` is a number."""
    if isinstance(template, Mapping):
        return {key: fill_template(value, known) for key, value in template.items()}
    if isinstance(template, list):
        return [fill_template(value, known) for value in template]
    if not isinstance(template, str):
        return template
    alone = _PLACE.fullmatch(template)
    if alone and alone[1] in known:
        return known[alone[1]]
    return _PLACE.sub(lambda found: str(known[found[1]]) if found[1] in known else found[0], template)


# --- Replies of functions and services as `Retrieved` ---
#
# A reply is a list of results, or an object (or a `Reply`) that has one under `results`, beside any of `scores`,
# `candidates`, `stages`, `answer` and `cost`. Beside an answer that is text, `abstained`, `confidence` and `references`
# may stand too. A
# result is an id, an (id, score) pair, or an object with `id` and whatever else is known: `score`, `text`, `rel_path`,
# `heading_path`, `chunk_id`. Anything else is refused with a sentence that names it.

_SHAPES = "Return a list of ids, of (id, score) pairs, or of objects with an id."


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a search function may return instead of a list: the results, and how it came to them.

    An object with the same keys is read alike. `results` is a list of ids, of (id, score) pairs, or of objects with an
    id; everything else is optional. `assay report --why` shows what `candidates` and `stages` say.
    """

    results: Iterable[Any]
    scores: Iterable[float] | None = None
    """One for each result, where the results have none of their own."""
    candidates: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]] | None = None
    """What each channel offered, best first, by the channel's name; read like results."""
    stages: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    """Every stage after the channels, in order, such as `{"name": "rerank", "ms": 12.5, "dropped": ["c"]}`."""
    answer: Any = None
    """Text, or an object with `text`, `references`, `abstained`, `confidence`."""
    cost: float | None = None
    """In money."""


REPLY_KEYS = (*(field.name for field in fields(Reply)), "abstained", "confidence", "references")
"""What is read of a reply that is an object."""


class _Result(NamedTuple):
    id: str
    score: float | None
    passage: RetrievedChunk | None


def read_reply(reply: Any) -> Retrieved:
    """Read a reply. Raises `BadValue` for one that cannot be read."""
    if isinstance(reply, Retrieved):
        return reply
    if isinstance(reply, Reply):
        return _whole(
            {field.name: value for field in fields(Reply) if (value := getattr(reply, field.name)) is not None}
        )
    if isinstance(reply, Mapping):
        return _whole(reply)
    return _read_list(reply)


def _whole(reply: Mapping[str, Any]) -> Retrieved:
    if "results" not in reply:
        raise BadValue(f"the reply has {_names(reply)} and no 'results'", remedy=_SHAPES)
    found = _read_list(reply["results"])
    steps = read_steps(reply, _read_ids)
    return Retrieved(
        ids=found.ids,
        scores=found.scores if reply.get("scores") is None else _read_scores(reply["scores"], found),
        passages=found.passages,
        stages=steps.milliseconds,
        seen=steps.seen,
        notes=(*found.notes, *steps.notes, *_note_misspelt(reply)),
        answer=read_answer(_gather_answer(reply)),
        cost=None if reply.get("cost") is None else float(reply["cost"]),
    )


def _read_ids(results: Any, what: str) -> tuple[tuple[str, ...], tuple[float, ...] | None]:
    """Read a list of candidates like one of results; `what` names it in errors."""
    try:
        found = _read_list(results)
    except BadValue as problem:
        raise BadValue(f"{what}: {problem.message}", remedy=problem.remedy) from problem
    return found.ids, found.scores


def _read_scores(scores: Any, found: Retrieved) -> tuple[float, ...]:
    """Read the scores that stand beside the results."""
    if isinstance(scores, (str, bytes, Mapping)) or not isinstance(scores, Iterable):
        raise BadValue(f"'scores' is {_shorten_repr(scores)}, not a list", remedy="Give a number for each result.")
    read = tuple(_score(score, place) for place, score in enumerate(scores, start=1))
    if len(read) != len(found.ids):
        raise BadValue(f"{len(found.ids)} results have {len(read)} 'scores'", remedy="Give a number for each result.")
    return read


def _note_misspelt(reply: Mapping[str, Any]) -> tuple[str, ...]:
    """Note keys that look like one that is read; other keys may be anything."""
    strange = [str(key) for key in reply if key not in REPLY_KEYS]
    near = {key: difflib.get_close_matches(key, REPLY_KEYS, n=1, cutoff=0.8) for key in strange}
    return tuple(
        f"the reply has {key!r}, which is not read; did you mean {found[0]!r}?" for key, found in near.items() if found
    )


def _names(reply: Mapping[str, Any]) -> str:
    return f"the keys {', '.join(map(repr, list(reply)[:5]))}" if reply else "no keys"


def _read_list(results: Any) -> Retrieved:
    if results is None:
        raise BadValue("the reply is None", remedy="Return an empty list where nothing was found.")
    if isinstance(results, (str, bytes, Mapping)) or not isinstance(results, Iterable):
        raise BadValue(f"the reply is {_shorten_repr(results)}, not a list of results", remedy=_SHAPES)
    found = [_result(result, place) for place, result in enumerate(results, start=1)]
    scored = [result.score for result in found if result.score is not None]
    if scored and len(scored) != len(found):
        raise BadValue("some results have a score and others have none", remedy="Give every result a score, or none.")
    return Retrieved(
        ids=tuple(result.id for result in found),
        scores=tuple(scored) if scored else None,
        passages=_passages(found),
        notes=_order_notes(scored),
    )


def _passages(found: list[_Result]) -> tuple[RetrievedChunk, ...]:
    """One for each result where any has one: a result that is left out would move those below it up."""
    if not any(result.passage for result in found):
        return ()
    return tuple(result.passage or RetrievedChunk(rel_path=result.id) for result in found)


def _order_notes(scores: list[float]) -> tuple[str, ...]:
    rising = any(later > earlier for earlier, later in pairwise(scores))
    return ("the scores do not fall; the order given counts",) if rising else ()


def _result(value: Any, place: int) -> _Result:
    if isinstance(value, Mapping):
        return _object(value, place)
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return _Result(_id(value[0], place), _score(value[1], place), None)
    return _Result(_id(value, place), None, None)


def _object(result: Mapping[str, Any], place: int) -> _Result:
    if result.get("id") is None:
        what = "an 'id' that is null" if "id" in result else "no 'id'"
        raise BadValue(f"result {place} has {_names(result)} and {what}", remedy="Give every result an id.")
    score = result.get("score")
    found = _id(result["id"], place)
    return _Result(found, None if score is None else _score(score, place), _passage(result, found))


def _passage(result: Mapping[str, Any], document: str) -> RetrievedChunk | None:
    """A passage where the result has more than an id."""
    told = {name: result[name] for name in ("rel_path", "heading_path", "text", "chunk_id") if result.get(name)}
    return RetrievedChunk(**{"rel_path": document, **told}) if told else None


def _id(value: Any, place: int) -> str:
    """Ids are text; whole numbers are read as such, since many stores number their documents."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    raise BadValue(f"result {place} has the id {_shorten_repr(value)}", remedy="Use text or whole numbers as ids.")


def _score(value: Any, place: int) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise BadValue(f"result {place} has the score {_shorten_repr(value)}", remedy="Use numbers as scores.")


_OF_ANSWER = ("references", "abstained", "confidence")
"""What may stand beside an answer that is given as text."""


def _gather_answer(reply: Mapping[str, Any]) -> Any:
    """Return the answer of a reply; given as text, with what stands beside it."""
    answer = reply.get("answer")
    beside = {name: reply[name] for name in _OF_ANSWER if name in reply}
    return {"text": answer, **beside} if isinstance(answer, str) and beside else answer


def read_answer(answer: Any) -> GivenAnswer | None:
    """An answer given as text, or as an object with `text`, `references`, `abstained`, `confidence`."""
    if answer is None or isinstance(answer, GivenAnswer):
        return answer
    if isinstance(answer, str):
        return GivenAnswer(text=answer)
    if not isinstance(answer, Mapping) or "text" not in answer:
        raise BadValue(f"the answer is {_shorten_repr(answer)}", remedy="Give text, or an object with 'text'.")
    cited = tuple(RetrievedChunk(**reference) for reference in answer.get("references") or ())
    told = {name: answer[name] for name in ("abstained", "confidence") if answer.get(name) is not None}
    return GivenAnswer(text=answer["text"], references=cited, **told)


def _shorten_repr(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
