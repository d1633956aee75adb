"""What the metadata of a query says about its case, where a file has no fields of its own for it: BEIR and Parquet.

    reference_answer, answer, reference     the answer; of a list the first
    category, type, question_type           the category; of a list the first
    difficulty, level                       the difficulty
    answerable, answerability               whether there is an answer: true or false, or one of the words below
    history                                 the earlier turns of the conversation
    rubric                                  what a good answer must say
    tags                                    tags
    multi_turn, answerability, collection   more tags, as `name:value`

Of the words for answerability, `UNANSWERABLE` and `UNDERSPECIFIED` mean that a good system gives no answer: it says
that it does not know, or asks back. `PARTIAL` has an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import BadValue
from assay.formats.keys import texts
from assay.formats.turns import turn_fields, turns
from assay.records.datasets import Case

_NAMES = {
    "reference_answer": ("reference_answer", "answer", "reference"),
    "category": ("category", "type", "question_type"),
    "difficulty": ("difficulty", "level"),
}
_KEPT_AS_TAGS = ("multi_turn", "answerability", "collection")
_NO_ANSWER = frozenset({"unanswerable", "underspecified"})
_NOTHING_SAID = frozenset({"n/a", "na", "none", ""})


def said_of_case(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a case from the metadata of its query."""
    found = {field: _first(metadata, keys) for field, keys in _NAMES.items()}
    own = texts(metadata.get("tags") or [], "metadata.tags")
    named = [one for one in dict.fromkeys(_tags_from_metadata(metadata)) if one not in own]
    return {
        **{field: value for field, value in found.items() if value is not None},
        "tags": (*own, *named),
        "answerable": _answerable(metadata),
        "history": turns(metadata.get("history"), "metadata.history"),
        "rubric": texts(metadata.get("rubric") or [], "metadata.rubric"),
    }


def case_said(one: Case) -> dict[str, Any]:
    """The metadata that `said_of_case` reads the same fields from."""
    optional = {
        "category": one.category,
        "difficulty": one.difficulty,
        "tags": list(one.tags),
        "history": turn_fields(one.history),
        "rubric": list(one.rubric),
    }
    answer = {} if one.reference_answer is None else {"reference_answer": one.reference_answer}
    answerable = {} if one.answerable else {"answerable": False}
    return {**answer, **answerable, **{key: value for key, value in optional.items() if value}}


def _first(metadata: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = metadata.get(key)
        one = value[0] if isinstance(value, list) and value else value
        if isinstance(one, str):
            return one
    return None


def _tags_from_metadata(metadata: Mapping[str, Any]) -> list[str]:
    given = {name: metadata.get(name) for name in _KEPT_AS_TAGS}
    each = [(name, one) for name, of in given.items() for one in (of if isinstance(of, list) else [of])]
    said = [(name, one.casefold()) for name, one in each if isinstance(one, str)]
    return [f"{name}:{one}" for name, one in said if one not in _NOTHING_SAID]


def _answerable(metadata: Mapping[str, Any]) -> bool:
    said = metadata.get("answerable")
    if said is None:
        return str(metadata.get("answerability", "")).casefold() not in _NO_ANSWER
    if not isinstance(said, bool):
        raise BadValue(f"metadata.answerable is {said!r}", remedy="Write true or false.")
    return said
