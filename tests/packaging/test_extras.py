"""The table of extras is that of `pyproject.toml`, and every optional module of the code is in it."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from assay.extras import EXTRAS, install_command, missing_extra, modules_of, need_extra

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OF_TESTS = {"pytest"}
"""`assay.pytest_plugin` is loaded by pytest alone."""
OF_INTEGRATIONS = {"haystack", "langchain_core", "langgraph", "llama_index"}
"""Frameworks that users bring; the test below holds who may import them."""


@cache
def distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def distributions_of(module: str) -> set[str]:
    return {canonicalize_name(name) for name in distributions().get(module, [])}


def required(extra: str) -> list[Requirement]:
    return [Requirement(line) for line in PROJECT["optional-dependencies"][extra]]


def test_the_table_has_the_extras_of_the_project() -> None:
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - {"all"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_includes_what_the_project_says(extra: str) -> None:
    included = {name for one in required(extra) if one.name == PROJECT["name"] for name in one.extras}
    assert set(EXTRAS[extra].includes) == included


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_names_one_module_of_each_package_of_the_project(extra: str) -> None:
    others = [one for one in required(extra) if one.name != PROJECT["name"] and one.marker is None]
    wanted = {canonicalize_name(one.name) for one in others}
    # An extra of a requirement brings packages too: dask[distributed] brings distributed.
    wanted |= {canonicalize_name(name) for one in others for name in one.extras if distributions_of(name)}
    covered = [distributions_of(module) & wanted for module in EXTRAS[extra].modules]
    assert all(covered), [module for module, found in zip(EXTRAS[extra].modules, covered, strict=True) if not found]
    assert set().union(*covered) == wanted


def test_every_module_the_code_imports_is_of_the_base_or_of_an_extra() -> None:
    base = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]} | {"pydantic-core"}
    optional = {module for one in EXTRAS.values() for module in (*one.modules, *one.also)}
    unknown = {
        module
        for module in imported_modules()
        if module not in optional | OF_TESTS | OF_INTEGRATIONS | {"pandas"} and not distributions_of(module) & base
    }
    assert unknown == set()


@pytest.mark.parametrize("module", sorted(OF_INTEGRATIONS))
def test_a_framework_is_imported_only_where_its_absence_is_explained(module: str) -> None:
    users = [
        path
        for path in (ROOT / "src" / "assay").rglob("*.py")
        if f"from {module}" in (text := path.read_text(encoding="utf-8")) or f"import {module}" in text
    ]
    assert users
    for path in users:
        assert path.parent.name == "integrations", path
        assert "raise refuse_package(" in path.read_text(encoding="utf-8"), path


def imported_modules() -> set[str]:
    """The top of every module that some file of the package imports, but for its own and the standard library's."""
    found: set[str] = set()
    for path in (ROOT / "src" / "assay").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"assay", "__future__"}


def test_an_import_that_fails_for_another_reason_is_not_a_missing_extra() -> None:
    assert missing_extra(ModuleNotFoundError(name="no_such_module")) is None
    assert missing_extra(ModuleNotFoundError(name="sqlalchemy.orm")) is None, "sqlalchemy is installed here"
    assert missing_extra(ImportError(name="sqlalchemy")) is None


def test_an_extra_that_is_installed_is_not_missed() -> None:
    need_extra("memory")
    assert "sqlalchemy" in modules_of("serve")
    assert install_command("serve") == "pip install 'assaykit[serve]'"
