"""Twelve traps, each sprung on purpose, each refused or flagged."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.referee.small import Told, perfect, reversed_items, run, small_set

from assay.errors import NotComparable, NothingMeasured
from assay.referee import traps
from assay.referee.contenders.contract import Contender, ContenderHit, Declaration
from assay.referee.importing import import_results
from assay.referee.judges import RULE_JUDGES
from assay.referee.readers import ModelReader, ReaderReply
from assay.referee.records import BenchRecords
from assay.referee.scoring import compute_results
from assay.referee.sets.values import MemoryQuestion


def found(records: BenchRecords) -> dict[str, str]:
    """The traps of a benchmark, with what was done about each."""
    return {flag["trap"]: flag["action"] for flag in compute_results(records)["flags"]}


def told(answer: Callable[..., Any] = perfect, **more: Any) -> Callable[[], Contender]:
    return lambda: Told(answer, **more)


def test_every_trap_of_the_list_has_a_test_here() -> None:
    names = {name.removeprefix("test_trap_").split("__")[0] for name in globals() if name.startswith("test_trap_")}
    assert names == {trap.replace(" ", "_") for trap in traps.TRAPS}


def test_an_honest_benchmark_springs_no_trap(tmp_path: Path) -> None:
    assert found(run(tmp_path, {"a": told(), "b": told(reversed_items)})) == {}


def test_trap_pool__recall_at_a_k_as_large_as_the_pool_is_not_given(tmp_path: Path) -> None:
    records = run(tmp_path, {"a": told(), "b": told(reversed_items)}, changes={"cutoffs": (1, 12), "depth": 12})
    results = compute_results(records)
    assert found(records)["pool"] == "refused"
    assert results["sets"]["small"]["withheld"] == ["recall_all@12", "recall_any@12"]
    assert "recall_all@12" not in results["sets"]["small"]["rows"][0]["values"]


def test_trap_pool__without_any_k_below_the_pool_there_is_no_table(tmp_path: Path) -> None:
    records = run(tmp_path, {"a": told()}, changes={"cutoffs": (12, 20), "depth": 20})
    with pytest.raises(NothingMeasured, match="every cutoff"):
        compute_results(records)


def test_trap_rerank__the_same_results_in_another_order_are_flagged(tmp_path: Path) -> None:
    def backwards(*given: Any) -> list[str]:
        return list(reversed(perfect(*given)))

    records = run(tmp_path, {"a": told(), "b": told(backwards)})
    assert found(records)["rerank"] == "flagged"


def test_trap_dropped_category__failures_in_one_category_withhold_the_verdict(tmp_path: Path) -> None:
    def fails_on_odd(user: str, question: str, k: int, held: Any) -> list[str]:
        if "bread" in question or "drum" in question:
            raise ValueError("no odd questions")
        return perfect(user, question, k, held)

    records = run(tmp_path, {"a": told(), "b": told(fails_on_odd)})
    results = compute_results(records)
    assert found(records)["dropped category"] == "flagged"
    row = results["sets"]["small"]["rows"][1]
    assert (row["failed"], row["failure"]) == (16, "ValueError: no odd questions")
    assert results["sets"]["small"]["comparisons"][0]["withheld"].startswith("b has no result")


def test_trap_empty_contexts__some_are_flagged_all_are_refused(tmp_path: Path) -> None:
    def half(user: str, question: str, k: int, held: Any) -> list[str]:
        return [] if user in ("u0", "u1") else perfect(user, question, k, held)

    flagged = run(tmp_path / "one", {"a": told(), "b": told(half)})
    refused = run(tmp_path / "two", {"a": told(), "b": told(lambda *_: [])})
    assert found(flagged)["empty contexts"] == "flagged"
    assert found(refused)["empty contexts"] == "refused"
    assert "withheld" in compute_results(refused)["sets"]["small"]["comparisons"][0]["sentence"]


def test_trap_lost_evidence__a_key_that_names_what_was_never_filled_is_flagged(tmp_path: Path) -> None:
    first, *rest = small_set().questions
    broken = replace(small_set(), questions=(replace(first, evidence=("i0", "D")), *rest))
    records = run(tmp_path, {"a": told()}, broken)
    assert found(records)["lost evidence"] == "flagged"
    rows = {row["system"]: row for row in compute_results(records)["sets"]["small"]["rows"]}
    assert rows["oracle evidence"]["values"]["recall_all@5"]["mean"] == pytest.approx(31 / 32)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda user, question, k, held: perfect(user, question, k, held)[:3], "limit"),
        (lambda user, question, k, held: [one for one in perfect(user, question, k, held) if one != "twin-1"], "dedup"),
        (lambda user, question, k, held: [one for one in perfect(user, question, k, held) if one != "foreign"], "lang"),
    ],
)
def test_trap_default_left_on__a_probe_finds_it(tmp_path: Path, answer: Callable[..., Any], what: str) -> None:
    records = run(tmp_path, {"a": told(answer)})
    sentences = [flag["sentence"] for flag in compute_results(records)["flags"] if flag["trap"] == "default left on"]
    assert any(what in sentence for sentence in sentences), sentences


class _Telling(ModelReader):
    """A reader whose prompt names the category."""

    def read(self, question: MemoryQuestion, texts: Any) -> ReaderReply:
        return ReaderReply("apple", f"This question is of category: {question.category}. {question.text}")


def test_trap_telling_prompt__a_prompt_that_names_the_category_is_refused(tmp_path: Path) -> None:
    reader = _Telling(lambda _: "apple", "scripted")
    with pytest.raises(NotComparable, match="names the category"):
        run(
            tmp_path,
            {"a": told()},
            changes={"layer": "answers", "reader": "model", "judge": "overlap"},
            reader=reader,
            judge=RULE_JUDGES["overlap"],
        )


def test_trap_telling_prompt__so_is_one_that_quotes_the_rubric() -> None:
    with pytest.raises(NotComparable, match="rubric"):
        traps.refuse_telling_prompt(
            "Mention that 165 commits were merged.",
            question="How many?",
            category="knowledge_update",
            rubric=("165 commits were merged",),
        )


def test_trap_other_embedder__another_one_is_refused_an_unknown_one_flagged(tmp_path: Path) -> None:
    shared, other, unknown = (Declaration(embedder=name) for name in ("mini", "large", "unknown"))
    systems = {
        "a": told(declaration=shared),
        "b": told(reversed_items, declaration=shared),
        "c": told(reversed_items, declaration=other),
        "d": told(reversed_items, declaration=unknown),
    }
    results = compute_results(run(tmp_path, systems))
    actions = {flag["system"]: flag["action"] for flag in results["flags"] if flag["trap"] == "other embedder"}
    assert actions == {"c": "refused", "d": "flagged"}
    verdicts = {line["system"]: line["withheld"] for line in results["sets"]["small"]["comparisons"]}
    assert verdicts["c"].startswith("c uses the embedder large")
    assert not verdicts["b"]


def test_trap_other_judge__answers_judged_with_two_prompts_make_no_table(tmp_path: Path) -> None:
    records = _answered(tmp_path)
    key, lines = next(iter(records.answers.items()))
    question, line = next(iter(lines.items()))
    mixed = {**records.answers, key: {**lines, question: {**line, "judge_prompt": "another"}}}
    with pytest.raises(NotComparable, match="2 different prompts"):
        compute_results(replace(records, answers=mixed))


def test_trap_averaged_repeats__repeats_that_differ_are_shown_with_their_range(tmp_path: Path) -> None:
    coin = itertools.cycle([True, False])

    def sometimes(user: str, question: str, k: int, held: Any) -> list[str]:
        return perfect(user, question, k, held) if next(coin) else reversed_items(user, question, k, held)

    records = run(tmp_path, {"a": told(sometimes)}, changes={"repeats": 2})
    flag = next(flag for flag in compute_results(records)["flags"] if flag["trap"] == "averaged repeats")
    assert "2 repeats of a differ on" in flag["sentence"]


def test_trap_other_text__a_system_filled_with_other_texts_gets_no_verdict(tmp_path: Path) -> None:
    records = run(tmp_path, {"a": told(), "b": told(reversed_items)})
    fills = {**records.fills, ("small", "b"): {**records.fills["small", "b"], "u0": "sha256:other"}}
    results = compute_results(replace(records, fills=fills))
    assert [flag["action"] for flag in results["flags"] if flag["trap"] == "other text"] == ["refused"]
    assert "other texts" in results["sets"]["small"]["comparisons"][0]["withheld"]


def test_trap_other_text__results_with_other_texts_or_unknown_ids_are_flagged(tmp_path: Path) -> None:
    class Rewriter(Told):
        def ask(self, user: str, question: str, k: int) -> list[ContenderHit]:
            found = [ContenderHit(id=hit.id, text="rewritten") for hit in super().ask(user, question, k - 1)]
            return [*found, ContenderHit(id="nobody", text="invented")]

    flags = compute_results(run(tmp_path, {"a": lambda: Rewriter(perfect)}))["flags"]
    sentences = [flag["sentence"] for flag in flags if flag["trap"] == "other text"]
    assert sentences == [
        "a returned 160 results with another text than it was filled with.",
        "a returned 40 results with ids that it was never given; they count as not found.",
    ]


def test_trap_download_timed__talking_to_another_host_while_timed_is_flagged(tmp_path: Path) -> None:
    def connect() -> None:
        # What `socket.connect` announces before it connects; nothing leaves the machine.
        sys.audit("socket.connect", None, ("203.0.113.7", 443))
        sys.audit("socket.connect", None, ("127.0.0.1", 80))

    records = run(tmp_path, {"a": told(on_fill=connect)})
    flag = next(flag for flag in compute_results(records)["flags"] if flag["trap"] == "download timed")
    assert "203.0.113.7" in flag["sentence"]
    assert "127.0.0.1" not in flag["sentence"]


def test_layers_never_mix_in_one_table(tmp_path: Path) -> None:
    answered = _answered(tmp_path)
    with pytest.raises(NotComparable, match="retrieval and answers"):
        compute_results(replace(answered, options=replace(answered.options, layer="retrieval")))
    rankings, judged = tmp_path / "rankings.jsonl", tmp_path / "judged.json"
    rankings.write_text('{"question": "u0-q0", "ids": ["i0"]}\n')
    judged.write_text('{"u0": []}')
    with pytest.raises(NotComparable, match="retrieval and answers"):
        import_results([rankings, judged], small_set())


def _answered(folder: Path) -> BenchRecords:
    reader = ModelReader(lambda prompt: prompt.partition("likes ")[2].partition(".")[0], "scripted")
    return run(
        folder,
        {"a": told(), "b": told(reversed_items)},
        changes={"layer": "answers", "reader": "model", "judge": "overlap"},
        reader=reader,
        judge=RULE_JUDGES["overlap"],
    )
