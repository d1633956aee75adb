"""Console blocks of the documentation can be read, name commands and options that exist, and are all accounted for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from docs.console import (
    NEEDS,
    REASONS,
    ROOT,
    Block,
    Page,
    PageError,
    PageFile,
    choose_ports,
    exchange_ports,
    find_pages,
    matches,
    normalise,
    read_page,
    run_page,
    words_of,
)
from typer._click.core import Context
from typer._click.exceptions import NoSuchOption, UsageError
from typer.core import TyperGroup

from assay.cli.main import app

PAGES = [read_page(path) for path in find_pages()]
COMMANDS = [
    (str(page.path.relative_to(ROOT)), command) for page in PAGES for block in page.blocks for command in block.commands
]


def write_page(folder: Path, text: str) -> Page:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return read_page(path)


def test_every_block_is_run_or_says_why_not() -> None:
    blocks = [block for page in PAGES for block in page.blocks]
    assert all(block.commands for block in blocks)
    assert {block.reason for block in blocks if block.reason} <= REASONS
    assert {name for block in blocks for name in block.needs} <= NEEDS
    left_out = len(COMMANDS) - sum(len(page.commands) for page in PAGES)
    assert left_out < 30


def test_tutorials_and_first_pages_are_run_with_their_output() -> None:
    tutorials = [page for page in PAGES if page.path.parent.name == "tutorials"]
    assert len(tutorials) == 3
    for page in tutorials:
        assert sum(command.compared for command in page.commands) >= 12


@pytest.mark.parametrize("name", sorted({name for name, _ in COMMANDS}))
def test_every_command_of_a_page_parses(name: str) -> None:
    root = typer.main.get_command(app)
    for page, command in COMMANDS:
        if page == name:
            for words in words_of(command.text):
                parse(root, words[1:], f"{page}:{command.line}")


def parse(root: Any, words: list[str], place: str) -> None:
    """Go down to the command that is named, and let it read its options; nothing is called."""
    command, parent = root, None
    while isinstance(command, TyperGroup):
        context: Context = command.make_context("assay", list(words), parent=parent, resilient_parsing=True)
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        command = command.get_command(context, rest[0])
        assert command is not None, f"{place}: there is no command {rest[0]!r}"
        parent, words = context, rest[1:]
    try:
        command.make_context(command.name, list(words), parent=parent, resilient_parsing=False)
    except NoSuchOption as refusal:
        pytest.fail(f"{place}: {refusal.format_message()}")
    except (UsageError, typer.Exit):
        pass  # Values are checked when the page is run.


def test_a_page_is_read_as_steps(tmp_path: Path) -> None:
    page = write_page(
        tmp_path,
        '```python title="search.py"\nprint(1)\n```\n\n<!-- exit: 3 -->\n'
        "```console\n$ one\nfirst\n$ two \\\n  more\n```\n"
        "<!-- not run: needs the network -->\n```console\n$ three\n```\n",
    )
    file, block, left_out = page.steps
    assert isinstance(block, Block)
    assert isinstance(left_out, Block)
    assert file == PageFile(name="search.py", content="print(1)\n")
    assert [(one.text, one.shown, one.exit_code) for one in block.commands] == [
        ("one", ("first",), 0),
        ("two \\\n  more", (), 3),
    ]
    assert left_out.reason == "needs the network"
    assert [command.text for command in page.commands] == ["one", "two \\\n  more"]


def test_a_block_that_is_no_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PageError, match=r"page\.md:2: a console block begins with a command"):
        write_page(tmp_path, "```console\nerror\n```\n")


def test_ids_times_and_widths_do_not_count() -> None:
    shown = ("stored m_01KA... in 20 ms   on 2026-01-01", "", "")
    assert normalise(shown) == normalise(("stored m_01M7ND1BVZCKJXHQJYXMZHNJ4N in 3.5 s on 2027-11-17 10:00",))
    assert normalise(("recall@5 0.49",)) != normalise(("recall@5 0.50",))


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "..."], ["a", "b", "c"], True),
        (["...", "c"], ["a", "b", "c"], True),
        (["a", "...", "c", "...", "e"], ["a", "b", "c", "d", "e"], True),
        (["a", "...", "x", "...", "e"], ["a", "b", "c", "d", "e"], False),
        (["a", "...", "a"], ["a"], False),
        (["b", "..."], ["a", "b"], False),
    ],
)
def test_dots_stand_for_any_lines(shown: list[str], printed: list[str], expected: bool) -> None:
    assert matches(shown, printed) is expected


def test_a_page_runs_in_one_shell_and_names_ids_anew(tmp_path: Path) -> None:
    page = write_page(
        tmp_path,
        "```console\n$ export NAME=m_9999; echo $NAME\nm_1111\n$ echo m_1111\nm_1111\n$ cat\n$ false\n$ pwd\n.\n```\n",
    )
    visit = run_page(page, tmp_path / "run", Path(sys.executable).parent)
    printed = {outcome.command.text: outcome.printed for outcome in visit.outcomes}
    assert printed["echo m_1111"] == ("m_9999",), "the id of the page stands for the one that was printed"
    assert [outcome.command.text for outcome in visit.failed] == ["false"]
    assert not visit.different


def test_what_a_page_starts_ends_with_it(tmp_path: Path) -> None:
    page = write_page(tmp_path, "```console\n$ sleep 100 & echo $!\n```\n")
    visit = run_page(page, tmp_path / "run", Path(sys.executable).parent)
    with pytest.raises(ProcessLookupError):
        os.kill(int(visit.outcomes[0].printed[0]), 0)


def test_a_block_that_needs_more_than_there_is_is_counted(tmp_path: Path) -> None:
    page = write_page(tmp_path, "<!-- needs: a new environment -->\n```console\n$ exit 7\n```\n")
    visit = run_page(page, tmp_path / "run", Path(sys.executable).parent)
    assert (visit.outcomes, visit.not_run) == ((), {"needs a new environment": 1})


def test_ports_of_this_machine_are_exchanged_for_free_ones(tmp_path: Path) -> None:
    page = write_page(
        tmp_path,
        "```console\n$ assay serve --port 8747 > log &\n$ curl http://127.0.0.1:8747/healthz\n"
        "$ assay serve &\n$ curl http://127.0.0.1:8710/healthz\n```\n",
    )
    ports = choose_ports(page)
    first, default = ports["8747"], ports["8710"]
    assert [exchange_ports(command.text, ports) for command in page.commands] == [
        f"assay serve --port {first} > log &",
        f"curl http://127.0.0.1:{first}/healthz",
        f"assay serve --port {default} &",
        f"curl http://127.0.0.1:{default}/healthz",
    ]
    assert len(set(ports.values())) == len(ports)
    assert choose_ports(write_page(tmp_path, "```console\n$ curl http://127.0.0.1:8747/healthz\n```\n")) == {}


def test_a_command_that_never_ends_fails(tmp_path: Path) -> None:
    page = write_page(tmp_path, "```console\n$ sleep 100\n```\n")
    visit = run_page(page, tmp_path / "run", Path(sys.executable).parent, seconds=0.3)
    assert [outcome.exit_code for outcome in visit.failed] == [None]


def test_calls_are_found_between_other_words() -> None:
    found = list(words_of("echo x | assay save --title 'a b' && assay search x > out.txt; ls # assay no"))
    assert found == [["assay", "save", "--title", "a b"], ["assay", "search", "x"]]


def test_an_option_or_a_command_that_is_gone_is_found() -> None:
    root = typer.main.get_command(app)
    with pytest.raises(pytest.fail.Exception, match="--nothing"):
        parse(root, ["checkpoint", "restore", "monday", "--nothing"], "here")
    with pytest.raises(AssertionError, match="there is no command 'nowhere'"):
        parse(root, ["dataset", "nowhere"], "here")
    parse(root, ["--json", "dataset", "show", "hotel"], "here")
