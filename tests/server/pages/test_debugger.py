"""The debugger without a browser: sums that close, recorded searches, two sides, grades, cases, and its command."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.cli.telling import runner
from tests.server.pages.filled import NOTES
from tests.server.pages.test_pages import asked_first, token_in
from tests.server.serving import OWN, reaching, services_at

import assay
from assay.evaluation.datasets import load_dataset
from assay.extend import Reply
from assay.records import Draft
from assay.server.pages.debugger import ADDRESS, DATASET
from assay.server.pages.ranked_lists import ListEntry, RankedList, compare_lists, join_lists
from assay.server.services import Services
from assay.wiring.systems import file_places

WORDS = "what does a late cancel cost on a holiday"
LIVE = f"{ADDRESS}?q={quote(WORDS)}&k=3"


def articles(page: str) -> dict[str, str]:
    """The passages of a page, each by the id of its passage."""
    found = re.findall(r'<article id="p-\d+" class="card" data-passage="([^"]+)"(.*?)</article>', page, re.DOTALL)
    return {html.unescape(passage): html.unescape(inside) for passage, inside in found}


def column(page: str, name: str) -> list[str]:
    """The passages of one list, best first."""
    found = re.search(rf'<h3 id="list-\d+">{name}<small.*?</h3>\s*<ol [^>]*>(.*?)</ol>', page, re.DOTALL)
    return [] if found is None else [html.unescape(one) for one in re.findall(r'data-passage="([^"]+)"', found[1])]


def cells(article: str) -> list[list[str]]:
    table = re.search(r'<table class="votes">.*?<tbody>(.*?)</tbody>', article, re.DOTALL)
    assert table is not None
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table[1])]


def test_the_printed_numbers_of_every_result_add_up_to_its_printed_score(client: TestClient) -> None:
    page = client.get(LIVE).text
    results, shown = column(page, "results"), articles(page)
    assert len(results) == 3
    scores = re.findall(r'class="score">([\d.]+)', page[page.index(">results<small") :])[:3]
    for passage, score in zip(results, scores, strict=True):
        article = shown[passage]
        rows = cells(article)
        for *_, scaled, weight, adds in rows:
            assert float(scaled) * float(weight) == pytest.approx(float(adds), abs=5e-4)
        summed = re.search(r"= (\(?)([\d.]+)[^/]*?(?:\)|) / ([\d.]+) x ([\d.]+) = ([\d.]+)", article)
        assert summed is not None
        _, base, scale, factor, printed = summed.groups()
        first = [row for row in rows if row[0] == rows[0][0] or row[0] == ""]
        assert sum(float(row[-1]) for row in first) == pytest.approx(float(base), abs=2e-4)
        assert float(base) / float(scale) * float(factor) == pytest.approx(float(printed), abs=5e-4)
        assert float(printed) == pytest.approx(float(score), abs=1e-9)
        factors = re.findall(r'<li class="mono">x ([\d.]+) ', article)
        product = 1.0
        for boost in factors:
            product *= float(boost)
        assert product == pytest.approx(float(factor), abs=2e-3)


def test_a_passage_below_the_cut_shows_its_own_sum_and_its_marked_words(client: TestClient) -> None:
    page = client.get(f"{LIVE}&k=1").text
    fused, shown = column(page, "fused"), articles(page)
    below = next(passage for passage in fused if passage not in column(page, "results"))
    printed = re.search(r"fused (\d\.\d{4})", shown[below])
    assert printed is not None
    assert sum(float(row[-1]) for row in cells(shown[below])) == pytest.approx(float(printed[1]), abs=2e-4)
    assert "<mark>holidays</mark>" in shown[column(page, "results")[0]]
    assert 'class="cut"' in page
    assert "cut at k = 1" in page


def test_the_table_has_every_passage_of_the_lists(client: TestClient) -> None:
    page = client.get(LIVE).text
    table = html.unescape(page[page.index("The same as a table") :].partition("</table>")[0])
    for name in ("vector", "bm25", "fused", "results"):
        for passage in column(page, name):
            assert f">{passage}<" in table


def test_another_side_is_shown_as_what_entered_left_and_moved(client: TestClient) -> None:
    page = client.get(f"{LIVE}&against=assay:channels%3Dgraph%2Bbm25").text
    table = page[page.index('class="differing"') :].partition("</table>")[0]
    kinds = re.findall(r"<td class=\"(?:up|down|)\">(entered|left|moved|stayed)", table)
    assert len(kinds) == table.count("<tr>") - 1
    assert set(kinds) > {"stayed"}
    same = client.get(f"{LIVE}&against=served").text
    assert "0 entered, 0 left, 0 moved, 3 stayed." in same


def test_lists_are_compared_item_by_item() -> None:
    moves = compare_lists(["a", "b", "c"], ["b", "d", "c"])
    assert [(move.item, move.kind) for move in moves] == [
        ("b", "moved"), ("d", "entered"), ("c", "stayed"), ("a", "left"),
    ]  # fmt: skip


def test_a_result_says_how_far_it_moved_after_fusion() -> None:
    assert [ListEntry(2, "m#0", "m", 0.5, fused_rank).moved for fused_rank in (5, 2, 1, None)] == [3, 0, -1, 0]


def test_lines_join_a_passage_to_the_next_list_that_has_it() -> None:
    lists = [
        RankedList(name, tuple(ListEntry(rank, item, item) for rank, item in enumerate(items, 1)), len(items))
        for name, items in (("one", "ab"), ("two", "c"), ("three", "ba"))
    ]
    assert [(line.passage, line.from_x, line.from_y, line.to_x, line.to_y) for line in join_lists(lists)] == [
        ("b", 93, 1.5, 207, 0.5),
        ("a", 93, 0.5, 207, 1.5),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        "k=many", "k=0", "weight.bm25=1,search.fusion%3Drrf", "weight.bm25=1e308", "weight.bm25=nan", "flag.mmr=25%25",
        "mode=psychic", "intent=none", "tier=royal", "fusion=cold", "weight.bm25=heavy", "weight.bm25=-1",
        "channel=telepathy", "flag.mmr=perhaps", "against=python:os:system", "against=assay:embedder.kind%3Dnone",
        "against=assay:/etc/passwd.toml",
    ],
)  # fmt: skip
def test_a_control_that_cannot_be_read_is_told_on_a_page(client: TestClient, wrong: str) -> None:
    reply = client.get(f"{ADDRESS}?q=dogs&{wrong}")
    assert reply.status_code == 422, reply.text
    assert "<h1>That cannot be read</h1>" in reply.text


def test_controls_change_the_search(client: TestClient) -> None:
    plain, lexical = client.get(LIVE).text, client.get(f"{LIVE}&channel=bm25&weight.bm25=0.9&fusion=rrf").text
    assert column(plain, "vector")
    assert not column(lexical, "vector")
    assert "rrf fusion" in lexical
    assert {row[-2] for passage in column(lexical, "results") for row in cells(articles(lexical)[passage])} == {"0.900"}


def test_the_old_address_of_explanations_leads_to_the_debugger(client: TestClient) -> None:
    reply = client.get("/evaluation/queries/search?q=dogs&k=2")
    assert reply.status_code == 303
    assert reply.headers["location"] == f"{ADDRESS}?q=dogs&k=2"


def test_a_past_question_opens_its_recorded_candidates_and_searches_for_nothing(
    client: TestClient, filled: Services
) -> None:
    page = client.get(f"/evaluation/queries/{asked_first(filled)}").text
    link = re.search(rf'href="({ADDRESS}/searches/[^"]+)"', page)
    assert link is not None
    filled.engine.store.log.flush()
    with filled.engine.store.reading(OWN) as work:
        before = work.queries.count()
        logged = work.queries.get(link[1].rpartition("/")[2])
    shown = client.get(link[1]).text
    filled.engine.store.log.flush()
    with filled.engine.store.reading(OWN) as work:
        assert work.queries.count() == before
    for offered in logged.candidates:
        assert column(shown, offered.channel) == list(offered.ids[: len(column(shown, offered.channel))])
        assert bool(column(shown, offered.channel)) == bool(offered.ids)
    assert [passage.rpartition("#")[0] for passage in column(shown, "results")] == list(logged.result_ids)
    assert "no new search" in shown
    again = re.search(r'class="button" href="([^"]+)">Search again now', shown)
    assert again is not None
    assert "<h1>Why these results?</h1>" in client.get(html.unescape(again[1])).text


def test_a_recorded_search_does_not_show_what_was_forgotten_since(tmp_path: Path) -> None:
    with services_at(tmp_path) as services, reaching(services, pages=True) as client:
        kept = services.engine.saver.save(OWN, Draft(title="Parking", body=NOTES["Parking"]), gated=False)
        page = client.get(f"{ADDRESS}?q=garage").text
        link = re.search(rf'href="({ADDRESS}/searches/[^"]+)"', page)
        assert link is not None
        assert "<mark>garage</mark>" in client.get(link[1]).text
        services.engine.saver.forget(OWN, str(kept.memory_id))
        after = client.get(link[1]).text
    assert "This memory was forgotten since" in after
    assert "vehicles" not in after
    assert "Parking" not in after


def test_a_follow_up_is_recorded_repeated_and_becomes_a_case_with_the_question_before(
    client: TestClient, filled: Services
) -> None:
    page = client.get(f"{ADDRESS}?q=how+much+is+it&previous=is+there+a+sauna").text
    assert "--previous-query &#39;is there a sauna&#39;" in page
    link = re.search(rf'href="({ADDRESS}/searches/[^"]+)"', page)
    assert link is not None
    recorded = client.get(link[1]).text
    assert "Asked after “<bdi>is there a sauna</bdi>”" in recorded
    again = re.search(r'class="button" href="([^"]+)">Search again now', recorded)
    assert again is not None
    repeated = client.get(html.unescape(again[1])).text
    assert 'value="is there a sauna"' in repeated
    assert column(repeated, "results") == column(page, "results")
    client.post(f"{link[1]}/case", data={"csrf_token": token_in(recorded)})
    made = filled.shelf(OWN).load_dataset(DATASET).cases[-1]
    assert [(turn.by_user, turn.text) for turn in made.history] == [(True, "is there a sauna")]


def test_grades_are_kept_shown_and_become_a_case(client: TestClient, filled: Services) -> None:
    page = client.get(LIVE).text
    action = re.search(r'action="([^"]+/grade)"', page)
    assert action is not None
    memory_id = column(page, "results")[0].rpartition("#")[0]
    form = {"csrf_token": token_in(page), "item": memory_id, "key": "3"}
    reply = client.post(action[1], data=form)
    assert reply.status_code == 303
    recorded = client.get(reply.headers["location"]).text
    assert "Your grade is kept: 3, the answer." in recorded
    assert "gold 3" in recorded
    assert "gold 3" in client.get(LIVE).text, "a grade counts for the next search with the same words"
    assert client.post(action[1], data={**form, "key": "4"}).status_code == 422
    made = [client.post(action[1].replace("/grade", "/case"), data=form).headers["location"] for _ in range(2)]
    assert [place.rpartition("=")[2] for place in made] == ["case", "known"]
    dataset = filled.shelf(OWN).load_dataset(DATASET)
    assert dataset.cases[-1].query == WORDS
    assert dataset.cases[-1].labels == {memory_id: 3}
    assert {passage.rpartition("#")[0] for passage in column(page, "results")} <= dataset.by_id.keys()


def test_an_address_cannot_put_words_into_a_notice(client: TestClient) -> None:
    page = client.get(LIVE).text
    link = re.search(rf'href="({ADDRESS}/searches/[^"]+)"', page)
    assert link is not None
    assert "Call 555" not in client.get(f"{link[1]}?said=Call+555").text


def test_gold_of_a_case_is_marked_in_the_memory_that_holds_its_documents(tmp_path: Path) -> None:
    hotel = load_dataset("hotel")
    case = next(case for case in hotel.cases if max(case.labels.values(), default=0) == 3)
    best = next(document for document, grade in case.labels.items() if grade == 3)
    with services_at(tmp_path) as services, reaching(services, pages=True) as client:
        draft = Draft(title="Held", body=hotel.by_id[best].text, source_id=best)
        services.engine.saver.save(OWN, draft, gated=False)
        path = f"{ADDRESS}?q={quote(case.query)}&dataset=hotel&case={case.id}"
        page = client.get(path).text
        assert client.get(f"{path}-unknown").status_code == 404
    assert "this memory holds 1 of its" in page
    assert 'class="entry gold"' in page
    assert "gold 3" in page


def test_the_command_gives_the_same_hits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    with services_at(tmp_path, configured=True) as services, reaching(services, pages=True) as client:
        drafts = [Draft(title=title, body=body, folder="policies") for title, body in NOTES.items()]
        list(services.engine.saver.save_many(OWN, drafts))
        pages = [
            client.get(f"{ADDRESS}?q=guests+pay+the+first+night&{controls}").text
            for controls in (
                "k=2&previous=is+there+a+sauna",
                "k=3&fusion=rrf&weight.bm25=0.9&flag.tier_boost=off&channel=bm25&folder=policies",
            )
        ]
    for page in pages:
        command = re.search(r'id="command"[^>]*>([^<]+)<', page)
        assert command is not None
        parts = shlex.split(html.unescape(command[1]))
        program = parts.index("assay")
        with monkeypatch.context() as environment:
            for variable in parts[:program]:
                environment.setenv(*variable.split("=", 1))
            told = runner(capsys)(*parts[program + 1 :], "--json")
        assert told.code == 0, told.err
        hits = json.loads(told.out)["hits"]
        assert [hit["memory_id"] for hit in hits] == [one.rpartition("#")[0] for one in column(page, "results")]
        assert len(hits) >= 2
        shown = re.findall(r'class="score">([\d.]+)', page[page.index(">results<small") :])
        assert [f"{hit['score']:.4f}" for hit in hits] == shown[: len(hits)]


def run_ids(services: Services) -> list[str]:
    return [run.path.name for run in services.shelf(OWN).runs()]


def test_a_query_of_a_run_shows_the_list_of_the_baseline_and_keeps_it_in_its_links(
    client: TestClient, filled: Services
) -> None:
    good, worse = run_ids(filled)[:2]
    page = client.get(f"/evaluation/runs/{worse}/queries/q001?baseline={good}").text
    assert "1 entered, 2 left, 8 moved, 0 stayed." in page
    for key in ("j", "k"):
        link = re.search(rf'href="([^"]+)" data-key="{key}"', page)
        assert link is not None
        assert link[1].endswith(f"?baseline={good}")
        assert client.get(link[1]).status_code == 200
    assert "gold 3" in page
    assert "<mark>" in page
    assert f"assay report {worse} --why q001" in page


def test_a_foreign_system_that_reports_its_steps_is_shown_with_its_lists_and_stages(
    client: TestClient, filled: Services
) -> None:
    def search(query: str, k: int) -> Reply:
        return Reply(
            results=["getting-here"],
            candidates={"dense": [("cancellation-policy", 0.71), ("getting-here", 0.5)]},
            stages=[{"name": "rerank", "in": 2, "out": 1, "dropped": ["cancellation-policy"]}],
        )

    run = assay.evaluate("hotel", search, metrics="recall@5", runs=file_places(filled.settings).runs)
    try:
        page = client.get(f"/evaluation/runs/{run.run_id}/queries/q001").text
    finally:
        shutil.rmtree(run.folder or "")
    assert column(page, "dense") == ["cancellation-policy", "getting-here"]
    assert "Ranks: dense 1 (0.71" in page
    assert "Dropped by the stage <bdi>rerank</bdi>." in page
    assert "<strong>Suggestion:</strong> Let the stage" in page
    stages = page[page.index("What the stages did") :].partition("</table>")[0]
    assert re.findall(r"<td>(.*?)</td>", stages)[:3] == ["<bdi>rerank</bdi>", "2", "1"]


def test_a_wrong_label_is_graded_in_place_and_written_into_a_new_version(client: TestClient, filled: Services) -> None:
    good, worse = run_ids(filled)[:2]
    path = f"/evaluation/runs/{worse}/queries/q001?baseline={good}"
    page = client.get(path).text
    document = column(page, "shown")[0]
    form = {"csrf_token": token_in(page), "document": document}
    for key, said in (("w", "graded-0"), ("1", "graded-1"), ("w", "graded-0")):
        reply = client.post(path, data={**form, "key": key})
        assert reply.headers["location"].endswith(f"said={said}")
    assert "You said <strong data-mine>0</strong>" in client.get(path).text
    assert client.post(path, data={**form, "key": "9"}).status_code == 422
    assert client.post(path, data={**form, "document": "nope", "key": "1"}).status_code == 422
    bundled = client.post("/evaluation/label/hotel/apply", data={**form, "name": "hotel", "version": "9.0.0"})
    assert bundled.status_code == 422
    applied = client.post("/evaluation/label/hotel/apply", data={**form, "name": "hotel-mine", "version": "1.2.0"})
    assert "hotel-mine 1.2.0 has" in client.get(applied.headers["location"]).text
    case = next(one for one in filled.shelf(OWN).load_dataset("hotel-mine").cases if one.id == "q001")
    assert case.labels[document] == 0, "the grade that nobody signed gives way"
