"""Cases that are read into columns are those that are read one by one, and so are the errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evaluation.made import golden, manifest_of

from assay.errors import AssayError
from assay.evaluation.results import with_skipped
from assay.evaluation.running.case_columns import CaseColumns, IdLists, read_columns
from assay.evaluation.running.files import RunFolder, case_line, manifest_json, seal_line
from assay.metrics.outcome_columns import CaseOrder
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved, RunManifest, Seen

SEALED = {"seal": "sha256:00"}
"""All that is read of a manifest here: that its lines must have seals."""


def make_result(rng: np.random.Generator, case_id: str, repeat: int) -> CaseResult:
    """A result of any form, plain or with more than columns hold."""
    status = CaseStatus(rng.choice([status.value for status in CaseStatus]))
    ids = tuple(f"d{number}" for number in rng.integers(0, 5, size=rng.integers(0, 4)))
    retrieved = [None, Retrieved(ids=ids), Retrieved(ids=(*ids, 'a "quoted" [é]')), Retrieved(ids=ids, scores=(0.5,))]
    told = Retrieved(ids=ids, seen=Seen(channels={"fts5": ids}), stages={"fusion": 1.5})
    return CaseResult(
        case_id=case_id,
        repeat=repeat,
        status=status,
        retrieved=[*retrieved, told][rng.integers(0, 5)],
        total_ms=[None, 0.0, -0.0, 1e-9, 12.5, 3e22, -4.25][rng.integers(0, 7)],
        error="it broke" if rng.random() < 0.1 else "",
        first=bool(rng.random() < 0.2),
        tries=2 if rng.random() < 0.1 else None,
    )


def write_lines(folder: Path, lines: list[str]) -> RunFolder:
    files = RunFolder(folder)
    files.cases.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return files


def read(files: RunFolder, manifest: RunManifest, written: dict[str, Any] = SEALED) -> CaseColumns:
    return read_columns(files, written, CaseOrder(manifest.case_ids), manifest.repeats)


@pytest.mark.parametrize("seed", range(40))
def test_columns_hold_what_the_lines_say(tmp_path: Path, seed: int) -> None:
    """Lines in any order, twice, of other cases and repeats, and cases without one."""
    rng = np.random.default_rng(seed)
    manifest = manifest_of(golden(6), "plain", repeats=int(rng.integers(1, 4)))
    known = [*manifest.case_ids, "elsewhere"]
    asked = [(case, repeat) for repeat in range(manifest.repeats + 1) for case in known]
    chosen = asked if seed % 2 else [asked[place] for place in rng.integers(0, len(asked), size=20)]
    files = write_lines(tmp_path, [seal_line(case_line(make_result(rng, *place))) for place in chosen])
    expected = with_skipped(manifest, files.iterate_cases(SEALED))
    found = read(files, manifest)
    assert found == expected
    assert expected == found
    assert repr(found) == repr(expected)
    assert [found[place] for place in (0, -1)] == [expected[0], expected[-1]]
    assert found[1:4] == expected[1:4]
    assert len(found) == len(expected)


def test_places_beyond_the_cases_are_refused(tmp_path: Path) -> None:
    found = read(write_lines(tmp_path, []), manifest_of(golden(2), "plain"))
    for place in (2, -3):
        with pytest.raises(IndexError):
            found[place]
    with pytest.raises(IndexError):
        found.lists[0]


def test_a_case_is_kept_as_numbers_unless_it_holds_more(tmp_path: Path) -> None:
    manifest = manifest_of(golden(3), "plain")
    plain = CaseResult(case_id="q00", status=CaseStatus.OK, retrieved=Retrieved(ids=("a", "b")), total_ms=2.0)
    told = CaseResult(case_id="q02", status=CaseStatus.ERROR, error="it broke")
    found = read(write_lines(tmp_path, [seal_line(case_line(case)) for case in (plain, told)]), manifest)
    assert found.more == {2: told}
    assert found.count_statuses()[CaseStatus.SKIPPED] == 1


def test_lists_are_kept_in_their_order() -> None:
    lists, given = IdLists(), [("b", "a", "b"), (), ("é",), ("a",)]
    assert [lists.add(ids) for ids in given] == [0, 1, 2, 3]
    assert list(lists) == given
    assert list(lists[1:3]) == given[1:3]


GOOD = seal_line('{"case_id":"q00","status":"ok","retrieved":{"ids":["a"]},"total_ms":1.5}')
BROKEN = {
    "a changed list": GOOD.replace('"a"', '"b"'),
    "a changed seal": GOOD[:-3] + '0"}',
    "no seal": '{"case_id":"q00","status":"ok"}',
    "no object": seal_line("[1]"),
    "not JSON": seal_line('{"case_id":"q00","status":}'),
    "no status": seal_line('{"case_id":"q00"}'),
    "another status": seal_line('{"case_id":"q00","status":"fine"}'),
    "an empty id": seal_line('{"case_id":"","status":"ok"}'),
    "a blank id": seal_line('{"case_id":"  ","status":"ok"}'),
    "a long id": seal_line('{"case_id":"' + "q" * 501 + '","status":"ok"}'),
    "numbers as documents": seal_line('{"case_id":"q00","status":"ok","retrieved":{"ids":["a",1]}}'),
    "an unfinished list": seal_line('{"case_id":"q00","status":"ok","retrieved":{"ids":["a",]}}'),
    "a text that does not end": seal_line('{"case_id":"q00","status":"ok","retrieved":{"ids":["a]}}'),
    "an infinite time": seal_line('{"case_id":"q00","status":"ok","total_ms":1e999}'),
    "a time with a leading zero": seal_line('{"case_id":"q00","status":"ok","total_ms":01.5}'),
    "a time in words": seal_line('{"case_id":"q00","status":"ok","total_ms":"1"}'),
    "a repeat below 0": seal_line('{"case_id":"q00","repeat":-1,"status":"ok"}'),
    "an unknown field": seal_line('{"case_id":"q00","status":"ok","colour":"red"}'),
    "a control character": seal_line('{"case_id":"q00","status":"ok","retrieved":{"ids":["a\tb"]}}'),
    "an empty line": "",
}


@pytest.mark.parametrize("written", [SEALED, {}], ids=["sealed", "of version 0.1"])
@pytest.mark.parametrize("problem", BROKEN)
def test_a_line_that_is_not_as_written_is_refused_with_its_number(
    tmp_path: Path, problem: str, written: dict[str, Any]
) -> None:
    manifest = manifest_of(golden(3), "plain")
    files = write_lines(tmp_path, [GOOD, BROKEN[problem], GOOD])

    def describe(read_all: Any) -> tuple[object, ...] | None:
        try:
            read_all()
        except AssayError as refused:
            return type(refused), str(refused), refused.remedy
        return None

    expected = describe(lambda: list(files.iterate_cases(written)))
    assert describe(lambda: read(files, manifest, written)) == expected
    assert (expected is None) == (problem == "no seal" and not written)
    assert expected is None or "line 2" in str(expected[1])


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    manifest, files = manifest_of(golden(3), "plain"), write_lines(tmp_path, [GOOD])
    with files.cases.open("a", encoding="utf-8") as file:
        file.write(GOOD.replace("q00", "q01")[:40])
    assert read(files, manifest) == with_skipped(manifest, files.iterate_cases(SEALED))


def test_no_file_is_a_run_in_which_nothing_was_tried(tmp_path: Path) -> None:
    manifest = manifest_of(golden(2), "plain")
    assert json.loads(json.dumps(manifest_json(manifest)))["case_ids"] == ["q00", "q01"]
    assert {case.status for case in read(RunFolder(tmp_path), manifest)} == {CaseStatus.SKIPPED}
