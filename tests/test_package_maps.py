"""Each package's docstring maps every module in it, so that a newcomer finds the file of a topic."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "assay"
MAPPED = (
    "access",
    "analysis",
    "cli",
    "cli/commands",
    "embedding",
    "evaluation",
    "evaluation/datasets",
    "evaluation/gating",
    "evaluation/reporting",
    "evaluation/running",
    "evaluation/tuning",
    "flags",
    "formats",
    "formats/memory_files",
    "gateway",
    "index",
    "judging",
    "judging/builtin",
    "mcp",
    "memory",
    "memory/ingesting",
    "memory/learning",
    "memory/saving",
    "memory/searching",
    "metrics",
    "models",
    "online",
    "presentation",
    "records",
    "research",
    "server",
    "server/pages",
    "server/security",
    "settings",
    "statistics",
    "storage",
    "storage/checkpoints",
    "storage/migrations",
    "storage/repositories",
    "store_audit",
    "store_audit/readers",
    "systems",
    "testing",
    "text",
    "text/secrets",
    "tracing",
    "verbs",
    "wiring",
)
"""Packages whose map is complete."""


def modules_of(folder: Path) -> set[str]:
    """Names of the modules and sub-packages directly in a package."""
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return files | {path.parent.name for path in folder.glob("*/__init__.py")}


def names_in_map(folder: Path) -> set[str]:
    """Names that the package's docstring lists, one in each line that begins with a dash."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return set(re.findall(r"^- `(\w+)`: \S", docstring, flags=re.MULTILINE))


@pytest.mark.parametrize("package", MAPPED)
def test_a_package_maps_every_module_in_it(package: str) -> None:
    folder = SOURCE / package
    assert names_in_map(folder) == modules_of(folder)
