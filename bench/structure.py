"""Figures of the code itself: how much there is, how it is named, how it hangs together.

    python -m bench.structure                      # the figures of this tree
    python -m bench.structure --tree ../other      # of another one, such as an older commit in a worktree
    python -m bench.structure --names              # also the functions and classes behind the figures

`design/code-structure-figures.md` shows the figures before and after, and says what is meant by each.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

IRREGULAR = frozenset(
    [
        "begun",
        "bound",
        "brought",
        "built",
        "caught",
        "chosen",
        "come",
        "cut",
        "done",
        "drawn",
        "driven",
        "fallen",
        "felt",
        "found",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "led",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "put",
        "read",
        "run",
        "said",
        "sat",
        "seen",
        "sent",
        "set",
        "shown",
        "shut",
        "sold",
        "spelt",
        "spent",
        "spoken",
        "spread",
        "stood",
        "struck",
        "taken",
        "taught",
        "thought",
        "thrown",
        "told",
        "torn",
        "understood",
        "won",
        "worn",
        "written",
    ]
)
"""Past participles that do not end in `ed`."""
ALSO_PRESENT = frozenset(
    ["bound", "come", "cut", "found", "left", "lent", "put", "read", "run", "set", "shut", "spread"]
)
"""Of them, those that are also verbs of the present; `found` and `left` alone count as participles all the same."""
ADJECTIVES = frozenset(
    ["embed", "need", "seed", "feed", "speed", "shed", "red", "indeed", "exceed", "proceed", "succeed", "bed"]
)
STORY = frozenset(
    [
        "asked",
        "asks",
        "everybody",
        "knows",
        "nobody",
        "said",
        "says",
        "somebody",
        "speaks",
        "speak",
        "spoke",
        "told",
        "tell",
        "tells",
        "whoever",
        "whatever",
        "wanted",
        "wants",
        "word",
        "words'",
        "heard",
        "hears",
        "stands",
        "stood",
    ]
)
"""Words of a story rather than of a manual: a person tells, asks, knows or wants something."""
_WORD = re.compile(r"[A-Za-z']+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Module:
    """One file of the package."""

    name: str
    path: Path
    tree: ast.Module
    lines: int
    """Without blank lines, comments and docstrings."""
    comments: int


@dataclass(kw_only=True, slots=True)
class Figures:
    """What was counted."""

    files: int = 0
    lines: int = 0
    median_lines: float = 0.0
    functions: int = 0
    private_used_once: list[str] = field(default_factory=list)
    participles: list[str] = field(default_factory=list)
    classes: int = 0
    equal_classes: dict[str, int] = field(default_factory=dict)
    docstring_words: int = 0
    story_words: Counter[str] = field(default_factory=Counter)
    comments: int = 0
    inner_imports: int = 0
    longest_chain: int = 0
    cycles: int = 0
    one_loops: int = 0
    loops: int = 0


def read_modules(root: Path) -> list[Module]:
    """Read every module below the folder of a package."""
    found = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        parts = path.relative_to(root.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name=name, path=path, tree=tree, lines=_code_lines(path, tree), comments=_comments(path)))
    return found


def _tokens(path: Path) -> Iterator[tokenize.TokenInfo]:
    with path.open("rb") as file:
        yield from tokenize.tokenize(file.readline)


def _comments(path: Path) -> int:
    """Count lines that hold a comment for readers; marks for tools are none."""
    marks = ("# noqa", "# type:", "# ruff:", "# fmt:")
    return sum(token.type == tokenize.COMMENT and not token.string.startswith(marks) for token in _tokens(path))


def _code_lines(path: Path, tree: ast.Module) -> int:
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
    lines: set[int] = set()
    for token in _tokens(path):
        if token.type not in ignored and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for text in _docstrings(tree):
        lines.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield texts that stand by themselves: docstrings of modules, classes, functions and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def measure(modules: Sequence[Module]) -> Figures:
    """Count everything."""
    figures = Figures(files=len(modules), lines=sum(module.lines for module in modules))
    figures.median_lines = median(module.lines for module in modules)
    figures.comments = sum(module.comments for module in modules)
    uses = Counter(name for module in modules for name in _names_used(module.tree))
    classes: Counter[str] = Counter()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                _count_function(node, module, uses, figures)
            elif isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            elif isinstance(node, ast.For | ast.comprehension):
                figures.loops += 1
                figures.one_loops += isinstance(node.target, ast.Name) and node.target.id == "one"
        for text in _docstrings(module.tree):
            words = [word.lower() for word in _WORD.findall(str(text.value))]
            figures.docstring_words += len(words)
            figures.story_words.update(word for word in words if word in STORY)
    figures.classes = classes.total()
    figures.equal_classes = {name: count for name, count in classes.most_common() if count > 1}
    graph = _imports(modules, figures)
    figures.cycles, figures.longest_chain = _cycles_and_chain(graph)
    return figures


def _names_used(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _count_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module, uses: Counter[str], figures: Figures
) -> None:
    if node.name.startswith("__"):
        return
    figures.functions += 1
    where = f"{module.name}.{node.name}"
    if node.name.startswith("_") and uses[node.name] == 1:
        figures.private_used_once.append(where)
    if _is_participle(node):
        figures.participles.append(where)


def _is_participle(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is named by a past participle: `_told`, `shown_hits`; properties may be adjectives."""
    if any(isinstance(one, ast.Name) and one.id in {"property", "cached_property"} for one in node.decorator_list):
        return False
    first, *rest = node.name.strip("_").split("_")
    if node.name.startswith("test_"):
        return False
    alone = not rest
    if first in IRREGULAR:
        return first not in ALSO_PRESENT or (alone and first in {"found", "left"})
    return first.endswith("ed") and first not in ADJECTIVES


def _imports(modules: Sequence[Module], figures: Figures) -> dict[str, set[str]]:
    """Return which module imports which when it is loaded; imports inside functions are counted apart."""
    known = {module.name for module in modules}
    graph: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        graph[module.name] |= set()
        for statement in _loaded(module.tree.body):
            graph[module.name].update(_targets(statement, known) - {module.name})
        figures.inner_imports += sum(
            isinstance(inner, ast.Import | ast.ImportFrom)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in ast.walk(node)
        )
    return graph


def _loaded(body: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif (isinstance(statement, ast.If) and "TYPE_CHECKING" not in ast.dump(statement.test)) or isinstance(
            statement, ast.Try
        ):
            yield from _loaded(statement.body)


def _targets(statement: ast.Import | ast.ImportFrom, known: set[str]) -> set[str]:
    if isinstance(statement, ast.Import):
        return {alias.name for alias in statement.names if alias.name in known}
    module = statement.module or ""
    inner = {f"{module}.{alias.name}" for alias in statement.names} & known
    # `from package import module` loads both; what matters for order is the module.
    return inner or ({module} & known)


def _cycles_and_chain(graph: dict[str, set[str]]) -> tuple[int, int]:
    """Return how many groups of modules import each other, and how many modules the longest chain passes."""
    groups = _groups(graph)
    of = {name: number for number, group in enumerate(groups) for name in group}
    depth: dict[int, int] = {}
    # Groups come out with what they import first.
    for number, group in enumerate(groups):
        below = {of[target] for name in group for target in graph[name]} - {number}
        depth[number] = 1 + max((depth[other] for other in below), default=0)
    return sum(len(group) > 1 for group in groups), max(depth.values(), default=0)


def _groups(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected parts of a graph, by Tarjan's algorithm, each after those it leads to."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for target in sorted(graph[name]):
            if target not in index:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], index[target])
        if low[name] == index[name]:
            start = stack.index(name)
            found.append(stack[start:])
            del stack[start:]

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def report(figures: Figures) -> Iterator[str]:
    """Yield the figures as lines of a Markdown table."""
    once, equal = figures.private_used_once, figures.equal_classes
    named = len(figures.participles)
    rows = {
        "files": f"{figures.files:,}",
        "lines of code": f"{figures.lines:,}",
        "median lines of a file": f"{figures.median_lines:.0f}",
        "functions": f"{figures.functions:,}",
        "private functions used once": f"{len(once):,} ({_share(len(once), figures.functions)} %)",
        "functions named by a past participle": f"{named:,} ({_share(named, figures.functions)} %)",
        "classes": f"{figures.classes:,}",
        "class names used more than once": f"{len(equal):,} ({sum(equal.values()):,} classes)",
        "loop variables called `one`": f"{figures.one_loops:,} ({_share(figures.one_loops, figures.loops)} %)",
        "story words in a thousand words of docstrings": _share(
            figures.story_words.total(), figures.docstring_words, 1000.0
        ),
        "comment lines in a hundred lines of code": _share(figures.comments, figures.lines),
        "imports inside functions": f"{figures.inner_imports:,}",
        "longest import chain": f"{figures.longest_chain}",
        "import cycles": f"{figures.cycles}",
    }
    yield "| figure | value |"
    yield "| --- | --- |"
    yield from (f"| {name} | {value} |" for name, value in rows.items())


def _share(part: float, whole: float, scale: float = 100.0) -> str:
    return f"{scale * part / whole:.1f}" if whole else "none"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of a tree."""
    parser = argparse.ArgumentParser(description="Figures of the code itself.")
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1], help="a checkout of the repository")
    parser.add_argument("--names", action="store_true", help="also print the names behind the figures")
    given = parser.parse_args(arguments)
    sys.setrecursionlimit(10_000)
    figures = measure(read_modules(given.tree / "src" / "assay"))
    sys.stdout.write("\n".join(report(figures)) + "\n")
    if given.names:
        for title, names in (
            ("named by a past participle", figures.participles),
            ("used once", figures.private_used_once),
            ("class names used more than once", [f"{name} x{count}" for name, count in figures.equal_classes.items()]),
            ("story words", [f"{word} x{count}" for word, count in figures.story_words.most_common()]),
        ):
            sys.stdout.write(f"\n{title}:\n" + "".join(f"  {name}\n" for name in names))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
