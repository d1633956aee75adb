"""`assay dataset` as a person uses it: in process, through `main`, on files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.evaluation.datasets.small import anchored, graded, with_first

from assay.evaluation.datasets import export_dataset, load_dataset
from assay.evaluation.datasets.loading import LOSSLESS
from assay.formats.trec import write_trec_run
from assay.records.answers import GoldSupport
from assay.records.datasets import Grade

LOST = GoldSupport(rel_path="lab.md", heading_path="Lab rules > Visitors")


@pytest.fixture
def small(tmp_path: Path) -> str:
    return str(export_dataset(graded(), tmp_path / "small.json"))


def test_a_dataset_is_imported_listed_shown_and_checked(run: Run, small: str) -> None:
    told = run("dataset", "import", small, "--name", "docs")
    assert told.code == 0
    assert told.out.startswith("docs 1.0.0: 24 queries, 50 documents, grades 0 to 3\nsha256:")
    assert "unchanged" in run("dataset", "import", small, "--name", "docs").out
    head, *rows = run("dataset", "list").out.splitlines()
    assert head.split() == ["name", "version", "cases", "documents", "content", "from"]
    assert rows[-1].startswith("docs ")
    assert rows[-1].endswith("small.json")
    shown = run("dataset", "show", "docs")
    assert "precision@5 can reach 0.400" in shown.out
    assert "factual 16, sentiment 8" in shown.out
    assert run("dataset", "check", "docs").out == "docs: usable (0 errors, 0 warnings, 0 notes)\n"


def test_machines_get_everything(run: Run, small: str) -> None:
    told = run("dataset", "import", small, "--json").json
    assert (told["name"], told["new"], told["tag_hint"], told["findings"]) == ("small", True, "small-v1.0.0", [])
    shown = run("dataset", "show", "small", "--json").json
    assert shown["content_hash"] == told["content_hash"] == graded().content_hash
    assert run("dataset", "check", "small", "--json").json["usable"] is True
    listed = run("dataset", "list", "--json").json["datasets"]
    [imported] = [dataset for dataset in listed if not dataset["bundled"]]
    assert (imported["name"], imported["imported_from"], imported["path"]) == ("small", small, told["path"])


def test_another_version_is_asked_for_when_content_changes(run: Run, small: str) -> None:
    run("dataset", "import", small)
    export_dataset(with_first(graded(), query="other?"), Path(small))
    told = run("dataset", "import", small)
    assert told.code == 3
    assert "--version 1.0.1" in told.err
    assert run("dataset", "import", small, "--version", "1.0.1").code == 0
    assert run("dataset", "import", small, "--version", "1.0.1", "--replace").code == 0


def test_the_setting_says_where_imported_datasets_are_kept(run: Run, small: str, tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text('[datasets]\nfolder = "kept"\n', encoding="utf-8")
    run("dataset", "import", small)
    assert (tmp_path / "kept" / "small" / "1.0.0" / "golden.json").is_file()


def test_exported_judgments_are_what_measure_reads(run: Run, small: str) -> None:
    assert run("dataset", "export", small, "trec", "--format", "trec").code == 0
    assert run("dataset", "export", small, "beir", "--format", "beir", "--split", "test").code == 0
    write_trec_run(Path("run.trec"), {f"q{n}": {f"d{n}": 2.0, f"d{n + 1}": 1.0} for n in range(24)}, "x")
    trec = run("measure", "--qrels", "trec/qrels.txt", "--run", "run.trec", "-m", "ndcg@10", "--json").json
    beir = run("measure", "--qrels", "beir/qrels/test.tsv", "--run", "run.trec", "-m", "ndcg@10", "--json").json
    assert trec["runs"][0]["metrics"]["ndcg@10"]["value"] == pytest.approx(1.0)
    assert trec["runs"] == beir["runs"]


def test_an_export_names_what_the_format_does_not_keep(run: Run) -> None:
    trec = run("dataset", "export", "hotel", "trec", "--format", "trec")
    assert "  100 documents are not in it\n" in trec.out
    assert "  fields of cases that it does not keep: answerable (54), category (163), difficulty (163)" in trec.out
    lost = run("dataset", "export", "hotel", "beir", "--format", "beir", "--json").json["lost"]
    assert (lost["documents"], lost["cases"]) == (0, 0)
    assert lost["document_fields"]["tags"] == 100


@pytest.mark.parametrize("kind", sorted(LOSSLESS))
def test_formats_that_keep_everything_name_nothing(run: Run, kind: str) -> None:
    told = run("dataset", "export", "hotel", "out", "--format", kind)
    assert told.out.count("\n") == 1
    whole, back = load_dataset("hotel"), load_dataset(Path("out"))
    assert (back.documents, back.cases) == (whole.documents, whole.cases)


def test_ids_with_blanks_are_encoded_on_request(run: Run, tmp_path: Path) -> None:
    blank = replace(
        graded(), documents=(), cases=(replace(graded().cases[0], grades=(Grade(document_id="a b", grade=1),)),)
    )
    place = str(export_dataset(blank, tmp_path / "blank.json"))
    refused = run("dataset", "export", place, "out", "--format", "trec")
    assert refused.code == 3
    assert "--encode-ids" in refused.err
    assert run("dataset", "export", place, "out", "--format", "trec", "--encode-ids").code == 0
    assert "a%20b" in Path("out/qrels.txt").read_text(encoding="utf-8")


def test_a_dataset_that_is_not_usable_is_exit_2(run: Run, tmp_path: Path) -> None:
    place = str(
        export_dataset(with_first(graded(), grades=(Grade(document_id="nobody", grade=3),)), tmp_path / "x.json")
    )
    told = run("dataset", "check", place)
    assert told.code == 2
    assert "error    dangling-id  case q0: calls 'nobody' relevant, which no document is\n" in told.out
    assert told.out.endswith("not usable (1 errors, 0 warnings, 0 notes)\n")
    machine = run("dataset", "check", place, "--json")
    assert (machine.code, machine.json["usable"]) == (2, False)


def test_every_unreadable_part_is_a_finding_with_its_line(run: Run, small: str) -> None:
    found = json.loads(Path(small).read_text())
    found["entities"][1].pop("content")
    found["queries"][2]["query_txt"] = "?"
    Path(small).write_text(json.dumps(found, indent=1), encoding="utf-8")
    told = run("dataset", "check", small)
    assert told.code == 2
    assert told.out.count("error    schema  ") == 2
    assert "small.json, line " in told.out
    assert run("dataset", "show", small).code == 3


def test_warnings_count_under_strict(run: Run, tmp_path: Path) -> None:
    place = str(export_dataset(graded(cases=5), tmp_path / "few.json"))
    assert run("dataset", "check", place).code == 0
    assert run("dataset", "check", place, "--strict").code == 2


@pytest.mark.parametrize("words", [("check",), ("show",), ("export", "out"), ("split", "out"), ("import",)])
def test_an_empty_dataset_is_exit_2_everywhere(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    place = str(export_dataset(replace(graded(), cases=()), tmp_path / "empty.json"))
    assert run("dataset", words[0], place, *words[1:]).code == 2


def test_anchors_are_moved_in_a_copy(run: Run, tmp_path: Path) -> None:
    place = str(export_dataset(anchored(LOST), tmp_path / "notes", kind="anchored"))
    before = (tmp_path / "notes" / "cases.jsonl").read_text()
    told = run("dataset", "check", place, "--fix")
    assert told.code == 2
    assert "rules/lab.md > Lab rules > Visitors" in told.out
    assert "1 anchors moved, 0 left for a person: " in told.out
    assert (tmp_path / "notes" / "cases.jsonl").read_text() == before
    assert run("dataset", "check", str(tmp_path / "notes.fixed")).code == 0
    assert run("dataset", "check", place, "--exclude-unresolved").code == 0

    run("dataset", "import", place, "--name", "notes")
    told = run("dataset", "check", "notes", "--fix", "--json")
    assert told.json["fixed"]["path"] == "notes@1.0.1"
    assert run("dataset", "check", "notes").code == 0
    assert run("dataset", "check", "notes@1.0.0", "--fix", "--to", "mine.json").code == 2
    assert run("dataset", "check", "mine.json").code == 0


def test_anchors_are_looked_up_in_todays_notes(run: Run, tmp_path: Path) -> None:
    fine = GoldSupport(rel_path="rules/lab.md", heading_path="Lab rules > Visitors")
    place = str(export_dataset(anchored(fine), tmp_path / "notes", kind="anchored"))
    today = tmp_path / "today" / "rules"
    today.mkdir(parents=True)
    (today / "lab.md").write_text("# Lab rules\n\n## Guests\n", encoding="utf-8")
    assert run("dataset", "check", place).code == 0
    told = run("dataset", "check", place, "--corpus", str(tmp_path / "today"))
    assert told.code == 2
    assert "rules/lab.md has no heading 'Lab rules > Visitors'" in told.out


def test_a_copy_whose_anchors_moved_to_todays_notes_holds_them(run: Run, tmp_path: Path) -> None:
    fine = GoldSupport(rel_path="rules/lab.md", heading_path="Lab rules > Visitors", snippets=("with a member",))
    place = str(export_dataset(anchored(fine), tmp_path / "notes", kind="anchored"))
    (tmp_path / "today").mkdir()
    (tmp_path / "today" / "door.md").write_text("# Door\n\n## Guests\n\nOnly with a member.\n", encoding="utf-8")
    run("dataset", "import", place, "--name", "notes")
    told = run("dataset", "check", "notes", "--corpus", str(tmp_path / "today"), "--fix", "--json").json
    moved = "door.md > Door > Guests (its snippet stands there)"
    assert told["fixed"]["moves"] == [{"case": "c1", "support": 0, "to": moved}]
    assert run("dataset", "check", "notes").code == 0
    assert run("dataset", "show", "notes", "--json").json["documents"] == 1


def test_a_dataset_is_split_into_files(run: Run, small: str) -> None:
    told = run("dataset", "split", small, "parts", "--part", "dev=0.25", "--part", "test=0.75", "--seed", "3")
    assert told.code == 0
    assert run("dataset", "show", "parts/small-dev.json", "--json").json["cases"] == 6
    assert run("dataset", "show", "parts/small-test.json", "--json").json["cases"] == 18
    assert run("dataset", "split", small, "parts", "--part", "dev").code == 3
    assert run("dataset", "split", small, "parts", "--part", "dev=0.2").code == 3


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("show", "nowhere"), "there is no dataset and no file 'nowhere'"),
        (("import", "nowhere"), "nowhere is not there"),
        (("import", "."), "holds no dataset"),
        (("export", "nowhere", "out"), "there is no dataset"),
    ],
)
def test_wrong_use_is_exit_3(run: Run, words: tuple[str, ...], named: str) -> None:
    told = run("dataset", *words)
    assert told.code == 3
    assert named in told.err
