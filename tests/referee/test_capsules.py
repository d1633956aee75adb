"""Capsules: they verify as they are, and do not once a ranking, a score, a judge input or a line was changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.referee.small import Told, perfect, reversed_items, run, small_set

from assay.errors import BrokenSeal, InputError, MalformedFile
from assay.hashing import HASH_PREFIX, canonical_json, content_hash
from assay.referee.capsule import write_capsule
from assay.referee.importing import import_results
from assay.referee.judges import RULE_JUDGES
from assay.referee.readers import ModelReader
from assay.referee.scoring import compute_results
from assay.referee.verification import verify_capsule

Change = Callable[[list[dict[str, Any]]], None]


@pytest.fixture(scope="module")
def capsules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("capsules")
    systems = {"a": lambda: Told(perfect), "b": lambda: Told(reversed_items)}
    retrieval = run(folder / "retrieval", systems)
    answers = run(
        folder / "answers",
        systems,
        changes={"layer": "answers", "reader": "model", "judge": "overlap"},
        reader=ModelReader(lambda prompt: prompt.partition("likes ")[2].partition(".")[0], "scripted"),
        judge=RULE_JUDGES["overlap"],
    )
    paths = {}
    for name, records in (("retrieval", retrieval), ("answers", answers)):
        paths[name] = folder / f"{name}.jsonl"
        write_capsule(paths[name], records, compute_results(records))
    return paths


def changed(path: Path, change: Change, tmp_path: Path, *, reseal: bool) -> Path:
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    change(lines)
    if reseal:
        for line in lines:
            field = {"ranking": "hits", "answer": "judge_input"}.get(line["kind"])
            if field:
                line["hash"] = content_hash(line.get(field))
        digest = hashlib.sha256("".join(canonical_json(line) + "\n" for line in lines[:-1]).encode())
        lines[-1]["hash"] = HASH_PREFIX + digest.hexdigest()
    made = tmp_path / "changed.jsonl"
    made.write_text("".join(canonical_json(line) + "\n" for line in lines))
    return made


def first(lines: list[dict[str, Any]], kind: str, **fields: Any) -> dict[str, Any]:
    return next(
        line for line in lines if line["kind"] == kind and all(line.get(key) == value for key, value in fields.items())
    )


def swap_ranking(lines: list[dict[str, Any]]) -> None:
    line = first(lines, "ranking", system="b", question="u0-q1")
    line["hits"] = [["i1", 5], *line["hits"]]


def raise_score(lines: list[dict[str, Any]]) -> None:
    rows = first(lines, "results")["results"]["sets"]["small"]["rows"]
    name = next(iter(rows[1]["values"]))
    rows[1]["values"][name]["mean"] = 0.9


def soften_key(lines: list[dict[str, Any]]) -> None:
    line = first(lines, "answer", system="b", question="u0-q0")
    line["judge_input"]["key"] = line["judge_input"]["answer"]


def flip_verdict(lines: list[dict[str, Any]]) -> None:
    first(lines, "answer", system="b", question="u0-q0")["right"] = True


def test_an_untouched_capsule_is_intact(capsules: dict[str, Path]) -> None:
    for name, path in capsules.items():
        check = verify_capsule(path)
        assert check.intact, (name, check.problems)
    assert verify_capsule(capsules["retrieval"]).rankings == 80
    assert verify_capsule(capsules["answers"]).rejudged == 80


@pytest.mark.parametrize("reseal", [False, True], ids=["plain", "resealed"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("retrieval", swap_ranking),
        ("retrieval", raise_score),
        ("answers", raise_score),
        ("answers", soften_key),
        ("answers", flip_verdict),
    ],
)
def test_a_changed_capsule_is_not_intact(
    capsules: dict[str, Path], name: str, change: Change, tmp_path: Path, *, reseal: bool
) -> None:
    check = verify_capsule(changed(capsules[name], change, tmp_path, reseal=reseal))
    assert not check.intact


def test_the_changed_ranking_is_named(capsules: dict[str, Path], tmp_path: Path) -> None:
    check = verify_capsule(changed(capsules["retrieval"], swap_ranking, tmp_path, reseal=False))
    assert "the ranking of b for u0-q1 in small was changed" in check.problems


def test_a_capsule_without_its_end_is_refused(capsules: dict[str, Path], tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join(capsules["retrieval"].read_text().splitlines()[:-1]))
    with pytest.raises(BrokenSeal):
        verify_capsule(cut)
    cut.write_text('{"no": "capsule"}\n')
    with pytest.raises(MalformedFile):
        verify_capsule(cut)


def test_a_capsule_holds_no_text_of_items(capsules: dict[str, Path]) -> None:
    assert "likes apple" not in capsules["retrieval"].read_text()


def test_imported_rankings_score_like_measured_ones(tmp_path: Path) -> None:
    records = run(tmp_path / "run", {"a": lambda: Told(perfect)})
    lines = [
        {"question": question, "ids": [hit[0] for hit in line["hits"]]}
        for question, line in records.rankings["small", "a", 0].items()
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "a.trec").write_text(
        "".join(
            f"{line['question']} Q0 {item} {rank} {-rank} a\n"
            for line in lines
            for rank, item in enumerate(line["ids"], start=1)
        )
    )
    measured = compute_results(records)["sets"]["small"]["rows"][0]["values"]["recall_all@1"]
    for name in ("a.jsonl", "a.trec"):
        imported = compute_results(import_results([tmp_path / name], small_set()))
        assert imported["sets"]["small"]["rows"][0]["values"]["recall_all@1"] == measured


def test_imported_judgments_keep_their_repeats_and_can_be_judged_again(tmp_path: Path) -> None:
    judged = {
        "chat": [
            {
                "question_id": f"u{user}-q{place}",
                "question": "?",
                "golden_answer": "apple",
                "generated_answer": "an apple" if place else "a pear",
                "llm_judgments": {"judgment_1": True, "judgment_2": place > 1},
            }
            for user in range(8)
            for place in range(4)
        ]
    }
    path = tmp_path / "others.json"
    path.write_text(json.dumps(judged))
    results = compute_results(import_results([path], small_set()))
    row = results["sets"]["small"]["rows"][0]
    assert row["values"]["accuracy"]["mean"] == 0.75
    assert [flag["trap"] for flag in results["flags"]] == ["averaged repeats"]
    again = compute_results(import_results([path], small_set(), judge=RULE_JUDGES["overlap"]))
    assert again["sets"]["small"]["rows"][0]["values"]["accuracy"]["mean"] == 0.75
    assert again["judge"] == "overlap"


def test_files_of_another_set_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"question": "nobody", "ids": ["i0"]}\n')
    with pytest.raises(InputError, match="no question"):
        import_results([path], small_set())


def test_a_capsule_whose_lines_lack_something_is_refused_or_not_intact(
    capsules: dict[str, Path], tmp_path: Path
) -> None:
    def drop_pool(lines: list[dict[str, Any]]) -> None:
        del lines[1]

    def drop_options(lines: list[dict[str, Any]]) -> None:
        del lines[0]["options"]

    assert not verify_capsule(changed(capsules["retrieval"], drop_pool, tmp_path, reseal=True)).intact
    with pytest.raises(MalformedFile):
        verify_capsule(changed(capsules["retrieval"], drop_options, tmp_path, reseal=True))


@pytest.mark.parametrize("text", ['{"ids": []}', '["q"]', "q Q0 i0 1"])
def test_rankings_that_cannot_be_read_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / ("rankings.trec" if "Q0" in text else "rankings.jsonl")
    path.write_text(text)
    with pytest.raises(MalformedFile):
        import_results([path], small_set())
