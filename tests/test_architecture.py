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


READS_FILES = {
    "assay.evaluation.running.files": {"RunFolder", "find_run", "list_runs", "run_names", "write_whole"},
    "assay.evaluation.lookup": {"Lookup"},
    "assay.evaluation.results": {"load_run"},
    "assay.evaluation.datasets": {"Registry", "load_dataset", "load_named"},
    "assay.evaluation.datasets.loading": {"load_dataset", "load_named", "read_path"},
    "assay.evaluation.datasets.registry": {"Registry"},
    "assay.evaluation.labelling": {"LabelJournal", "LabelSession"},
    "assay.evaluation.reporting.building": {"look_around"},
    "assay.evaluation.shelf": {"Shelf", "FilePlaces"},
    "assay.wiring": {"lookup_of", "registry_of"},
    "assay.wiring.systems": {"lookup_of", "registry_of"},
}
"""What opens runs, datasets and labels without asking whose they are, by module."""
BY_PARTS = READS_FILES.keys() - {"assay.wiring"}
"""Modules that may not be imported as a whole either; what is taken from `wiring` is looked at name by name."""
MAKES_ITS_OWN = {"server/demo.py"}
"""Fills a store of its own from the datasets that come with Assay, before anybody is served."""


def names_at_run_time(tree: ast.AST) -> list[tuple[str, str]]:
    """Every name that a file imports from a module or takes from one, but for annotations."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom):
            found += [(str(node.module), alias.name) for alias in node.names]
            found += [(f"{node.module}.{alias.name}", "*") for alias in node.names]  # it may be a module
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "wiring":
            found.append(("assay.wiring", node.attr))
        found += names_at_run_time(node)
    return found


def test_server_and_mcp_reach_files_through_the_shelf_alone() -> None:
    """A page that opened a folder by itself once showed every tenant's runs to everybody."""
    broken = []
    for path in FILES:
        name = path.relative_to(SOURCE).as_posix()
        if layer_of(path) not in ("server", "mcp") or name in MAKES_ITS_OWN:
            continue
        used = names_at_run_time(ast.parse(path.read_text(encoding="utf-8")))
        broken += [f"{name}: {module}.{what}" for module, what in used if what in READS_FILES.get(module, ())]
        broken += [f"{name}: {module}" for module, what in used if what == "*" and module in BY_PARTS]
    assert not broken, broken
