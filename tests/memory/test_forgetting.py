"""Forgetting, to the last byte, on both back ends; and sparing everybody else."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.memory.engines import engine_at
from tests.storage import samples
from tests.storage.homes import Home, raw

from assay.errors import RecordNotFound
from assay.memory import retention
from assay.memory.engine import Engine
from assay.memory.forgetting import UNFINISHED
from assay.memory.saving.drafts import RESERVED
from assay.records import Draft, EdgeKind, Erased, Forget, Scope, SearchRequest, TaskReport
from assay.storage import Store
from assay.storage.erasing import search
from assay.testing import FixedClock

ANNA = "Anna Quixbrook told us that the zanzimarker contract ends in May and that she will not renew it."
BORIS = "Boris Plumfield keeps the yellmarker of the boiler room on a nail behind the second door."


def keep(engine: Engine, scope: Scope, title: str, body: str, **more: Any) -> str:
    saved = engine.saver.save(scope, Draft(title=title, body=body, **more), gated=False).memory_id
    assert saved is not None
    return saved


def both(engine: Engine, scope: Scope) -> tuple[str, str]:
    return keep(engine, scope, "A call", ANNA, triggers=("renewal",)), keep(engine, scope, "The boiler", BORIS)


def everything(home: Home, *more: Path) -> list[Path]:
    """The files of a home; a server's data folder has a test of its own."""
    folder = Path(home.address).parent if home.backend == "sqlite" else home.checkpoint_folder.parent
    return [path for path in [*folder.rglob("*"), *more] if path.is_file()]


def forget(engine: Engine, scope: Scope, **what: Any) -> Erased:
    done = engine.forget(scope, Forget(**what))
    assert done.left == ()
    assert engine.store.problems() == []
    return done


def words_left(store: Store, scope: Scope, word: str) -> set[str]:
    with store.reading(scope) as work:
        return work.erasure.find_stored([word])


def test_a_memory_goes_from_rows_words_vectors_logs_and_files(home: Home, scope: Scope) -> None:
    with engine_at(home, index_exact_below=1) as engine:
        anna, boris = both(engine, scope)
        engine.link(scope, anna, EdgeKind.SUPPORTS, boris, evidence="zanzimarker")
        engine.indexes.compact(scope)
        engine.searcher.search(scope, SearchRequest(query="who told us about the contract", k=1))
        engine.searcher.search(scope, SearchRequest(query="boiler room door", k=1))

        done = forget(engine, scope, memory_ids=(anna,))

        assert [one.memory_id for one in done.plan.memories] == [anna]
        assert done.plan.queries == 1
        assert done.index_deleted is not None
        assert words_left(engine.store, scope, "zanzimarker") == set()
        assert search(everything(home, *Path(done.index_deleted).rglob("*")), [b"zanzimarker"]).found == {}
        assert engine.searcher.search(scope, SearchRequest(query="zanzimarker boiler")).ids == (boris,)
        with engine.store.reading(scope) as work:
            assert [one.query for one in work.queries.recent() if one.query.startswith("boiler")]
            [line] = [one for one in work.audit.entries() if one.action == "memory.forget"]
            assert (line.target, line.actor) == (anna, "ada")
        with pytest.raises(RecordNotFound):
            engine.forget(scope, Forget(memory_ids=(anna,)))


def test_what_would_go_is_told_and_nothing_is_touched(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        anna, _ = both(engine, scope)
        plan = engine.forgetting.plan(scope, Forget(names=("anna quixbrook",)))
        assert [one.memory_id for one in plan.memories] == [anna]
        assert engine.forgetting.plan(scope, Forget(names=("Nobody Known",))).empty
        assert engine.show(scope, anna).memory.body == ANNA


def test_a_person_goes_from_everywhere_that_names_them(
    home: Home, scope: Scope, clock: FixedClock, tmp_path: Path
) -> None:
    with engine_at(home) as engine:
        both(engine, scope)
        named = {"said": "Anna Quixbrook", "other": "kept"}
        with engine.store.writing(scope) as work:
            work.audit.append("note", "desk", named)
            work.queries.add_many([samples.query("q_old", query="call anna quixbrook", created_at=clock.now())])
            work.feedback.record([samples.event("e_1", query_id="q_old", created_at=clock.now(), metadata=named)])
            work.shadow_runs.add_many([samples.shadow_run("q_old")])
            work.results.add(samples.result(metrics_json=named))
        engine.preflight(
            scope, TaskReport(task_id="t", knowledge=0, uncertainty=1, context=0, goal="ring Anna Quixbrook")
        )
        clock.advance(days=91)
        archived = retention.run(engine.store, scope, tmp_path / "ar", retention.RetentionPolicy(), clock)
        engine.searcher.search(scope, SearchRequest(query="what did Anna Quixbrook say"))
        export = tmp_path / "export.csv"
        export.write_text("1,Anna Quixbrook\n")
        with engine.store.writing(scope) as work:
            work.files.note(str(export), "export")

        done = forget(engine, scope, names=("Anna Quixbrook",))

        assert words_left(engine.store, scope, "Quixbrook") == set()
        assert set(done.files_changed) == {*archived.archives, str(export)}
        assert not export.exists()
        with engine.store.reading(scope) as work:
            [line] = [one for one in work.audit.entries() if one.action == "note"]
            assert dict(line.detail) == {"said": "(erased)", "other": "kept"}
            assert work.results.latest()[0].metrics_json == {"said": "(erased)", "other": "kept"}
            assert work.tasks.find("t") is None
            assert work.memories.count() == 1


def test_archives_lose_the_rows_of_one_person_and_keep_the_others(
    home: Home, scope: Scope, clock: FixedClock, tmp_path: Path
) -> None:
    with engine_at(home) as engine:
        asked = [samples.query(f"q_{name}", query=f"call {name}", created_at=clock.now()) for name in ("Annabel", "Bo")]
        with engine.store.writing(scope) as work:
            work.queries.add_many(asked)
        clock.advance(days=91)
        [path] = retention.run(engine.store, scope, tmp_path / "ar", retention.RetentionPolicy(), clock).archives

        forget(engine, scope, names=("Annabel",))

        assert b"Annabel" not in gzip.decompress(Path(path).read_bytes())
        assert retention.bring_back(engine.store, scope, Path(path)).new == 1


def test_an_archive_that_cannot_be_read_is_told_and_kept(home: Home, scope: Scope, tmp_path: Path) -> None:
    with engine_at(home) as engine:
        both(engine, scope)
        broken = tmp_path / "broken.jsonl.gz"
        broken.write_bytes(b"half of something")
        with engine.store.writing(scope) as work:
            work.files.note(str(broken), "archive")
        done = engine.forget(scope, Forget(names=("Anna Quixbrook",)))
        assert done.left == (str(broken),)
        assert broken.exists()


def test_checkpoints_that_hold_it_are_listed_and_deleted_when_asked(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        anna, boris = both(engine, scope)
        made = engine.store.checkpoints.create("with both")

        listed = forget(engine, scope, memory_ids=(anna,))
        assert made.id in listed.checkpoints
        assert made.id in [one.id for one in engine.store.checkpoints.list()]

        deleted = forget(engine, scope, memory_ids=(boris,), checkpoints=True)
        assert deleted.checkpoints_deleted
        assert made.id not in [one.id for one in engine.store.checkpoints.list()]


def test_what_a_writer_saved_goes_and_their_name_with_it(home: Home, scope: Scope) -> None:
    mallory = Scope(tenant=scope.tenant, principal="mallory")
    with engine_at(home) as engine:
        keep(engine, mallory, "A call", ANNA)
        boris = keep(engine, scope, "The boiler", BORIS)
        with engine.store.writing(mallory) as work:
            work.audit.append("note", boris, {})

        done = forget(engine, scope, writer="mallory")

        assert len(done.plan.memories) == 1
        assert words_left(engine.store, scope, "mallory") == set()
        with engine.store.reading(scope) as work:
            assert work.memories.get(boris).body == BORIS
            [line] = work.audit.entries(target=boris)
            assert line.actor.startswith("erased_")


def test_the_name_of_a_token_goes_from_its_grades_whatever_id_stands_behind_it(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        boris = keep(engine, scope, "The boiler", BORIS)
        names = ("mallory#t_01", "mallory#t_02", "mallory2#t_03")
        with engine.store.writing(scope) as work:
            work.queries.add_many([samples.query("q_9", query="boilers")])
            work.judgments.put_many(
                [samples.judgment(query_id="q_9", memory_id=boris, annotator=name) for name in names]
            )

        forget(engine, scope, writer="mallory")

        with engine.store.reading(scope) as work:
            left = sorted(grade.annotator for grade in work.judgments.of("q_9"))
        assert [name.startswith("erased_") for name in left] == [True, True, False]
        assert [name.partition("#")[2] for name in left] == ["t_01", "t_02", "t_03"]


def test_a_text_that_was_merged_goes_and_the_memory_stays(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        boris = keep(engine, scope, "The boiler", BORIS, triggers=("boiler",))
        entry = {"save_id": "sv_1", "title": "A call", "written_by": "ada", "triggers": ["renewal"]}
        with engine.store.writing(scope) as work:
            memory = work.memories.get(boris)
            merged: dict[str, Any] = {"triggers": ("boiler", "renewal"), "metadata": {RESERVED: {"merged": [entry]}}}
            work.memories.update(replace(memory, **merged))
            work.saves.record_many([samples.save_record("sv_1", memory_id=boris, detail={"incoming": {"body": ANNA}})])

        done = forget(engine, scope, names=("Anna Quixbrook",))

        assert done.plan.merges == 1
        assert words_left(engine.store, scope, "Quixbrook") == set()
        kept = engine.show(scope, boris).memory
        assert kept.triggers == ("boiler",)
        assert kept.metadata[RESERVED]["merged"] == []


def test_words_learned_from_a_forgotten_search_go_too(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        anna, boris = both(engine, scope)
        with engine.store.writing(scope) as work:
            work.memories.update(replace(work.memories.get(boris), learned_triggers=("quixbrook", "nail")))
        forget(engine, scope, names=("Anna Quixbrook",))
        assert engine.show(scope, boris).memory.learned_triggers == ("nail",)
        assert words_left(engine.store, scope, "quixbrook") == set()
        assert anna


def test_other_versions_stay_unless_they_are_meant(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        old = keep(engine, scope, "Fee", "The fee of the zanzimarker contract is four hundred.", source_id="fee")
        new = keep(engine, scope, "Fee", "The fee of the zanzimarker contract is five hundred.", source_id="fee")

        plan = engine.forgetting.plan(scope, Forget(memory_ids=(old,)))
        assert [one.memory_id for one in plan.other_versions] == [new]

        forget(engine, scope, memory_ids=(old,), versions=True)
        assert words_left(engine.store, scope, "zanzimarker") == set()


def test_a_line_that_others_say_too_is_not_called_left(home: Home, scope: Scope) -> None:
    shared = "Every contract is renewed in the second week of May, without exception."
    with engine_at(home) as engine:
        anna = keep(engine, scope, "A call", f"{ANNA}\n{shared}")
        keep(engine, scope, "The boiler", f"{BORIS}\n{shared}")
        done = forget(engine, scope, memory_ids=(anna,))
        assert done.said_elsewhere == ((shared,) if home.backend == "sqlite" else ())


def test_a_whole_tenant_goes_and_no_other(home: Home, scope: Scope) -> None:
    rival = Scope(tenant="rival", principal="ada")
    with engine_at(home) as engine:
        both(engine, scope)
        theirs, _ = both(engine, rival)
        engine.searcher.search(scope, SearchRequest(query="contract"))
        engine.store.log.flush()

        engine.forget(scope, Forget(everything=True))

        assert engine.searcher.search(scope, SearchRequest(query="contract")).ids == ()
        assert theirs in engine.searcher.search(rival, SearchRequest(query="contract")).ids
        assert engine.store.problems() == []


def test_a_rival_is_never_touched_by_a_name(home: Home, scope: Scope) -> None:
    rival = Scope(tenant="rival", principal="ada")
    with engine_at(home) as engine:
        theirs, _ = both(engine, rival)
        both(engine, scope)
        engine.forget(scope, Forget(names=("Anna Quixbrook",)))
        assert engine.show(rival, theirs).memory.body == ANNA
        with pytest.raises(RecordNotFound):
            engine.forget(scope, Forget(memory_ids=(theirs,)))


def test_an_erasure_that_was_cut_short_is_finished_later(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        anna, _ = both(engine, scope)
        with engine.store.writing(scope) as work:
            work.memories.remove(anna)
            work.meta.put(UNFINISHED, "yes")
        assert engine.forgetting.was_cut_short(scope)
        engine.forgetting.finish(scope)
        assert not engine.forgetting.was_cut_short(scope)


def test_another_process_that_follows_the_log_no_longer_finds_it(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine, engine_at(home) as other:
        anna, _ = both(engine, scope)
        asked = SearchRequest(query="zanzimarker contract")
        assert anna in other.searcher.search(scope, asked).ids
        engine.forget(scope, Forget(memory_ids=(anna,)))
        assert anna not in other.searcher.search(scope, asked).ids
        both(engine, scope)
        engine.forget(scope, Forget(everything=True))
        assert other.searcher.search(scope, asked).ids == ()


def test_what_judges_were_shown_and_what_models_replied_goes(home: Home, scope: Scope) -> None:
    at = "2026-01-05T09:00:00.000000Z"
    rows = [
        f"INSERT INTO judge_inputs VALUES ('acme', 'h_{number}', 'groundedness', '{at}', '{{\"shown\":\"{said}\"}}')"
        for number, said in ((1, ANNA), (2, BORIS))
    ]
    verdict = "tenant, run_id, case_id, repeat, kind, fingerprint_id, input_hash, outcome, reason, created_at, detail"
    rows += [
        f"INSERT INTO judge_verdicts ({verdict}) VALUES"
        f" ('acme', 'r', 'c_{number}', 1, 'groundedness', 'f', 'h_{number}', 'scored', 'she will', '{at}', '{{}}')"
        for number in (1, 2)
    ]
    rows += [f"INSERT INTO model_replies VALUES ('{tenant}', 'k', '{at}', '{{}}')" for tenant in ("acme", "rival")]
    with engine_at(home) as engine:
        anna, _ = both(engine, scope)
        with raw(engine.store, "acme") as connection:
            for row in rows:
                connection.execute(text(row))

        forget(engine, scope, memory_ids=(anna,))

        with raw(engine.store, "acme") as connection:
            assert connection.execute(text("SELECT input_hash FROM judge_inputs")).scalars().all() == ["h_2"]
            reasons = text("SELECT reason FROM judge_verdicts ORDER BY case_id")
            assert connection.execute(reasons).scalars().all() == ["(erased)", "she will"]
            assert connection.execute(text("SELECT tenant FROM model_replies")).scalars().all() == ["rival"]


def test_a_word_that_was_learned_from_a_forgotten_search_is_unlearned(home: Home, scope: Scope) -> None:
    at = "2026-01-05T09:00:00.000000Z"
    with engine_at(home) as engine:
        _, boris = both(engine, scope)
        with engine.store.writing(scope) as work:
            work.queries.add_many([samples.query("q_1", query="Anna Quixbrook and the nailbox")])
            work.memories.update(replace(work.memories.get(boris), learned_triggers=("nailbox", "stove")))
        with raw(engine.store, "acme") as connection:
            for term, query_id in (("nailbox", "q_1"), ("stove", "q_2")):
                connection.execute(
                    text(
                        "INSERT INTO learning_evidence"
                        " (memory_id, term, session_id, tenant, principal, query_id, rank, at)"
                        f" VALUES ('{boris}', '{term}', 's', 'acme', 'ada', '{query_id}', 1, '{at}')"
                    )
                )

        forget(engine, scope, names=("Anna Quixbrook",))

        assert engine.show(scope, boris).memory.learned_triggers == ("stove",)
        with raw(engine.store, "acme") as connection:
            assert connection.execute(text("SELECT term FROM learning_evidence")).scalars().all() == ["stove"]
