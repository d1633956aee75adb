"""Why queries lost: from what a run recorded, by asking the system again, and in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from tests.evaluation.reporting.samples import dataset as small
from tests.evaluation.reporting.samples import given, told
from tests.evaluation.reporting.samples import run as scored

import assay
from assay.errors import InputError, UnknownSystem
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import run as run_system
from assay.evaluation.why.explaining import ProbeOptions, explain_run
from assay.evaluation.why.terminal import WIDE, explain_lines, lost_lines
from assay.extend import Reply
from assay.metrics.spec import parse_specs
from assay.records.answers import GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import CaseStatus, Retrieved
from assay.records.explanations import LossReason, LostQueries, ProbeKind, QueryExplanation
from assay.systems.protocol import System
from assay.systems.python_function import PythonFunction

FILLER = "kettle lamp ladder bucket broom candle mirror carpet window curtain"
DOCUMENTS = (
    Document(id="badge", title="Replacement passes", text="A lost pass is replaced at the porter's desk."),
    Document(id="doors", title="Doors", text="Reset the door code. Reset the lock of the door with the reset key."),
    Document(id="hours", title="Hours", text="The desk is open from eight. Reset the clock at noon."),
    Document(id="gone", title="Bicycles", text="Bicycles stand in the yard."),
    *(
        Document(id=f"f{place}", title=word, text=f"The {word} is in the store.")
        for place, word in enumerate(FILLER.split())
    ),
)
CASES = (
    Case(id="lost-word", query="reset lost pass", grades=(Grade(document_id="badge", grade=3),)),
    Case(id="absent", query="where do bicycles stand", grades=(Grade(document_id="gone", grade=3),)),
    Case(id="good", query="door code", grades=(Grade(document_id="doors", grade=3),)),
    Case(id="nothing", query="how tall is the tower", answerable=False),
)
DATA = Dataset(name="house", documents=DOCUMENTS, cases=CASES)
INDEX = {document.id: f"{document.title} {document.text}".lower().replace(".", "").split() for document in DOCUMENTS}
Search = Callable[[str, int], Any]


def by_overlap(query: str, k: int, *, without: Sequence[str] = ("gone",)) -> list[tuple[str, float]]:
    """Rank by how often the words of the query are in a document; one document is not indexed."""
    words = query.lower().replace(".", "").split()
    scores = {
        name: float(sum(text.count(word) for word in words)) for name, text in INDEX.items() if name not in without
    }
    return sorted(((name, score) for name, score in scores.items() if score), key=lambda one: -one[1])[:k]


def measured(search: Search, data: Dataset = DATA, *, k: int = 2) -> RunResult:
    return run_system(data, PythonFunction(search), RunOptions(metrics=parse_specs(f"recall@{k}"), k=k))


def why(
    search: Search | System, wanted: str, data: Dataset = DATA, *, k: int = 2, calls: int = 20, again: Any = None
) -> QueryExplanation | LostQueries:
    """Run a system and explain a query by asking `again`, else the same system."""
    system = search if isinstance(search, System) else PythonFunction(search)
    run = run_system(data, system, RunOptions(metrics=parse_specs(f"recall@{k}"), k=k))
    asked = system if again is None else again if isinstance(again, System) else PythonFunction(again)
    probe = ProbeOptions(open_system=lambda _: nullcontext(asked), calls=calls)
    return explain_run(run, data, wanted, probe=probe)


def one(found: QueryExplanation | LostQueries) -> QueryExplanation:
    assert isinstance(found, QueryExplanation)
    return found


def test_a_word_that_leads_elsewhere_is_found_by_leaving_it_out() -> None:
    found = one(why(by_overlap, "lost-word", k=1))
    gold = found.gold[0]
    assert (gold.depth, gold.indexed, gold.reason) == (2, True, LossReason.MISLEADING_WORD)
    assert [(result.id, result.title, result.score) for result in gold.outranked_by] == [("doors", "Doors", 3.0)]
    best = gold.changes[0]
    assert (best.kind, best.words, best.rank) == (ProbeKind.WITHOUT, ("reset",), 1)
    assert "Without 'reset' it comes at rank 1" in str(gold.suggestion)
    assert 0 < found.probing.made <= found.probing.allowed == 20


def test_what_its_own_words_do_not_find_seems_not_to_be_indexed() -> None:
    gold = one(why(by_overlap, "absent")).gold[0]
    assert (gold.indexed, gold.depth, gold.reason) == (False, None, LossReason.SEEMS_NOT_INDEXED)
    assert gold.changes == (), "words are not tried for what is not there"


def test_other_words_are_found_by_adding_those_of_the_gold_item() -> None:
    case = Case(id="q", query="card mislaid", grades=(Grade(document_id="badge", grade=3),))
    data = replace(DATA, cases=(case, CASES[2]))
    gold = one(why(by_overlap, "q", data)).gold[0]
    assert (gold.indexed, gold.reason, gold.common) == (True, LossReason.OTHER_WORDS, ())
    assert gold.changes[0].kind is ProbeKind.WITH


def test_without_asking_only_what_was_recorded_is_known() -> None:
    gold = one(explain_run(measured(by_overlap), DATA, "absent")).gold[0]
    assert (gold.reason, gold.indexed, gold.depth) == (LossReason.NOT_KNOWN, None, None)
    assert "--probe" in str(gold.suggestion)


def test_calls_are_bounded_and_that_is_said() -> None:
    probing = one(why(by_overlap, "lost-word", k=1, calls=2)).probing
    assert (probing.allowed, probing.made) == (2, 2)
    assert "stopped after 2 calls, the most that were allowed" in probing.notes


def test_a_system_that_refuses_more_results_is_asked_with_what_it_takes() -> None:
    def strict(query: str, k: int) -> Any:
        if k > 1:
            raise ValueError("at most 1")
        return by_overlap(query, k)

    found = one(why(strict, "lost-word", k=1))
    assert any("refuses 5 results: ValueError: at most 1" in note for note in found.probing.notes)
    gold = found.gold[0]
    assert (gold.depth, gold.searched_to, gold.indexed) == (None, 1, True)
    assert gold.reason is LossReason.MISLEADING_WORD


def test_a_list_that_ends_is_said_and_a_system_that_times_out_keeps_the_answer_so_far() -> None:
    def later(query: str, k: int) -> Any:
        if query != CASES[0].query:
            raise TimeoutError("too slow")
        return by_overlap(query, 1)

    found = one(why(by_overlap, "lost-word", k=1, again=later))
    assert "asked for 5 results, the system gives 1: its list ends there" in found.probing.notes
    assert any(note.startswith("stopped after 2 calls") for note in found.probing.notes)
    assert found.gold[0].outranked_by


def test_a_system_that_changed_since_the_run_is_said() -> None:
    found = one(why(by_overlap, "lost-word", k=1, again=lambda query, k: ["hours", "badge"][:k]))
    assert any("has changed since the run" in note for note in found.probing.notes)
    assert any("another list for this query" in note for note in found.probing.notes)


def test_a_system_that_replays_is_never_asked() -> None:
    class Recorded(System):
        name = "recorded"
        replays = True
        asked = 0

        def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
            Recorded.asked += 1
            return Retrieved(ids=("hours",))

    found = one(why(Recorded(), "absent"))
    assert Recorded.asked == len(CASES), "by the run alone"
    assert (found.probing.allowed, found.probing.made) == (0, 0)
    assert "only replays what was recorded" in found.probing.notes[0]


def test_repeated_results_and_ids_that_the_dataset_does_not_have_are_named() -> None:
    found = one(why(lambda query, k: ["stranger", "stranger", "\x1b[31mred", "hours"], "lost-word", k=3))
    assert not any("\x1b" in line for line in explain_lines(found)), "a foreign id cannot steer the terminal"
    assert any("repeated results dropped" in note for note in found.notes)
    strange = found.gold[0].outranked_by[0]
    assert (strange.id, strange.in_dataset, strange.text) == ("stranger", False, "")
    assert "1 stranger, not in the dataset" in "\n".join(explain_lines(found))


def test_a_query_that_lost_nothing_has_its_rank_and_what_is_just_below() -> None:
    found = one(why(by_overlap, "good", k=2))
    assert not found.lost
    lines = explain_lines(replace(found, below=found.shown[1:]))
    assert any(line.startswith("found: doors   rank 1") for line in lines)
    assert "no gold item was missed" in found.probing.notes[0]


def test_an_unanswerable_query_expects_nothing_and_is_not_lost() -> None:
    found = one(explain_run(measured(by_overlap), DATA, "tower"))
    assert (found.lost, found.gold) == (False, ())
    assert " nothing is expected of this query" in explain_lines(found)


def test_several_gold_items_share_the_deeper_lists() -> None:
    grades = (Grade(document_id="badge", grade=3), Grade(document_id="hours", grade=2))
    data = replace(DATA, cases=(Case(id="q", query="reset pass", grades=grades),))
    found = one(why(by_overlap, "q", data, k=1))
    assert [gold.depth for gold in found.gold] == [2, 3]
    assert sum(call.kind is ProbeKind.DEPTH for call in found.probing.calls) == 1


def test_a_passage_is_looked_for_by_its_section() -> None:
    keys, passes = "Old keys hang in the hall by the stairs.", "Lost passes are replaced at the desk by the porter."
    text = f"# Keys\n\n{keys}\n\n# Passes\n\n{passes}"
    notes = Document(id="n", text=text, rel_path="notes.md")
    support = GoldSupport(rel_path="notes.md", heading_path="Passes")
    case = Case(id="q", query="who replaces passes", anchors=GoldAnchors(supports=(support,)))
    data = Dataset(name="vault", documents=(notes, *DOCUMENTS[4:]), cases=(case,))
    parts = {"Keys": keys, "Passes": passes}

    def search(query: str, k: int) -> Any:
        order = ["Keys", "Passes"] if "who" in query else ["Passes", "Keys"]
        return [{"id": "n", "chunk_id": name, "rel_path": "notes.md", "text": parts[name]} for name in order][:k]

    run = run_system(data, PythonFunction(search), RunOptions(metrics=parse_specs("recall_any@1"), k=1))
    probe = ProbeOptions(open_system=lambda _: nullcontext(PythonFunction(search)), calls=20)
    gold = one(explain_run(run, data, "q", k=1, probe=probe)).gold[0]
    assert gold.item == "notes.md > Passes"
    assert gold.text.endswith(passes)
    assert (gold.indexed, gold.found) == (True, False)
    keys_alone = PythonFunction(lambda query, k: [{"id": "n", "rel_path": "notes.md", "text": keys}])
    probe = replace(probe, open_system=lambda _: nullcontext(keys_alone))
    lost = one(explain_run(run, data, "q", k=1, probe=probe)).gold[0]
    assert lost.reason is LossReason.SEEMS_NOT_INDEXED
    assert "the whole document is cut into passages" in str(lost.suggestion)


def test_reported_candidates_and_stages_are_told_step_by_step() -> None:
    def search(query: str, k: int) -> Reply:
        return Reply(
            results=["doors"],
            candidates={"dense": [("badge", 0.71)], "bm25": ["doors"]},
            stages=[{"name": "fusion", "in": 2, "out": 2, "dropped": []}, {"name": "rerank", "dropped": ["badge"]}],
        )

    found = one(explain_run(measured(search), DATA, "lost-word"))
    text = "\n".join(explain_lines(found))
    assert " candidate   dense rank 1 (0.71)   bm25 -" in text
    assert " dropped     by rerank" in text
    assert " stages      fusion 2 -> 2, rerank ? -> ?" in text
    assert found.gold[0].reason is LossReason.LOST_AFTER_FUSION
    assert found.gold[0].suggestion == "Let the stage 'rerank' keep more, or look at why it drops them."


def test_texts_stand_side_by_side_where_there_is_room() -> None:
    found = one(why(by_overlap, "lost-word", k=1))
    wide = explain_lines(found, WIDE)
    assert any("gold: badge" in line and "| came instead: 1 doors" in line for line in wide)
    assert any("*lost* *pass*" in line for line in wide)
    narrow = explain_lines(found, WIDE - 1)
    assert not any(" | " in line for line in narrow)


def test_all_lost_queries_are_in_one_table_with_counts_by_reason() -> None:
    found = why(by_overlap, "lost", k=1)
    assert isinstance(found, LostQueries)
    assert [(row.query_id, row.gold, row.depth) for row in found.lost] == [
        ("lost-word", "badge", 2),
        ("absent", "gone", None),
    ]
    assert found.reasons == {LossReason.MISLEADING_WORD.value: 1, LossReason.SEEMS_NOT_INDEXED.value: 1}
    assert (found.queries, found.allowed) == (3, 40)
    lines = lost_lines(found)
    assert lines[0] == "2 of 3 queries lost gold within the first 1"
    assert any(line.startswith("lost-word  badge") for line in lines)
    assert any(line.startswith("The system was asked again: ") for line in lines)


def test_a_failed_query_is_lost_and_steps_of_assay_are_told_as_before() -> None:
    data = small()
    run = scored(
        data,
        {
            "q1": given("cd", seen=told({"fts5": "cd"}, fused="cd")),
            "q2": given("ab"),
            "q3": given("", status=CaseStatus.ERROR, error="refused"),
        },
    )
    shown = "\n".join(explain_lines(one(explain_run(run, data, "refund"))))
    assert " candidate   fts5 -\n shown       no (k = 2)" in shown
    assert " lost        never a candidate" in shown
    assert " Suggestion: Ask the vector channel too" in shown
    lost = explain_run(run, data, "lost")
    assert isinstance(lost, LostQueries)
    assert [(row.query_id, row.reason, row.remedy) for row in lost.lost][1] == (
        "q3",
        LossReason.SYSTEM_FAILED,
        "refused",
    )


def test_python_explains_a_run_that_is_a_value() -> None:
    run = assay.evaluate(DATA, by_overlap, metrics="recall@1", k=1)
    found = one(assay.why(run, "lost-word", dataset=DATA, probe=True, system=by_overlap))
    assert found.gold[0].depth == 2
    with pytest.raises(UnknownSystem, match="'by_overlap' of the run cannot be opened again"):
        assay.why(run, "lost-word", dataset=DATA, probe=True)
    with pytest.raises(InputError, match="is not the one the run was measured on"):
        assay.why(run, "lost-word", dataset=replace(DATA, cases=CASES[:1]))
