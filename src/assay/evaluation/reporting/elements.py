"""HTML from values: text is escaped unless it is already HTML, so that a query holding a tag is shown, not obeyed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

_EMPTY = frozenset({"meta", "input"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = Html | str | None | Iterable["Child"]


def element(tag: str, /, *children: Child, **attributes: str | bool | None) -> Html:
    """One element. Attributes are escaped; `class_` and `for_` lose their underscore, `data_x` becomes `data-x`."""
    opened = f"<{tag}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(opened if tag in _EMPTY else f"{opened}{joined(children)}</{tag}>")


def joined(children: Child) -> Html:
    """Children in a row, escaped where they are text."""
    if children is None:
        return Html("")
    if isinstance(children, Html):
        return children
    if isinstance(children, str):
        return Html(escape(_visible(children), quote=False))
    return Html("".join(joined(one) for one in children))


def data_script(value: Any, **attributes: str) -> Html:
    """A value for the page's own script. Nothing in it can end the script."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return element("script", Html(text), type="application/json", **attributes)


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(_visible(value))}"'


def _visible(text: str) -> str:
    """Without what no HTML document may hold: control characters and halves of pairs."""
    return "".join("\ufffd" if _unfit(one) else one for one in text)


def _unfit(one: str) -> bool:
    return (one < " " and one not in "\t\n") or "\x7f" <= one <= "\x9f" or "\ud800" <= one <= "\udfff"
