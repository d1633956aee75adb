"""The hashes of a system's code move with every file it imports, and with nothing else."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.systems.protocol import code_of, file_hashes
from assay.systems.python_function import PythonFunction, load_function

FILES = {
    "engine/__init__.py": "from .ranking import order\n",
    "engine/ranking.py": "import json\nimport helper\nfrom engine.deep import low\ndef order(ids): return ids\n",
    "engine/deep/low.py": "import numpy\n",
    "engine/unused.py": "X = 1\n",
    "helper.py": "import engine\n",
    "other.py": "import helper\n",
    "my_search.py": "from engine import order\ndef search(query, k): return order(['a'])\n"
    "class Found:\n    def __call__(self, query, k): return []\n",
}
USED = {"my_search.py", "engine/__init__.py", "engine/ranking.py", "engine/deep/low.py", "helper.py"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    before = set(sys.modules)
    path_before = sys.path[:]
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sys.path[:] = path_before


def test_every_file_that_is_imported_below_the_folder_counts(folder: Path) -> None:
    assert file_hashes(folder / "my_search.py", folder).keys() == USED


def test_the_hash_of_the_changed_file_moves_and_no_other(folder: Path) -> None:
    before = file_hashes(folder / "my_search.py", folder)
    (folder / "engine" / "ranking.py").write_text(FILES["engine/ranking.py"] + "# changed", encoding="utf-8")
    (folder / "other.py").write_text("import os", encoding="utf-8")
    after = file_hashes(folder / "my_search.py", folder)
    assert {name for name in before if before[name] != after[name]} == {"engine/ranking.py"}


@pytest.mark.parametrize("name", ["search", "Found"])
def test_functions_classes_objects_and_partials_lead_to_their_module(folder: Path, name: str) -> None:
    (folder / "engine" / "ranking.py").write_text("def order(ids): return ids\n", encoding="utf-8")
    system = load_function(f"my_search:{name}", folder)
    found = system.subject()["code"]
    assert found.keys() == {"my_search.py", "engine/__init__.py", "engine/ranking.py"}
    thing = getattr(sys.modules["my_search"], name)
    assert code_of(functools.partial(thing, k=3)) == code_of(thing) == found


def test_code_without_a_file_is_known_by_what_it_does() -> None:
    def made(source: str) -> Any:
        names: dict[str, Any] = {"__name__": "typed_in"}
        exec(source, names)
        return names["search"]

    one, same, other = (made(f"def search(query, k): return [{document!r}]") for document in ("a", "a", "b"))
    assert code_of(one) == code_of(same) != code_of(other)
    assert PythonFunction(one).subject()["code"] == code_of(one)
    assert code_of(type("Engine", (), {"search": one, "__module__": "typed_in"})) == {
        "search": code_of(one)["function"]
    }


def test_a_file_that_cannot_be_parsed_is_still_hashed(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (", encoding="utf-8")
    assert file_hashes(tmp_path / "broken.py", tmp_path).keys() == {"broken.py"}


def test_of_an_installed_package_only_its_own_files_count(tmp_path: Path) -> None:
    root = tmp_path / "site-packages"
    for name in ("mine/__init__.py", "mine/core.py", "numbers_lib/__init__.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("from . import core\nimport numbers_lib\n" if "init" in name else "", encoding="utf-8")
    assert file_hashes(root / "mine" / "__init__.py", root).keys() == {"mine/__init__.py", "mine/core.py"}
