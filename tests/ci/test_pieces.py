"""The pieces for CI, without a container: a shell runs every step of the YAML, for gates that pass and that fail."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped] # the wheel ships no types
from tests.ci.comments_api import PULL_REQUEST, REPOSITORY, TOKEN, CommentsApi, serving_comments
from tests.docs.test_workflow import SEARCH
from tests.evaluation.made import golden
from tests.packaging.environments import Environment, link_package, make_environment

from assay.formats.golden import write_golden

ROOT = Path(__file__).parent.parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((ROOT / "ci" / "gitlab" / "assay-gate.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
GOOD, BAD, BROKEN = "(0, 1, 2, 4, 3)", "(3, 4)", "no_such_name"


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Python with pip and with what Assay needs, and without Assay: the pieces install it."""
    made = make_environment("base", wheel, tmp_path_factory.mktemp("ci") / "environment")
    link_package(distribution("pip"), next((made.folder / "lib").glob("python*/site-packages")))
    uninstall = [str(made.python), "-m", "pip", "uninstall", "-y", "-q", "assaykit"]
    subprocess.run(uninstall, check=True, capture_output=True)
    assert not made.assay.exists()
    return made


@pytest.fixture(scope="module")
def repository(base_environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is under version control: the golden dataset, the code and the blessed baseline."""
    place = tmp_path_factory.mktemp("repository")
    write_golden(place / "golden" / "golden.json", golden(12))
    (place / "search.py").write_text(SEARCH.format(places="(0, 1, 2, 3, 4)"), encoding="utf-8")
    for command in (["run", "golden", "-s", "python:search:retrieve"], ["baseline", "bless"]):
        subprocess.run([str(base_environment.assay), *command], cwd=place, check=True, capture_output=True)
    shutil.rmtree(place / ".assay")
    return place


def clone(repository: Path, to: Path, places: str) -> Path:
    shutil.copytree(repository, to)
    (to / "search.py").write_text(SEARCH.format(places=places), encoding="utf-8")
    return to


def shell_environment(environment: Environment, home: Path) -> dict[str, str]:
    """What a runner gives every step; pip reaches no registry."""
    return {
        "PATH": f"{environment.folder / 'bin'}:/usr/bin:/bin",
        "HOME": str(home / "home"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }


# --- The GitHub Action ---


@dataclass
class Runner:
    """Runs the steps of a composite action as GitHub documents it: one shell a step, outputs in a file."""

    folder: Path
    variables: Mapping[str, str]
    inputs: Mapping[str, str]
    github: Mapping[str, str]
    outputs: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def run(self) -> int:
        """The exit code of the action: that of the first step that failed."""
        code = 0
        for step in ACTION["runs"]["steps"]:
            condition = step.get("if", "success()")
            if (code == 0 or condition == "always()") and self._holds(condition):
                ended = self._run_step(step)
                code = code or ended
        return code

    def _holds(self, condition: str) -> bool:
        if condition in ("success()", "always()"):
            return True
        return all(self._is_true(term.strip()) for term in condition.split("&&"))

    def _is_true(self, term: str) -> bool:
        left, equals, right = term.partition("==")
        value = self._value(left.strip())
        return value == right.strip().strip("'") if equals else bool(value)

    def _run_step(self, step: Mapping[str, Any]) -> int:
        assert set(step) <= {"name", "id", "if", "shell", "env", "run"}, step
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs reach the shell as variables only"
        file = self.folder / "output.txt"
        file.write_text("", encoding="utf-8")
        told = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={
                **self.variables,
                "GITHUB_OUTPUT": str(file),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
                **{name: self._fill(str(value)) for name, value in step.get("env", {}).items()},
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        self.ran.append(step["name"])
        self.told[step["name"]] = told.stdout + told.stderr
        for line in file.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            self.outputs[f"steps.{step['id']}.outputs.{name}"] = value
        return told.returncode

    def _fill(self, text: str) -> str:
        return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: self._value(found[1]), text)

    def _value(self, name: str) -> str:
        if name.startswith("inputs."):
            return self.inputs[name.removeprefix("inputs.")]
        return self.outputs.get(name, "") if name.startswith("steps.") else self.github[name]


@pytest.fixture
def api() -> Iterator[CommentsApi]:
    with serving_comments() as served:
        yield served


@pytest.fixture
def act(api: CommentsApi, environment: Environment, wheel: Path, repository: Path, tmp_path: Path) -> Any:
    """Run the action in a clone whose search returns these places."""
    attempts = iter(range(1, 10))

    def run(places: str, **inputs: str) -> tuple[int, Runner]:
        attempt = next(attempts)
        github = {
            "github.token": TOKEN,
            "github.run_id": "7",
            "github.run_attempt": str(attempt),
            "github.action_path": str(ROOT),
            "github.event.pull_request.number": str(PULL_REQUEST),
        }
        defaults = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()}
        given = {"dataset": "golden", "system": "python:search:retrieve", "package": str(wheel), **inputs}
        folder = clone(repository, tmp_path / f"clone{attempt}", places)
        variables = {
            **shell_environment(environment, folder),
            "GITHUB_API_URL": api.url,
            "GITHUB_REPOSITORY": REPOSITORY,
        }
        runner = Runner(
            folder, variables, {**defaults, **{name.replace("_", "-"): value for name, value in given.items()}}, github
        )
        runner.inputs = {**runner.inputs, "token": runner._fill(runner.inputs["token"])}
        return runner.run(), runner

    return run


def test_every_input_is_described_and_used() -> None:
    steps = str(ACTION["runs"]["steps"])
    for name, given in ACTION["inputs"].items():
        assert given["description"], name
        assert re.search(rf"inputs\.{name}\b", steps), name
    assert ACTION["inputs"]["package"]["default"] == "assaykit"


@pytest.mark.slow
def test_a_pull_request_that_becomes_good_again_has_one_comment(act: Any, api: CommentsApi) -> None:
    code, first = act(BAD)
    assert code == 1, first.told
    assert first.ran == ["Install", "Run", "Gate", "Comment", "Verdict"]
    assert [comment["body"].splitlines()[1] for comment in api.comments] == ["## Assay gate: FAIL"]
    assert "## Assay gate: FAIL" in (first.folder / "summary.md").read_text(encoding="utf-8")
    code, second = act(GOOD)
    assert code == 0, second.told
    assert second.outputs["steps.gate.outputs.exit-code"] == "0"
    assert [comment["body"].splitlines()[1] for comment in api.comments] == ["## Assay gate: PASS"]
    assert {path.name for path in second.folder.glob("assay-*")} == {
        "assay-gate.xml",
        "assay-gate.sarif",
        "assay-comment.md",
    }


@pytest.mark.parametrize(("places", "code"), [pytest.param(GOOD, 0, marks=pytest.mark.slow), (BAD, 1)])
@pytest.mark.slow
def test_a_server_that_refuses_the_comment_does_not_hide_the_verdict(
    act: Any, api: CommentsApi, places: str, code: int
) -> None:
    api.refuse["POST"] = (403, {"message": "Resource not accessible by integration"})
    ended, runner = act(places)
    assert ended == code
    assert "::warning title=Assay comment::POST" in runner.told["Comment"]
    assert "Resource not accessible" in runner.told["Comment"]


def test_a_system_that_cannot_be_run_is_never_green_and_the_comment_says_why(act: Any, api: CommentsApi) -> None:
    code, _ = act(BROKEN)
    assert code == 2
    assert api.comments[0]["body"].splitlines()[1] == "## Assay gate: INCONCLUSIVE"


def test_inputs_are_never_read_as_shell(act: Any, api: CommentsApi) -> None:
    code, runner = act(GOOD, baseline="$(touch stolen)", comment="false")
    assert code == 2
    assert not (runner.folder / "stolen").exists()
    assert api.asked == []
    assert "Comment" not in runner.ran


# --- The GitLab template ---


@pytest.mark.parametrize(
    ("places", "code", "failures"), [(GOOD, 0, 0), (BAD, 1, 8), pytest.param(BROKEN, 2, 0, marks=pytest.mark.slow)]
)
def test_the_script_of_the_gitlab_template_is_the_gate(  # noqa: PLR0917 - fixtures and parameters, all given by name
    environment: Environment, wheel: Path, repository: Path, tmp_path: Path, places: str, code: int, failures: int
) -> None:
    (job,) = GITLAB.values()
    folder = clone(repository, tmp_path / "clone", places)
    given = {
        **job["variables"],
        "GATE_PACKAGE": str(wheel),
        "GATE_SYSTEM": "python:search:retrieve",
        "CI_JOB_ID": "5",
    }
    assert job["variables"]["GATE_PACKAGE"] == "assaykit"
    told = subprocess.run(
        ["sh", "-ec", "\n".join([*job["before_script"], *job["script"]])],
        cwd=folder,
        env={**shell_environment(environment, folder), **given},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.returncode == code, told.stdout + told.stderr
    for file in job["artifacts"]["paths"]:
        assert (folder / file).is_file(), file
    report = (folder / job["artifacts"]["reports"]["junit"]).read_text(encoding="utf-8")
    assert f'failures="{failures}"' in report


# --- The pre-commit hooks ---


def run_hook(name: str, environment: Environment, folder: Path, *files: str) -> int:
    """Run the entry of a hook as pre-commit does: split as a shell would, the files behind it."""
    hook = next(hook for hook in HOOKS if hook["id"] == name)
    passed = files if hook.get("pass_filenames", True) else ()
    told = subprocess.run(
        [*shlex.split(hook["entry"]), *passed],
        cwd=folder,
        env={**shell_environment(environment, folder), "LC_ALL": os.environ.get("LC_ALL", "C.UTF-8")},
        capture_output=True,
        check=False,
        timeout=120,
    )
    return told.returncode


@pytest.mark.slow
def test_the_dataset_hook_refuses_a_dataset_that_cannot_be_read(
    base_environment: Environment, repository: Path, tmp_path: Path
) -> None:
    folder = clone(repository, tmp_path / "clone", GOOD)
    good, bad = "golden/golden.json", "a folder/golden.json"
    (folder / "a folder").mkdir()
    (folder / bad).write_text("{", encoding="utf-8")
    hook = next(hook for hook in HOOKS if hook["id"] == "assay-dataset-check")
    assert all(re.search(hook["files"], file) for file in (good, bad))
    assert run_hook("assay-dataset-check", base_environment, folder, good) == 0
    assert run_hook("assay-dataset-check", base_environment, folder, good, bad) != 0
    assert run_hook("assay-dataset-check", base_environment, folder, bad, good) != 0


@pytest.mark.parametrize(("places", "code"), [pytest.param(GOOD, 0, marks=pytest.mark.slow), (BAD, 1)])
def test_the_gate_hook_is_the_gate(
    base_environment: Environment, repository: Path, tmp_path: Path, places: str, code: int
) -> None:
    folder = clone(repository, tmp_path / "clone", places)
    command = [str(base_environment.assay), "run", "golden", "-s", "python:search:retrieve"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert run_hook("assay-gate", base_environment, folder) == code
