"""Run a benchmark: fill every system with every user's items, ask every question, keep each result at once.

What a system does wrong becomes a line of the journal, never an end of the run: a question that it fails on is kept
with the reason and is not scored. A run that was stopped goes on with the questions that have no line yet; users whose
questions are all there are not filled again.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from assay.errors import AssayError, InputError
from assay.referee import traps
from assay.referee.contenders.contract import Contender, ContenderHit
from assay.referee.journal import Journal
from assay.referee.judges import AnswerJudge
from assay.referee.measures import count_tokens
from assay.referee.readers import AnswerReader
from assay.referee.records import (
    BenchOptions,
    BenchRecords,
    Line,
    RunKey,
    describe_pools,
    describe_questions,
    describe_set,
    hash_text,
)
from assay.referee.sets.overlays import KeyOverlay
from assay.referee.sets.values import ANSWERS, MemoryQuestion, MemorySet, MemoryUser
from assay.referee.watching import Meter, NetworkWatch, SharedEmbedder, folder_size, probe_defaults, tell_download

LONGEST_REASON = 300
OpenSystem = Callable[[str, Path], Contender]
"""Opens a system by its name on a folder."""
Listen = Callable[[str, str, int, int], None]
"""Called with set, system, questions done and questions in all."""
AskedAlready = set[tuple[str, int]]
"""Questions, each with its repeat."""


class BenchNotes(Protocol):
    """Where results and measurements go: the journal, or what a worker sends to it."""

    def add(self, line: Line) -> None:
        """Keep a result."""
        ...

    def add_cost(self, line: Line) -> None:
        """Keep a measurement."""
        ...


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Everything a run needs."""

    options: BenchOptions
    sets: Sequence[MemorySet]
    open_system: OpenSystem
    overlays: Mapping[str, KeyOverlay] = field(default_factory=dict)
    embedder: SharedEmbedder | None = None
    reader: AnswerReader | None = None
    judge: AnswerJudge | None = None
    listen: Listen = lambda *_: None
    stopwatch: Callable[[], float] = time.perf_counter
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        layer = self.options.layer
        for memory_set in self.sets:
            if layer not in memory_set.layers:
                raise InputError(
                    f"{memory_set.name} cannot be measured in the layer {layer}: {memory_set.quirks[0]}",
                    remedy=f"Use --layer {memory_set.layers[0]} for it.",
                )
        if layer == ANSWERS and (self.reader is None or self.judge is None):
            raise InputError("answers need a named reader and a named judge", remedy="Give --reader and --judge.")

    def plan(self) -> Line:
        """Return what makes two runs the same run."""
        return {
            "options": self.options.as_json(),
            "sets": {memory_set.name: memory_set.hash for memory_set in self.sets},
            "overlays": {name: overlay.hash for name, overlay in sorted(self.overlays.items())},
            "embedder": None if self.embedder is None else self.embedder.model,
            "reader": None if self.reader is None else self.reader.fingerprint,
            "judge": None if self.judge is None else self.judge.prompt_hash,
            "versions": dict(self.versions),
        }

    def run(self, journal: Journal) -> BenchRecords:
        """Run what is missing, and return the records of all."""
        for system in self.options.systems:
            self.probe(system, journal)
            for memory_set in self.sets:
                self._run_set(system, memory_set, journal)
        return self.collect(journal)

    # --- One system ---

    def probe(self, system: str, journal: Journal) -> None:
        """Open an instance of its own and look for defaults that are on; once for each system."""
        if any(line["kind"] == "system" and line["system"] == system for line in journal.lines):
            return
        with scratch_folder() as folder, closing(self.open_system(system, folder)) as contender:
            if self.embedder is not None:
                self.embedder.embed(["warm up"])
            observed = self._try_probe(contender, system)
            line = {"declared": contender.declaration.as_json(), "subject": dict(contender.subject())}
            journal.add({"kind": "system", "system": system, "line": line, "observed": observed})

    def _try_probe(self, contender: Contender, system: str) -> list[Line]:
        try:
            return probe_defaults(contender, self.options.depth, system)
        except Exception as problem:  # noqa: BLE001 - whatever a system raises is told beside its numbers
            sentence = f"{system} could not be probed for defaults: {_reason(problem)}."
            return [{"trap": traps.DEFAULT, "action": traps.FLAGGED, "set": "", "system": system, "sentence": sentence}]

    def _run_set(self, system: str, memory_set: MemorySet, journal: Journal) -> None:
        done = find_asked(journal, system, memory_set)
        count, wanted = len(done), len(memory_set.questions) * self.options.repeats
        if count == wanted:
            return

        def tell() -> None:
            nonlocal count
            count += 1
            self.listen(memory_set.name, system, count, wanted)

        with scratch_folder() as folder, closing(self.open_system(system, folder)) as contender:
            place = BenchPlace(self, system, memory_set, contender, journal)
            with NetworkWatch() as watch:
                for user in memory_set.asked:
                    missing = self.find_missing(memory_set, user, done)
                    if missing:
                        place.run_user(memory_set.by_user[user], missing, tell)
            note_store(
                journal, memory_set.name, system, folder_size(folder), contender.model_calls(), sorted(watch.hosts)
            )

    def find_missing(self, memory_set: MemorySet, user: str, done: AskedAlready) -> list[tuple[MemoryQuestion, int]]:
        """Return the questions of a user that have no result yet, each with its repeat."""
        return [
            (question, repeat)
            for question in memory_set.asked[user]
            for repeat in range(self.options.repeats)
            if (question.id, repeat) not in done
        ]

    # --- From the journal to records ---

    def collect(self, journal: Journal) -> BenchRecords:
        """Return the records of all that the journal holds, whatever the order in which it came there."""
        rankings: dict[RunKey, dict[str, Line]] = {}
        answers: dict[RunKey, dict[str, Line]] = {}
        fills: dict[tuple[str, str], dict[str, str]] = {}
        systems: dict[str, Line] = {}
        found = {
            (line["set"], line["system"], line["repeat"], line["question"]): line
            for line in journal.lines
            if line["kind"] == "asked"
        }
        for line in journal.lines:
            if line["kind"] == "system":
                systems[line["system"]] = line["line"]
            elif line["kind"] == "filled":
                fills.setdefault((line["set"], line["system"]), {})[line["user"]] = line["texts"]
        for memory_set in self.sets:
            for system in self.options.systems:
                for repeat in range(self.options.repeats):
                    key = (memory_set.name, system, repeat)
                    for question in memory_set.questions:
                        line = found[*key, question.id]
                        rankings.setdefault(key, {})[question.id] = line["ranking"]
                        if "answer" in line:
                            answers.setdefault(key, {})[question.id] = line["answer"]
        in_order = {
            (memory_set.name, system): {
                user.id: fills[memory_set.name, system][user.id]
                for user in memory_set.users
                if user.id in fills.get((memory_set.name, system), {})
            }
            for memory_set in self.sets
            for system in self.options.systems
        }
        overlays = self.overlays
        return BenchRecords(
            options=self.options,
            sets={entry.name: describe_set(entry, overlays.get(entry.name)) for entry in self.sets},
            systems={system: systems[system] for system in self.options.systems},
            pools={entry.name: describe_pools(entry) for entry in self.sets},
            questions={entry.name: describe_questions(entry, overlays.get(entry.name)) for entry in self.sets},
            rankings=rankings,
            answers=answers,
            fills=in_order,
            observed=self._sort_observed(journal),
            versions=self.versions,
        )

    def _sort_observed(self, journal: Journal) -> list[Line]:
        """Return what was noticed: of each system its defaults, then what it did on each set."""
        probed = {line["system"]: line["observed"] for line in journal.lines if line["kind"] == "system"}
        seen = [line["line"] for line in journal.lines if line["kind"] == "observed"]
        found: list[Line] = []
        for system in self.options.systems:
            found += probed.get(system, [])
            for memory_set in self.sets:
                for line in seen:
                    if (line["set"], line["system"]) == (memory_set.name, system) and line not in found:
                        found.append(line)
        return found


def find_asked(journal: Journal, system: str, memory_set: MemorySet) -> AskedAlready:
    """Return the questions that a system has a result for."""
    return {
        (line["question"], line["repeat"])
        for line in journal.lines
        if line["kind"] == "asked" and line["set"] == memory_set.name and line["system"] == system
    }


def note_store(  # noqa: PLR0917 - the fields of one line
    notes: BenchNotes, name: str, system: str, size: int, model_calls: int, hosts: Sequence[str]
) -> None:
    """Keep what a system used on a set: bytes, calls to a model, and hosts, which are told beside its numbers."""
    cost = {"bytes": size, "model_calls": model_calls, "hosts": list(hosts)}
    notes.add_cost({"kind": "store", "set": name, "system": system, **cost})
    if hosts:
        notes.add({"kind": "observed", "line": tell_download(name, system, hosts)})


class BenchPlace:
    """One system on one set."""

    def __init__(
        self, bench: Benchmark, system: str, memory_set: MemorySet, contender: Contender, notes: BenchNotes
    ) -> None:
        self._bench = bench
        self._system = system
        self._set = memory_set
        self._contender = contender
        self._notes = notes
        overlay = bench.overlays.get(memory_set.name)
        self._corrected = None if overlay is None else overlay.apply(memory_set).by_question

    def run_user(
        self, user: MemoryUser, missing: Sequence[tuple[MemoryQuestion, int]], on_asked: Callable[[], None]
    ) -> None:
        """Fill the user's memory and ask what is missing; `on_asked` is called after each question."""
        failure = self._fill(user)
        for question, repeat in missing:
            line = self._ask(user, question) if not failure else {"ranking": {"hits": [], "failed": failure}}
            self._notes.add({**self._named("asked"), "repeat": repeat, "question": question.id, **line})
            on_asked()

    def _fill(self, user: MemoryUser) -> str:
        """Fill, and return why it failed; empty where it did not."""
        meter = Meter(self._bench.embedder, self._bench.stopwatch)
        try:
            with meter:
                self._contender.fill(user.id, user.items)
        except Exception as problem:  # noqa: BLE001 - a system's failure is a result
            return f"filling failed: {_reason(problem)}"
        texts = traps.hash_pool(describe_pools_of(user))
        self._notes.add({**self._named("filled"), "user": user.id, "texts": texts})
        cost = {"user": user.id, "seconds": meter.seconds, "embedding": meter.embedding, "items": len(user.items)}
        self._notes.add_cost({**self._named("fill"), **cost})
        return ""

    def _ask(self, user: MemoryUser, question: MemoryQuestion) -> Line:
        meter = Meter(self._bench.embedder, self._bench.stopwatch)
        try:
            with meter:
                hits = list(self._contender.ask(user.id, question.text, self._bench.options.depth))
            ranking = self._describe_hits(user, hits[: self._bench.options.depth])
        except Exception as problem:  # noqa: BLE001 - a system's failure is a result
            return {"ranking": {"hits": [], "failed": _reason(problem)}}
        self._notes.add_cost({**self._named("ask"), "question": question.id, "ms": meter.seconds * 1000})
        line: Line = {"ranking": ranking}
        if self._bench.options.layer == ANSWERS:
            line["answer"] = self._answer(question, [hit.text for hit in hits])
        return line

    def _describe_hits(self, user: MemoryUser, hits: Sequence[ContenderHit]) -> Line:
        texts = {item.id: item.text for item in user.items}
        line: Line = {"hits": [[str(hit.id), count_tokens(hit.text)] for hit in hits]}
        unknown = sum(hit.id not in texts for hit in hits)
        other = sum(hit.id in texts and hit.text != texts[hit.id] for hit in hits)
        return {**line, **({"unknown": unknown} if unknown else {}), **({"other_text": other} if other else {})}

    # --- The answers layer ---

    def _answer(self, question: MemoryQuestion, texts: Sequence[str]) -> Line:
        reader, judge = self._bench.reader, self._bench.judge
        assert reader is not None and judge is not None  # noqa: S101, PT018 - checked when the benchmark was made
        reply = reader.read(question, texts)
        traps.refuse_telling_prompt(
            reply.prompt, question=question.text, category=question.category, rubric=question.rubric
        )
        given = {"question": question.text, "key": question.answer, "answer": reply.answer}
        line: Line = {
            "answer": reply.answer,
            "context": len(texts),
            "tokens": sum(map(count_tokens, texts)),
            "reader": reader.fingerprint,
            "judge_prompt": judge.prompt_hash,
            "judge_input": given,
            "right": self._judge(judge, given),
        }
        if self._corrected is not None:
            fixed = self._corrected[question.id].answer
            line["corrected_key"] = fixed
            line["right_corrected"] = (
                line["right"] if fixed == question.answer else self._judge(judge, {**given, "key": fixed})
            )
        return line

    @staticmethod
    def _judge(judge: AnswerJudge, given: Mapping[str, str]) -> bool | None:
        return judge.judge(given["question"], given["key"], given["answer"])

    def _named(self, kind: str) -> Line:
        return {"kind": kind, "set": self._set.name, "system": self._system}


def describe_pools_of(user: MemoryUser) -> Line:
    """Return the pool of one user, as a capsule keeps it."""
    return {"items": [[item.id, hash_text(item.text)] for item in user.items]}


def _reason(problem: Exception) -> str:
    message = problem.message if isinstance(problem, AssayError) else f"{type(problem).__name__}: {problem}"
    return " ".join(message.split())[:LONGEST_REASON]


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
