"""From what a Python function or a service gives back to `Retrieved`.

A reply is a list of results, or an object that has one under `results` beside `answer`, `stages` and `cost`. A result
is an id, an (id, score) pair, or an object with `id` and whatever else is known: `score`, `text`, `rel_path`,
`heading_path`, `chunk_id`. Anything else is refused with a sentence that names it.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records.anchors import RetrievedChunk
from assay.records.answers import GivenAnswer
from assay.records.evaluations import Retrieved

_SHAPES = "Return a list of ids, of (id, score) pairs, or of objects with an id."


class _Result(NamedTuple):
    id: str
    score: float | None
    passage: RetrievedChunk | None


def read_reply(reply: Any) -> Retrieved:
    """What a reply says. Refuses what cannot be read with `BadValue`."""
    if isinstance(reply, Retrieved):
        return reply
    if isinstance(reply, Mapping):
        return _whole(reply)
    return _listed(reply)


def _whole(reply: Mapping[str, Any]) -> Retrieved:
    if "results" not in reply:
        raise BadValue(f"the reply has {_names(reply)} and no 'results'", remedy=_SHAPES)
    found = _listed(reply["results"])
    return Retrieved(
        ids=found.ids,
        scores=found.scores,
        passages=found.passages,
        stages={str(name): float(spent) for name, spent in (reply.get("stages") or {}).items()},
        notes=found.notes,
        answer=read_answer(reply.get("answer")),
        cost=None if reply.get("cost") is None else float(reply["cost"]),
    )


def _names(reply: Mapping[str, Any]) -> str:
    return f"the keys {', '.join(map(repr, list(reply)[:5]))}" if reply else "no keys"


def _listed(results: Any) -> Retrieved:
    if results is None:
        raise BadValue("the reply is None", remedy="Return an empty list where nothing was found.")
    if isinstance(results, (str, bytes, Mapping)) or not isinstance(results, Iterable):
        raise BadValue(f"the reply is {_shown(results)}, not a list of results", remedy=_SHAPES)
    found = [_result(one, place) for place, one in enumerate(results, start=1)]
    scored = [one.score for one in found if one.score is not None]
    if scored and len(scored) != len(found):
        raise BadValue("some results have a score and others have none", remedy="Give every result a score, or none.")
    return Retrieved(
        ids=tuple(one.id for one in found),
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


def _result(one: Any, place: int) -> _Result:
    if isinstance(one, Mapping):
        return _object(one, place)
    if isinstance(one, (tuple, list)) and len(one) == 2:
        return _Result(_id(one[0], place), _score(one[1], place), None)
    return _Result(_id(one, place), None, None)


def _object(one: Mapping[str, Any], place: int) -> _Result:
    if one.get("id") is None:
        what = "an 'id' that is null" if "id" in one else "no 'id'"
        raise BadValue(f"result {place} has {_names(one)} and {what}", remedy="Give every result an id.")
    score = one.get("score")
    found = _id(one["id"], place)
    return _Result(found, None if score is None else _score(score, place), _passage(one, found))


def _passage(one: Mapping[str, Any], document: str) -> RetrievedChunk | None:
    """A passage where the result says more than an id."""
    told = {name: one[name] for name in ("rel_path", "heading_path", "text", "chunk_id") if one.get(name)}
    return RetrievedChunk(**{"rel_path": document, **told}) if told else None


def _id(value: Any, place: int) -> str:
    """Ids are text; whole numbers are read as such, since many stores number their documents."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    raise BadValue(f"result {place} has the id {_shown(value)}", remedy="Use text or whole numbers as ids.")


def _score(value: Any, place: int) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise BadValue(f"result {place} has the score {_shown(value)}", remedy="Use numbers as scores.")


def read_answer(answer: Any) -> GivenAnswer | None:
    """An answer given as text, or as an object with `text`, `references`, `abstained`, `confidence`."""
    if answer is None or isinstance(answer, GivenAnswer):
        return answer
    if isinstance(answer, str):
        return GivenAnswer(text=answer)
    if not isinstance(answer, Mapping) or "text" not in answer:
        raise BadValue(f"the answer is {_shown(answer)}", remedy="Give text, or an object with 'text'.")
    cited = tuple(RetrievedChunk(**one) for one in answer.get("references") or ())
    told = {name: answer[name] for name in ("abstained", "confidence") if answer.get(name) is not None}
    return GivenAnswer(text=answer["text"], references=cited, **told)


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
