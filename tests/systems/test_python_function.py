"""A function as a system."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from tests.systems.sample import CASES, right

from assay.errors import UnknownSystem
from assay.records.datasets import Case
from assay.systems.python_function import PythonFunction, load_function

TEN_LINES = '''
"""A search engine."""
__version__ = "0.3"
NOT_A_FUNCTION = 7
def search(query, k):
    return [("pool", 1.0)][:k]
class Engine:
    def __call__(self, query, k):
        return ["sauna"]
    def find(self, query, k):
        return ["pets"]
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ten_lines.py").write_text(TEN_LINES, encoding="utf-8")
    (tmp_path / "broken_module.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere", encoding="utf-8")
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("ten_lines", "broken_module", "needs_more"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_a_function_of_the_working_folder_is_found_and_asked(folder: Path) -> None:
    system = load_function("ten_lines:search", folder)
    assert system.retrieve("when", 5, CASES[0]).ids == ("pool",)
    code = {"ten_lines.py": f"sha256:{hashlib.sha256(TEN_LINES.encode()).hexdigest()}"}
    assert system.subject() == {"system": "ten_lines:search", "kind": "python", "version": "0.3", "code": code}


def test_modules_of_the_same_name_in_two_folders_are_not_mistaken_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("first", "second"):
        package = tmp_path / name / "namesake"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("", encoding="utf-8")
        (package / "part.py").write_text(f"def search(query, k):\n    return ['{name}']\n", encoding="utf-8")
    # There and back again: what was imported first must not come up a second time, nor what was imported last.
    for name in ("first", "second", "first"):
        found = load_function("namesake.part:search", tmp_path / name)
        assert found.retrieve("when", 5, CASES[0]).ids == (name,)
    assert load_function("json:dumps", tmp_path / "first") is not None


def test_a_class_is_made_once_and_called(folder: Path) -> None:
    assert load_function("ten_lines:Engine", folder).retrieve("when", 5, CASES[0]).ids == ("sauna",)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("ten_lines", "does not name a function"),
        ("ten_lines:serch", "has no 'serch'. It has: Engine, search"),
        ("ten_lines:NOT_A_FUNCTION", "cannot be called"),
        ("no_such_module:search", "there is no module 'no_such_module'"),
        ("broken_module:search", "cannot be imported: ZeroDivisionError"),
        ("needs_more:search", "needs the module 'not_installed_anywhere'"),
    ],
)
def test_a_function_that_is_not_there_is_told_before_the_run(folder: Path, target: str, said: str) -> None:
    with pytest.raises(UnknownSystem) as problem:
        load_function(target, folder)
    assert said in str(problem.value)


def test_a_function_that_wants_the_case_gets_it() -> None:
    def peek(query: str, k: int, case: Case) -> list[str]:
        return [case.id, query][:k]

    assert PythonFunction(peek).retrieve("when", 1, CASES[0]).ids == ("q1",)
    assert PythonFunction(right).name == "right"


def test_closing_closes_what_can_be_closed() -> None:
    closed = []

    class Engine:
        def __call__(self, query: str, k: int) -> list[str]:
            return [query] * k

        def close(self) -> None:
            closed.append(True)

    PythonFunction(Engine()).close()
    PythonFunction(right).close()
    assert closed == [True]
