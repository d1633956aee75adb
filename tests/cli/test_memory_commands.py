"""Saving, finding, joining and restoring from the command line."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import Run, Told

from assay import Scope, Settings
from assay.records import Draft
from assay.wiring import open_engine


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command means the same store, and only who says so waits for a model."""
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


@pytest.fixture
def real_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "minilm")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one memory, made once; tests that only ask wrong questions copy it."""
    place = tmp_path_factory.mktemp("filled") / "notes.db"
    with open_engine(Settings(db=str(place), embedder="none")) as engine:
        engine.saver.save(Scope(), Draft(title="Session cookies", body=COOKIES))
    return place


COOKIES = "The session cookie is HttpOnly and SameSite=Strict and lives for twelve hours."


def save(run: Run, title: str = "Session cookies", text: str = COOKIES, *more: str) -> Any:
    told = run("save", "--title", title, "--text", text, *more, "--json")
    assert told.code == 0, told.err + told.out
    return told.json["memory_id"]


def ids(told: Told) -> list[str]:
    assert told.code == 0, told.err + told.out
    return [hit["memory_id"] for hit in told.json["hits"]]


def test_what_was_saved_is_found_shown_and_told_where(run: Run) -> None:
    memory = save(run, "Session cookies", COOKIES, "--folder", "decisions", "--tag", "auth", "--trigger", "login age")

    found = run("search", "cookie hours")
    shown = run("show", memory)

    assert (found.code, shown.code) == (0, 0)
    assert re.search(r"Session cookies  relevance 0\.\d\d  decisions", found.out)
    assert memory in found.out
    assert "lives for twelve hours" in shown.out
    assert "login age" in shown.out


def test_the_body_comes_from_a_file_or_from_standard_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "body.md").write_text("From the file of notes.")
    first = run("save", "--title", "One", "body.md", "--json").json["memory_id"]
    monkeypatch.setattr("sys.stdin", io.StringIO("From the standard input."))
    second = run("save", "--title", "Two", "-", "--json").json["memory_id"]

    assert run("show", first, "--json").json["memory"]["body"] == "From the file of notes."
    assert run("show", second, "--json").json["memory"]["body"] == "From the standard input."


def test_a_secret_is_masked_and_the_mask_is_told(run: Run) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLA"
    told = run("save", "--title", "Deploy key", "--text", f"The key of the deploy user is {key}, kept in the vault.")
    assert told.code == 0
    assert "masked" in told.out
    assert key not in run("search", "deploy key vault", "--json").out


def test_filters_narrow(run: Run) -> None:
    first = save(run, "Cookies of the shop", COOKIES, "--folder", "shop/web", "--tag", "auth", "--tier", "critical")
    second = save(run, "Cookies of the bank", "Bank cookies live for one minute only.", "--folder", "bank")

    assert set(ids(run("search", "cookies", "--json"))) == {first, second}
    assert ids(run("search", "cookies", "--folder", "shop", "--json")) == [first]
    assert ids(run("search", "cookies", "--tag", "auth", "--json")) == [first]
    assert ids(run("search", "cookies", "--tier", "normal", "--json")) == [second]
    assert ids(run("search", "cookies", "--until", "2001-01-01", "--json")) == []
    assert ids(run("search", "cookies", "-k", "1", "--json"))


def test_an_explanation_is_a_table_that_ends_with_the_score(run: Run) -> None:
    save(run)
    told = run("search", "cookie hours", "--explain")
    assert "channel" in told.out
    assert "bm25" in told.out
    hit = run("search", "cookie hours", "--explain", "--json").json["hits"][0]
    assert f"= {hit['score']:.4f}" in told.out


def test_nothing_found_says_what_to_try(run: Run) -> None:
    save(run)
    told = run("search", "zebra", "--channel", "bm25")
    assert told.code == 0
    assert "Try without --channel" in told.out


def test_a_search_without_an_embedder_still_answers(run: Run) -> None:
    save(run)
    told = run("search", "cookie hours", "--channel", "vector", "--channel", "bm25")
    assert told.code == 0
    assert "degraded" in told.out
    assert "Session cookies" in told.out


def test_a_session_is_told_what_it_was_given_earlier(run: Run) -> None:
    saved = save(run)
    assert ids(run("search", "cookie hours", "--session", "s1", "--json")) == [saved]
    again = run("search", "cookie hours", "--session", "s1")
    assert again.out.splitlines()[0].startswith("given earlier in this session")
    assert f"Session cookies  {saved}" in again.out.splitlines()[0]
    [held] = json.loads(run("search", "cookie hours", "--session", "s1", "--json").out)["held_back"]
    assert (held["memory_id"], held["title"]) == (saved, "Session cookies")


def test_edges_are_made_shown_and_followed(run: Run) -> None:
    cause, effect = save(run, "The incident of May", "Keys leaked through a log."), save(run)

    linked = run("link", cause, "caused", effect, "--strength", "0.8", "--evidence", "post mortem")
    tree = run("why", effect)

    assert linked.code == 0
    assert "The incident of May" in tree.out
    assert "0.80" in tree.out
    assert "post mortem" in run("show", effect).out
    assert "Nothing is known" in run("why", cause).out


@pytest.mark.usefixtures("real_embedder")
def test_a_changed_fact_supersedes_and_restore_brings_it_back(run: Run) -> None:
    old = save(run)
    told = run("save", "--title", "Session cookies", "--text", COOKIES.replace("twelve", "eight"))

    assert told.out.startswith(f"superseded {old} by ")
    assert f"assay restore {old}" in told.out
    assert old not in ids(run("search", "session cookie lifetime", "--json"))
    assert old in ids(run("search", "session cookie lifetime", "--include-superseded", "--json"))

    assert run("restore", old).code == 0
    assert old in ids(run("search", "session cookie lifetime", "--json"))


@pytest.mark.usefixtures("real_embedder")
def test_meaning_is_found_without_a_common_word(run: Run) -> None:
    wanted = save(run, "Deploys go out before noon", "Nothing is released after 12:00, so that people are awake.")
    save(run)
    assert ids(run("search", "when may we ship new software", "--json"))[0] == wanted


def test_flags_are_listed_switched_and_told_apart_by_origin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "docscore_aggregation" in run("flag", "list").out
    assert run("flag", "off", "mmr").code == 0
    assert run("flag", "show", "mmr", "--json").json["percent"] == 0
    assert run("flag", "set", "mmr", "25%", "--json").json["percent"] == 25
    assert run("flag", "show", "mmr", "--json").json["origin"] == "stored"
    monkeypatch.setenv("ASSAY_FLAG_MMR", "on")
    assert run("flag", "show", "mmr", "--json").json["place"] == "ASSAY_FLAG_MMR"
    refused = run("flag", "off", "mmr")
    assert (refused.code, "ASSAY_FLAG_MMR" in refused.err) == (3, True)


def test_the_indexes_can_be_seen_folded_and_deleted(run: Run) -> None:
    memory = save(run, "Session cookies", COOKIES, "--folder", "decisions")
    assert run("index", "status", "--json").json["folders"] == {"decisions": 1}
    assert "decisions 1" in run("index", "status").out
    assert run("index", "compact").code == 0
    assert run("index", "delete").code == 0
    assert ids(run("search", "cookie hours", "--json")) == [memory]


def test_health_asks_every_channel(run: Run) -> None:
    save(run, "Session cookies", COOKIES, "--trigger", "login age")
    told = run("health", "--json")
    assert told.code == 0
    assert "bm25" in told.out


def test_an_embedder_that_cannot_be_loaded_is_named_and_words_still_find(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = save(run)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "local")

    found, refused = run("search", "cookie hours", "--json"), run("save", "--title", "T", "--text", "body")

    assert ids(found) == [memory]
    assert "embedder.folder" in str(found.json["degraded"])
    assert (refused.code, "embedder.folder" in refused.err) == (3, True)


@pytest.mark.usefixtures("real_embedder")
def test_thresholds_are_measured_on_ours_or_on_your_pairs(run: Run, tmp_path: Path) -> None:
    pairs = [
        {"first": "The tea is left.", "second": "The tea is on the left.", "label": "same"},
        {"first": "The tea is left.", "second": "The tea is not left.", "label": "conflict"},
        {"first": "The tea is left.", "second": "Deploys go out at noon.", "label": "different"},
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs))
    told = run("tune", "thresholds", "--pairs", "pairs.jsonl")
    assert told.code == 0
    assert "proposed" in told.out
    assert {line.split()[0]: line.split()[1] for line in told.out.splitlines() if line.startswith("  ")}["same"] == "1"
    assert "built-in method" not in told.out
    (tmp_path / "pairs.jsonl").write_text('{"first": "a"}\n')
    assert "line 1" in run("tune", "thresholds", "--pairs", "pairs.jsonl").err
    assert run("tune", "thresholds", "--pairs", "nowhere.jsonl").code == 3


@pytest.mark.usefixtures("real_embedder")
def test_a_change_of_embedder_is_told_and_worked_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = save(run)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "static")
    before = run("search", "cookie hours", "--json").json
    done = run("index", "reembed")
    after = run("search", "cookie hours", "--json").json

    assert before["degraded"]
    assert "1 of 1 chunks" in done.out
    assert after["degraded"] == []
    assert after["hits"][0]["memory_id"] == memory
    assert "vector" in after["hits"][0]["channels"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("save", "--text", "no title"), "--title"),
        (("save", "--title", "T", "--text", " "), "body"),
        (("save", "--title", "T", "--text", "x", "other.md"), "other.md"),
        (("save", "--title", "T", "missing.md"), "missing.md"),
        (("save", "--title", "T", "--text", "x", "--tier", "vital"), "vital"),
        (("search", " "), "query"),
        (("search", "x", "-k", "0"), "equal to 1, not 0"),
        (("search", "x", "--mode", "wild"), "wild"),
        (("search", "x", "--since", "yesterday"), "yesterday"),
        (("search", "x", "--since", "2026-02-01", "--until", "2026-01-01"), "since"),
        (("search", "x" * 20_001), "20,000"),
        (("show", "m_nobody"), "m_nobody"),
        (("show", "../x"), "../x"),
        (("why", "m_nobody"), "m_nobody"),
        (("restore", "m_nobody"), "m_nobody"),
        (("link", "m_a", "caused", "m_a"), "m_a"),
        (("link", "m_a", "likes", "m_b"), "likes"),
        (("flag", "on", "mmmr"), "mmr"),
        (("flag", "set", "mmr", "lots"), "lots"),
        (("flag", "review", "mmr"), "mmr"),
        (("ingest", "nowhere"), "nowhere"),
        (("ingest", "/"), "--root"),
    ],
)
def test_a_mistake_ends_with_the_code_of_wrong_use_and_names_the_value(
    run: Run, filled: Path, tmp_path: Path, arguments: tuple[str, ...], named: str
) -> None:
    shutil.copy(filled, tmp_path / "notes.db")
    told = run(*arguments)
    assert told.code == 3, told.out + told.err
    assert named in told.err
    assert set(run(*arguments, "--json").json) == {"error"}


@pytest.mark.parametrize("arguments", [("search", "x"), ("show", "m_1"), ("health",), ("index", "status")])
def test_a_question_to_a_store_that_is_not_there_makes_none(
    run: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    told = run(*arguments)
    assert told.code == 3
    assert "notes.db" in told.err
    assert not (tmp_path / "notes.db").exists()


def test_operators_and_quotes_of_other_languages_are_only_words(run: Run) -> None:
    memory = save(run)
    for query in (
        'cookie" OR 1=1 --',
        "NEAR(cookie hours",
        "cookie AND NOT *",
        "title:cookie",
        "'; DROP TABLE cookie",
        "(((cookie",
    ):
        assert ids(run("search", query, "--json")) == [memory], query


def test_an_update_keeps_what_was_not_given_and_the_next_command_of_the_guide_finds_it(run: Run) -> None:
    given = ("--source-id", "cookies", "--folder", "decisions", "--tag", "auth", "--tier", "critical")
    save(run, "Session cookies", COOKIES, *given, "--trigger", "cookie lifetime")
    update = ("save", "-t", "Session cookies", "--source-id", "cookies", "--text", COOKIES.replace("twelve", "eight"))
    told = run(*update)
    kept = "triggers cookie lifetime; tier critical; folder decisions; tags auth"
    assert f"  taken over from the old memory: {kept}" in told.out.splitlines()
    found = run("search", '"session cookie" hours', "--folder", "decisions", "--tag", "auth", "--json")
    assert ["eight" in hit["passages"][0]["text"] for hit in found.json["hits"]] == [True]


def test_update_sets_any_text_field_and_show_says_what_it_is(run: Run) -> None:
    memory = save(run, "Session cookies", COOKIES, "--context-type", "review")
    assert "context type   review" in run("show", memory).out
    changed = run("update", memory, "--set", "context_type=audit", "--json").json["memory_id"]
    assert run("show", changed, "--json").json["memory"]["context_type"] == "audit"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--set", "tier=normal"), "--set 'tier=normal' changes nothing"),
        (("--set", "context_type"), "--set 'context_type' changes nothing"),
        (("--title", "New", "--set", "title=Newer"), "a new title was given twice"),
    ],
)
def test_update_refuses_what_set_cannot_change(run: Run, given: tuple[str, ...], why: str) -> None:
    told = run("update", "m_none", *given)
    assert (told.code, why in told.err) == (3, True)


def test_an_empty_option_empties_a_field_of_an_update(run: Run) -> None:
    save(run, "Session cookies", COOKIES, "--source-id", "cookies", "--folder", "decisions", "--tag", "auth")
    more = ("--source-id", "cookies", "--tag", "", "--folder", "")
    memory = save(run, "Session cookies", COOKIES.replace("twelve", "eight"), *more)
    shown = run("show", memory, "--json").json["memory"]
    assert (shown["tags"], shown["folder"]) == ([], "")


@pytest.mark.usefixtures("real_embedder")
def test_a_flag_that_is_held_off_says_so_in_save_flag_list_and_health(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("taken").write_text("a file where the folder should be")
    monkeypatch.setenv("ASSAY_CHECKPOINTS_FOLDER", str(Path("taken") / "checkpoints"))
    old = save(run, "Release day", "Releases go out on Monday at 10:00.")
    told = run("save", "-t", "Release day", "--text", "Releases go out on Tuesday at 11:00.")
    assert f"  would have superseded {old}, but reconsolidation is held off: " in told.out
    because = told.out.partition("held off: ")[2].splitlines()[0]
    listed = run("flag", "list").out
    assert "on (held off)" in listed
    assert f"reconsolidation is held off: {because}" in listed
    assert f"held off: {because}" in run("flag", "show", "reconsolidation").out
    assert f"on, but held off: {because}" in " ".join(run("health").out.split())


LIMIT = "The limit of the gateway is 100 requests. Deployments need two approvals, and nobody deploys on Fridays."


def test_a_save_names_the_facts_that_it_outdates_and_show_lists_them_until_they_are_restored(run: Run) -> None:
    old = save(run, "Gateway", LIMIT)
    raised = run("save", "--title", "Quota", "--text", "The limit of the gateway is now 500 requests.")
    undo = f'outdated in {old}: "100 requests", now "500 requests"; undo: assay restore {old}'
    assert undo in raised.out

    shown = run("show", old)
    assert "gateway" in shown.out
    assert 'now "500 requests"' in shown.out
    [fact] = run("show", old, "--json").json["facts"]
    assert (fact["statement"], fact["value"]) == ("The limit of the gateway is 100 requests.", "100 requests")
    assert fact["now"] == "500 requests"
    assert fact["ended_by"] in raised.out

    assert run("restore", old).code == 0
    [fact] = run("show", old, "--json").json["facts"]
    assert (fact["valid_to"], fact["ended_by"], fact["now"]) == (None, None, "")
    assert fact["confirmed_at"] is not None


def test_facts_of_an_older_store_are_read_by_compacting(run: Run) -> None:
    save(run, "Gateway", LIMIT)
    told = run("index", "compact", "--json")
    assert told.json["facts"] == {"memories": 1, "facts": 1, "ended": 0}
    assert run("index", "compact", "--json").json["facts"] is None
