"""The list of runs, comparisons and baselines: every run reachable, sensible choices, the same numbers everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.pages.filled import Gold
from tests.server.pages.test_pages import token_in
from tests.server.serving import OWN, bearer, reaching, services_at

from assay.access import Access
from assay.errors import BadValue
from assay.evaluation import run_catalogue
from assay.evaluation.datasets import load_dataset
from assay.evaluation.run_catalogue import ENTRY_FILE, FILE, RunCatalogue, RunEntry, keep_entry, read_entry
from assay.evaluation.running.files import RunFolder
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.server.pages.runs import describe_value
from assay.server.services import Services
from assay.verbs import runs as run_verbs

LIST = "/evaluation/runs"


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Three runs of one system family: good, worse, and a sample of good with a tag and a commit."""
    with services_at(tmp_path_factory.mktemp("runs")) as services:
        dataset, running = load_dataset("hotel"), Running(runs=services.shelf(OWN).runs_folder)
        run(dataset, Gold("good", 0), RunOptions(name="good"), running)
        run(dataset, Gold("worse", 2), RunOptions(name="worse"), running)
        options = RunOptions(name="part", sample=0.1, tags=("nightly",), commit="a" * 40)
        run(dataset, Gold("good", 0), options, running)
        yield services


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, pages=True) as client:
        yield client


def ids(services: Services) -> dict[str, str]:
    """The ids of runs by their names."""
    return {entry.name: entry.run_id for entry in RunCatalogue().entries(services.shelf(OWN).runs())}


def rows(page: str) -> list[str]:
    """The names of the runs that a page lists."""
    return re.findall(r'<td><a href="/evaluation/runs/run_[^"]+"><strong>([^<]+)</strong>', page)


def test_runs_are_filtered_sorted_and_counted(client: TestClient) -> None:
    assert rows(client.get(LIST).text) == ["part", "worse", "good"]
    assert rows(client.get(f"{LIST}?sort=ndcg@10").text)[-1] == "worse"
    found = client.get(f"{LIST}?words=WORSE").text
    assert rows(found) == ["worse"]
    assert "1 run of 3 match the filters" in found
    assert rows(client.get(f"{LIST}?tag=nightly").text) == ["part"]
    assert rows(client.get(f"{LIST}?words=aaaaaaaaaa").text) == ["part"]
    assert rows(client.get(f"{LIST}?state=unfinished").text) == []
    assert client.get(f"{LIST}?state=perhaps").status_code == 422


def test_the_chart_has_a_point_with_its_interval_for_each_run(client: TestClient) -> None:
    page = client.get(f"{LIST}?metric=recall@5").text
    assert "<h2>recall@5 on hotel</h2>" in page
    points = re.findall(r"<title>(\w+): ([0-9.]+) \[([0-9.]+), ([0-9.]+)\]", page)
    assert [name for name, *_ in points] == ["good", "worse", "part"]
    assert all(float(low) <= float(value) <= float(high) for _, value, low, high in points)
    assert "aaaaaaaaaa, nightly" in page


def test_a_blessed_run_is_the_default_to_compare_with_and_is_in_the_audit_log(
    services: Services, client: TestClient
) -> None:
    by_name = ids(services)
    place = f"{LIST}/{by_name['good']}"
    form = {"csrf_token": token_in(client.get(place).text), "despite": "the first"}
    assert client.post(f"{place}/bless", data=form).status_code == 422, "a note is needed"
    answer = client.post(f"{place}/bless", data={**form, "note": "checked by hand"}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    assert "good is the baseline of hotel." in client.get(answer.headers["location"]).text
    page = client.get(LIST).text
    chosen = re.findall(r'<option value="(run_\w+)" selected>', page)
    assert chosen == [by_name["good"], by_name["part"]]
    assert "with the baseline" in page
    assert "This run is the baseline of hotel since" in client.get(place).text
    assert "against good" in client.get(f"{LIST}/{by_name['worse']}").text, "it is held against the baseline"
    with services.engine.store.reading(OWN) as work:
        entry = work.audit.entries(target=by_name["good"])[0]
    assert (entry.action, entry.detail["why"]) == ("baseline.bless", "checked by hand")


def test_a_sample_is_blessed_only_with_a_reason(services: Services, client: TestClient) -> None:
    place = f"{LIST}/{ids(services)['part']}"
    page = client.get(f"{place}?baseline=").text
    assert "it is a sample of 10% of the cases" in page
    form = {"csrf_token": token_in(page), "note": "quick"}
    assert client.post(f"{place}/bless", data=form).status_code == 409


def test_only_an_admin_blesses(services: Services) -> None:
    run_id = ids(services)["worse"]
    with reaching(services, local=False, pages=True) as client:
        for access, status in ((Access.READ, 403), (Access.WRITE, 403)):
            answer = client.post(f"/api/runs/{run_id}/bless", json={"note": "mine"}, headers=bearer(services, access))
            assert answer.status_code == status


def test_movers_are_shown_by_the_metric_that_was_chosen_with_winners_and_losers(
    services: Services, client: TestClient
) -> None:
    by_name = ids(services)
    pair = f"control={by_name['good']}&treatment={by_name['worse']}"
    page = client.get(f"{LIST}/compare?{pair}&metric=recall@5").text
    assert "recall@5 changed in" in page
    lost, won = page.partition("Became worse")[2].split("Became better")
    assert lost.count("<tr><td>") > 0
    assert "None." in won
    swapped = client.get(f"{LIST}/compare?control={by_name['worse']}&treatment={by_name['good']}").text
    assert "None." in swapped.partition("Became worse")[2].split("Became better")[0]
    assert client.get(f"{LIST}/compare?{pair}&metric=nothing@5").status_code == 422


def test_p99_of_a_baseline_is_the_same_on_the_run_page_and_on_the_comparison(
    services: Services, client: TestClient
) -> None:
    by_name = ids(services)
    compared = client.get(f"{LIST}/compare?control={by_name['good']}&treatment={by_name['worse']}").text
    before = re.search(r"<td>p99</td><td class=\"num\">([^<]+)</td>", compared)
    assert before is not None
    page = client.get(f"{LIST}/{by_name['worse']}?baseline={by_name['good']}").text
    line = page.partition("<td>latency p99")[2].partition("</tr>")[0]
    assert float(before[1].removesuffix(" ms")) == pytest.approx(
        float(re.findall(r"([0-9.]+) ms", line)[1]), abs=0.06
    ), line
    assert re.search(r"163 cases that have a time in both", compared)


def test_a_catalogue_is_read_again_when_a_file_changes_and_survives_a_damaged_index(services: Services) -> None:
    folders = services.shelf(OWN).runs()
    first = RunCatalogue().entries(folders)
    assert (folders[0].path.parent / FILE).is_file()
    (folders[0].path.parent / FILE).write_text("{", encoding="utf-8")
    assert RunCatalogue().entries(folders) == first
    kept = folders[0].result.read_text(encoding="utf-8")
    catalogue = RunCatalogue()
    catalogue.entries(folders)
    folders[0].result.write_text(kept.replace('"value": 1.0', '"value": 0.999', 1), encoding="utf-8")
    assert [entry.edited for entry in catalogue.entries(folders)] == [False, False, True]
    folders[0].result.write_text(kept, encoding="utf-8")
    assert not any(entry.edited for entry in catalogue.entries(folders))


def test_the_first_list_reads_what_storing_a_run_wrote_down_as_long_as_it_is_true(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = services.shelf(OWN).runs()
    expected = RunCatalogue().entries(folders)
    for folder in folders:
        assert (folder.path / ENTRY_FILE).is_file()
        keep_entry(folder)  # other tests wrote its result again
    (folders[0].path.parent / FILE).unlink()
    read: list[str] = []

    def read_and_count(folder: RunFolder) -> RunEntry | None:
        read.append(folder.path.name)
        return read_entry(folder)

    monkeypatch.setattr(run_catalogue, "read_entry", read_and_count)
    assert RunCatalogue().entries(folders, keep=False) == expected
    assert read == []
    # An entry that was edited, or that is of other files, is not believed.
    entry_file = folders[0].path / ENTRY_FILE
    kept = entry_file.read_text(encoding="utf-8")
    entry_file.write_text(kept.replace('"name": "', '"name": "another '), encoding="utf-8")
    assert RunCatalogue().entries(folders, keep=False) == expected
    entry_file.write_text(kept, encoding="utf-8")
    folders[1].result.touch()
    assert RunCatalogue().entries(folders, keep=False) == expected
    assert read == [folders[0].path.name, folders[1].path.name]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "not set"),
        ({}, "nothing"),
        (True, "on"),
        ({"a": {"b": [1, 2]}}, "a b 1, 2"),
        ("sha256:" + "0" * 64, "sha256:00000000…"),
        (0.5, "0.5"),
    ],
)
def test_a_value_of_a_configuration_reads_as_words(value: object, says: str) -> None:
    assert describe_value(value) == says


def test_only_configurations_without_files_and_addresses_are_run_by_the_server() -> None:
    assert run_verbs.check_system("assay:answer,mode=quick,flags.mmr=off,search.fusion=rrf")
    for spec in ("http:rag.toml", "assay:a.toml", "assay:embedder.url=http://elsewhere", "python:os:system"):
        with pytest.raises(BadValue, match="cannot be run by the server"):
            run_verbs.check_system(spec)


def test_a_folder_that_is_not_a_repository_has_no_commit(tmp_path: Path) -> None:
    from assay.evaluation.ci import find_commit  # noqa: PLC0415 - only here

    assert find_commit(tmp_path, {}) == ""
    assert find_commit(tmp_path, {"GITHUB_SHA": "b" * 40}) == "b" * 40
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/main\n")
    assert find_commit(tmp_path / "below", {}) == ""
    (tmp_path / ".git" / "refs" / "main").write_text("c" * 40)
    assert find_commit(tmp_path / "below", {}) == "c" * 40
