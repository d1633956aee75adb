"""Walks through the code: what one command or call does, function by function, from the surface to the store.

`docs.generate` writes them into `docs/architecture.md` with the file and line of every step, and
`tests/docs/test_walks.py` really makes each call and fails when a step is gone, moved or no longer called by the step
named here. To mend a walk after a move or a rename: change the names below and run `make docs`.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent / "src"


class Step(NamedTuple):
    """One function on the way."""

    module: str
    name: str
    """The qualified name; a function inside another is written `outer.inner`."""
    does: str
    """What happens there, and what is handed on."""
    called_by: str = ""
    """The name of an earlier step that calls it; empty: the step before."""

    @property
    def path(self) -> Path:
        """The file of the step."""
        place = SOURCE.joinpath(*self.module.split("."))
        return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")

    @property
    def layer(self) -> str:
        """The folder of `src/assay` that it belongs to, as the import table names it."""
        return self.module.split(".")[1]

    def line(self) -> int:
        """Return the line it is defined at; raises `LookupError` when there is no such function or class."""
        lines = _definitions(self.path)
        if self.name not in lines:
            raise LookupError(f"{self.module} has no {self.name}: name the step anew in docs/walks.py")
        return lines[self.name]


class Walk(NamedTuple):
    """The steps of one call."""

    title: str
    begins_with: str
    """What a user does."""
    steps: tuple[Step, ...]

    def caller_of(self, position: int) -> Step | None:
        """Return the step that calls the one at a position; None for the first."""
        if position == 0:
            return None
        wanted = self.steps[position].called_by
        if not wanted:
            return self.steps[position - 1]
        return next(step for step in reversed(self.steps[:position]) if step.name == wanted)

    @property
    def layers(self) -> tuple[str, ...]:
        """The folders in the order in which the walk first enters them."""
        return tuple(dict.fromkeys(step.layer for step in self.steps))


@cache
def _definitions(path: Path) -> dict[str, int]:
    """Return the line of every function and class of a file by its qualified name."""
    if not path.exists():
        raise LookupError(f"there is no {path.relative_to(SOURCE)}: name its steps anew in docs/walks.py")
    found: dict[str, int] = {}

    def collect(node: ast.AST, outer: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found[".".join((*outer, child.name))] = child.lineno
                collect(child, (*outer, child.name))
            else:
                collect(child, outer)

    collect(ast.parse(path.read_text(encoding="utf-8")), ())
    return found


_SAVING = (
    Step(
        "assay.verbs.memory",
        "save",
        "Turns the request into a `Draft`, says who writes it and with what, and gives it to the saver. "
        "Every surface arrives here.",
    ),
    Step("assay.memory.saving.saver", "Saver.save", "Reads the gate's policy once, then takes the drafts in batches."),
    Step(
        "assay.memory.saving.preparing",
        "Preparer.check",
        "Without a lock: checks the structure, masks secrets, scores quality and notes doubts about the text.",
    ),
    Step(
        "assay.memory.saving.preparing",
        "Preparer.embed",
        "Without a lock: cuts the text into chunks and gets a vector for each that has none yet.",
        called_by="Saver.save",
    ),
    Step(
        "assay.memory.saving.neighbours",
        "nominate",
        "Asks the indexes for stored memories that may be near duplicates.",
        called_by="Saver.save",
    ),
    Step(
        "assay.storage.store",
        "Store.writing",
        "Takes the write lock and begins the one transaction in which everything below happens.",
        called_by="Saver.save",
    ),
    Step(
        "assay.memory.saving.decisions",
        "decide",
        "Decides: store, reject, quarantine or replace, with a reason for each step of the decision.",
        called_by="Saver.save",
    ),
    Step(
        "assay.storage.repositories.memories",
        "Memories.add_many",
        "Writes the memory, its chunks and vectors, and a line of the change log for each. "
        "The commit ends the save; a `SaveOutcome` goes back up.",
        called_by="Saver.save",
    ),
)

SAVE = Walk(
    "Save on the command line",
    "`assay save --text ...`",
    (
        Step("assay.cli.main", "main", "Reads the command line and loads the module of the one command that is named."),
        Step(
            "assay.cli.commands.memories",
            "register_save.save",
            "Reads the text from a file, standard input or `--text`; hands the options on as fields.",
        ),
        Step(
            "assay.cli.surface",
            "Surface.call",
            "Does the three things that every command does: make the request, open the engine, call the verb.",
        ),
        Step(
            "assay.verbs.verb",
            "Verb.make",
            "Checks the fields against the request of the table of verbs; a wrong field is refused here.",
        ),
        Step(
            "assay.wiring.engines",
            "open_engine",
            "Builds store, indexes, embedder, saver and searcher from the settings.",
            called_by="Surface.call",
        ),
        _SAVING[0]._replace(called_by="Surface.call"),
        *_SAVING[1:],
    ),
)

SEARCH = Walk(
    "Search over HTTP",
    "`POST /api/memory/search`",
    (
        Step(
            "assay.server.security.guard",
            "ApiGuard.__call__",
            "Every request arrives here and finds its line in the table of routes, or is refused.",
        ),
        Step(
            "assay.server.security.guard",
            "ApiGuard.admit",
            "Checks framing, host, caller, access, rate and body, in this order, before any of the body is parsed.",
        ),
        Step(
            "assay.server.routing",
            "Straight.answer",
            "Reads path and body, and hands the work to a thread of the short lane.",
            called_by="ApiGuard.__call__",
        ),
        Step(
            "assay.server.verb_routes",
            "_handler.answer",
            "Calls the verb with the checked request; writes its result as JSON when it comes back.",
        ),
        Step("assay.verbs.searching", "search", "Turns the request into a `SearchRequest` and asks the searcher."),
        Step(
            "assay.memory.searching.searcher",
            "Searcher.search",
            "Chooses the mode (how much to search) and the intent, and logs the search when it is done.",
        ),
        Step("assay.memory.searching.candidates", "embed_query", "Gets the vector of the query, before the snapshot."),
        Step(
            "assay.storage.store",
            "Store.reading",
            "Opens one snapshot; everything below reads it and nothing else.",
            called_by="Searcher.search",
        ),
        Step(
            "assay.memory.searching.pipeline",
            "Pipeline.run",
            "Runs the stages on that snapshot: scope, gather, fuse, aggregate, boost, rerank, finish.",
            called_by="Searcher.search",
        ),
        Step(
            "assay.memory.searching.candidates",
            "Gathering.gather",
            "Asks every channel of the mode for chunks: vector, full text, BM25, triggers, graph, and added ones.",
        ),
        Step(
            "assay.memory.searching.fusion",
            "FusedPassages.join",
            "Joins the channels' lists into one score for each chunk.",
        ),
        Step(
            "assay.memory.searching.fusion",
            "aggregate",
            "Makes memories of chunks.",
            called_by="Pipeline.run",
        ),
        Step(
            "assay.memory.searching.results",
            "finish_results",
            "Cuts to the limit and the token budget and reads the passages. A `SearchResult` goes back up.",
            called_by="Pipeline.run",
        ),
    ),
)

RUN = Walk(
    "Run a system over a dataset",
    "`assay run hotel`",
    (
        Step(
            "assay.cli.commands.run",
            "register.run",
            "Reads the options; for each system calls the one use-case of a run, which every surface calls.",
        ),
        Step("assay.evaluation.datasets.loading", "load_dataset", "Reads the dataset by name or path."),
        Step(
            "assay.evaluation.datasets.validation",
            "for_scoring",
            "Leaves out cases that cannot be scored, and says so in the instrument.",
            called_by="register.run",
        ),
        Step(
            "assay.evaluation.running.runner",
            "run_dataset",
            "The use-case: samples the cases, opens the system, runs it.",
            called_by="register.run",
        ),
        Step(
            "assay.wiring.systems",
            "open_system",
            "Builds the system that `--system` names; the command gave `run_dataset` this way to open it.",
            called_by="register.run",
        ),
        Step(
            "assay.evaluation.running.runner",
            "run",
            "Asks all cases and scores what came back.",
            called_by="run_dataset",
        ),
        Step(
            "assay.evaluation.running.planning",
            "plan_run",
            "Writes down what will be asked and measured: metrics, depth, sample, both fingerprints.",
        ),
        Step(
            "assay.systems.boundary",
            "Asker.ask",
            "Asks one case with a deadline, in a thread of its own; a failure becomes an outcome of the case.",
            called_by="run",
        ),
        Step("assay.systems.assay_engine", "AssaySystem.retrieve", "The system itself: here Assay's own search."),
        Step(
            "assay.evaluation.running.files",
            "Journal.add",
            "Writes the case to the run's folder at once, so that a stopped run can go on.",
            called_by="run",
        ),
        Step("assay.evaluation.scoring", "score_run", "Measures all cases when they are done.", called_by="run"),
        Step("assay.metrics.engine", "measure_pairs", "Computes the ranking metrics of all cases as arrays."),
        Step(
            "assay.metrics.aggregate",
            "aggregate",
            "Makes one number with its interval of each metric. A `RunResult` goes back up and into the run's folder.",
            called_by="score_run",
        ),
    ),
)

GATE = Walk(
    "Gate that run",
    "`assay gate latest --baseline RUN`",
    (
        Step("assay.cli.commands.gate", "register.gate", "Reads the options of the gate and where reports go."),
        Step("assay.evaluation.lookup", "Lookup.run", "Finds the run, and in the same way the baseline."),
        Step("assay.evaluation.results", "load_run", "Reads the run's folder and checks its seals."),
        Step(
            "assay.evaluation.readings",
            "reading_of",
            "Brings runs and baselines into one shape: a value or an outcome for each case and metric.",
            called_by="Lookup.run",
        ),
        Step(
            "assay.evaluation.gating.rules",
            "ask",
            "Puts run, baseline and options into one `Question`.",
            called_by="register.gate",
        ),
        Step(
            "assay.evaluation.comparison",
            "compare_two",
            "Refuses what cannot be compared, and pairs the cases of the rest.",
        ),
        Step("assay.statistics.comparison", "compare_all", "Tests every metric and corrects for their number."),
        Step("assay.statistics.paired_tests", "sign_flip_test", "The test itself: arrays in, a p-value out."),
        Step(
            "assay.evaluation.gating.rules",
            "answer",
            "Asks every registered rule. The command turns the `Verdict` into exit code 0, 1 or 2.",
            called_by="register.gate",
        ),
        Step("assay.evaluation.gating.rules", "GateRule.ask", "One rule's verdict with its sentence and evidence."),
    ),
)

MEASURE = Walk(
    "Measure run files",
    "`assay measure --qrels FILE --run FILE`",
    (
        Step("assay.cli.commands.measure", "register.measure", "Reads the options."),
        Step(
            "assay.cli.surface",
            "Surface.call_with_executor",
            "Makes the request and calls the verb; no store is opened.",
        ),
        Step("assay.verbs.files", "measure", "Turns the request into what the use-case takes."),
        Step("assay.metrics.spec", "parse_specs", "Reads `ndcg@10,mrr` as metrics with their parameters."),
        Step("assay.metrics.catalog", "find", "Finds each name in the registry of metrics, added ones included."),
        Step(
            "assay.evaluation.measure",
            "measure_files",
            "The use-case: judgments once, then one file after the other, then comparisons.",
            called_by="measure",
        ),
        Step("assay.formats.trec", "read_qrels", "Reads the judgments as arrays."),
        Step(
            "assay.metrics.engine",
            "measure_batches",
            "Measures a run batch by batch, so that its size does not matter.",
            called_by="measure_files",
        ),
        Step(
            "assay.formats.trec",
            "stream_run",
            "Gives the next batch of the run file; `measure_files` handed it in.",
            called_by="measure_files",
        ),
        Step(
            "assay.metrics.ordering",
            "rank_grades",
            "Puts the grades of every topic in order, ties by one rule.",
            called_by="measure_batches",
        ),
        Step(
            "assay.metrics.ranking",
            "answer",
            "Computes one metric for all topics of the batch.",
            called_by="measure_batches",
        ),
        Step("assay.metrics.aggregate", "aggregate", "Counts outcomes and averages values.", called_by="measure_files"),
        Step(
            "assay.statistics.intervals",
            "mean_interval",
            "Computes the 95 % interval. A `Measurement` goes back up.",
        ),
    ),
)

ASK = Walk(
    "Ask a question",
    "`assay ask ...`",
    (
        Step("assay.cli.commands.ask", "register.ask", "Reads the options and says how steps are shown meanwhile."),
        Step("assay.cli.surface", "Surface.call", "Makes the request, opens the engine, calls the verb."),
        Step("assay.verbs.research", "ask", "Opens the pipeline and gives it the question."),
        Step(
            "assay.wiring.research",
            "open_research",
            "Chooses planner, synthesiser and judges by the settings: built in, or a model.",
        ),
        Step(
            "assay.research.pipeline",
            "ResearchPipeline.ask",
            "Plan, search, answer; a checkpoint judges each of the three and may ask for another attempt.",
            called_by="ask",
        ),
        Step("assay.research.run", "ResearchRun.make_plan", "Makes plans until one passes or no attempt is left."),
        Step("assay.research.planner", "RulePlanner.plan", "Splits the question into queries."),
        Step(
            "assay.research.checkpoints",
            "CheckpointEvaluator.evaluate",
            "Has the plan judged; later, in the same way, what was found and the answer.",
            called_by="ResearchRun.make_plan",
        ),
        Step("assay.judging.panel", "Panel.judge", "Asks the judges of the panel and weighs what they say."),
        Step(
            "assay.research.search",
            "MemorySearch.__call__",
            "Searches for every query of the plan.",
            called_by="ResearchPipeline.ask",
        ),
        Step("assay.memory.searching.searcher", "Searcher.search", "The same search as above."),
        Step(
            "assay.research.synthesiser",
            "ExtractiveSynthesiser.synthesise",
            "Writes the answer from the passages, with a citation for each sentence, or declines to.",
            called_by="ResearchPipeline.ask",
        ),
        Step(
            "assay.storage.repositories.research",
            "ResearchRows.put",
            "Stores the record with the plan and the answer that were chosen. A `TracedAnswer` goes back up.",
            called_by="ResearchPipeline.ask",
        ),
    ),
)

MCP_SAVE = Walk(
    "Save as an agent over MCP",
    "`tools/call` of `memory_save`",
    (
        Step("assay.mcp.server", "_Answers.call_tool", "Finds the tool by its name; the protocol is the library's."),
        Step("assay.access.policies", "Grant.allows", "Says whether the caller may use it, by the act of the verb."),
        Step(
            "assay.mcp.server",
            "Host.perform",
            "In a worker thread, with a limit on processor time: reads the arguments and calls the tool.",
            called_by="_Answers.call_tool",
        ),
        Step("assay.mcp.tools", "Tool.read", "Checks the arguments: the request without what no agent gives."),
        Step(
            "assay.mcp.tools",
            "_call.call",
            "Calls the verb as a program, whatever the token says.",
            called_by="Host.perform",
        ),
        *_SAVING,
    ),
)

WALKS = (SAVE, SEARCH, RUN, GATE, MEASURE, ASK, MCP_SAVE)
