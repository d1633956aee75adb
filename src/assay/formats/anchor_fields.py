"""Gold anchors as the keys of a case: `gold_supports` and what is said about them, the same in every format."""

from __future__ import annotations

from typing import Any

from assay.formats.keys import Keys, a_list, a_moment, texts
from assay.records.anchors import GoldAnchors, GoldSupport


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
    """The keys of a case that say where its evidence stands."""
    if gold is None:
        return {}
    optional = {
        "required_support_groups": [list(group) for group in gold.required_support_groups],
        "equivalent_supports": [list(group) for group in gold.equivalent],
        "recency_conflict_rule": gold.recency_conflict_rule and gold.recency_conflict_rule.value,
    }
    said = {key: value for key, value in optional.items() if value}
    return {"gold_supports": [_support_fields(one) for one in gold.supports], **said}


def _support(value: Any) -> GoldSupport:
    keys = Keys(value, "a gold support")
    dated = keys.take("dated")
    found = {
        "rel_path": keys.need("rel_path"),
        "heading_path": keys.take("heading_path", ""),
        "snippets": texts(keys.take("snippets", []), "snippets"),
        "dated": None if dated is None else a_moment(dated, "dated"),
    }
    keys.done()
    return GoldSupport(**found)


def _support_fields(one: GoldSupport) -> dict[str, Any]:
    optional = {
        "heading_path": one.heading_path,
        "snippets": list(one.snippets),
        "dated": one.dated and one.dated.isoformat(),
    }
    return {"rel_path": one.rel_path, **{key: value for key, value in optional.items() if value}}


def _groups(value: Any, what: str) -> tuple[tuple[int, ...], ...]:
    return a_list(value, what, lambda group: a_list(group, what, lambda place: place))
