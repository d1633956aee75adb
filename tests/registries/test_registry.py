"""A registry: names, origins, entry points that are read late, and packages that cannot be loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from assay.errors import BadValue, NameTaken
from assay.registry import Registry

Make = Callable[[str, str], Path]


def read_word(name: str, thing: object) -> str:
    return f"{name} read from {getattr(thing, '__name__', thing)}"


class Shelf:
    """A registry over packages in a folder, and how often the packages were asked."""

    def __init__(self, *points: EntryPoint) -> None:
        self.points = points
        self.asked = 0
        self.words: Registry[str] = Registry("word", group="assay.words", read=read_word, installed=self.installed)

    def installed(self, group: str) -> Iterable[EntryPoint]:
        assert group == "assay.words"
        self.asked += 1
        return self.points


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group="assay.words")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Writes a module that can be imported."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, text: str) -> Path:
        sys.modules.pop(name, None)
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def hello() -> None: ...


def other() -> None: ...


def test_what_was_added_is_found_under_its_name_and_packages_are_not_asked_for_it() -> None:
    shelf = Shelf()
    shelf.words.add("hello", "entry", thing=hello)
    assert shelf.words.find("hello") == "entry"
    assert shelf.words.name_of(hello) == "hello"
    assert shelf.words.name_of(other) is None
    assert shelf.asked == 0


def test_two_things_of_one_name_are_refused_and_both_origins_are_named() -> None:
    words = Shelf().words
    words.add("hello", "first", thing=hello)
    with pytest.raises(NameTaken) as caught:
        words.add("hello", "second", thing=other)
    assert f"{__name__}.hello" in caught.value.message
    assert f"{__name__}.other" in caught.value.message
    assert words.find("hello") == "first"


def test_the_same_function_registered_again_takes_its_own_place() -> None:
    words = Shelf().words
    words.add("hello", "first", thing=hello)
    words.add("hello", "second", thing=hello)
    assert words.find("hello") == "second"


@pytest.mark.parametrize("name", ["", "two words", "<lambda>", "a,b", "x" * 65, "@5", "naïve"])
def test_a_name_that_cannot_be_typed_is_refused(name: str) -> None:
    with pytest.raises(BadValue, match="is not a name for a word"):
        Shelf().words.add(name, "entry", thing=hello)


def test_an_entry_point_is_loaded_when_its_name_is_looked_up_and_not_before(module: Make) -> None:
    module("late_one", "word = 'one'\n")
    module("late_two", "raise RuntimeError('never import me')\n")
    shelf = Shelf(point("one", "late_one:word"), point("two", "late_two:word"))
    assert shelf.words.find("one") == "one read from one"
    assert "late_one" in sys.modules
    assert "late_two" not in sys.modules
    assert shelf.words.find("one") == "one read from one"
    assert shelf.asked == 1


def test_a_broken_package_is_one_line_and_the_others_go_on(module: Make) -> None:
    module("sound", "def word(): ...\n")
    module("needs_more", "import not_there_at_all\n")
    module("leaves", "raise SystemExit('bye')\n")
    shelf = Shelf(
        point("sound", "sound:word"),
        point("needs_more", "needs_more:word"),
        point("leaves", "leaves:word"),
        point("absent", "sound:nothing"),
    )
    assert list(shelf.words.all()) == ["sound"]
    problems = shelf.words.problems()
    assert len(problems) == 3
    assert all("\n" not in line and "the package" in line for line in problems)
    assert "cannot add the word 'needs_more': ModuleNotFoundError: No module named 'not_there_at_all'" in problems[0]
    assert shelf.words.find("needs_more") is None
    assert shelf.words.explain_missing("needs_more") == problems[0]


def test_a_package_that_fails_half_way_leaves_nothing_behind(module: Make) -> None:
    shelf = Shelf(point("half", "half:word"))
    sys.modules["shelf_of_this_test"] = shelf  # type: ignore[assignment]
    module(
        "half",
        "import shelf_of_this_test as shelf\n"
        "def word(): ...\n"
        "shelf.words.add('whole', 'entry', thing=word)\n"
        "raise ValueError('half')\n",
    )
    assert list(shelf.words.all()) == []
    assert "ValueError: half" in shelf.words.problems()[0]


def test_two_packages_that_add_one_name_are_both_refused(module: Make) -> None:
    module("left", "def word(): ...\n")
    module("right", "def word(): ...\n")
    shelf = Shelf(point("word", "left:word"), point("word", "right:word"), point("kept", "left:word"))
    assert list(shelf.words.all()) == ["kept"]
    assert "is added by unknown and unknown" in shelf.words.problems()[0]


def test_a_package_cannot_take_the_name_of_something_that_is_there(module: Make) -> None:
    module("thief", "def word(): ...\n")
    shelf = Shelf(point("hello", "thief:word"))
    shelf.words.add("hello", "first", thing=hello)
    assert shelf.words.find("hello") == "first"
    assert [one.entry for one in shelf.words.all().values()] == ["first"]
    (line,) = shelf.words.problems()
    assert f"two words are called 'hello': {__name__}.hello and thief.word" in line


def test_an_entry_point_with_another_name_than_it_registers_is_a_problem(module: Make) -> None:
    shelf = Shelf(point("wrong", "misnamed:word"))
    sys.modules["shelf_of_this_test"] = shelf  # type: ignore[assignment]
    module(
        "misnamed",
        "import shelf_of_this_test as shelf\ndef word(): ...\nshelf.words.add('right', 'entry', thing=word)\n",
    )
    assert "its entry point is called 'wrong' and registers 'right'" in shelf.words.problems()[0]
    assert shelf.words.names() == ()


def test_a_name_that_is_not_there_is_answered_with_close_ones() -> None:
    words = Shelf().words
    words.add("hello", "entry", thing=hello)
    assert words.explain_missing("helo") == "no word is called 'helo'; close names: hello"
    assert words.explain_missing("xyzzy") == "no word is called 'xyzzy'"


def test_a_name_is_looked_up_and_never_imported(module: Make) -> None:
    """A settings file or a request may name anything; only what is installed or registered is loaded."""
    module("tempting", "raise AssertionError('imported')\n")
    words = Shelf().words
    for name in ("tempting:word", "tempting.word", "tempting"):
        assert words.find(name) is None
    assert "tempting" not in sys.modules


def test_the_list_of_all_follows_what_is_added_and_taken_out() -> None:
    words = Shelf().words
    words.add("one", "1", thing=read_word)
    assert words.all() is words.all()
    before = words.save()
    words.add("two", "2", thing=Shelf)
    assert list(words.all()) == ["one", "two"]
    words.restore(before)
    assert list(words.all()) == ["one"]
