"""Fields of a case that several formats share: conversation turns, gold anchors, query metadata.

- Earlier turns of a conversation.
- Gold anchors (`gold_supports`).
- Current and outdated values of what is asked.
- Case fields inside query metadata (BEIR, Parquet).

Case fields inside query metadata (BEIR, Parquet):

    reference_answer, answer, reference     the answer; of a list the first
    category, type, question_type           the category; of a list the first
    difficulty, level                       the difficulty
    answerable, answerability               whether there is an answer: true or false, or one of the words below
    history                                 the earlier turns of the conversation
    rubric                                  what a good answer must say
    current_value, outdated_values          the value that holds now, and those that held before
    tags                                    tags
    multi_turn, answerability, collection   more tags, as `name:value`

Of the words for answerability, `UNANSWERABLE` and `UNDERSPECIFIED` mean that a good system gives no answer: it states
that it has none, or requests more. `PARTIAL` has an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import BadValue
from assay.formats.strict_json import Keys, a_list, a_moment, an_object, texts
from assay.records.answers import GoldAnchors, GoldSupport
from assay.records.datasets import Case, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

# --- Earlier turns of a conversation ---
#
# Read are also the spellings of chat logs: `role` or `type` for the speaker, `content` for the text.

_SPEAKER, _TEXT = ("speaker", "role", "type"), ("text", "content")


def turns(value: Any, what: str) -> tuple[Turn, ...]:
    """Every turn of a list; other fields of a chat log are not kept."""
    return a_list([] if value is None else value, what, lambda item: _turn(item, what))


def turn_fields(history: tuple[Turn, ...]) -> list[dict[str, str]]:
    """Turns as the list they are read from."""
    return [{"speaker": turn.speaker, "text": turn.text} for turn in history]


def _turn(value: Any, what: str) -> Turn:
    said = an_object(value, f"a turn of {what}")
    speaker = next((said[name] for name in _SPEAKER if name in said), None)
    text = next((said[name] for name in _TEXT if name in said), None)
    if speaker is None or text is None:
        there = ", ".join(sorted(said)) or "none"
        raise BadValue(
            f"a turn of {what} has no speaker or no text",
            remedy=f"Write it as {{'speaker': 'user', 'text': '...'}}; its keys are: {there}.",
        )
    return Turn(speaker=speaker, text=text)


# --- Gold anchors (`gold_supports`) ---


def anchors(keys: Keys, *, answerable: bool) -> GoldAnchors | None:
    """The anchors among the keys of a case; None where it has no `gold_supports`."""
    supports = keys.take("gold_supports")
    groups = _groups(keys.take("required_support_groups", []), "required_support_groups")
    equivalent = _groups(keys.take("equivalent_supports", []), "equivalent_supports")
    rule = keys.take("recency_conflict_rule")
    if supports is None and not groups and not equivalent and rule is None:
        return None
    return GoldAnchors(
        supports=a_list([] if supports is None else supports, "gold_supports", _support),
        required_support_groups=groups,
        equivalent=equivalent,
        answerable=answerable,
        recency_conflict_rule=rule,
    )


def anchor_fields(gold: GoldAnchors | None) -> dict[str, Any]:
    """The keys of a case that name the places of its evidence."""
    if gold is None:
        return {}
    optional = {
        "required_support_groups": [list(group) for group in gold.required_support_groups],
        "equivalent_supports": [list(group) for group in gold.equivalent],
        "recency_conflict_rule": gold.recency_conflict_rule and gold.recency_conflict_rule.value,
    }
    said = {key: value for key, value in optional.items() if value}
    return {"gold_supports": [_support_fields(support) for support in gold.supports], **said}


def _support(value: Any) -> GoldSupport:
    keys = Keys(value, "a gold support")
    dated = keys.take("dated")
    found = {
        "rel_path": keys.need("rel_path"),
        "heading_path": keys.take("heading_path", ""),
        "snippets": texts(keys.take("snippets", []), "snippets"),
        "dated": None if dated is None else a_moment(dated, "dated"),
    }
    keys.check_none_left()
    return GoldSupport(**found)


def _support_fields(gold_support: GoldSupport) -> dict[str, Any]:
    optional = {
        "heading_path": gold_support.heading_path,
        "snippets": list(gold_support.snippets),
        "dated": gold_support.dated and gold_support.dated.isoformat(),
    }
    return {"rel_path": gold_support.rel_path, **{key: value for key, value in optional.items() if value}}


def _groups(value: Any, what: str) -> tuple[tuple[int, ...], ...]:
    return a_list(value, what, lambda group: a_list(group, what, lambda place: place))


# --- Current and outdated values of what is asked ---


def fact_values(keys: Keys) -> dict[str, Any]:
    """The current and the outdated values among the keys of a case."""
    outdated = texts(keys.take("outdated_values", []), "outdated_values")
    return {"current_value": keys.take("current_value"), "outdated_values": outdated}


def fact_value_fields(case: Case) -> dict[str, Any]:
    """The keys of a case that name its current and outdated values."""
    current = {} if case.current_value is None else {"current_value": case.current_value}
    return {**current, **({"outdated_values": list(case.outdated_values)} if case.outdated_values else {})}


# --- Case fields inside query metadata (BEIR, Parquet) ---

_NAMES = {
    "reference_answer": ("reference_answer", "answer", "reference"),
    "category": ("category", "type", "question_type"),
    "difficulty": ("difficulty", "level"),
}
_KEPT_AS_TAGS = ("multi_turn", "answerability", "collection")
_NO_ANSWER = frozenset({"unanswerable", "underspecified"})
_NOTHING_SAID = frozenset({"n/a", "na", "none", ""})


def read_case_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a case from the metadata of its query."""
    found = {field: _first(metadata, keys) for field, keys in _NAMES.items()}
    own = texts(metadata.get("tags") or [], "metadata.tags")
    named = [tag for tag in dict.fromkeys(_tags_from_metadata(metadata)) if tag not in own]
    return {
        **{field: value for field, value in found.items() if value is not None},
        "tags": (*own, *named),
        "answerable": _answerable(metadata),
        "history": turns(metadata.get("history"), "metadata.history"),
        "rubric": texts(metadata.get("rubric") or [], "metadata.rubric"),
        "current_value": metadata.get("current_value"),
        "outdated_values": texts(metadata.get("outdated_values") or [], "metadata.outdated_values"),
    }


def case_said(case: Case) -> dict[str, Any]:
    """The metadata that `read_case_fields` reads the same fields from."""
    optional = {
        "category": case.category,
        "difficulty": case.difficulty,
        "tags": list(case.tags),
        "history": turn_fields(case.history),
        "rubric": list(case.rubric),
    }
    answer = {} if case.reference_answer is None else {"reference_answer": case.reference_answer}
    answerable = {} if case.answerable else {"answerable": False}
    return {
        **answer,
        **answerable,
        **fact_value_fields(case),
        **{key: value for key, value in optional.items() if value},
    }


def _first(metadata: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = metadata.get(key)
        one = value[0] if isinstance(value, list) and value else value
        if isinstance(one, str):
            return one
    return None


def _tags_from_metadata(metadata: Mapping[str, Any]) -> list[str]:
    given = {name: metadata.get(name) for name in _KEPT_AS_TAGS}
    each = [(name, value) for name, of in given.items() for value in (of if isinstance(of, list) else [of])]
    said = [(name, value.casefold()) for name, value in each if isinstance(value, str)]
    return [f"{name}:{value}" for name, value in said if value not in _NOTHING_SAID]


def _answerable(metadata: Mapping[str, Any]) -> bool:
    said = metadata.get("answerable")
    if said is None:
        return str(metadata.get("answerability", "")).casefold() not in _NO_ANSWER
    if not isinstance(said, bool):
        raise BadValue(f"metadata.answerable is {said!r}", remedy="Write true or false.")
    return said
