"""`assay start`: from a folder of documents, or a table of questions, to a dataset, a first run, a baseline and a gate.

Every step is a command of its own, and is printed as it can be typed. What a step made is found by the next start, so a
start that was stopped goes on where it was.

- What is measured: the documents, how long reading them would take, and the system.
- The start: its steps, in order.
- What is said at the end.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

import typer

from assay import wiring
from assay.cli.keys import keys_of, read_line
from assay.cli.question_review import review
from assay.cli.steps import Steps
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import InputError, NothingMeasured
from assay.evaluation.baselines import load_baseline
from assay.evaluation.datasets import load_dataset
from assay.evaluation.labelling import (
    LABELS,
    LabelJournal,
    LabelSession,
    Pressed,
    rewordings,
    standing,
    tasks_of,
)
from assay.evaluation.question_generation import read_corpus
from assay.evaluation.question_review import UNREAD
from assay.evaluation.running.files import DEFAULT_RUNS, RunFolder, find_run
from assay.evaluation.shelf import name_labels
from assay.extras import need_extra
from assay.formats.anchored import FILE_NAME
from assay.formats.files import write_lines
from assay.private_files import open_private
from assay.records.datasets import Dataset
from assay.records.memory import count_by_kind
from assay.systems.registry import parse_spec
from assay.wiring.systems import file_places

CHARACTERS_A_CHUNK = 630
CHUNKS_A_SECOND = 15
"""How fast one core of an ordinary machine embeds (`bench/README.md`)."""
SECONDS = 240
"""What reading the documents may take, of the five minutes of a start."""
MOST_CHARACTERS = SECONDS * CHUNKS_A_SECOND * CHARACTERS_A_CHUNK
QUICK = "assay:embedder.kind=none"
"""Assay without vectors: full text alone, which needs no embedding."""
DASHBOARD = "http://127.0.0.1:8710"
"""Where `assay serve` listens unless it is told otherwise; a test compares both."""
RUN_NAME = "first"
BASELINE = "baseline.json"

PathArgument = Annotated[
    Path | None,
    typer.Argument(metavar="FOLDER|FILE.csv", help="Documents, or a table of questions and expected documents."),
]
DocsOption = Annotated[
    Path | None, typer.Option("--docs", metavar="FOLDER", help="The documents of a table; default: beside it.")
]
ToOption = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where the dataset is written.")]
SystemOption = Annotated[
    str | None,
    typer.Option("--system", "-s", metavar="SPEC", help="What to measure, as `assay run` takes it; default: assay."),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: keep every proposed question unread.")]
MostOption = Annotated[int, typer.Option("--most", metavar="N", help="Questions to propose at most.")]
BrowserOption = Annotated[
    bool, typer.Option("--browser", help="Review the questions in the browser: print where, and go on another time.")
]
WholeOption = Annotated[bool, typer.Option("--whole", help="Read every document, however long it takes.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "start")
    def start(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        path: PathArgument = None,
        docs: DocsOption = None,
        to: ToOption = Path("golden"),
        system: SystemOption = None,
        yes: YesOption = False,
        most: MostOption = 30,
        whole: WholeOption = False,
        browser: BrowserOption = False,
    ) -> None:
        """Go from your documents to questions, a dataset, a first run, a baseline and a gate; goes on where it was."""
        ask = not yes and not browser
        if ask and (surface.common.json or not sys.stdin.isatty()):
            raise InputError(
                "questions cannot be reviewed here: standard input is not a terminal, or --json was given",
                remedy="Give --yes to keep every proposed question unread, --browser to review them there, "
                "or run it in a terminal.",
            )
        given = StartOptions(path=path, docs=docs, to=to, system=system, most=most, whole=whole)
        way = Review.TERMINAL if ask else Review.NONE if yes else Review.BROWSER
        with _only_one(to):
            try:
                code = _Start(surface, given.over(_read_state(to)), way).run()
            except KeyboardInterrupt:
                sys.stderr.write(f"\nEverything up to here is kept. Go on with: {_again(to)}\n")
                raise
        if code:
            raise typer.Exit(code)


# --- What is measured ---


class Review(StrEnum):
    """How proposed questions are reviewed."""

    TERMINAL = "terminal"
    BROWSER = "browser"
    NONE = "none"
    """Those that nobody reviewed are kept unread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartOptions:
    """What a start is told, by this command line or by the one that began it."""

    path: Path | None
    docs: Path | None
    to: Path
    system: str | None
    most: int
    whole: bool

    def over(self, before: Mapping[str, Any]) -> StartOptions:
        """These options, and those of the earlier start where these say nothing; refuses another source."""
        was = Path(before["path"]) if before.get("path") else None
        if self.path is not None and was is not None and self.path.resolve() != was.resolve():
            raise InputError(
                f"{self.to} was begun from {was}, not from {self.path}",
                remedy=f"Name another folder with --to, or remove {_state_file(self.to)} to begin anew.",
            )
        docs = Path(before["docs"]) if before.get("docs") else None
        return replace(
            self,
            path=self.path or was,
            docs=self.docs or docs,
            system=self.system or before.get("system"),
        )


class Bound(NamedTuple):
    """What is read and measured of a folder that may be too big."""

    sample: int | None
    """Characters of a sample of the documents; None: all documents are read."""
    system: str


def bound(
    characters: int,
    given: Bound,
    *,
    keys: str,
    whole: bool,
    ask: Callable[[str], str] | None,
    say: Callable[[str], None],
) -> Bound:
    """Say before it begins that embedding would take too long, and let the person choose one of the keys.

    Where nobody can be asked, the first key is taken: `s` a sample, `f` full text alone, `w` the whole.
    """
    if whole or characters <= MOST_CHARACTERS:
        return given
    minutes = characters / CHARACTERS_A_CHUNK / CHUNKS_A_SECOND / 60
    choices = {
        "s": f"a sample of the documents, about {SECONDS // 60} minutes",
        "f": f"full text alone, without vectors: --system {QUICK}",
        "w": "all of it: --whole",
    }
    say(f"Embedding {characters:,} characters would take about {minutes:.0f} minutes on one core. Choose:")
    for key in keys:
        say(f"  {key}  {choices[key]}")
    key = keys[0] if ask is None else ask(keys)
    say(f"Chosen: {choices[key]}.")
    return Bound(MOST_CHARACTERS if key == "s" else None, QUICK if key == "f" else given.system)


def _state_file(to: Path) -> Path:
    return to.with_name(f"{to.name}.start.json")


def _read_state(to: Path) -> dict[str, Any]:
    file = _state_file(to)
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise InputError(f"{file} is not JSON: {problem}", remedy="Remove it, and start again.") from problem
    return found if isinstance(found, dict) else {}


@contextmanager
def _only_one(to: Path) -> Iterator[None]:
    """Refuse a second start over the same dataset while one is at work."""
    to.parent.mkdir(parents=True, exist_ok=True)
    descriptor = open_private(to.with_name(f".{to.name}.start.lock"), os.O_RDWR)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise InputError(
                f"another `assay start` is at work on {to}", remedy="Wait for it, or name another folder with --to."
            ) from problem
        yield
    finally:
        os.close(descriptor)


def _again(to: Path) -> str:
    return "assay start" if to == Path("golden") else f"assay start --to {to}"


# --- The start ---


class _Start:
    """One start, step by step."""

    def __init__(self, surface: Surface, given: StartOptions, way: Review) -> None:
        self.surface = surface
        self.given = given
        self.way = way
        self.ask = way is Review.TERMINAL
        self.steps = Steps(surface)
        self.state: dict[str, Any] = _read_state(given.to)
        self.to = given.to
        self.proposed = given.to.with_name(f"{given.to.name}.proposed")

    def run(self) -> int:
        """Every step that was not done yet; returns the exit code of the gate, or 0 for a review that was stopped."""
        path = self._path()
        system = self.given.system or "assay"
        parse_spec(system, Path.cwd())
        if _is_assay(system):
            need_extra("memory")
        if path.suffix == ".csv":
            system = self._import(path, system)
        else:
            system = self._propose(path, system)
            if not self._review() or not self._apply():
                return 0
        dataset = load_dataset(self.to)
        run = self._measure(dataset, system)
        baseline = self._bless(run)
        code = self.steps.run("gate", RUN_NAME, "--baseline", baseline).code
        self._finish(dataset, system, run, baseline)
        return code

    def _keep(self, **known: Any) -> None:
        self.state.update(known)
        write_lines(_state_file(self.to), [json.dumps(self.state, indent=1, ensure_ascii=False)])

    def _path(self) -> Path:
        """What the start is about: as given, as the earlier start was given, or as the person says now."""
        path = self.given.path
        if path is None and self.ask:
            answer = read_line(sys.stdin, "A folder of documents, or a CSV file of questions [.]: ")
            path = Path(answer or ".").expanduser()
        if path is None:
            raise InputError("no documents are named", remedy="Give a folder: assay start docs --yes.")
        if not path.exists():
            raise InputError(f"{path} does not exist", remedy="Give a folder of documents, or a CSV file of questions.")
        return path

    # Documents, and the questions about them.

    def _propose(self, path: Path, system: str) -> str:
        """Write the proposals, unless they are there; returns the system, which a big folder may change."""
        if (self.proposed / FILE_NAME).is_file():
            return str(self.state.get("system", system))
        corpus = read_corpus(path)
        found = count_by_kind([document.rel_path for document in corpus.documents])
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.items())
        self.surface.note(f"{len(corpus.documents):,} documents ({kinds}), {corpus.characters:,} characters.")
        sample, system = self._bound(corpus.characters, system, can_sample=True)
        limit = ["--most-characters", str(sample)] if sample else []
        most = ["--most", str(self.given.most)]
        self.steps.run("dataset", "generate", str(path), str(self.proposed), "--builtin", *most, *limit)
        self.state.pop("browser", None)  # the dashboard has older proposals, if any
        self._keep(path=str(path), system=system)
        return system

    def _import(self, path: Path, system: str) -> str:
        """Bring in the table of questions, unless it was; returns the system."""
        if self.to.exists():
            return str(self.state.get("system", system))
        folder = ["--docs", str(self.given.docs)] if self.given.docs else []
        name = self.to.resolve().name
        self.steps.run("dataset", "import", str(path), *folder, "--name", name, "--replace")
        characters = sum(
            len(one.text) for one in load_dataset(name, registry=wiring.registry_of(self.surface.settings)).documents
        )
        _, system = self._bound(characters, system, can_sample=False)
        self.steps.run("dataset", "export", name, str(self.to), "--format", "questions")
        self._keep(path=str(path), docs=str(self.given.docs) if self.given.docs else None, system=system)
        return system

    def _bound(self, characters: int, system: str, *, can_sample: bool) -> Bound:
        whole = self.given.whole or not _embeds(system, self.surface.settings.embedder)
        return bound(
            characters,
            Bound(None, system),
            keys="sfw" if can_sample else "fw",
            whole=whole,
            ask=self._key if self.ask else None,
            say=self.surface.note,
        )

    def _key(self, known: str) -> str:
        with keys_of(sys.stdin) as keys:
            found = next((key for key in keys if key in known), None)
        if found is None:
            raise InputError("no key was pressed", remedy=f"Press one of {', '.join(known)}.")
        return found

    # What people say of the questions.

    def _review(self) -> bool:
        """Let the person keep, reword or drop each question; False: to be gone on with later."""
        dataset = load_dataset(self.proposed)
        if self.way is Review.BROWSER and "browser" not in self.state:
            self.steps.run("dataset", "import", str(self.proposed), "--name", self.proposed.name, "--replace")
            self._keep(browser=self.proposed.name)
        journal = LabelJournal(self._labels, clock=SystemClock())
        if self.way is Review.NONE:
            _keep_unread(dataset, journal)
            return True
        if self.way is Review.BROWSER:
            return self._is_reviewed(dataset, journal)
        cases = {case.id: case for case in dataset.cases}
        session = LabelSession(tasks_of(dataset), journal, self.surface.settings.principal)
        if session.current is None:
            return True
        self.surface.note(f"\n$ assay label {self.proposed}")
        with keys_of(sys.stdin) as keys:
            counts = review(session, cases, keys, lambda: read_line(sys.stdin, "In your words: "), self.surface.console)
        if counts.done == counts.of:
            return True
        kept = _count(journal, dataset)["kept"]
        self.surface.note(f"{counts.done} of {counts.of} questions are reviewed. Go on with: {_again(self.to)}")
        if not kept:
            return False
        self.surface.note(f"Measure with the {kept} questions kept so far?  y yes   n not yet")
        return self._key("yn") == "y"

    @property
    def _labels(self) -> Path:
        """Where decisions are kept: beside the proposals, or where the dashboard keeps them once it was asked for."""
        name = self.state.get("browser")
        if name is None:
            return self.proposed / LABELS
        return file_places(self.surface.settings).shared.labels / name_labels(str(name))

    def _is_reviewed(self, dataset: Dataset, journal: LabelJournal) -> bool:
        """Whether the review in the browser is done; says where it goes on otherwise."""
        counts = _count(journal, dataset)
        left = counts["proposed"] - counts["kept"] - counts["dropped"] + counts["unread"]
        if not left:
            return True
        self.surface.note(
            f"\n{left} of {counts['proposed']} questions wait for your review. Start the dashboard: assay serve\n"
            f"Keep, reword or drop each at {DASHBOARD}/evaluation/review/{quote(self.proposed.name)}\n"
            f"Then go on with: {_again(self.to)} --browser"
        )
        return False

    def _apply(self) -> bool:
        """Write the dataset of the questions that were kept; False: none was."""
        labels, cases = self._labels, self.to / FILE_NAME
        journal = LabelJournal(labels, clock=SystemClock())
        _give_way(journal)
        counts = _count(journal, load_dataset(self.proposed))
        if not counts["kept"]:
            raise NothingMeasured(
                f"none of the {counts['proposed']} proposed questions was kept",
                remedy="Write your own into a CSV file (question,expected_doc), or remove "
                f"{self.proposed} and start again.",
            )
        if not cases.is_file() or cases.stat().st_mtime_ns < labels.stat().st_mtime_ns:
            elsewhere = [] if labels.parent == self.proposed else ["--labels", str(labels)]
            self.steps.run("label", str(self.proposed), *elsewhere, "--apply", str(self.to))
        self._keep(**counts)
        return True

    # What is measured with them.

    def _measure(self, dataset: Dataset, system: str) -> str:
        """Run the system over the dataset, unless that was done; returns the id of the run."""
        runs = self.surface.settings.runs_folder or DEFAULT_RUNS
        same = self.state.get("measured") == {"dataset": dataset.content_hash, "system": system}
        known = str(self.state.get("run", ""))
        if same and known and (runs / known / "result.json").is_file():
            self.surface.note(f"{RUN_NAME} was run already: {runs / known}")
            return known
        begun = _find_unfinished(runs, dataset, system)
        if begun is None:
            self.steps.run("run", str(self.to), "--system", system, "--name", RUN_NAME)
        else:
            self.steps.run("run", str(self.to), "--resume", begun)
        run = begun or find_run(RUN_NAME, runs).name
        self._keep(run=run, measured={"dataset": dataset.content_hash, "system": system})
        return run

    def _bless(self, run: str) -> str:
        """Make the run the baseline, unless it is; never over a baseline that no start made."""
        ours = self.state.get("baseline")
        file = str(ours or BASELINE)
        if ours and Path(file).is_file() and load_baseline(Path(file)).reading.run_id == run:
            return file
        if not ours and Path(file).exists():
            file = f"{self.to}.baseline.json"
        self.steps.run("baseline", "bless", run, "--file", file, "--note", "first run by assay start")
        self._keep(baseline=file)
        return file

    # What is said at the end.

    def _finish(self, dataset: Dataset, system: str, run: str, baseline: str) -> None:
        counts: dict[str, Any] = {name: self.state[name] for name in _COUNTS if name in self.state}
        told = {
            "dataset": str(self.to),
            "questions": counts.get("kept", len(dataset.cases)),
            "documents": len(dataset.documents),
            **counts,
            "system": system,
            "run": run,
            "baseline": baseline,
            "steps": [{"command": step.command, "code": step.code, "result": step.result} for step in self.steps.done],
            "next": self._next(system, baseline),
        }
        self.surface.result(told, "\n".join(self._lines(told)))

    def _next(self, system: str, baseline: str) -> list[str]:
        against = "" if baseline == BASELINE else f" --baseline {baseline}"
        return [f"assay run {self.to} --system {system} --name next", f"assay gate next{against}"]

    def _lines(self, told: Mapping[str, Any]) -> Iterator[str]:
        yield ""
        said = ", ".join(f"{told[name]} {name}" for name in ("kept", "reworded", "dropped") if told.get(name))
        questions = f"{told['questions']} questions{f' ({said})' if said else ''}"
        yield f"{told['dataset']}: {questions} over {told['documents']} documents."
        if told.get("unread"):
            yield f"Nobody has read {told['unread']} of them. Review them with: {_again(self.to)}"
        yield f"Baseline: {told['baseline']}. Commit it together with {told['dataset']}."
        yield "Let your CI run the gate: docs/guides/gate-in-ci.md"
        yield "Next, after you changed your system:"
        yield from (f"  {line}" for line in told["next"])
        yield f"Why a question was lost: assay report {RUN_NAME} --dataset {told['dataset']}"


def _is_assay(system: str) -> bool:
    return system.partition(":")[0] == "assay"


def _embeds(system: str, kind: str) -> bool:
    """Whether a system embeds documents with a model that takes long."""
    named = next((part.partition("=")[2] for part in system.split(",") if "embedder.kind=" in part), kind)
    return _is_assay(system) and named not in {"none", "static"}


_COUNTS = ("proposed", "kept", "dropped", "reworded", "unread")


def _keep_unread(dataset: Dataset, journal: LabelJournal) -> None:
    """Keep every question that nobody reviewed."""
    known = {key for of in standing(journal.labels()).values() for key in of}
    for task in tasks_of(dataset):
        if task.key not in known:
            journal.add(task.key, UNREAD, Pressed.GRADE, 3)


def _give_way(journal: LabelJournal) -> None:
    """Take back what was kept unread where a person has said something since."""
    labels = standing(journal.labels())
    people = {key for who, of in labels.items() if who != UNREAD for key in of}
    for key in labels.get(UNREAD, {}):
        if key in people:
            journal.add(key, UNREAD, Pressed.UNDO)


def _count(journal: LabelJournal, dataset: Dataset) -> dict[str, int]:
    """How many questions were proposed, kept, dropped and reworded, and how many of those kept nobody has read."""
    labels = journal.labels()
    by = standing(labels)
    people = {key: label for who, of in by.items() if who != UNREAD for key, label in of.items()}
    unread = {key: label for key, label in by.get(UNREAD, {}).items() if key not in people}
    grades = [label.grade for label in {**unread, **people}.values() if label.grade is not None]
    return {
        "proposed": len(dataset.cases),
        "kept": sum(grade >= dataset.relevance_level for grade in grades),
        "dropped": sum(grade < dataset.relevance_level for grade in grades),
        "reworded": len(rewordings(labels).keys() & {case.id for case in dataset.cases}),
        "unread": len(unread),
    }


def _find_unfinished(runs: Path, dataset: Dataset, system: str) -> str | None:
    """The id of a run of this name that was stopped, over the same dataset and system."""
    if not runs.is_dir():
        return None
    try:
        folder = RunFolder(find_run(RUN_NAME, runs))
        manifest = folder.read_manifest()
    except InputError:
        return None
    same = manifest.system == system and manifest.instrument.get("dataset") == dataset.content_hash
    return manifest.run_id if same and not folder.finished else None
