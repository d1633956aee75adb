"""The walks of `docs/architecture.md` are true: every step exists, is called by the step named, in one direction."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from docs.walks import ASK, GATE, MCP_SAVE, MEASURE, RUN, SAVE, SEARCH, WALKS, Step, Walk
from tests.architecture import LAYERS, OPEN_TO_ALL
from tests.cli.telling import Run, runner
from tests.evaluation.made import golden
from tests.mcp.serving import LESSON, asking, told
from tests.server.serving import reaching, services_at

from assay.formats.golden import write_golden
from mcp import Client

SURFACES = {"cli", "server", "mcp", "client", "api"}
MAY_IMPORT = {layer.name: layer.may_import | OPEN_TO_ALL | {layer.name} for layer in LAYERS}


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.title)
def test_every_step_of_a_walk_is_in_the_code(walk: Walk) -> None:
    assert all(step.line() > 0 for step in walk.steps)
    assert 6 <= len(walk.steps) <= 14


def test_a_step_that_is_gone_is_refused() -> None:
    with pytest.raises(LookupError, match=r"assay\.hashing has no nothing: name the step anew"):
        Step("assay.hashing", "nothing", "").line()
    with pytest.raises(LookupError, match=r"there is no assay/nowhere\.py"):
        Step("assay.nowhere", "nothing", "").line()


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.title)
def test_a_walk_has_one_direction(walk: Walk) -> None:
    for number, step in enumerate(walk.steps):
        caller = walk.caller_of(number)
        assert caller is None or step.layer in MAY_IMPORT[caller.layer], f"{caller} may not call {step}"
        assert step.layer not in SURFACES or caller is None or caller.layer in SURFACES, f"back to a surface: {step}"
    assert walk.steps[0].layer in SURFACES
    assert walk.steps[-1].layer not in SURFACES


class Call(NamedTuple):
    """A step that was called."""

    step: tuple[str, str]
    within: tuple[tuple[str, str], ...]
    """Steps under way in the same thread, the outermost first."""
    thread: int


class Recorder:
    """Writes down the calls of a walk's steps, in every thread begun while it listens."""

    def __init__(self, walk: Walk) -> None:
        self.calls: list[Call] = []
        # Inside a class or inside a function: the interpreter spells the two differently.
        self._steps = {
            (str(step.path), spelling): (str(step.path), step.name)
            for step in walk.steps
            for spelling in (step.name, step.name.replace(".", ".<locals>."))
        }
        self._stacks: dict[int, list[tuple[str, str]]] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take one event of the interpreter."""
        code = frame.f_code
        step = self._steps.get((code.co_filename, code.co_qualname))
        if step is None:
            return
        stack = self._stacks.setdefault(threading.get_ident(), [])
        if event == "call":
            self.calls.append(Call(step, tuple(stack), threading.get_ident()))
            stack.append(step)
        elif event == "return":
            stack.pop()


@contextmanager
def recording(walk: Walk) -> Iterator[Recorder]:
    recorder = Recorder(walk)
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def check(walk: Walk, calls: list[Call]) -> None:
    """Every step was called after the one before it, by the step that the walk names."""
    position = 0
    threads: dict[tuple[str, str], set[int]] = {}
    for number, step in enumerate(walk.steps):
        caller = walk.caller_of(number)
        by = None if caller is None else (str(caller.path), caller.name)
        for place in range(position, len(calls)):
            call = calls[place]
            # Work that was handed to another thread has a stack of its own.
            fits = by is None or by in call.within or call.thread not in threads[by]
            if call.step == (str(step.path), step.name) and fits:
                threads.setdefault(call.step, set()).add(call.thread)
                position = place + 1
                break
        else:
            pytest.fail(
                f"{walk.title}: {step.name} was not called by {caller.name if caller else 'anybody'} in its turn"
            )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def test_save_goes_its_way(run: Run) -> None:
    assert run("init").code == 0
    with recording(SAVE) as recorder:
        assert run("save", "--title", LESSON["title"], "--text", LESSON["body"]).code == 0
    check(SAVE, recorder.calls)


def test_search_goes_its_way(tmp_path: Path) -> None:
    with recording(SEARCH) as recorder, services_at(tmp_path) as services, reaching(services) as client:
        assert client.post("/api/memory", json=LESSON).status_code == 200
        assert client.post("/api/memory/search", json={"query": "tabs in makefiles"}).json()["hits"]
    check(SEARCH, recorder.calls)


def test_run_and_gate_go_their_way(run: Run, tmp_path: Path) -> None:
    write_golden(tmp_path / "golden.json", golden(6))
    with recording(RUN) as recorder:
        assert run("run", "golden.json", "--runs", "runs").code == 0
    check(RUN, recorder.calls)
    with recording(GATE) as recorder:
        assert run("gate", "latest", "--baseline", "latest", "--runs", "runs").code in {0, 1, 2}
    check(GATE, recorder.calls)


def test_measure_goes_its_way(run: Run, tmp_path: Path) -> None:
    (tmp_path / "judgments").write_text("q1 0 d1 1\nq2 0 d2 1\n", encoding="utf-8")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 a\nq1 Q0 d3 2 1 a\nq2 Q0 d2 1 1 a\n", encoding="utf-8")
    with recording(MEASURE) as recorder:
        assert run("measure", "--qrels", "judgments", "--run", "a.run").code == 0
    check(MEASURE, recorder.calls)


def test_ask_goes_its_way(run: Run) -> None:
    assert run("save", "--title", LESSON["title"], "--text", LESSON["body"]).code == 0
    with recording(ASK) as recorder:
        assert run("ask", "Why do makefiles need tabs?").code == 0
    check(ASK, recorder.calls)


def test_a_save_over_mcp_goes_its_way(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        assert (await told(client, "memory_save", **LESSON))["decision"] == "store"

    with recording(MCP_SAVE) as recorder:
        asking(tmp_path, talk)
    check(MCP_SAVE, recorder.calls)


def test_a_walk_that_is_not_gone_is_refused() -> None:
    elsewhere = [Call((str(step.path), step.name), (), 1) for step in SAVE.steps]
    with pytest.raises(pytest.fail.Exception, match="was not called by main"):
        check(SAVE, elsewhere)
