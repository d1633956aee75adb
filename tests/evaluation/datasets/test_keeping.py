"""Datasets by name and path, in versions, in parts, and in numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.datasets.small import anchored, graded, with_first

from assay.errors import BadValue, InputError, MalformedFile, NothingMeasured, RecordExists, RecordNotFound
from assay.evaluation.datasets import (
    DATASET_FORMATS,
    Registry,
    Source,
    check_path,
    export_dataset,
    import_dataset,
    keep_fixed,
    load_dataset,
    show,
    split_dataset,
)
from assay.evaluation.datasets.bundled import REQUIREMENTS, list_bundled
from assay.formats.test_collections import write_trec
from assay.records.answers import GoldSupport
from assay.records.datasets import Dataset
from assay.testing import FixedClock


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "registry")


@pytest.mark.parametrize("kind", sorted({*DATASET_FORMATS.names()} - {"anchored", "ragas", "longmemeval", "questions"}))
def test_a_dataset_is_known_by_what_lies_there(tmp_path: Path, kind: str) -> None:
    dataset = graded()
    place = export_dataset(dataset, tmp_path / "out", kind=kind)
    found = load_dataset(place)
    assert [one.labels for one in found.cases] == [one.labels for one in dataset.cases]
    assert load_dataset(tmp_path / "out").cases == found.cases


def test_a_table_of_questions_is_known_by_its_columns_and_names_files(tmp_path: Path) -> None:
    dataset = graded()
    found = load_dataset(export_dataset(dataset, tmp_path / "out", kind="questions"))
    relevant = [[name for name, grade in case.labels.items() if grade >= 2] for case in dataset.cases]
    assert [list(case.labels) for case in found.cases] == [[f"{name}.txt" for name in names] for names in relevant]
    assert found.by_id["d0.txt"].text.strip() == dataset.by_id["d0"].text


def test_anchored_cases_are_known_by_their_file(tmp_path: Path) -> None:
    dataset = anchored(GoldSupport(rel_path="access.md"))
    folder = export_dataset(dataset, tmp_path / "notes", kind="anchored")
    assert load_dataset(folder).cases == load_dataset(folder / "cases.jsonl").cases == dataset.cases


def test_topics_and_qrels_may_be_files_anywhere(tmp_path: Path) -> None:
    write_trec(tmp_path, graded())
    found = load_dataset(tmp_path / "topics.tsv", source=Source(qrels=tmp_path / "qrels.txt"))
    assert (found.name, len(found.cases)) == ("topics", 24)
    with pytest.raises(InputError, match="is a file of topics alone"):
        load_dataset(tmp_path / "topics.tsv", source=Source(format="trec"))


@pytest.mark.parametrize("name", list(REQUIREMENTS))
def test_a_bundled_dataset_is_found_by_name_and_usable(name: str) -> None:
    assert load_dataset(name).name == name
    found = check_path(name)
    assert found.findings == ()
    assert name in list_bundled()


def test_a_bundled_name_is_taken_and_a_path_is_always_a_path(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export_dataset(graded(), tmp_path / "hotel", kind="golden-lines")
    assert len(load_dataset("./hotel").cases) == 24
    assert load_dataset("hotel").content_hash != load_dataset("./hotel").content_hash
    with pytest.raises(InputError, match="'hotel' is a dataset that comes with Assay"):
        import_dataset(tmp_path / "hotel", registry, clock=FixedClock(), name="hotel")


def test_what_is_not_known_is_told_with_near_names(tmp_path: Path, registry: Registry) -> None:
    registry.add(graded(), origin="here", clock=FixedClock())
    with pytest.raises(RecordNotFound, match="no dataset and no file 'smal'") as told:
        load_dataset("smal", registry=registry)
    assert told.value.remedy.startswith("Did you mean 'small'?")
    with pytest.raises(InputError, match="holds no dataset"):
        load_dataset(tmp_path)
    (tmp_path / "a.xls").touch()
    with pytest.raises(InputError, match="does not recognise the format"):
        load_dataset(tmp_path / "a.xls")
    with pytest.raises(InputError, match="format 'csv' is not known"):
        load_dataset(tmp_path / "a.xls", source=Source(format="csv"))
    with pytest.raises(InputError, match="format 'xml' is not known"):
        export_dataset(graded(), tmp_path / "x", kind="xml")
    place = export_dataset(graded(), tmp_path / "x.json")
    with pytest.raises(InputError, match="has no splits"):
        load_dataset(place, source=Source(split="test"))


def test_what_was_imported_comes_back_by_name_and_version(tmp_path: Path, registry: Registry) -> None:
    place = export_dataset(graded(), tmp_path / "x.json")
    card, dataset, new = import_dataset(place, registry, clock=FixedClock(), name="docs")
    assert (card.name, card.version, card.cases, card.documents, new) == ("docs", "1.0.0", 24, 50, True)
    assert card.content_hash == graded().content_hash
    assert card.tag_hint == "docs-v1.0.0"
    assert load_dataset("docs", registry=registry) == dataset
    assert import_dataset(place, registry, clock=FixedClock(), name="docs").new is False

    export_dataset(with_first(graded(), query="something else?"), tmp_path / "x.json")
    with pytest.raises(RecordExists, match=r"docs 1\.0\.0 is kept already, with other content") as told:
        import_dataset(place, registry, clock=FixedClock(), name="docs")
    assert "--version 1.0.1" in told.value.remedy
    import_dataset(place, registry, clock=FixedClock(), name="docs", version="1.10.0")
    import_dataset(place, registry, clock=FixedClock(), name="docs", version="1.9.0")
    assert load_dataset("docs", registry=registry).version == "1.10.0"
    assert load_dataset("docs@1.0.0", registry=registry).cases[0].query == graded().cases[0].query
    assert [one.version for one in registry.entries()] == ["1.0.0", "1.9.0", "1.10.0"]
    assert registry.names() == ["docs"]
    with pytest.raises(RecordNotFound):
        load_dataset("docs@3.0.0", registry=registry)

    replaced = import_dataset(place, registry, clock=FixedClock(), name="docs", version="1.0.0", replacing=True)
    assert replaced.new
    assert load_dataset("docs@1.0.0", registry=registry).cases[0].query == "something else?"
    assert sorted(one.name for one in (registry.folder / "docs").iterdir()) == ["1.0.0", "1.10.0", "1.9.0"]


def test_what_cannot_be_kept_is_refused(tmp_path: Path, registry: Registry) -> None:
    place = export_dataset(graded(), tmp_path / "x.json")
    for name, problem in (("../up", "name '../up'"), ("a/b", "name 'a/b'"), (".hidden", "name '.hidden'")):
        with pytest.raises(BadValue, match=problem):
            import_dataset(place, registry, clock=FixedClock(), name=name)
    with pytest.raises(BadValue, match="version 'one' is not a semantic version"):
        import_dataset(place, registry, clock=FixedClock(), version="one")
    with pytest.raises(InputError, match="is not there"):
        import_dataset(tmp_path / "nowhere", registry, clock=FixedClock())
    empty = export_dataset(replace(graded(), cases=()), tmp_path / "empty.json")
    with pytest.raises(NothingMeasured, match="holds no cases"):
        import_dataset(empty, registry, clock=FixedClock())
    assert not registry.folder.exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        export_dataset(graded(), tmp_path / "file" / "x.json")
    with pytest.raises(InputError, match="cannot be written"):
        Registry(tmp_path / "file").add(graded(), origin="here", clock=FixedClock())


def test_content_that_was_changed_by_hand_is_found(registry: Registry) -> None:
    card, _ = registry.add(graded(), origin="here", clock=FixedClock())
    assert check_path("small", registry=registry).usable
    lines = card.path / "queries.jsonl"
    lines.write_text(lines.read_text().replace("thing 5", "thing five"), encoding="utf-8")
    found = check_path("small", registry=registry)
    assert [one.code for one in found.findings] == ["changed"]
    (card.path / "import.json").write_text("{}", encoding="utf-8")
    with pytest.raises(MalformedFile, match=r"import\.json cannot be read"):
        list(registry.entries())


def test_a_corrected_copy_is_the_next_version_or_lies_beside(tmp_path: Path, registry: Registry) -> None:
    registry.add(graded(), origin="here", clock=FixedClock())
    fixed = with_first(graded(), query="corrected?")
    assert keep_fixed("small", fixed, registry=registry, clock=FixedClock(), to=None) == "small@1.0.1"
    assert load_dataset("small", registry=registry).cases[0].query == "corrected?"
    beside = keep_fixed(str(tmp_path / "my.json"), fixed, registry=registry, clock=FixedClock(), to=None)
    assert load_dataset(beside).version == "1.0.1"
    assert Path(beside).is_relative_to(tmp_path / "my.fixed")


@given(
    count=st.integers(8, 80),
    share=st.floats(0.2, 0.8),
    seed=st.integers(0, 5),
    kinds=st.lists(st.sampled_from(["a", "b", "c"]), min_size=80, max_size=80),
)
def test_parts_are_as_large_as_asked_for_and_have_every_kind_in_proportion(
    count: int, share: float, seed: int, kinds: list[str]
) -> None:
    base = graded(cases=count)
    dataset = replace(
        base, cases=tuple(replace(one, category=kind) for one, kind in zip(base.cases, kinds, strict=False))
    )
    parts = split_dataset(dataset, {"dev": share, "test": 1 - share}, seed=seed)
    dev, test = ({one.id for one in parts[name].cases} for name in ("dev", "test"))
    assert dev | test == {one.id for one in dataset.cases}
    assert not dev & test
    assert abs(len(dev) - share * count) <= 1
    for kind in "abc":
        own = {one.id for one in dataset.cases if one.category == kind}
        assert abs(len(dev & own) - share * len(own)) <= 2
    assert all(one.corpus_hash == dataset.corpus_hash for one in parts.values())
    turned = split_dataset(replace(dataset, cases=dataset.cases[::-1]), {"dev": share, "test": 1 - share}, seed=seed)
    assert {one.id for one in turned["dev"].cases} == dev


def test_another_seed_gives_another_split() -> None:
    shares = {"dev": 0.5, "test": 0.5}
    first, second = (split_dataset(graded(), shares, seed=seed)["dev"].cases for seed in (0, 1))
    assert first != second
    assert split_dataset(graded(), shares)["dev"].name == "small-dev"


@pytest.mark.parametrize("shares", [{}, {"a": 1.0}, {"a": 0.5, "b": 0.4}, {"a": 1.5, "b": -0.5}, {"a": 1, "b": 0}])
def test_shares_that_are_no_split_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(BadValue, match="are not a split"):
        split_dataset(graded(), shares)


def test_a_part_without_cases_is_refused() -> None:
    with pytest.raises(NothingMeasured, match="part 'b' of small would hold none"):
        split_dataset(graded(cases=3), {"a": 0.99, "b": 0.01})


def test_a_dataset_is_shown_in_numbers() -> None:
    seen = show(graded())
    assert (seen.cases, seen.documents, seen.judgments) == (24, 50, 72)
    assert seen.grades == {0: 24, 2: 24, 3: 24}
    assert seen.categories == {"factual": 16, "sentiment": 8}
    assert seen.relevant is not None
    assert (seen.relevant.least, seen.relevant.median, seen.relevant.most) == (2, 2, 2)
    assert seen.best_precision_at_5 == pytest.approx(0.4)
    assert seen.words is not None
    assert seen.words.most == 5
    assert seen.tag_hint == "small-v1.0.0"
    assert seen.content_hash == graded().content_hash


def test_an_empty_dataset_is_shown_without_inventing_numbers() -> None:
    seen = show(Dataset(name="none", documents=(), cases=()))
    assert (seen.words, seen.relevant, seen.best_precision_at_5, seen.grades) == (None, None, None, {})
