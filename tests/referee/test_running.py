"""Running: the numbers, going on after a stop, the same bytes again, and costs apart from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.referee.small import Told, options, perfect, reversed_items, run, small_set

from assay.errors import InputError
from assay.referee.capsule import write_capsule
from assay.referee.contenders.contract import Contender
from assay.referee.costs import summarise_costs
from assay.referee.journal import PROGRESS, Journal
from assay.referee.running import Benchmark
from assay.referee.scoring import compute_results
from assay.referee.sets.values import ANSWERS
from assay.referee.tables import render_markdown, render_text
from assay.referee.watching import Meter, SharedEmbedder
from assay.testing import HashedEmbedder

SYSTEMS: dict[str, Callable[[], Contender]] = {"a": lambda: Told(perfect), "b": lambda: Told(reversed_items)}


def test_numbers_of_a_perfect_and_a_blind_system(tmp_path: Path) -> None:
    results = compute_results(run(tmp_path, SYSTEMS))["sets"]["small"]
    rows = {row["system"]: row for row in results["rows"]}
    assert rows["a"]["values"]["recall_all@1"]["mean"] == 1.0
    assert rows["b"]["values"]["recall_all@5"]["mean"] == 0.0
    assert rows["oracle evidence"]["values"]["ndcg@5"]["mean"] == 1.0
    assert 0 < rows["random"]["values"]["recall_all@5"]["mean"] < 1
    assert results["left_out"] == [{"category": "none", "questions": 8, "reason": "nothing to find"}]
    assert results["comparisons"][0]["verdict"] == "worse"
    assert "b is below a: -1.000" in results["comparisons"][0]["sentence"]


def test_few_chats_cannot_decide_and_say_so(tmp_path: Path) -> None:
    results = compute_results(run(tmp_path, SYSTEMS, small_set(users=3)))["sets"]["small"]
    line = results["comparisons"][0]
    assert line["verdict"] == "unresolvable"
    assert "below in 3 of 3 chats; 3 chats cannot be significant" in line["sentence"]


class _Stopped(BaseException):
    """What a killed process looks like from inside."""


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(limit: int) -> Callable[..., list[str]]:
        def answer(user: str, question: str, k: int, held: Any) -> list[str]:
            if user != "assay-probe":
                asked.append(question)
            if len(asked) > limit:
                raise _Stopped
            return perfect(user, question, k, held)

        return answer

    def run_all(folder: Path, limit: int, *, resume: bool = False) -> bytes:
        systems = {"a": lambda: Told(counting(limit)), "b": SYSTEMS["b"]}
        records = run(folder, systems, resume=resume)
        write_capsule(folder / "capsule.jsonl", records, compute_results(records))
        return (folder / "capsule.jsonl").read_bytes()

    whole = run_all(tmp_path / "whole", 10_000)
    assert len(asked) == 40
    asked.clear()
    with pytest.raises(_Stopped):
        run_all(tmp_path / "killed", 17)
    # The machine went down while a line was written.
    with (tmp_path / "killed" / PROGRESS).open("a") as file:
        file.write('{"kind":"asked","set":"sm')
    asked.clear()
    assert run_all(tmp_path / "killed", 10_000, resume=True) == whole
    assert len(asked) == 40 - 17


def test_without_resume_a_run_begins_anew(tmp_path: Path) -> None:
    run(tmp_path, SYSTEMS)
    before = (tmp_path / PROGRESS).read_bytes()
    run(tmp_path, {"a": lambda: Told(reversed_items), "b": SYSTEMS["b"]})
    assert (tmp_path / PROGRESS).read_bytes() != before


def test_a_run_with_other_options_is_not_continued(tmp_path: Path) -> None:
    run(tmp_path, SYSTEMS)
    records = run(tmp_path, SYSTEMS, resume=True, changes={"depth": 3, "cutoffs": (1, 3)})
    assert all(len(line["hits"]) == 3 for line in records.rankings["small", "a", 0].values())


def test_a_system_that_cannot_be_filled_is_a_result(tmp_path: Path) -> None:
    def refuse() -> None:
        raise OSError("disk full")

    results = compute_results(run(tmp_path, {"a": SYSTEMS["a"], "b": lambda: Told(perfect, on_fill=refuse)}))
    row = results["sets"]["small"]["rows"][1]
    assert (row["failed"], row["failure"]) == (40, "filling failed: OSError: disk full")
    assert row["values"]["recall_all@5"]["mean"] is None


def test_tables_show_every_row_flag_and_verdict(tmp_path: Path) -> None:
    records = run(tmp_path, SYSTEMS)
    results = compute_results(records)
    costs = [
        {
            "set": "small",
            "system": "a",
            "items": 96,
            "fill_s": 1.0,
            "embedding_s": 0.5,
            "ask_p50_ms": 2.0,
            "ask_p95_ms": 3.0,
            "disk_bytes": 1_000_000,
            "model_calls": 0,
            "hosts": [],
        }
    ]
    for text in (render_text(records, results, costs), render_markdown(records, results, costs)):
        assert all(row["system"] in text for row in results["sets"]["small"]["rows"])
        assert results["sets"]["small"]["comparisons"][0]["sentence"] in text
        assert "Cost (measured on this machine" in text
    assert "Cost" not in render_text(records, results, [])


def test_times_come_from_the_stopwatch_and_are_withheld_when_hosts_were_contacted(tmp_path: Path) -> None:
    records = run(tmp_path, {"a": SYSTEMS["a"]})
    journal = Journal(tmp_path / "costs", {}, resume=False)
    journal.close()
    named = {"set": "small", "system": "a"}
    lines = [
        {"kind": "fill", **named, "user": "u0", "seconds": 2.0, "embedding": 1.5, "items": 12},
        *({"kind": "ask", **named, "question": str(place), "ms": float(place)} for place in range(1, 101)),
        {"kind": "store", **named, "bytes": 5, "model_calls": 2, "hosts": []},
    ]
    results = compute_results(records)
    (cost,) = summarise_costs(lines, results)
    assert (cost["fill_s"], cost["ask_p50_ms"], cost["ask_p95_ms"], cost["model_calls"]) == (2.0, 51.0, 96.0, 2)
    lines[-1]["hosts"] = ["example.com"]
    (cost,) = summarise_costs(lines, results)
    assert cost["fill_s"] is None


def test_a_known_vector_costs_what_it_cost_the_first_time() -> None:
    ticks = iter(range(1000))
    embedder = SharedEmbedder(HashedEmbedder(), stopwatch=lambda: float(next(ticks)))
    first, second = (Meter(embedder, stopwatch=lambda: 0.0) for _ in range(2))
    with first:
        embedder.embed(["one", "two"])
    with second:
        embedder.embed(["one", "two"])
    assert first.embedding == second.embedding == 1.0
    assert embedder.spent == 1.0


def test_answers_need_a_reader_and_a_judge() -> None:
    with pytest.raises(InputError, match="named reader"):
        Benchmark(options=options("a", layer=ANSWERS), sets=[small_set()], open_system=lambda *_: Told(perfect))


def test_a_set_without_evidence_is_refused_in_the_retrieval_layer() -> None:
    with pytest.raises(InputError, match="cannot be measured in the layer retrieval"):
        Benchmark(options=options("a"), sets=[small_set(layers=(ANSWERS,))], open_system=lambda *_: Told(perfect))


def test_kept_vectors_are_not_made_again_and_a_torn_end_is_cut(tmp_path: Path) -> None:
    first = SharedEmbedder(HashedEmbedder(), folder=tmp_path)
    vectors = first.embed(["one", "two", "three"])
    with next(tmp_path.glob("*.f32")).open("r+b") as file:
        file.truncate(vectors.nbytes - 5)
    second = SharedEmbedder(HashedEmbedder(), folder=tmp_path)
    assert (second.embed(["one", "two"]) == vectors[:2]).all()
    assert second.spent == 0.0
    assert (second.embed(["three"]) == vectors[2:]).all()
    assert second.spent > 0.0
