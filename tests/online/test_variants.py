"""Variants: what may be defined, what is refused with its remedy, and other systems beside the memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.memory.engines import engine_at, settings_of
from tests.storage.homes import Home

from assay.errors import AssayError, InputError, NothingMeasured, RecordNotFound
from assay.memory.engine import Engine
from assay.records import Draft, Mode, Origin, Scope, SearchRequest
from assay.records.flags import VoteKind
from assay.wiring import ladder_of, replay_shadow
from assay.wiring.variants import check_variant, open_variant

REQUEST = SearchRequest(query="where is the tea", k=4, session_id="s1")


@pytest.fixture
def engine(home: Home, scope: Scope) -> Iterator[Engine]:
    with engine_at(home) as engine:
        for title, body in (("Tea", "The tea is in the left cupboard."), ("Keys", "The key hangs beside the door.")):
            engine.saver.save(scope, Draft(title=title, body=body, source_id=title.lower()), gated=False)
        yield engine


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("assay", "changes nothing"),
        ("assay:chunking.max_tokens=128", "which no search reads anew"),
        ("assay:search.k=3", "which no search reads anew"),
        ("assay:answer", "cannot be"),
        ("assay:other.toml", "cannot be the file"),
        ("assay:flags.nonsense=on", "there is no flag 'nonsense'"),
        ("assay:search.fusion=sideways", "search.fusion"),
        ("sideways:x", "no kind of system is called 'sideways'"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_value(home: Home, spec: str, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        check_variant(settings_of(home), "mine", spec)


def test_a_variant_has_a_name_of_its_own(engine: Engine, scope: Scope) -> None:
    with pytest.raises(InputError, match="mmr is a flag of Assay"):
        engine.flags.define(engine.store, scope, "mmr", "assay:search.fusion=rrf")
    with pytest.raises(RecordNotFound, match="there is no variant 'none'"):
        engine.flags.remove(engine.store, scope, "none")


def test_a_later_spec_wins_and_what_a_request_says_stays(home: Home, engine: Engine) -> None:
    specs = ("assay:search.fusion=rrf,mode=quick", "assay:search.fusion=convex,channels=fts5")
    found = open_variant(settings_of(home), engine, specs)
    assert found.searcher.options.method == "convex"
    result = found.search(Scope(tenant="acme", principal="ada"), REQUEST)
    assert result.mode is Mode.QUICK
    assert {channel for hit in result.hits for channel in hit.channels} == {"fts5"}


def test_a_search_that_does_not_count_as_use_is_never_served_by_a_variant(engine: Engine, scope: Scope) -> None:
    engine.flags.define(engine.store, scope, "words", "assay:channels=fts5")
    engine.flags.turn(engine.store, scope, "words", "on")
    served = engine.search(scope, REQUEST)
    assert {channel for hit in served.hits for channel in hit.channels} == {"fts5"}
    other = engine.search(scope, replace(REQUEST, origin=Origin.EVALUATION, session_id=None))
    assert {channel for hit in other.hits for channel in hit.channels} != {"fts5"}


MODULE = """
def find(query, k):
    return ["keys", "tea"][:k]

def foreign(query, k):
    return ["nobody"]

def broken(query, k):
    raise RuntimeError("no index")
"""


@pytest.fixture
def other_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"other_system_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def test_another_system_is_compared_by_source_ids_and_never_served(
    home: Home, engine: Engine, scope: Scope, other_system: str
) -> None:
    engine.flags.define(engine.store, scope, "ours", f"python:{other_system}:find")
    with pytest.raises(NothingMeasured, match="no search of use is logged yet"):
        replay_shadow(engine, settings_of(home), scope, "ours", last=10)
    engine.search(scope, REQUEST)
    summary = replay_shadow(engine, settings_of(home), scope, "ours", last=10)
    assert (summary.runs, summary.problems, summary.sessions) == (1, 0, 1)
    with pytest.raises(InputError, match="cannot be served"):
        engine.flags.turn(engine.store, scope, "ours", "on")
    with pytest.raises(InputError, match="cannot be served"):
        ladder_of(engine).trials.begin(scope, "ours", kind=VoteKind.INTERLEAVED)
    assert ladder_of(engine).trials.begin(scope, "ours", kind=VoteKind.PAIRED).attempt == 1


@pytest.mark.parametrize(
    ("function", "problem"),
    [("foreign", "returned 1 ids that are not in the store, such as 'nobody'"), ("broken", "no index")],
)
def test_a_system_that_fails_is_a_comparison_with_a_problem(  # noqa: PLR0917 - fixtures and cases
    home: Home, engine: Engine, scope: Scope, other_system: str, function: str, problem: str
) -> None:
    engine.flags.define(engine.store, scope, "ours", f"python:{other_system}:{function}")
    engine.search(scope, REQUEST)
    assert replay_shadow(engine, settings_of(home), scope, "ours", last=10).problems == 1
    with engine.store.reading(scope) as work:
        (run,) = work.shadow_runs.of("ours")
    assert problem in str(run.problem)
