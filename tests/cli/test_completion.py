"""Completion of values as a shell asks for it: quick, silent whatever goes wrong, and true to the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli.completion import ARGUMENTS, FLAGS, OPTIONS, SWITCHES, SYSTEMS, complete_value, find_kind, list_values
from assay.cli.group import load_command
from assay.evaluation.datasets.bundled import list_bundled
from assay.flags.registry import FLAGS as REGISTERED_FLAGS
from assay.systems.registry import SYSTEMS as REGISTERED_SYSTEMS

PROGRAM = """
import sys
from assay.cli.entry import main
try:
    main()
finally:
    sys.stderr.write(str("rich" in sys.modules or "numpy" in sys.modules))
"""


def ask(line: str, *, shell: str = "bash", **environ: str) -> str:
    """Return what a shell gets for a command line, the cursor at its end; empty: typer has to answer."""
    words = line.split(" ")
    protocol = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_TYPER_COMPLETE_ARGS": line}
    said: list[str] = []
    complete_value(
        {"_ASSAY_COMPLETE": f"complete_{shell}", "HOME": os.environ["HOME"], **protocol, **environ}, said.append
    )
    return "".join(said)


def command_of(path: tuple[str, ...]) -> Any:
    found = load_command(path[0])
    for name in path[1:]:
        found = found.commands[name]
    return found


def all_options() -> Iterator[Any]:
    for path in {*ARGUMENTS, *OPTIONS}:
        yield from (one for one in command_of(path).params if one.param_type_name == "option")


def test_values_are_completed_by_their_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / ".assay/runs/run-7"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text(json.dumps({"name": "nightly"}), encoding="utf-8")
    (tmp_path / "kept/mine/1").mkdir(parents=True)
    (tmp_path / "assay.toml").write_text('[datasets]\nfolder = "kept"\n', encoding="utf-8")
    assert ask("assay run ho") == "hotel\n"
    assert ask("assay run mi") == "mine\n"
    assert ask("assay gate ") == "latest\nnightly\nrun-7\n"
    assert ask("assay compare latest ni") == "nightly\n"
    assert ask("assay flag show mm") == "mmr\n"
    assert ask("assay --db x.db -q ladder offline mmr hot") == "hotel\n"
    assert ask("assay run hotel --system py") == "pydantic-ai:\npython:\n"
    assert "mrr,ndcg\n" in ask("assay run hotel --metrics mrr,nd")
    assert ask("assay run hotel --system pyt", shell="zsh") == "_arguments '*: :((\"python\\\\:\"))'\n"


@pytest.mark.parametrize(
    "line", ["assay ru", "assay run --sy", "assay save x", "assay run hotel --k 3", "assay gate a b"]
)
def test_everything_else_is_left_to_the_commands(line: str) -> None:
    assert ask(line) == ""


@pytest.mark.parametrize(
    "broken", [{"COMP_CWORD": "x"}, {"COMP_WORDS": 'assay run "'}, {"ASSAY_CONFIG": "/proc/self/mem"}]
)
def test_what_goes_wrong_is_not_printed_over_what_a_person_types(
    broken: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    ask("assay run ho", **broken)
    assert capfd.readouterr() == ("", "")


def test_the_program_answers_the_protocol_without_loading_a_command() -> None:
    environ = {**os.environ, "_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": "assay run ho", "COMP_CWORD": "2"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("hotel\n", "False")


def test_the_tables_are_those_of_the_commands() -> None:
    for path, kinds in ARGUMENTS.items():
        arguments = [one for one in command_of(path).params if one.param_type_name == "argument"]
        assert len(kinds) <= len(arguments) or any(one.nargs == -1 for one in arguments), path
    for path, kinds_of in OPTIONS.items():
        named = {name for one in command_of(path).params for name in one.opts}
        assert set(kinds_of) <= named, path
    switches = {name for one in all_options() if one.is_flag for name in (*one.opts, *one.secondary_opts)}
    assert switches <= SWITCHES, "add them to SWITCHES of cli/completion.py"
    valued = {name for one in all_options() if not one.is_flag for name in one.opts}
    assert not valued & SWITCHES


def test_the_names_are_those_of_the_registries() -> None:
    assert set(FLAGS) == set(REGISTERED_FLAGS), "correct FLAGS of cli/completion.py"
    assert [name.rstrip(":") for name in SYSTEMS] == sorted(REGISTERED_SYSTEMS.names())
    assert set(list_bundled()) <= set(list_values("dataset", "", dict(os.environ)))
    assert find_kind(["run", "hotel", "-m"], "") == "metric"
