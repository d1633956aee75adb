"""The walls hold: imports follow the table, there are no cycles, SQL stays in repositories, files stay readable."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

from tests.architecture import LAYERS, OPEN_TO_ALL

SOURCE = Path(__file__).parent.parent / "src" / "assay"
FILES = sorted(SOURCE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = ["assay", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}
ALLOWED = {layer.name: layer.may_import | OPEN_TO_ALL for layer in LAYERS}


def layer_of(path: Path) -> str:
    inner = path.relative_to(SOURCE)
    return inner.parts[0].removesuffix(".py")


def imported_modules(path: Path) -> list[str]:
    """Every module a file imports, also from inside functions."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full (from assay.x import y)"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            # `from assay.storage import schema` imports the module, not what the folder's front door offers.
            modules += [name if name in MODULES else node.module or "" for name in names]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    return modules


def imported_layers(path: Path) -> set[str]:
    parts = [module.split(".") for module in imported_modules(path)]
    return {names[1] for names in parts if names[0] == "assay" and len(names) > 1}


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 40


def test_every_folder_and_file_has_its_line_in_the_table() -> None:
    found = {layer_of(path) for path in FILES} - {"__init__", "__main__"}
    assert found <= set(ALLOWED), f"no line in tests/architecture.py for {sorted(found - set(ALLOWED))}"


def test_the_table_names_only_layers_it_has() -> None:
    for name, allowed in ALLOWED.items():
        assert allowed <= set(ALLOWED), f"{name} may import something unknown"


def test_every_layer_imports_only_what_it_may() -> None:
    broken = [
        f"{path.relative_to(SOURCE)} imports {sorted(extra)}"
        for path in FILES
        if layer_of(path) in ALLOWED and (extra := imported_layers(path) - ALLOWED[layer_of(path)] - {layer_of(path)})
    ]
    assert not broken, broken


def test_the_table_itself_has_no_cycle() -> None:
    inner = {name: allowed - {name} for name, allowed in ALLOWED.items() if name not in OPEN_TO_ALL}
    graphlib.TopologicalSorter({name: allowed - OPEN_TO_ALL for name, allowed in inner.items()}).prepare()


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {name: set(imported_modules(path)) & set(MODULES) for name, path in MODULES.items()}
    graphlib.TopologicalSorter(graph).prepare()


def test_sql_is_written_in_the_storage_folder_only() -> None:
    statement = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE)\b [\w*]")
    broken = [
        str(path.relative_to(SOURCE))
        for path in FILES
        if layer_of(path) not in ("storage", "doctor") and statement.search(path.read_text(encoding="utf-8"))
    ]
    assert not broken, broken


def test_there_is_no_drawer() -> None:
    drawers = [path for path in FILES if re.search(r"(^|_)(utils?|helpers?|misc|common)\.py$", path.name)]
    assert not drawers, drawers


def test_every_module_begins_with_its_map() -> None:
    silent = [path for path in FILES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert not silent, silent
