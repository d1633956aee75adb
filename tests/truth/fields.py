"""Probes of request fields: a verb called with two values of one field, on data where the field matters.

Verbs that only read share one tenant for all their fields. Verbs that write get a tenant of their own for each call;
where their result does not show the field, `then` reads what does.

`<tea>` in a value stands for the id of the note of that name, as in `tests/verbs/examples.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reliability.pipeline_faults import sound
from tests.analysis.made import asked, session
from tests.evaluation.labelling.proposed import propose
from tests.truth.probing import Probe, Stage, Values, call, make_probes
from tests.verbs import examples as given_by
from tests.verbs.examples import Prepare
from tests.verbs.surfaces import Tenant, configured_at

import assay
from assay import wiring
from assay.access import Access, Tokens
from assay.evaluation.datasets import Registry
from assay.evaluation.labelling import LABELS
from assay.evaluation.shelf import file_key
from assay.flags import Flags
from assay.formats.trec import write_trec_qrels, write_trec_run
from assay.records import Draft, Origin, Scope, SearchRequest, TaskReport, make_draft
from assay.records.access import FileKind
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.learning import LearnedTerm, TermState
from assay.records.research import QuestionKind
from assay.records.research_log import QuestionOutcome, ResearchStatus
from assay.settings import Settings
from assay.testing import FixedClock
from assay.testing.fault_server import serving

NEXT = object()
"""Stands for the cursor of the second page."""
Ask = Callable[..., Any]
"""Calls a verb of the same tenant."""
Then = Callable[[Ask, Any], Any]
"""What a user looks at after the call, given its result."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """Two values of a field, and what has to be different from the other fields of the verb."""

    first: Any
    other: Any
    base: Mapping[str, Any] | None = None
    prepare: Prepare | None = None
    then: Then | None = None


@dataclass(frozen=True, kw_only=True)
class Fields:
    """The fields of one verb."""

    changes: Mapping[str, Change | tuple[Any, Any]]
    base: Mapping[str, Any] = field(default_factory=dict)
    prepare: Prepare | None = None
    then: Then | None = None
    fresh: bool = False
    """Each call gets a tenant of its own, because it changes something."""


def probe_fields(verb: str, fields: Fields) -> dict[str, Values]:
    """Return the probes of a verb's fields, by their names in items."""
    return {f"{verb}.{name}": _probe(verb, name, change, fields) for name, change in fields.changes.items()}


def _probe(verb: str, name: str, change: Change | tuple[Any, Any], fields: Fields) -> Values:
    change = change if isinstance(change, Change) else Change(first=change[0], other=change[1])
    prepare = change.prepare or fields.prepare
    then = change.then or fields.then

    def look(stage: Stage, value: Any) -> Any:
        place = stage.place
        with configured_at(place.folder):
            key = f"fields of {verb} {getattr(prepare, '__name__', '')}"
            tenant: Tenant = place.tenant(prepare) if fields.fresh else stage.share(key, lambda: place.tenant(prepare))

            def ask(name: str, /, **given: Any) -> Any:
                return call(place.services.engine, place.settings, name, tenant.scope, **_fill(given, tenant))

            base = {**fields.base, **(change.base or {})}
            if value is NEXT:
                value = ask(verb, **base)["next_cursor"]
            result = ask(verb, **_set(base, name, value))
            if value == change.first and "error" in result:
                raise AssertionError(f"{verb} refuses the first value of {name}: {result}")
            seen = [result] if then is None else [result, then(ask, result)]
            # Folders of a tenant bear its name.
            return tenant.plain(json.loads(json.dumps(seen).replace(f"-{tenant.scope.tenant}/", "/")))

    return Values(change.first, change.other, look)


def _set(base: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return a request with one field set; `events.path` is the field of the one event it holds."""
    outer, _, inner = name.partition(".")
    if not inner:
        return {key: kept for key, kept in {**base, name: value}.items() if kept is not None}
    first = {key: kept for key, kept in {**base[outer][0], inner: value}.items() if kept is not None}
    return {**base, outer: [first, *base[outer][1:]]}


def _fill(value: Any, tenant: Tenant) -> Any:
    if isinstance(value, Mapping):
        return {name: _fill(inner, tenant) for name, inner in value.items()}
    if isinstance(value, list):
        return [_fill(inner, tenant) for inner in value]
    known = isinstance(value, str) and value.startswith("<") and value.endswith(">")
    return tenant.ids.get(value[1:-1], value) if known else value


def read(verb: str, **given: Any) -> Then:
    """Call another verb afterwards; `{name}` in a value stands for that field of the result."""

    def then(ask: Ask, result: Any) -> Any:
        filled = {name: result[value[1:-1]] if str(value).startswith("{") else value for name, value in given.items()}
        return ask(verb, **filled)

    return then


PAST, LATER = "2020-01-31", "2999-01-31"
PAGES: dict[str, Any] = {
    "limit": (1, 2),
    "cursor": Change(first=None, other=NEXT, base={"limit": 1}),
}


# --- Memories ---


def save_more(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Save notes that differ in everything a search can ask for; one of them is superseded, one has two versions."""
    given: dict[str, dict[str, Any]] = {
        "kettle": {"folder": "house/kitchen", "tags": ("warm",), "triggers": ("cold start",)},
        "lamp": {"folder": "house/hall", "tags": ("bright",), "tier": "critical", "triggers": ("cold start",)},
    }
    ids = {}
    for name, more in given.items():
        body = f"The {name} of the house was bought in Ghent. " + f"The {name} is polled for its warranty. " * 30
        draft = make_draft(title=name, body=body, written_with="test", automated=True, source_id=f"file:{name}", **more)
        ids[name] = str(engine.saver.save(scope, draft).memory_id)
    again = engine.saver.update(
        scope, ids["kettle"], {"body": "The kettle of the house is new."}, automated=True, tool="t"
    )
    engine.saver.forget(scope, notes.ids["tea"], automated=True)
    given_by.search_in_session(engine, scope, notes)
    return {**ids, "newer": str(again.memory_id)}


def save_recipe(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Save notes of two kinds of work."""
    for name, kind in (("lamp", "decision"), ("kettle", "recipe")):
        body = f"The {name} of the house is polled for its warranty."
        draft = make_draft(title=name, body=body, written_with="test", automated=True, context_type=kind)
        engine.saver.save(scope, draft)
    return {}


def define_two(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Define two variants, and search twice."""
    engine.flags.define(engine.store, scope, "by-words", "assay:channels=fts5")
    engine.flags.define(engine.store, scope, "by-meaning", "assay:channels=graph")
    for query in ("polled oven", "tea leaves"):
        engine.searcher.search(scope, SearchRequest(query=query, session_id="s1"))
    engine.store.log.flush()
    return {}


def save_hidden(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Forget two notes."""
    for name in ("tea", "oven"):
        engine.saver.forget(scope, notes.ids[name], automated=True)
    return {}


BODY = "The kettle is descaled with citric acid on the first Monday of a month."
SHOW_SAVED = read("memory.show", memory_id="{memory_id}")
MARKED = "# Kettle\n\nThe kettle is descaled with *citric acid*.\n\n# Lamp\n\nThe lamp is green."
MEMORY = {
    "memory.save": Fields(
        fresh=True,
        base={"title": "Kettle", "body": BODY},
        then=SHOW_SAVED,
        changes={
            "title": ("Kettle", "Pot"),
            "body": (BODY, BODY + " Always."),
            "tier": ("normal", "critical"),
            "format": Change(first="MARKDOWN", other="TEXT", base={"body": MARKED}),
            "triggers": (None, ["boiling over"]),
            "tags": (None, ["kitchen"]),
            "folder": (None, "house"),
            "rel_path": ("", "kettle.md"),
            "context_type": ("", "decision"),
            "surroundings": (None, "We spoke of limescale."),
            "metadata": (None, {"room": "kitchen"}),
            "source_id": (None, "file:kettle"),
            "valid_from": Change(
                first=PAST,
                other="2024-01-31",
                then=lambda ask, _: ask("memory.search", query="kettle descaled", as_of="2022-01-01")["hits"],
            ),
            "automated": (False, True),
        },
    ),
    "memory.update": Fields(
        fresh=True,
        base={"memory_id": "<tea>"},
        then=SHOW_SAVED,
        changes={
            "memory_id": Change(first="<tea>", other="<oven>", base={"title": "Pot"}),
            "title": ("Black tea", "White tea"),
            "body": (BODY, BODY + " Always."),
            "tier": ("critical", "important"),
            "format": Change(first="MARKDOWN", other="TEXT", base={"body": MARKED}),
            "triggers": (["steep"], ["brew"]),
            "tags": (["drinks"], ["plants"]),
            "folder": ("kitchen", "garden"),
            "context_type": ("decision", "recipe"),
            "surroundings": ("We spoke of limescale.", ""),
            "metadata": ({"room": "kitchen"}, {"room": "hall"}),
            "automated": Change(first=False, other=True, base={"title": "Black tea"}),
        },
    ),
    "memory.tier": Fields(
        fresh=True,
        base={"memory_id": "<tea>", "tier": "critical"},
        then=read("audit.list", action="memory."),
        changes={
            "memory_id": ("<tea>", "<oven>"),
            "tier": ("critical", "deprecated"),
            "reason": ("", "it is out of date"),
        },
    ),
    "memory.forget": Fields(
        fresh=True,
        base={"memory_id": "<tea>"},
        then=read("audit.list", action="memory."),
        changes={"memory_id": ("<tea>", "<oven>"), "reason": ("", "it is wrong")},
    ),
    "memory.restore": Fields(fresh=True, prepare=save_hidden, changes={"memory_id": ("<tea>", "<oven>")}),
    "memory.link": Fields(
        fresh=True,
        base={"source_id": "<tea>", "kind": "enabled", "target_id": "<oven>"},
        then=read("memory.why", memory_id="<oven>"),
        changes={
            "source_id": ("<tea>", "<router>"),
            "kind": ("enabled", "caused"),
            "target_id": Change(first="<oven>", other="<router>"),
            "strength": (0.25, 0.5),
            "evidence": ("", "hot"),
        },
    ),
    "memory.why": Fields(changes={"memory_id": ("<oven>", "<tea>")}),
    "memory.show": Fields(
        fresh=True,
        base={"memory_id": "<oven>"},
        changes={
            "memory_id": ("<oven>", "<tea>"),
            "session_id": Change(first=None, other="s1", prepare=given_by.search_in_session, then=read("session.list")),
            "offset": (0, 5),
            "limit": (5, 10),
        },
    ),
    "memory.list": Fields(
        prepare=save_more,
        changes={
            "folder": (None, "house/kitchen"),
            "tags": (None, ["bright"]),
            "tier": (None, "critical"),
            "status": ("current", "superseded"),
            "since": (PAST, LATER),
            **PAGES,
        },
    ),
    "memory.erase": Fields(
        fresh=True,
        prepare=save_more,
        base={"memory_id": "<newer>"},
        then=lambda ask, _: len(ask("memory.list", limit=200)["memories"]),
        changes={"memory_id": ("<newer>", "<router>"), "versions": (False, True)},
    ),
    "memory.search": Fields(
        fresh=True,
        prepare=save_more,
        base={"query": "house lamp polled"},
        changes={
            "query": ("house lamp", "oven"),
            "k": (1, 2),
            "mode": ("quick", "deep"),
            "intent": Change(first=None, other="find_spec", base={"explain": True}),
            "folder": (None, "house/hall"),
            "folder_mode": ("off", "on"),
            "tiers": (None, ["critical"]),
            "tags": (None, ["bright"]),
            "since": (PAST, LATER),
            "until": (PAST, LATER),
            "as_of": (PAST, LATER),
            "include_superseded": Change(first=False, other=True, base={"query": "kettle bought Ghent"}),
            "channels": (["bm25"], ["trigger"]),
            "token_budget": (10, 1_000),
            "tokens_used": Change(first=0, other=990, base={"token_budget": 1_000}),
            "min_relevance": (0.0, 1.0),
            "context_type": Change(
                first=None, other="recipe", base={"query": "house polled warranty"}, prepare=save_recipe
            ),
            "previous_query": (None, "how is the oven polled"),
            "session_id": Change(first=None, other="s1", base={"query": "polled oven"}),
            "explain": (False, True),
        },
    ),
    "memory.context": Fields(
        fresh=True,
        prepare=save_more,
        base={"query": "house lamp polled"},
        changes={
            "query": ("house lamp", "oven"),
            "token_budget": (50, 2_000),
            "tokens_used": (0, 1_990),
            "context_type": Change(
                first=None, other="recipe", base={"query": "house polled warranty"}, prepare=save_recipe
            ),
            "k": (1, 5),
            "folder": (None, "house/hall"),
            "session_id": Change(first=None, other="s1", base={"query": "polled oven"}),
        },
    ),
    "memory.match_triggers": Fields(
        fresh=True,
        prepare=save_more,
        base={"text": "it is cold start ready"},
        changes={
            "text": ("it is cold start ready", "nothing of the kind"),
            "k": (1, 2),
            "session_id": Change(first=None, other="s1", then=read("session.list")),
        },
    ),
}


# --- Files, datasets, runs ---


def write_files(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Write folders to take in, and exports of other tools."""
    root = Path(notes.files.dataset_path).parent / f"files-{scope.tenant}" / "all"
    first, second, outside = (root / name for name in ("first", "second", "outside"))
    for folder in (first, second, outside):
        folder.mkdir(parents=True)
    (first / "kettle.md").write_text("# Kettle\n\nThe kettle stands in the hall.\n", encoding="utf-8")
    (first / "lamp.txt").write_text("The lamp stands in the kitchen.\n", encoding="utf-8")
    (second / "oven.md").write_text("# Oven\n\nThe oven stands in the cellar.\n", encoding="utf-8")
    (outside / "chair.md").write_text("# Chair\n\nThe chair stands on the roof.\n", encoding="utf-8")
    (first / "linked").symlink_to(outside)
    users = [{"id": str(number), "memory": f"User {number} likes tea.", "user_id": f"u{number}"} for number in (1, 2)]
    (root / "mem0.json").write_text(json.dumps({"results": users}), encoding="utf-8")
    lines = "".join(f"{json.dumps({'_id': name, 'title': name, 'text': f'{name} is oak.'})}\n" for name in ("a", "b"))
    (root / "others.jsonl").write_text(lines, encoding="utf-8")
    names = {
        "root": root,
        "first": first,
        "second": second,
        "mem0": root / "mem0.json",
        "others": root / "others.jsonl",
    }
    engine.ingest(scope, (second,), root=root)
    (second / "oven.md").unlink()
    return {
        **{name: str(path) for name, path in names.items()},
        "out": str(root / "out"),
        "other_out": str(root / "other"),
    }


LIST_ALL = read("memory.list", limit=200)


DOCUMENTS = {
    "memory.ingest": Fields(
        fresh=True,
        prepare=write_files,
        base={"paths": ["<first>"], "root": "<root>"},
        then=LIST_ALL,
        changes={
            "paths": (["<first>"], ["<first>/kettle.md"]),
            "root": ("<root>", "<first>"),
            "globs": (["*.md"], ["*.txt"]),
            "follow_links": (False, True),
            "prune": Change(first=False, other=True, base={"paths": ["<root>"]}),
            "conversation": Change(first=False, other=True, base={"paths": ["<others>"]}),
        },
    ),
    "memory.import": Fields(
        fresh=True,
        prepare=write_files,
        base={"path": "<mem0>"},
        then=LIST_ALL,
        changes={
            "path": ("<mem0>", "<others>"),
            "format": ("auto", "jsonl"),
            "user": ("u1", "u2"),
            "folder": ("", "moved"),
            "source": Change(
                first=None, other="elsewhere", base={"path": "<others>"}, then=read("memory.import", path="<others>")
            ),
            "dry_run": (False, True),
        },
    ),
    "memory_store.audit": Fields(
        fresh=True,
        prepare=given_by.write_foreign_store,
        base={"path": "<foreign>", "as_of": LATER},
        changes={
            "path": ("<foreign>", "<foreign_other>"),
            "kind": ("auto", "server-memory"),
            "as_of": (PAST, LATER),
            "plan": (None, "<new_plan.json>"),
            "report": (None, "<report.md>"),
        },
    ),
    "memory_store.repair": Fields(
        fresh=True,
        prepare=given_by.write_foreign_store,
        base={"plan": "<foreign_plan>", "to": "<copy.jsonl>"},
        changes={
            "plan": ("<foreign_plan>", "<foreign_other_plan>"),
            "to": ("<copy.jsonl>", "<other_copy.jsonl>"),
            "store": (None, "<foreign_other>"),
        },
    ),
    "memory_store.import": Fields(
        fresh=True,
        prepare=given_by.write_foreign_store,
        base={"path": "<foreign>", "as_of": LATER},
        then=LIST_ALL,
        changes={
            "path": ("<foreign>", "<foreign_other>"),
            "kind": ("auto", "server-memory"),
            "as_of": (PAST, LATER),
            "dry_run": (False, True),
        },
    ),
    "memory.export": Fields(
        fresh=True,
        prepare=write_files,
        base={"path": "<out>"},
        changes={"path": ("<out>", "<other_out>"), "format": ("jsonl", "markdown")},
    ),
}


def write_rankings(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Write a run that lacks a query, and one with other grades near the top."""
    folder = Path(notes.files.dataset_path).parent / f"rankings-{scope.tenant}"
    folder.mkdir()
    paths = {name: folder / f"{name}.trec" for name in ("part", "noisy", "many")}
    write_trec_run(
        paths["part"], {f"q{place}": {"d3": 0.9, "d2": 0.8, "d1": 0.1 * place} for place in range(6)}, "part"
    )
    write_trec_qrels(paths["many"], {f"q{place}": {"d1": 2, "d2": 1, "d3": 0} for place in range(60)})
    noisy = {f"q{place}": {"d1": 0.5, "d2": 0.4, f"d{place * place % 7}": 0.9} for place in range(60)}
    write_trec_run(paths["noisy"], noisy, "noisy")
    return {name: str(path) for name, path in paths.items()}


def keep_rows(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep rows of the runs, and name a folder for reports."""
    given_by.keep_rows(engine, scope, notes)
    root = Path(notes.files.dataset_path).parent
    places = {name: str(root / f"{name}-{scope.tenant}" / "new") for name in ("reports", "other_reports")}
    return {**places, "runs": str(root.parents[1] / "runs")}


def put_labels_beside(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Put labels into two folders of datasets."""
    found = {}
    lines = Path(notes.files.paths["agreed.jsonl"]).read_text(encoding="utf-8").splitlines(keepends=True)
    for name, kept in (("labelled", lines), ("labelled_less", lines[:-1])):
        folder = Path(notes.files.dataset_path).parent / f"{name}-{scope.tenant}"
        folder.mkdir()
        (folder / LABELS).write_text("".join(kept), encoding="utf-8")
        found[name] = str(folder)
    return found


def make_noisy_runs(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Run two systems over many cases, each right about other ones."""
    dataset = Dataset(
        name="noisy",
        documents=tuple(Document(id=f"d{place}", text=f"Note {place}.") for place in range(7)),
        cases=tuple(
            Case(id=f"c{place}", query=f"{place}", grades=(Grade(document_id=f"d{place % 7}", grade=3),))
            for place in range(60)
        ),
    )
    registry = Registry(notes.files.dataset_path.parents[1])
    card, _ = registry.add(dataset, origin="test", clock=FixedClock())
    runs = {
        f"noisy_{power}": assay.evaluate(
            dataset,
            lambda query, k, power=power: [f"d{int(query) ** power % 7}", "d1", "d2"],
            name=f"noisy {power}",
            runs=notes.files.dataset_path.parents[2] / "runs",
        )
        for power in (2, 3)
    }
    with engine.store.writing(scope) as work:
        work.owned_files.claim(FileKind.DATASET, file_key(card.path))
        for run in runs.values():
            work.owned_files.claim(FileKind.RUN, run.run_id)
    return {name: run.run_id for name, run in runs.items()}


def run_named_function(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Run a function that can be opened again by its name."""
    kept = keep_rows(engine, scope, notes)
    runs = Path(kept["runs"])
    run = assay.evaluate("tiny", "python:tests.verbs.files:give_two", name=f"asked {scope.tenant}", runs=runs)
    return {**kept, "asked": run.run_id}


NOISY: dict[str, Any] = {"first": 0, "other": 7, "prepare": make_noisy_runs}
RUNS = {
    "dataset.show": Fields(changes={"name": ("tiny", "hotel")}),
    "dataset.proposals": Fields(prepare=propose, changes={"name": ("<asked>", "tiny")}),
    "dataset.review": Fields(
        fresh=True,
        prepare=propose,
        base={"name": "<asked>", "case_id": "g1", "decision": "keep"},
        changes={
            "name": ("<asked>", "tiny"),
            "case_id": ("g1", "g2"),
            "decision": ("keep", "drop"),
            "wording": (None, "How long?"),
        },
    ),
    "file.measure": Fields(
        prepare=write_rankings,
        base={"qrels": "<qrels>", "runs": ["<part>"], "metrics": ["ndcg@2", "recall@2"]},
        changes={
            "qrels": ("<qrels>", "nowhere.trec"),
            "runs": (["<part>"], ["<good>"]),
            "metrics": (["ndcg@2"], ["mrr"]),
            "relevance_level": (1, 2),
            "depth": (1, 2),
            "absent": ("empty", "skip"),
            "per_query": (False, True),
            "seed": Change(first=0, other=7, base={"qrels": "<many>", "runs": ["<noisy>", "<good>"]}),
        },
    ),
    "file.report": Fields(
        fresh=True,
        prepare=keep_rows,
        base={"run": "<poor>", "output": "<reports>", "no_baseline": True, "name": "mine"},
        then=lambda _, result: see_report(result),
        changes={
            "run": ("<poor>", "<auto>"),
            "baseline": Change(first=None, other="<auto>", base={"no_baseline": False}),
            "no_baseline": Change(first=False, other=True, base={"baseline": "<auto>"}),
            "html": (False, True),
            "output": ("<reports>", "<other_reports>"),
            "name": ("mine", "yours"),
            "k": (1, 2),
            "dataset": (None, "no-such"),
            "runs": ("<runs>", "<reports>"),
        },
    ),
    "file.why": Fields(
        prepare=run_named_function,
        base={"run": "<asked>", "query": "c0"},
        changes={
            "run": ("<asked>", "<auto>"),
            "query": ("c0", "lost"),
            "probe": (False, True),
            "calls": Change(first=2, other=3, base={"probe": True}),
            "k": (1, 2),
            "dataset": (None, "no-such"),
            "runs": ("<runs>", "<reports>"),
        },
    ),
    "label.agreement": Fields(
        prepare=put_labels_beside,
        changes={
            "dataset": ("<labelled>", "<labelled_less>"),
            "labels": Change(first="<agreed.jsonl>", other="<alone.jsonl>", base={"dataset": "tiny"}),
        },
    ),
    "label.apply": Fields(
        fresh=True,
        prepare=keep_rows,
        base={"dataset": "tiny", "labels": "<agreed.jsonl>", "to": "<reports>"},
        changes={
            "dataset": ("tiny", "no-such"),
            "labels": ("<agreed.jsonl>", "<alone.jsonl>"),
            "to": ("<reports>", "<other_reports>"),
        },
    ),
    "run.start": Fields(
        fresh=True,
        base={"dataset": "tiny", "metrics": ["recall@1", "ndcg@3"], "max_cases": 1},
        changes={
            "dataset": Change(first="tiny", other="no-such"),
            "mode": ("quick", "deep"),
            "answer": (False, True),
            "metrics": (["recall@1"], ["mrr"]),
            "k": (5, 6),
            "max_cases": (1, 2),
            "name": ("", "mine"),
            "flags": ({}, {"mmr": False}),
            "variant": Change(first="", other="by-words", prepare=given_by.define_variant),
        },
    ),
    "run.list": Fields(prepare=given_by.keep_rows, changes={**PAGES, "run_type": ("full", "regression")}),
    "run.show": Fields(
        prepare=given_by.keep_rows,
        base={"run_id": "<auto>"},
        changes={"run_id": ("<auto>", "<poor>"), "run_type": ("full", "regression")},
    ),
    "run.why": Fields(
        base={"run_id": "<poor>", "query": "c0"},
        changes={"run_id": ("<poor>", "<auto>"), "query": ("c0", "lost"), "k": (1, 2)},
    ),
    "run.compare": Fields(
        base={"control": "<auto>", "treatment": "<poor>"},
        changes={
            "control": ("<auto>", "<poor>"),
            "treatment": ("<poor>", "<auto>"),
            "seed": Change(**NOISY, base={"control": "<noisy_2>", "treatment": "<noisy_3>"}),
        },
    ),
    "run.gate": Fields(
        base={"run": "<poor>", "baseline": "<auto>"},
        changes={
            "run": ("<poor>", "<auto>"),
            "baseline": (None, "<auto>"),
            "strict": (False, True),
            "metric": ("ndcg@10", "recall@10"),
            "allow_lost": (0, 100),
            "seed": Change(**NOISY, base={"baseline": "<noisy_2>", "run": "<noisy_3>"}),
        },
    ),
    "run.bless": Fields(
        fresh=True,
        base={"run_id": "<auto>", "note": "by the probe", "despite": "the set is tiny"},
        changes={
            "run_id": ("<auto>", "<poor>"),
            "note": ("the first", "the second"),
        },
    ),
}


def see_report(result: Any) -> Any:
    """Read the report as people do, without when it was made."""
    if "error" in result:
        return None
    text = next(Path(path).read_text(encoding="utf-8") for path in result["files"] if path.endswith(".md"))
    return [line for line in text.splitlines() if "ms" not in line and "202" not in line and " s" not in line]


# --- Answers, analysis, prompts ---


def keep_sessions(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep answered questions of which each fourth differs in everything one can filter by."""
    with engine.store.writing(scope) as work:
        for number in range(96):
            low = number % 4 == 0
            made = session(
                number,
                asked(number, newest=low),
                {"intent_alignment": (0.3 if low else 0.9) + number / 1_000, "faithfulness": 0.8 + number / 1_000},
                overall_score=0.3 if low else 0.9,
                passed=not low,
                failure_type="misaligned" if low else "",
                failed_dimensions=("intent_alignment",) if low else (),
                escalated=low,
                skipped=low,
                judge_failed=low,
                severe=low,
                iterations=3 if low else 1,
                status=ResearchStatus.ABSTAINED if low else ResearchStatus.ANSWERED,
                outcome=QuestionOutcome.REFUSED if low else QuestionOutcome.ANSWERED,
                kind=QuestionKind.LIST if low else QuestionKind.OPEN,
                session_id="s1" if low else "s2",
                prompt_versions=("planner@1",) if low else ("planner@0",),
            )
            work.research.put(replace(made, log_id=f"r_{scope.tenant}_{number}"), {})
    return {}


FILTERS: dict[str, Any] = {
    "since": (None, "2026-03-04"),
    "until": (None, "2026-03-04"),
    "least_score": (None, 0.5),
    "most_score": (None, 0.5),
    "passed": (None, True),
    "failure_type": (None, "misaligned"),
    "failed_dimension": (None, "intent_alignment"),
    "escalated": (None, True),
    "skipped": (None, True),
    "judge_failed": (None, True),
    "severe": (None, True),
    "least_iterations": (None, 2),
    "most_iterations": (None, 2),
    "status": (None, "abstained"),
    "outcome": (None, "refused"),
    "kind": (None, "list"),
    "session_id": (None, "s1"),
    "prompt_version": (None, "planner@1"),
    "text": (None, "latest"),
}


def ask_twice(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Ask about the tea, and about what no note knows."""
    return given_by.ask_question(engine, scope, notes)


def write_prompts(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep two more versions of the planner's prompt, and one of another's."""
    given_by.use_two_prompts(engine, scope, notes)
    call(engine, Settings(), "prompt.write", scope, prompt_id="planner", sentence="Mind the year.", active=False)
    call(engine, Settings(), "prompt.write", scope, prompt_id="synthesiser", sentence="Be short.")
    return {}


def split_both(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Split the questions between two versions of the planner's prompt."""
    write_prompts(engine, scope, notes)
    call(engine, Settings(), "prompt.split", scope, prompt_id="planner", version=2)
    return {}


OF_PROMPT: tuple[str, str] = ("planner", "synthesiser")
QUESTIONS = {
    "analysis.aggregate": Fields(prepare=keep_sessions, changes=FILTERS),
    "analysis.patterns": Fields(prepare=keep_sessions, changes=FILTERS),
    "analysis.run": Fields(
        prepare=keep_sessions,
        changes={
            **FILTERS,
            "fdr": (0.05, 0.0001),
            "least_support": (5, 90),
            "least_drop": (0.05, 0.9),
            "model": (False, True),
        },
    ),
    "research.ask": Fields(
        fresh=True,
        base={"question": given_by.QUESTION},
        changes={
            "question": (given_by.QUESTION, given_by.UNKNOWN),
            "session_id": (None, "s1"),
            "tags": (None, ["tea"]),
            "evaluate": (True, False),
        },
    ),
    "research.retry": Fields(
        fresh=True,
        prepare=ask_twice,
        base={"log_id": "<answered>"},
        changes={"log_id": ("<answered>", "<unanswered>"), "evaluate": (True, False)},
    ),
    "research.rate": Fields(
        fresh=True,
        prepare=ask_twice,
        base={"log_id": "<answered>", "was_useful": True},
        changes={"log_id": ("<answered>", "<unanswered>"), "was_useful": (True, False)},
    ),
    "research.show": Fields(prepare=ask_twice, changes={"log_id": ("<answered>", "<unanswered>")}),
    "research.evaluation": Fields(prepare=ask_twice, changes={"log_id": ("<answered>", "<unanswered>")}),
    "research.list": Fields(prepare=keep_sessions, base={"limit": 200}, changes={**FILTERS, **PAGES}),
    "prompt.versions": Fields(prepare=write_prompts, changes={"prompt_id": OF_PROMPT}),
    "prompt.show": Fields(
        prepare=write_prompts, base={"prompt_id": "planner"}, changes={"prompt_id": OF_PROMPT, "version": (0, 1)}
    ),
    "prompt.write": Fields(
        fresh=True,
        base={"prompt_id": "planner", "sentence": "Mind the year."},
        changes={
            "prompt_id": OF_PROMPT,
            "text": Change(
                first=given_by.PLANNER, other=given_by.PLANNER.replace("Plan.", "Plan well."), base={"sentence": None}
            ),
            "sentence": ("Mind the year.", "Mind the day."),
            "note": ("", "years"),
            "active": (True, False),
        },
    ),
    "prompt.use": Fields(
        fresh=True,
        prepare=write_prompts,
        base={"prompt_id": "planner", "version": 0},
        changes={"prompt_id": OF_PROMPT, "version": (0, 2)},
    ),
    "prompt.roll_back": Fields(fresh=True, prepare=write_prompts, changes={"prompt_id": OF_PROMPT}),
    "prompt.split": Fields(
        fresh=True,
        prepare=write_prompts,
        base={"prompt_id": "planner", "version": 0},
        changes={"prompt_id": OF_PROMPT, "version": (0, 2)},
    ),
    "prompt.show_split": Fields(prepare=split_both, changes={"prompt_id": OF_PROMPT}),
    "prompt.end_split": Fields(fresh=True, prepare=split_both, changes={"prompt_id": OF_PROMPT}),
    "prompt.diff": Fields(
        prepare=write_prompts,
        base={"prompt_id": "planner", "first": 0, "second": 1},
        changes={"prompt_id": OF_PROMPT, "first": (0, 2), "second": (1, 2)},
    ),
    "prompt.compare": Fields(
        prepare=write_prompts,
        base={"prompt_id": "planner", "first": 0, "second": 1},
        changes={"prompt_id": OF_PROMPT, "first": (0, 2), "second": (1, 2)},
    ),
}


# --- Flags, tests, learning, judgments, sessions, usage ---


def learn(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Learn from the votes of two people."""
    given_by.learn_from_votes(engine, scope, notes)
    other = Scope(tenant=scope.tenant, principal="ben")
    engine.validate(other, notes.ids["router"], True)
    engine.learning.catch_up(scope)
    with engine.store.writing(scope) as work:
        for name in ("oven", "tea"):
            at = engine.clock.now()
            work.learned_terms.put(
                LearnedTerm(memory_id=notes.ids[name], term=name, state=TermState.SHADOW, learned_at=at)
            )
    return {}


def use_flags(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Switch two flags on, so that they have been in use."""
    given_by.use_flag(engine, scope, notes)
    Flags(clock=engine.clock).turn(engine.store, scope, "coactivation", "50%")
    return {}


def grade(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Have two people grade two searches."""
    first = given_by.grade_oven(engine, scope, notes)["query"]
    return {"query": first, "other_query": given_by.grade_oven(engine, scope, notes)["query"]}


def hold(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Let two sessions search, and begin two tasks."""
    found = given_by.hold_sessions(engine, scope, notes)
    engine.preflight(scope, TaskReport(task_id="paint", session_id="s2", **given_by.KNOWN))
    canary = SearchRequest(query="harbour", origin=Origin.CANARY, tool_name="canary")
    other = engine.searcher.search(scope, canary).query_id
    engine.store.log.flush()
    return {**found, "other_query": other}


def keep_file(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep the memory of a file, and find it in a session."""
    draft = make_draft(title="Stove", body="The stove is polled at noon.", rel_path="stove.md", written_with="test")
    engine.saver.save(scope, draft)
    engine.searcher.search(scope, SearchRequest(query="stove polled", session_id="s1"))
    engine.store.log.flush()
    return {}


FEATURES = (given_by.FEATURE, "mmr")
GRADED = {"query_id": "<query>", "memory_id": "<oven>", "relevance": 3}
EVENT = {"session_id": "s1", "memory_id": "<oven>", "event_key": "e-1"}
SESSION = read("session.show", session_id="s1")
USE = {
    "flag.show": Fields(changes={"name": ("mmr", "coactivation")}),
    "flag.set": Fields(
        fresh=True,
        base={"name": "mmr", "percent": 10},
        then=read("audit.list", target="mmr"),
        changes={
            "name": ("mmr", "coactivation"),
            "percent": (10, 20),
            "shadow": (False, True),
            "graduates_itself": (False, True),
            "why": ("faster", "cheaper"),
        },
    ),
    "flag.review": Fields(fresh=True, prepare=use_flags, changes={"name": ("mmr", "coactivation")}),
    "ladder.show": Fields(prepare=given_by.begin_test, changes={"feature_id": FEATURES}),
    "ladder.begin": Fields(
        fresh=True,
        base={"feature_id": given_by.FEATURE},
        then=read("ladder.show", feature_id=given_by.FEATURE),
        changes={"feature_id": FEATURES, "kind": ("paired", "interleaved"), "why": ("faster", "cheaper")},
    ),
    "ladder.pause": Fields(
        fresh=True,
        prepare=given_by.begin_test,
        base={"feature_id": given_by.FEATURE},
        then=read("ladder.show", feature_id=given_by.FEATURE),
        changes={"feature_id": FEATURES, "why": ("for lunch", "for good")},
    ),
    "ladder.resume": Fields(
        fresh=True,
        prepare=given_by.pause_test,
        base={"feature_id": given_by.FEATURE},
        then=read("ladder.show", feature_id=given_by.FEATURE),
        changes={"feature_id": FEATURES, "why": ("after lunch", "for good")},
    ),
    "ladder.collect": Fields(fresh=True, prepare=given_by.begin_test, changes={"feature_id": FEATURES}),
    "ladder.graduate": Fields(
        fresh=True,
        prepare=given_by.win_test,
        base={"feature_id": given_by.FEATURE},
        then=read("ladder.show", feature_id=given_by.FEATURE),
        changes={"feature_id": FEATURES, "why": ("it wins", "it is cheaper")},
    ),
    "ladder.roll_back": Fields(
        fresh=True,
        prepare=given_by.graduate_change,
        base={"feature_id": given_by.FEATURE},
        then=read("ladder.show", feature_id=given_by.FEATURE),
        changes={"feature_id": FEATURES, "why": ("too slow", "too dear")},
    ),
    "learning.terms": Fields(prepare=learn, changes={"memory_id": ("<oven>", "<tea>")}),
    "learning.changes": Fields(
        prepare=learn, changes={"memory_id": ("<oven>", "<tea>"), "since": (PAST, LATER), **PAGES}
    ),
    "learning.roll_back": Fields(
        fresh=True,
        prepare=learn,
        base={"since": PAST},
        changes={"memory_id": ("<oven>", "<tea>"), "since": (PAST, LATER), "writer": ("token:parity", "ben")},
    ),
    "judgment.add": Fields(
        fresh=True,
        prepare=grade,
        base={"judgments": [GRADED]},
        then=read("judgment.list", limit=200),
        changes={
            "judgments": ([GRADED], [GRADED, {**GRADED, "memory_id": "<tea>"}]),
            "judgments.query_id": ("<query>", "<other_query>"),
            "judgments.memory_id": ("<oven>", "<tea>"),
            "by_model": (False, True),
            "judgments.relevance": (3, 0),
            "judgments.confidence": (1.0, 0.5),
            "annotator": ("ada", "ben"),
        },
    ),
    "judgment.list": Fields(
        prepare=grade, changes={"query_id": (None, "<query>"), "source": ("manual", "implicit"), **PAGES}
    ),
    "variant.define": Fields(
        fresh=True,
        base={"name": "by-words", "spec": "assay:channels=fts5"},
        changes={"name": ("by-words", "by-meaning"), "spec": ("assay:channels=fts5", "assay:search.fusion=rrf")},
    ),
    "variant.remove": Fields(
        fresh=True,
        prepare=define_two,
        then=read("variant.list"),
        changes={"name": ("by-words", "by-meaning")},
    ),
    "shadow.replay": Fields(
        fresh=True,
        prepare=define_two,
        base={"feature_id": "by-words"},
        changes={"feature_id": ("by-words", "by-meaning"), "last": (1, 10)},
    ),
    "search.attribution": Fields(
        prepare=hold,
        changes={"since": ("2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"), "until": (None, "2021-01-01T00:00:00Z")},
    ),
    "session.list": Fields(prepare=hold, changes=PAGES),
    "session.show": Fields(prepare=hold, changes={"session_id": ("s1", "s2")}),
    "search.list": Fields(prepare=hold, changes={"origin": (None, "canary"), **PAGES}),
    "search.show": Fields(prepare=hold, changes={"query_id": ("<query>", "<other_query>")}),
    "task.preflight": Fields(
        fresh=True,
        prepare=given_by.search_in_session,
        base={"task_id": "paint", **given_by.KNOWN, "session_id": "s1"},
        then=SESSION,
        changes={
            "task_id": ("paint", "sweep"),
            "knowledge": (0.1, 0.2),
            "uncertainty": (0.1, 0.2),
            "context": (0.1, 0.2),
            "goal": ("", "blue walls"),
            "folder": ("", "house"),
            "session_id": (None, "s1"),
        },
    ),
    "task.postflight": Fields(
        fresh=True,
        prepare=hold,
        base={"task_id": "fix-oven", **given_by.KNOWN},
        then=SESSION,
        changes={
            "task_id": ("fix-oven", "paint"),
            "knowledge": (0.1, 0.2),
            "uncertainty": (0.1, 0.2),
            "context": (0.1, 0.2),
            "outcome": ("done", "failed"),
            "result": ("", "blue walls"),
            "useful": (None, ["<router>"]),
            "not_useful": (None, ["<tea>"]),
            "session_id": Change(first="s1", other="s2", base={"useful": ["<tea>"]}),
        },
    ),
    "memory.validate": Fields(
        fresh=True,
        prepare=hold,
        base={"memory_id": "<tea>", "was_useful": True},
        changes={
            "memory_id": ("<tea>", "<router>"),
            "was_useful": (True, False),
            "query_id": Change(first=None, other="<query>", then=read("learning.changes")),
            "session_id": Change(first=None, other="s1", then=SESSION),
            "note": Change(first="", other="it was old", then=read("audit.list", action="learning.")),
            "event_key": Change(
                first="v-1",
                other="v-2",
                then=lambda ask, _: ask("memory.validate", memory_id="<tea>", was_useful=True, event_key="v-1"),
            ),
        },
    ),
    "memory.record": Fields(
        fresh=True,
        prepare=hold,
        base={"events": [EVENT]},
        then=SESSION,
        changes={
            "events": ([EVENT], [EVENT, {**EVENT, "event_key": "e-2", "memory_id": "<tea>"}]),
            "events.session_id": ("s1", "s2"),
            "events.memory_id": ("<oven>", "<tea>"),
            "events.path": Change(
                first="no-such.md", other="stove.md", base={"events": [{"session_id": "s1"}]}, prepare=keep_file
            ),
            "events.wrote": Change(
                first="Nothing at all.",
                other="The oven is polled every five seconds because pushes are lost behind NAT.",
                base={"events": [{"session_id": "s1"}]},
            ),
            "events.event_key": Change(
                first="e-1", other="e-2", then=lambda ask, _: ask("memory.record", events=[EVENT])
            ),
        },
    ),
}


# --- Tokens, the audit log, checkpoints, retention ---


def make_tokens(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Make two tokens, each with a browser that signed in."""
    first = given_by.make_spare(engine, scope, notes)
    other = given_by.make_spare(engine, scope, notes)
    forgotten = Scope(tenant=scope.tenant, principal="ben")
    engine.saver.forget(forgotten, notes.ids["tea"], automated=False)
    return {**first, **{f"other_{name}": value for name, value in other.items()}}


def keep_copies(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Have two checkpoints, of which the second has one memory less."""
    for checkpoint in engine.store.checkpoints.list():
        engine.store.checkpoints.delete(checkpoint.id)
    first = engine.store.checkpoints.create("first").id
    engine.saver.forget(scope, notes.ids["tea"], automated=True)
    return {"first": first, "second": engine.store.checkpoints.create("second").id}


def archive_two(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Archive an old search."""
    return given_by.archive_search(engine, scope, notes)


def make_entries_beside(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Make tokens here, and entries of the audit log for another tenant."""
    beside = Scope(tenant=f"{scope.tenant}-beside", principal="ben")
    saved = engine.saver.save(beside, Draft(title="Tea", body="The tea of the guest house is served at four."))
    engine.saver.forget(beside, str(saved.memory_id))
    return make_tokens(engine, scope, notes)


def make_tokens_beside(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Make tokens here, and one for another tenant."""
    Tokens(engine.store, engine.clock).create(Scope(tenant=f"{scope.tenant}-beside"), "beside", Access.READ)
    return make_tokens(engine, scope, notes)


KEEPING = {
    "tenant.list": Fields(prepare=make_entries_beside, changes=PAGES),
    "token.list": Fields(prepare=make_tokens_beside, changes={"all_tenants": (False, True)}),
    "token.create": Fields(
        fresh=True,
        base={"name": "ci"},
        changes={"name": ("ci", "ada"), "access": ("read", "write"), "days": (None, 30), "person": (False, True)},
    ),
    "token.revoke": Fields(
        fresh=True, prepare=make_tokens, then=read("token.list"), changes={"token_id": ("<spare>", "<other_spare>")}
    ),
    "sign_in.end": Fields(
        fresh=True,
        prepare=make_tokens,
        then=read("sign_in.list"),
        changes={"session_id": ("<sign_in>", "<other_sign_in>")},
    ),
    "audit.list": Fields(
        prepare=make_tokens,
        changes={
            "action": (None, "token."),
            "actor": (None, "ben"),
            "target": (None, "<spare>"),
            "since": (PAST, LATER),
            "until": (PAST, LATER),
            "all_tenants": Change(first=False, other=True, base={"actor": "ben"}, prepare=make_entries_beside),
            **PAGES,
        },
    ),
    "audit.check": Fields(prepare=make_entries_beside, changes={"all_tenants": (False, True)}),
    "checkpoint.create": Fields(fresh=True, prepare=keep_copies, changes={"name": ("mine", "yours")}),
    "checkpoint.list": Fields(prepare=keep_copies, changes=PAGES),
    "checkpoint.restore": Fields(
        fresh=True, prepare=keep_copies, then=LIST_ALL, changes={"checkpoint": ("<first>", "<second>")}
    ),
    "checkpoint.delete": Fields(
        fresh=True,
        prepare=keep_copies,
        then=read("checkpoint.list"),
        changes={"checkpoint": ("<first>", "<second>")},
    ),
    "retention.run": Fields(fresh=True, prepare=given_by.search_long_ago, changes={"dry_run": (False, True)}),
    "retention.restore": Fields(fresh=True, prepare=archive_two, changes={"path": ("<archive>", "nowhere.gz")}),
    "store.rescan": Fields(fresh=True, prepare=given_by.store_secret, changes={"apply": (False, True)}),
    "metric.show": Fields(changes={"name": ("ndcg", "mrr")}),
}


# --- Traces ---

PERIOD: dict[str, Any] = {"since": (PAST, LATER), "until": (LATER, PAST)}
TRACES = {
    "trace.import": Fields(
        fresh=True,
        base={"paths": ["<spans>"]},
        changes={"paths": (["<spans>"], ["<more_spans>"]), "format": ("auto", "langfuse")},
    ),
    "trace.list": Fields(prepare=given_by.keep_traces, changes={"session_id": (None, "s-1"), **PERIOD, **PAGES}),
    "trace.show": Fields(
        prepare=given_by.keep_traces,
        base={"trace_id": "trace-bad"},
        changes={"trace_id": ("trace-good", "trace-bad"), "slow_ms": (10_000.0, 30_000.0)},
    ),
    "trace.report": Fields(
        prepare=given_by.keep_traces, changes={**PERIOD, "most": (2, 1), "slow_ms": (10_000.0, 30_000.0)}
    ),
    "trace.keep": Fields(
        fresh=True,
        prepare=given_by.keep_traces,
        base={"dataset": "prod"},
        changes={
            **PERIOD,
            "dataset": ("prod", "other"),
            "trace_ids": (["trace-good"], ["trace-bad"]),
            "failing": ([], ["ungrounded"]),
            "most": (2, 1),
            "slow_ms": Change(first=10_000.0, other=5.0, base={"failing": ["slow"]}),
        },
    ),
    "trace.scores": Fields(
        prepare=given_by.keep_traces,
        base={"path": "<scores>"},
        changes={
            **PERIOD,
            "path": ("<scores>", "<more_scores>"),
            "send": (False, True),
            "trace_ids": ([], ["trace-bad"]),
            "most": (2, 1),
        },
    ),
}


# --- Fields that need a clock or a model of their own ---


class TickingClock(FixedClock):
    """A clock on which every look takes half a second."""

    def monotonic(self) -> float:
        """Let time pass, and return it."""
        self.advance(seconds=0.5)
        return super().monotonic()


def run_for(stage: Stage, seconds: int) -> Any:
    """Run over a dataset while time passes, and read how many cases were asked."""
    place = stage.place
    scope = stage.share("ticking", place.tenant).scope
    with (
        configured_at(place.folder),
        wiring.open_engine(place.settings, clock=TickingClock(), run_once=True) as engine,
    ):
        found = call(engine, place.settings, "run.start", scope, dataset="tiny", metrics=["mrr"], max_seconds=seconds)
        return found.get("error"), found.get("message"), found.get("metrics", {}).get("mrr", {}).get("scored")


def bless_sample(stage: Stage, despite: str) -> Any:
    """Bless a run over one case of several, with and without a reason, and read what became of it."""
    place = stage.place
    scope = stage.share("sampled", place.tenant).scope
    with configured_at(place.folder), wiring.open_engine(place.settings, run_once=True) as engine:
        made = call(engine, place.settings, "run.start", scope, dataset="tiny", metrics=["mrr"], max_cases=1)
        given = {"run_id": made["run_id"], "note": "by the probe", "despite": despite}
        found = call(engine, place.settings, "run.bless", scope, **given)
        return found.get("error"), found.get("despite")


def ask_builtin(verb: str) -> Values:
    """Ask with a model that could answer, and read who planned and who answered."""

    def look(stage: Stage, builtin: bool) -> Any:
        place = stage.place
        tenant = place.tenant(ask_twice)
        given = {"question": given_by.QUESTION} if verb == "research.ask" else {"log_id": tenant.ids["answered"]}
        with serving(sound) as service:
            settings = place.settings.change(model_url=service.url, model_name="small:1")
            found = call(place.services.engine, settings, verb, tenant.scope, builtin=builtin, **given)
            return found["session"]["evaluated_by"], found["synthesis"]["synthesiser"], len(service.heard) > 0

    return Values(False, True, look)


def take_in_copies(verb: str) -> Values:
    """Take in a newer form of a stored note, with vectors to compare by, and read what became of it."""

    def look(stage: Stage, gate: bool) -> Any:
        text = "The session cookie of the web shop lives for twenty hours after the last request."
        settings = stage.settings()
        folder = Path(settings.db).parent / "notes"
        folder.mkdir()
        (folder / "cookie.md").write_text(f"# Session cookie\n\n{text}\n", encoding="utf-8")
        line = {"_id": "1", "title": "Session cookie", "text": text}
        (folder / "cookie.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")
        paths: dict[str, dict[str, Any]] = {
            "memory.ingest": {"paths": [str(folder / "cookie.md")], "root": str(folder)},
            "memory.import": {"path": str(folder / "cookie.jsonl")},
        }
        with stage.engine(settings) as engine:
            older = text.replace("twenty", "twelve")
            call(engine, settings, "memory.save", title="Session cookie", body=older, automated=True)
            found = call(engine, settings, verb, gate=gate, **paths[verb])
            listed = call(engine, settings, "memory.list", status="current")["memories"]
            return found, sorted(memory["title"] for memory in listed)

    return Values(False, True, lambda stage, gate: _without_times(look(stage, gate)))


def _without_times(seen: Any) -> Any:
    found, count = seen
    return {name: value for name, value in found.items() if name in ("fates", "counts", "error")}, count


SPECIAL = {
    "memory.ingest.gate": take_in_copies("memory.ingest"),
    "memory.import.gate": take_in_copies("memory.import"),
    "run.start.max_seconds": Values(600, 1, run_for),
    "run.bless.despite": Values("", "the set is tiny", bless_sample),
    "research.ask.builtin": ask_builtin("research.ask"),
    "research.retry.builtin": ask_builtin("research.retry"),
}
PROBES: dict[str, Probe] = make_probes(
    "field",
    SPECIAL
    | {
        name: values
        for table in (MEMORY, DOCUMENTS, RUNS, QUESTIONS, USE, KEEPING, TRACES)
        for verb, fields in table.items()
        for name, values in probe_fields(verb, fields).items()
    },
)
