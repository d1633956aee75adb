"""The error tree: drawn once, the same in code, and one shape on every surface."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from assay import errors
from assay.errors import AssayError, InputError, StorageError

CLASSES = [found for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, AssayError)]


def drawn() -> dict[str, str]:
    """Each class of the picture in the docstring, with the one it stands under."""
    stack: list[tuple[int, str]] = []
    found: dict[str, str] = {}
    assert errors.__doc__ is not None
    for line in errors.__doc__.splitlines():
        match = re.match(r"( *)([A-Z]\w+)(  +\S|$)", line)
        if match is None:
            continue
        depth, name = len(match.group(1)), match.group(2)
        stack = [(other, parent) for other, parent in stack if other < depth]
        found[name] = stack[-1][1] if stack else "Exception"
        stack.append((depth, name))
    return found


def test_the_picture_is_the_tree() -> None:
    assert drawn() == {found.__name__: found.__base__.__name__ for found in CLASSES if found.__base__ is not None}
    assert len(CLASSES) > 20


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_says_what_it_means(kind: type[AssayError]) -> None:
    assert kind.__doc__
    assert kind.__doc__ is not AssayError.__doc__ or kind is AssayError


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_outlives_the_way_to_another_process(kind: type[AssayError]) -> None:
    problem = kind("'x' is wrong", remedy="Use 'y'.")
    found = pickle.loads(pickle.dumps(problem))
    assert type(found) is kind
    assert (found.message, found.remedy, str(found), found.args) == (
        problem.message,
        problem.remedy,
        str(problem),
        problem.args,
    )


@pytest.mark.parametrize("kind", CLASSES)
def test_a_code_is_the_class_name_in_snake_case(kind: type[AssayError]) -> None:
    code = kind("m", remedy="r").code
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert code.replace("_", "") == kind.__name__.lower()


def test_codes_that_others_match_on_do_not_move() -> None:
    assert errors.StoreBusy("m", remedy="r").code == "store_busy"
    assert errors.NotAStore("m", remedy="r").code == "not_a_store"
    assert len({kind("m", remedy="r").code for kind in CLASSES}) == len(CLASSES)


def test_an_error_has_one_shape() -> None:
    problem = errors.RecordNotFound("there is no memory 'm_1'", remedy="Check the id.")
    assert problem.as_json() == {
        "error": {"code": "record_not_found", "message": "there is no memory 'm_1'", "remedy": "Check the id."}
    }
    assert str(problem) == "there is no memory 'm_1'. Check the id."


def test_a_remedy_is_never_forgotten() -> None:
    with pytest.raises(TypeError, match="remedy"):
        AssayError("m")  # type: ignore[call-arg]


def test_what_the_caller_can_fix_ends_with_3_and_what_the_store_cannot_do_with_4() -> None:
    storage = [kind for kind in CLASSES if issubclass(kind, StorageError)]
    assert {kind for kind in storage if kind.exit_code == 3} == {errors.StoreNotFound, errors.NotAStore}
    assert {kind.exit_code for kind in storage} == {3, 4}
    assert InputError.exit_code == errors.BadValue.exit_code == 3


@pytest.mark.parametrize("kind", CLASSES)
def test_no_error_ends_like_success_or_like_a_crash(kind: type[AssayError]) -> None:
    assert kind.exit_code in (2, 3, 4)
