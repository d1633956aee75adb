"""FactConsolidation on a small file of our own: its forms, the facts asked for, chains, saving and measuring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.fact_consolidation import Chains, Part, Question, find_asked_fact, read_parts, states

from assay.errors import InputError, MalformedFile
from assay.testing import HashedEmbedder
from bench import facts as program

FACTS = (
    "The author of The Copper Lighthouse is Ines Varga.",
    "Ines Varga is a citizen of Ardenia.",
    "The capital of Ardenia is Port Lume.",
    "Tomas Reed was born in the city of Welby.",
    "The author of The Copper Lighthouse is Tomas Reed.",
    "Tomas Reed is a citizen of Norwick.",
    "The capital of Norwick is Fenhall.",
    "The name of the current head of state in Norwick is Ada Quill.",
)
ONE_HOP = {
    "Who is the author of The Copper Lighthouse?": ["Tomas Reed"],
    "What is the capital of Ardenia?": ["Port Lume"],
}
TWO_HOPS = {
    "Which country does the author of The Copper Lighthouse come from?": ["Norwick"],
    "Who is the head of state of the country of Tomas Reed?": ["Ada Quill"],
    "Who founded the moon?": ["Nobody"],
}


def row(name: str, asked: dict[str, list[str]]) -> dict[str, Any]:
    listed = "\n".join(f"{number}. {fact}" for number, fact in enumerate(FACTS))
    return {
        "context": f"Here is a list of facts:\n{listed}\n",
        "questions": list(asked),
        "answers": list(asked.values()),
        "metadata": {"source": f"factconsolidation_{name}"},
    }


ROWS = [row("mh_6k", TWO_HOPS), row("sh_6k", ONE_HOP), {"metadata": {"source": "another_benchmark"}, "context": ""}]
FORMS = {
    "list.json": json.dumps(ROWS),
    "rows.json": json.dumps({"rows": [{"row_idx": place, "row": each} for place, each in enumerate(ROWS)]}),
    "lines.jsonl": "\n".join(json.dumps({**each, "metadata": json.dumps(each["metadata"])}) for each in ROWS),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_the_file_gives_the_same_parts(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FORMS[name], encoding="utf-8")
    single, multi = read_parts(tmp_path)
    assert (single.name, multi.name, multi.is_multi_hop) == ("sh_6k", "mh_6k", True)
    assert single.facts == multi.facts == FACTS
    assert single.questions[0] == Question("Who is the author of The Copper Lighthouse?", ("Tomas Reed",))


def test_all_eight_parts_are_told_apart(tmp_path: Path) -> None:
    names = [f"{hops}_{size}" for hops in ("sh", "mh") for size in ("6k", "32k", "64k", "262k")]
    (tmp_path / "all.json").write_text(json.dumps([row(name, ONE_HOP) for name in names]), encoding="utf-8")
    assert {part.name for part in read_parts(tmp_path / "all.json")} == set(names)


def test_a_folder_without_facts_and_a_part_without_answers_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no part of FactConsolidation"):
        read_parts(tmp_path)
    (tmp_path / "short.json").write_text(json.dumps([{**row("sh_6k", ONE_HOP), "answers": []}]), encoding="utf-8")
    with pytest.raises(MalformedFile, match="8 facts, 2 questions and 0 lists of answers"):
        read_parts(tmp_path)


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(f"{json.dumps(ROWS[0])}\n{{oops\n", encoding="utf-8")
    with pytest.raises(MalformedFile, match="line 2: not JSON"):
        read_parts(tmp_path)


def test_an_answer_is_whole_words_in_a_row() -> None:
    assert states("It was written by TOMAS  Reed.", ["Tomas Reed"])
    assert not states("Tomas met Reed.", ["Tomas Reed"])
    assert not states("Tomas Reedman", ["Tomas Reed"])


def test_the_fact_asked_for_is_the_newest_and_knows_what_it_replaced() -> None:
    changed, kept = (find_asked_fact(Question(text, tuple(right)), FACTS) for text, right in ONE_HOP.items())
    assert changed is not None
    assert changed.current == FACTS[4]
    assert changed.outdated == {FACTS[0]}
    assert kept is not None
    assert (kept.current, kept.outdated) == (FACTS[2], frozenset())
    assert find_asked_fact(Question("Who founded the moon?", ("Nobody",)), FACTS) is None


def test_chains_follow_current_facts_only() -> None:
    chains = [Chains(FACTS).find(Question(text, tuple(right))) for text, right in TWO_HOPS.items()]
    assert chains == [((FACTS[4], FACTS[5]),), ((FACTS[5], FACTS[7]),), ()]
    stale = Question("Which country does the author of The Copper Lighthouse come from?", ("Ardenia",))
    assert Chains(FACTS).find(stale) == ()


def test_one_hop_counts_the_top_hit_the_first_five_and_outdated_values() -> None:
    part = Part("sh_6k", FACTS, tuple(Question(text, tuple(right)) for text, right in ONE_HOP.items()))
    lists = iter([[FACTS[0], FACTS[4]], [FACTS[2]]])
    asked = [find_asked_fact(question, FACTS) for question in part.questions]
    found = program.measure_single_hop("made", part, lambda _: next(lists), asked)
    assert (found.first, found.first_five, found.outdated_first, found.replaced) == (1, 2, 1, 1)


def test_several_hops_need_every_fact_of_a_chain() -> None:
    part = Part("mh_6k", FACTS, tuple(Question(text, tuple(right)) for text, right in TWO_HOPS.items()))
    lists = iter([[FACTS[5], "x", FACTS[4]], [FACTS[7], FACTS[6]], [FACTS[0]]])
    chains = [Chains(FACTS).find(question) for question in part.questions]
    found = program.measure_multi_hop("made", part, lambda _: next(lists), chains)
    assert (found.complete, found.answers) == (1, 2)
    assert (found.lengths, found.complete_by_length) == ({2: 2, 0: 1}, {2: 1})


def test_the_program_saves_once_measures_and_tells_what_is_missed(tmp_path: Path) -> None:
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    (data / "small.json").write_text(FORMS["list.json"], encoding="utf-8")
    single, multi = program.run(data, cache, HashedEmbedder())
    assert sum(single.saving.decisions.values()) == len(FACTS)
    assert single.saving.decisions["supersede"] == 1
    assert multi.saving == single.saving, "the same facts are saved once"
    best = single.rows[0]
    assert isinstance(best, program.SingleHop)
    assert (best.asked, best.first, best.outdated_first, best.replaced) == (2, 2, 0, 1)
    assert single.missed() is None
    assert single._replace(rows=[best._replace(first=1)]).missed() == "sh_6k: 1 of 2, at least 1.9 is the goal"
    told = multi.rows[0]
    assert isinstance(told, program.MultiHop)
    assert told.lengths == {2: 2, 0: 1}


def test_ties_of_plain_bm25_are_broken_as_listed_or_by_the_newest() -> None:
    ranking = program.PlainRanking(FACTS, HashedEmbedder())
    query = "author of The Copper Lighthouse"
    assert ranking.bm25(query)[0] == FACTS[0]
    assert ranking.bm25(query, newest_first=True)[0] == FACTS[4]
