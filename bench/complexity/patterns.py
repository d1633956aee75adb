"""Every regular expression of Assay, found in the source: none can be added without being looked at.

A pattern that a module keeps is read from the module itself, so that those put together from parts are the real ones. A
pattern written where it is used is read from the source. One that is made when it is needed is listed in `MADE`.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import assay

ROOT = Path(assay.__file__).parent
_CALLS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})


class FoundPattern(NamedTuple):
    """A pattern and where it stands."""

    place: str
    """Module and name, such as `text/wording.py:_TOKEN`."""
    pattern: re.Pattern[Any]
    methods: frozenset[str]
    """How it is used: `search`, `fullmatch` and so on."""


class Unlisted(NamedTuple):
    """A call that makes a pattern nobody knows before: it belongs into `MADE` or `OWN`."""

    place: str
    line: int


def find_patterns() -> tuple[list[FoundPattern], list[Unlisted]]:
    """Every pattern of the package, and the calls whose patterns could not be told."""
    patterns: list[FoundPattern] = []
    unlisted: list[Unlisted] = []
    for path in sorted(ROOT.rglob("*.py")):
        for found in _of_module(path):
            (unlisted if isinstance(found, Unlisted) else patterns).append(found)  # type: ignore[arg-type]
    return patterns, unlisted


def _of_module(path: Path) -> Iterator[FoundPattern | Unlisted]:
    name = path.relative_to(ROOT).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for statement in tree.body:
        calls = [node for node in ast.walk(statement) if _is_call(node)]
        if not calls:
            continue
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for call in calls:
                yield from _of_call(name, statement, call)
        else:
            yield from _of_names(path, name, statement, tree)


def _is_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _CALLS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )


def _of_names(path: Path, name: str, statement: ast.stmt, tree: ast.Module) -> Iterator[FoundPattern | Unlisted]:
    """The patterns behind the names that a statement of a module assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    module = importlib.import_module(_module_name(path))
    found = [(each, pattern) for each in names for pattern in _patterns_in(getattr(module, each))]
    if not found:
        yield Unlisted(f"{name}:{','.join(names)}", statement.lineno)
    for each, pattern in found:
        yield FoundPattern(f"{name}:{each}", pattern, _methods(tree, each))


def _methods(tree: ast.Module, name: str) -> frozenset[str]:
    """The methods that a module calls on one of its patterns; all of a text is searched when it calls none itself."""
    used = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    found = {node.attr for node in used if getattr(node.value, "id", "") == name and node.attr in _CALLS}
    return frozenset(found or {"finditer"})


def _of_call(name: str, inside: ast.stmt, node: ast.AST) -> Iterator[FoundPattern | Unlisted]:
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    owner = getattr(inside, "name", "")
    place = f"{name}:{owner}"
    written = node.args[0] if node.args else None
    if isinstance(written, ast.Constant) and isinstance(written.value, (str, bytes)):
        yield FoundPattern(place, re.compile(written.value, _flags(node)), frozenset({node.func.attr}))
    elif place in MADE:
        yield from (FoundPattern(place, pattern, frozenset({"finditer"})) for pattern in MADE[place]())
    elif place not in OWN:
        yield Unlisted(place, node.lineno)


def _flags(node: ast.Call) -> int:
    names = {each.attr for part in (*node.args[1:], *node.keywords) for each in ast.walk(part) if _is_flag(each)}  # type: ignore[attr-defined]
    flags = 0
    for name in names:
        flags |= int(getattr(re, name))
    return flags


def _is_flag(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr.isupper() and hasattr(re, node.attr)


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _patterns_in(inner)
    elif isinstance(value, (tuple, list, frozenset, set)):
        for inner in value:
            yield from _patterns_in(inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _patterns_in(getattr(value, field.name))


def _of(module: str, name: str) -> Callable[[], list[re.Pattern[Any]]]:
    """The patterns that a module's name leads to; a function is called."""

    def find() -> list[re.Pattern[Any]]:
        value = getattr(importlib.import_module(module), name)
        return list(_patterns_in(value() if callable(value) else value))

    return find


def _compiled(*patterns: str, flags: int = 0) -> Callable[[], Iterable[re.Pattern[Any]]]:
    return lambda: [re.compile(pattern, flags) for pattern in patterns]


def _secret_rules() -> Iterator[re.Pattern[Any]]:
    """The patterns of the rules for secrets, which are compiled when a text first needs them."""
    from assay.text.secrets.formats import PREFIXED  # noqa: PLC0415
    from assay.text.secrets.masking import RULES  # noqa: PLC0415 - only the fuzz needs it
    from assay.text.secrets.rules import compile_pattern  # noqa: PLC0415

    yield from (compile_pattern(rule.pattern, 0) for rule in PREFIXED)
    yield from (compile_pattern(rule.pattern, rule.flags) for rule in RULES)


def _of_verbs() -> Iterable[re.Pattern[Any]]:
    from assay.text.relations import VERB_RELATIONS  # noqa: PLC0415 - patterns are read when they are needed

    return [verb.pattern for verb in VERB_RELATIONS]


def _of_change_words() -> Iterable[re.Pattern[Any]]:
    from assay.memory.saving import change_words  # noqa: PLC0415 - patterns are read when they are needed

    return [value for value in vars(change_words).values() if isinstance(value, re.Pattern)]


MADE: Mapping[str, Callable[[], Iterable[re.Pattern[Any]]]] = {
    "memory/searching/query.py:_says": _of("assay.memory.searching.query", "CUES"),
    "memory/searching/query.py:_opens": _of("assay.memory.searching.query", "CUES"),
    "memory/searching/query.py:_case_sensitive_cue": _of("assay.memory.searching.query", "CUES"),
    "memory/saving/spam_filter.py:_cue": _of("assay.memory.saving.spam_filter", "_CUES"),
    "text/secrets/addresses.py:find_kubernetes_secrets": _compiled(r"^(?![ \t]{5,}|[ \t]*$)", flags=re.MULTILINE),
    "text/secrets/rules.py:compile_pattern": lambda: list(_secret_rules()),
    "formats/front_matter.py:_words": _compiled(r"[,\s]+", ","),
    "text/relations.py:_verb": _of_verbs,
    "text/questions.py:cues_of": _compiled(r"\bhow many\b"),
    "memory/saving/change_words.py:_any_of": _of_change_words,
    "metrics/write_path.py:states_literally": _compiled(r"(?<!\w)(?<!\d[.,])aaaaaaaaaa(?!\w)(?![.,]\d)"),
}
"""Patterns that are made when they are needed: how to get them, or one that is like them."""

OWN: Mapping[str, str] = {
    "systems/mcp_connection.py:_is_pattern": "compiles the pattern of the person who measures, and matches nothing",
    "systems/mcp_server.py:_results": "the pattern is the one that the person who measures wrote for that server",
    "storage/erasing.py:Marks": "escaped names joined by |: literals only, the time is the names times the text",
    "errors.py:AssayError": "names of our own classes",
    "evaluation/caveats.py:_COUNTED": "sentences that Assay wrote",
}
"""Functions and names whose patterns never see a user's text, and why."""

_OF_SECRET_VALUES = (
    *(
        f"text/secrets/rules.py:{name}"
        for name in (
            *("_VARIABLE", "_PUBLIC", "_HIDDEN", "_STAND_IN", "_ENDS_LIKE_PROSE", "_IDENTIFIER", "_NUMBER", "_DATE"),
            *("_PATH", "_URL", "_UUID", "_MARK", "_TYPE", "_VERSION", "_ALGORITHM", "_DIGEST", "_HEX", "_PASSPHRASE"),
            *("looks_random", "_secret_identifier", "_is_passphrase", "_is_code"),
        )
    ),
    *(
        f"text/secrets/named.py:{name}"
        for name in (
            *(
                "_OTHER_KEY_BEFORE",
                "_BEFORE",
                "_RESOURCE",
                "_PARTS",
                "_KEY_OF",
                "_CODE_OF",
                "_OTHER_TAIL",
                "_PLAIN_TAIL",
            ),
            *("_SECRET_TAIL", "_TAIL_PARTS", "_SPEAKS_OF_IDS", "_NUMBER", "_GROUPS", "_OTHER_CODE", "_PRODUCT"),
            *("_SHORT_MIXTURE", "_SECRET_NAME", "_NEAR", "_NOT_NEAR", "_LOGIN", "_accepts", "_is_mixture"),
            *("_is_password_shaped", "_cut", "find_nearby"),
        )
    ),
)

_OF_SENTENCES = (
    *("_SINCE", "_CUT", "_NOUN_OF", "_POSSESSIVE", "_HAS", "_KEY", "_INSTEAD", "_USES_FOR", "_SWITCHED", "_PREFERS"),
    *("_SCOPED_NUMBER", "_ENDING_NEGATION"),
)
"""Patterns of `text/facts.py` that are given one sentence of at most 400 characters."""

BOUNDED: Mapping[str, str] = {
    "memory/searching/modes.py:_EXACT": "choose the mode of a search",
    "text/questions.py:_AND": "read a question",
    "text/questions.py:_BETWEEN": "read a question",
    "text/questions.py:_KINDS": "read a question",
    "text/questions.py:_OF": "read a question",
    "text/questions.py:_SIDES": "read a question",
    "text/secrets/rules.py:compile_pattern": "mask secrets",
    "text/sections.py:_ROLE": "find the sections of reStructuredText",
    "text/sections.py:_TARGET": "find the sections of reStructuredText",
    "text/wording.py:_day_month_year": "take a text apart for comparing",
    "text/relations.py:_verb": "read facts",
    **{f"text/facts.py:{name}": "read facts" for name in _OF_SENTENCES},
    **dict.fromkeys(_OF_SECRET_VALUES, "mask secrets"),
}
"""Patterns that are only given short texts, and the entry point that gives them: it is held to a time, they are not."""


def use_pattern(found: FoundPattern) -> Callable[[str], object]:
    """A function that uses a pattern on a text in every way that its module does."""
    pattern = found.pattern
    is_bytes = isinstance(pattern.pattern, bytes)

    def use(text: str) -> None:
        given: Any = text.encode() if is_bytes else text
        for method in found.methods:
            if method in {"match", "search", "fullmatch"}:
                getattr(pattern, method)(given)
            else:
                deque(pattern.finditer(given), maxlen=0)

    return use
