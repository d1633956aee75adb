"""The report of a run: what it says, as Markdown, as a page, and as files that are whole or not there."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.reporting.samples import NASTY, dataset, given, run, told
from tests.presentation.test_templates import read

from assay.errors import InputError, NotComparable, ReportFailed
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import GateOptions
from assay.evaluation.readings import reading_of
from assay.evaluation.reporting import Around, LineStatus, Report, gather, markdown, wording, write_report
from assay.evaluation.reporting.content import QueryMover, SummaryLine
from assay.evaluation.reporting.markdown import find_query
from assay.evaluation.reporting.page import draw_funnel, draw_intervals, draw_latency, html_page
from assay.evaluation.results import RunResult
from assay.presentation.charts import distinct_labels, interval_charts
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseStatus

FLOORS = {"recall@2": 0.8, "p95": 500.0}
DATA = dataset(floors=FLOORS)
GOOD = run(
    DATA, {f"q{n}": given("ab", seen=told({"vector": "ab"}, fused="ab")) for n in (1, 2, 3)}, name="good", fusion="rrf"
)
BAD = run(
    DATA,
    {
        "q1": given("cd", seen=told({"fts5": "cd"}, fused="cd")),
        "q2": given("ab", seen=told({"fts5": "ab"}, fused="ab")),
        "q3": given("", status=CaseStatus.ERROR, error=f"refused {NASTY}"),
    },
    name="bad",
    fusion="convex",
)


@pytest.fixture(scope="module")
def bad() -> Report:
    return gather(BAD, Around(dataset=DATA, baseline=reading_of(GOOD)))


@pytest.fixture(scope="module")
def page(bad: Report) -> str:
    return html_page(bad)


def lines(report: Report) -> dict[str, tuple[float | None, LineStatus]]:
    return {line.metric: (line.value, line.status) for line in report.lines}


def test_a_run_that_reaches_its_floors_passes() -> None:
    report = gather(GOOD, Around(dataset=DATA))
    assert report.status is LineStatus.PASS
    assert lines(report)["recall@2"] == (1.0, LineStatus.PASS)
    assert lines(report)["latency p95"] == (5.0, LineStatus.PASS)
    assert lines(report)["ndcg@2"] == (1.0, LineStatus.NOT_GATED)


def test_a_run_under_a_floor_fails_and_the_sentence_names_why(bad: Report) -> None:
    assert bad.status is LineStatus.FAIL
    assert lines(bad)["recall@2"] == (0.5, LineStatus.FAIL)
    assert "recall@2 0.50 is under the floor 0.80" in [one.sentence for one in bad.rulings]


def test_a_drop_within_what_is_allowed_is_degraded_and_still_a_pass() -> None:
    data = dataset(queries=[f"query {n}" for n in range(30)])
    good = run(data, {case.id: given("ab") for case in data.cases}, name="good")
    lost = {f"q{n}" for n in range(1, 9)}
    less = run(data, {case.id: given("ac" if case.id in lost else "ab") for case in data.cases}, name="less")
    report = gather(less, Around(dataset=data, baseline=reading_of(good), options=GateOptions(lost=8, drop=0.2)))
    value, status = lines(report)["recall@2"]
    assert value == pytest.approx(1 - 4 / 30)
    assert status is LineStatus.DEGRADED
    assert report.status is LineStatus.PASS
    assert "recall@2 -13.3 %" in report.verdict
    assert {one.query_id for one in report.movers} == lost


def test_a_drop_that_may_be_chance_is_not_called_degraded() -> None:
    data = dataset(queries=[f"query {n}" for n in range(30)])
    good = run(data, {case.id: given("ab") for case in data.cases}, name="good")
    moved = {case.id: given("ac" if case.id == "q3" else "ab") for case in data.cases}
    noisy = run(data, moved, name="noisy")
    report = gather(noisy, Around(dataset=data, baseline=reading_of(good), options=GateOptions(lost=1)))
    value, status = lines(report)["recall@2"]
    assert value == pytest.approx(1 - 0.5 / 30)
    assert status is LineStatus.PASS
    assert LineStatus.DEGRADED not in {status for _, status in lines(report).values()}
    assert "DEGRADED" not in markdown(report)
    assert "DEGRADED" not in html_page(report)


def test_without_floors_and_baseline_there_is_no_verdict() -> None:
    data = dataset()
    report = gather(run(data, {f"q{n}": given("ab") for n in (1, 2, 3)}), Around(dataset=data))
    assert report.status is LineStatus.NOT_GATED
    assert "NO VERDICT" in markdown(report)


def test_a_run_in_which_everything_failed_still_has_a_report() -> None:
    failed = run(DATA, {f"q{n}": given("", status=CaseStatus.TIMEOUT, error="too slow") for n in (1, 2, 3)})
    report = gather(failed, Around(dataset=DATA))
    assert report.status is LineStatus.INCONCLUSIVE
    assert [one.error for one in report.failures] == ["too slow"] * 3
    assert lines(report)["recall@2"] == (None, LineStatus.NOT_GATED)
    assert "too slow" in html_page(report)


def test_a_baseline_of_another_dataset_is_refused() -> None:
    data = dataset(queries=["other", "words", "here"])
    other = run(data, {f"q{n}": given("ab") for n in (1, 2, 3)}, name="other")
    with pytest.raises(NotComparable):
        gather(BAD, Around(dataset=DATA, baseline=reading_of(other)))


def test_without_the_dataset_the_report_says_what_is_not_known() -> None:
    report = gather(BAD, Around(no_dataset="The dataset is gone."))
    assert report.waterfall is None
    assert "The dataset is gone." in markdown(report)
    assert "The dataset is gone." in html_page(report)


def test_what_changed_is_listed_and_the_rest_is_not_marked(bad: Report) -> None:
    changed = {one.name: (one.before, one.now) for one in bad.configuration if one.differs}
    assert changed == {"system": ("good", "bad"), "fusion": ("rrf", "convex")}


def test_the_worst_queries_come_first(bad: Report) -> None:
    assert [one.id for one in bad.queries] == ["q3", "q1", "q2"]
    assert [given.relevant for given in bad.queries[2].given] == [True, True]
    assert bad.queries[1].before["recall@2"] == 1.0


@pytest.mark.parametrize(
    "heading",
    [
        "Summary",
        "What changed",
        "Where evidence was lost",
        "Recommendations",
        "Breakdowns",
        "Latency",
        "Movers",
        "Failures (1)",
        "Queries",
        "How it was measured",
    ],
)
def test_both_forms_have_every_part(bad: Report, page: str, heading: str) -> None:
    assert f"## {heading}" in markdown(bad)
    assert f"<h2>{heading}</h2>" in page


def test_the_verdict_comes_first_in_both_forms(bad: Report, page: str) -> None:
    assert markdown(bad).splitlines()[2].startswith("**FAIL**: ")
    assert page.index('class="word">FAIL') < page.index("<h2>")


def test_stored_text_is_never_obeyed(bad: Report, page: str) -> None:
    assert NASTY not in page
    assert NASTY not in markdown(bad)
    seen = read(page)
    assert NASTY in seen.text
    assert len([tag for tag, _ in seen.tags if tag == "script"]) == 2


def test_a_query_with_bars_and_line_breaks_stays_in_its_cell() -> None:
    data = dataset(queries=["a | b\nc", "pool", "x"])
    failed = run(data, {"q1": given("", status=CaseStatus.ERROR, error="x|y"), "q2": given("ab"), "q3": given("ab")})
    row = next(line for line in markdown(gather(failed, Around(dataset=data))).splitlines() if line.startswith("| q1"))
    assert row == r"| q1 | a \| b c | error | x\|y |"


def test_the_page_fetches_nothing(page: str) -> None:
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", page)
    policies = [attributes["content"] for tag, attributes in read(page).tags if "http-equiv" in attributes]
    assert [str(one).partition(";")[0] for one in policies] == ["default-src 'none'"]


def test_the_page_runs_its_own_scripts_by_their_hashes_and_no_other(page: str) -> None:
    [policy] = [str(attributes["content"]) for _, attributes in read(page).tags if "http-equiv" in attributes]
    allowed = re.search(r"script-src ([^;]*)", policy)
    assert allowed is not None
    # What is between the tags is what a browser hashes.
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    # What marks of charts say, and the filter of queries.
    assert len(hashes) == 2
    assert allowed[1].split() == [f"'sha256-{one}'" for one in hashes]


def test_charts_are_in_the_page_without_its_scripts(page: str) -> None:
    drawn = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert drawn.count("<figure") == drawn.count('class="behind"') > 2
    assert drawn.count("data-mark") > 10


def test_colours_of_charts_are_those_of_the_page(bad: Report, page: str) -> None:
    assert bad.waterfall is not None
    figures = [*draw_intervals(bad), draw_latency(bad), draw_funnel(bad.waterfall)]
    used = {mark.colour for figure in figures if figure for panel in figure.panels for mark in panel.marks}
    assert used
    assert all(f"--{name}:" in page for name in used)


def test_the_funnel_shows_what_passed_and_what_is_not_known() -> None:
    silent = run(DATA, {"q1": given("ab"), "q2": given("cd"), "q3": given("ac")})
    water = gather(silent, Around(dataset=DATA)).waterfall
    assert water is not None
    rows = draw_funnel(water).table.rows
    assert [int(passed) for _, passed, _ in rows] == [6, 3, 3, 3, 3, 3, 3]
    assert [int(doubtful) for _, _, doubtful in rows] == [0, 3, 3, 3, 3, 0, 0]


def test_only_so_many_queries_are_seen_at_first_and_all_can_be_filtered() -> None:
    data = dataset(queries=[f"query {n}" for n in range(60)])
    report = gather(run(data, {case.id: given("ab") for case in data.cases}), Around(dataset=data))
    shown = [
        attributes for tag, attributes in read(html_page(report)).tags if tag == "details" and "data-text" in attributes
    ]
    assert len(shown) == 60
    assert sum("hidden" in attributes for attributes in shown) == 10


def test_parts_beyond_the_largest_are_counted_not_dropped_in_silence() -> None:
    data = dataset(queries=[f"query {n}" for n in range(25)])
    data = replace(data, cases=tuple(replace(case, tags=(case.id,)) for case in data.cases))
    report = gather(run(data, {case.id: given("ab") for case in data.cases}), Around(dataset=data))
    assert "5 more values of tags" in markdown(report)
    assert "5 more values of tags" in html_page(report)


def test_the_files_are_written_with_the_names_of_the_day(bad: Report, tmp_path: Path) -> None:
    files = write_report(bad, tmp_path / "reports")
    assert [path.name for path in files] == ["rag-eval-2026-01-04.md", "metrics.json", "config.json"]
    metrics = json.loads(files[1].read_text())
    assert metrics["relevance_level"] == 2
    assert metrics["judge_reliability"] is None
    assert metrics["judge_reliability_reason"]
    assert metrics["waterfall"]["lost"] == {"never a candidate": 2, "the system failed": 2}
    assert json.loads(files[2].read_text())["subject"]["fusion"] == "convex"


def test_reports_of_other_runs_of_the_day_stay(bad: Report, tmp_path: Path) -> None:
    first, *_ = write_report(bad, tmp_path)
    other = replace(bad, run_id="run_other", measured_with=(("run", "run_other"),))
    second, *_ = write_report(other, tmp_path)
    assert (first.name, second.name) == ("rag-eval-2026-01-04.md", "rag-eval-2026-01-04-2.md")
    before = first.read_bytes()
    again, *_ = write_report(other, tmp_path)
    assert (again, first.read_bytes()) == (second, before)


def test_html_comes_first_when_it_is_asked_for(bad: Report, tmp_path: Path) -> None:
    files = write_report(bad, tmp_path, name="demo", html=True)
    assert [path.name for path in files] == ["demo.html", "demo.md", "metrics.json", "config.json"]
    assert files[0].read_text().startswith("<!doctype html>")


def test_a_disk_that_refuses_leaves_the_old_report_and_is_named(bad: Report, tmp_path: Path) -> None:
    write_report(bad, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    # The last file cannot be staged: its passing name is taken by a folder.
    (tmp_path / f".config.json.{os.getpid()}.part").mkdir()
    with pytest.raises(ReportFailed, match=r"config\.json"):
        write_report(replace(bad, verdict="another one"), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_place_where_no_folder_can_be_is_named(bad: Report, tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file")
    with pytest.raises(ReportFailed, match=r"reports/rag-eval-2026-01-04\.md"):
        write_report(bad, tmp_path / "reports")


def test_why_of_no_query_or_of_several_says_which_there_are() -> None:
    data = dataset(queries=["late checkout", "late arrival", "pool"])
    report = gather(run(data, {f"q{n}": given("ab") for n in (1, 2, 3)}), Around(dataset=data))
    assert find_query(report, "POOL").id == "q3"
    with pytest.raises(InputError, match="no query 'spa'"):
        find_query(report, "spa")
    with pytest.raises(InputError, match="q1, q2"):
        find_query(report, "late")


# What a report says is derived from the run, and false when the run is another.


def with_times(data: Dataset, times: Mapping[str, float], *, name: str, host: str = "here") -> RunResult:
    made = run(data, {case: given("ab", ms=ms) for case, ms in times.items()}, name=name)
    return replace(made, manifest=replace(made.manifest, host=host))


def by_metric(report: Report) -> dict[str, SummaryLine]:
    return {line.metric: line for line in report.lines}


def test_a_change_within_chance_has_the_status_that_the_gate_gives() -> None:
    data = dataset(queries=[f"query {n}" for n in range(30)])
    good = run(data, {case.id: given("ab") for case in data.cases}, name="good")
    less = run(data, {case.id: given("ac" if case.id == "q1" else "ab") for case in data.cases}, name="less")
    report = gather(less, Around(dataset=data, baseline=reading_of(good), options=GateOptions(lost=1)))
    line = by_metric(report)["recall@2"]
    assert (line.status, line.certain, report.status) == (LineStatus.PASS, False, LineStatus.PASS)
    assert "worse" not in report.verdict
    assert [(mover.query_id, mover.change < 0) for mover in report.movers] == [("q1", True)]


def test_values_and_times_are_compared_over_the_cases_that_both_have() -> None:
    """One page once said +38 % where another said -131 ms, since one side had the slow first case alone."""
    data = dataset(queries=[f"query {n}" for n in range(40)])
    ids = [case.id for case in data.cases]
    before = with_times(data, {case: 300.0 if case == ids[0] else 10.0 for case in ids}, name="before")
    now = with_times(data, dict.fromkeys(ids[1:], 12.0), name="now")
    report = gather(now, Around(dataset=data, baseline=reading_of(before)))
    compared = compare_two(reading_of(before), reading_of(now))
    for change in compared.latency:
        line = by_metric(report)[f"latency p{change.percent}"]
        assert (line.baseline, line.paired, line.pairs) == (change.before, change.after, 39)
        assert line.change == pytest.approx((change.after - change.before) / change.before)
    assert by_metric(report)["recall@2"].pairs == 39
    # This run has no value beyond the pairs, the baseline has one: what is shown of it is not its own number.
    assert wording.change(by_metric(report)["latency p99"]) == "+20.0 % over 39 pairs"
    assert wording.change(by_metric(report)["recall@2"]).endswith(" over 39 pairs")


def test_no_change_of_latency_is_stated_between_two_hosts() -> None:
    data = dataset(queries=[f"query {n}" for n in range(40)])
    times = dict.fromkeys([case.id for case in data.cases], 5.0)
    slow = dict.fromkeys(times, 28.0)
    base = reading_of(with_times(data, times, name="base", host="laptop"))
    report = gather(with_times(data, slow, name="mine", host="server"), Around(dataset=data, baseline=base))
    assert by_metric(report)["latency p95"].change is None
    assert not re.search(r"latency p\d+ .*%", markdown(report))
    sentence = "Latencies are not compared: they were measured on laptop and on server."
    assert sentence in [caveat.sentence for caveat in report.caveats]
    same = gather(with_times(data, slow, name="mine", host="laptop"), Around(dataset=data, baseline=base))
    assert by_metric(same)["latency p95"].change == pytest.approx(4.6)
    assert sentence not in [caveat.sentence for caveat in same.caveats]


def test_why_there_is_no_verdict_is_what_the_gate_says() -> None:
    data = dataset(floors={"p95": 500.0})
    report = gather(run(data, {f"q{n}": given("ab") for n in (1, 2, 3)}), Around(dataset=data))
    assert report.status is LineStatus.NOT_GATED
    assert report.verdict.startswith("Nothing is asked of quality (recall@2 is 1.000")


def test_what_moved_and_what_failed_is_said_only_where_it_is_so(bad: Report) -> None:
    same = gather(GOOD, Around(dataset=DATA, baseline=reading_of(GOOD)))
    assert "No query's ndcg@2 differs from good." in markdown(same)
    assert "differs from good" not in markdown(bad)
    failed = run(DATA, {f"q{n}": given("", status=CaseStatus.TIMEOUT, error="too slow") for n in (1, 2, 3)})
    unmeasured = gather(failed, Around(dataset=DATA, baseline=reading_of(GOOD)))
    assert "Nothing could be compared with good." in markdown(unmeasured)
    for text in (markdown(same), html_page(same)):
        assert "No query ended with an error or a time-out." in text
    for text in (markdown(bad), html_page(bad)):
        assert "No query ended with an error or a time-out." not in text


def line(metric: str, value: float, **more: Any) -> SummaryLine:
    return SummaryLine(metric=metric, value=value, **more)


def test_every_value_lies_on_the_axis_of_its_own_range() -> None:
    lines = [
        line("recall@5", 0.4, low=0.3, high=0.5),
        line("groundedness", 5.0, low=4.5, high=5.0, highest=5.0),
        line("tokens", 812.0, lowest=0.0, highest=None),
        line("lift", -0.2, lowest=-1.0, highest=1.0),
    ]
    figures = interval_charts([(one.metric, one) for one in lines])
    assert [[tick.text for tick in figure.ticks][-1] for figure in figures[:2]] == ["1.0", "5"]
    for figure in figures:
        assert all(0 < mark.x < 100 for mark in figure.marks)
    assert [figure.table.rows[0][1] for figure in figures] == ["0.400", "5.000", "812.000", "-0.200"]


def test_rows_of_a_chart_are_distinct_and_only_intervals_that_exist_are_drawn() -> None:
    names = [f"channel_contribution(channel={name})@5" for name in ("vector", "bm25", "fts5")]
    [figure] = interval_charts([(name, line(name, 0.5)) for name in names])
    assert len({panel.label for panel in figure.panels}) == 3
    assert {mark.shape.value for mark in figure.marks} == {"ring"}
    half = interval_charts([("a", line("a", 0.5, low=0.4)), ("b", line("b", 0.5, low=0.4, high=0.6))])[0]
    assert [key.name for key in half.legend] == ["value, 95 % interval", "value, no interval"]
    assert [[mark.shape.value for mark in panel.marks] for panel in half.panels] == [["ring"], ["span", "dot"]]
    alike = distinct_labels([f"{'x' * 40}{end}{'y' * 40}" for end in "ab"])
    assert len(set(alike)) == 2


def test_a_rise_of_what_should_be_low_is_shown_as_a_loss() -> None:
    risen = QueryMover(query_id="q", text="t", metric="hallucination_rate", before=0.0, now=1.0, loss=True)
    report = gather(BAD, Around(dataset=DATA, baseline=reading_of(GOOD)))
    shown = html_page(replace(report, movers=(risen,)))
    assert '<td class="num down" data-name="change">+1.000</td>' in shown
    shown = html_page(replace(report, movers=(replace(risen, loss=False),)))
    assert '<td class="num up" data-name="change">+1.000</td>' in shown
    assert [mover.loss for mover in report.movers] == [mover.change < 0 for mover in report.movers]
