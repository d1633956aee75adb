"""Which files a caller sees: by folder, by the store's row, and to whom a file without a row belongs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.pages.filled import Gold

from assay.errors import RecordNotFound, RunNotFound
from assay.evaluation.datasets import Registry
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.evaluation.shelf import LONGEST_FOLDER_NAME, FilePlaces, Shelf, file_key, folder_name
from assay.records import Scope
from assay.records.access import FileKind
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.scope import name_of
from assay.storage import Store
from assay.testing import FixedClock

TENANTS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:#-]{0,127}", fullmatch=True)


@given(st.lists(TENANTS, min_size=2, max_size=2, unique=True))
def test_no_two_tenants_share_a_folder_on_any_disk(tenants: list[str]) -> None:
    first, second = (folder_name(tenant).casefold() for tenant in tenants)
    assert first != second


@given(TENANTS)
def test_the_folder_of_a_tenant_is_a_plain_name(tenant: str) -> None:
    name = folder_name(tenant)
    assert Path(name).name == name
    assert name not in (".", "..")
    assert len(name) <= LONGEST_FOLDER_NAME


def test_folder_names_can_be_read() -> None:
    assert folder_name("acme-2") == "acme-2"
    assert folder_name("Acme.io") == "%41cme%2Eio"
    assert folder_name("A" * 128).startswith("%%")
    assert folder_name("A" * 128) != folder_name("A" * 127)


@dataclass(frozen=True)
class Files:
    """A server whose settings name one tenant, and the files below one folder."""

    store: Store
    folder: Path
    clock: FixedClock

    def shelf(self, tenant: str, *, own: str = "own", principal: str = "ada", token: str = "") -> Shelf:
        return Shelf(
            store=self.store,
            scope=Scope(tenant=tenant, principal=principal, principal_id=token),
            places=FilePlaces(own_tenant=own, runs=self.folder / "runs", datasets=self.folder / "datasets"),
            clock=self.clock,
        )

    def run(self, runs: Path, name: str) -> str:
        return run(dataset(), Gold(name, 0), RunOptions(name=name), Running(runs=runs, clock=self.clock)).run_id

    def claim(self, tenant: str, kind: FileKind, name: str) -> None:
        with self.store.writing(Scope(tenant=tenant)) as work:
            work.owned_files.claim(kind, name)


@pytest.fixture
def files(store: Store, tmp_path: Path, clock: FixedClock) -> Files:
    return Files(store, tmp_path / "kept", clock)


def dataset(name: str = "docs", version: str = "1.0.0", text: str = "Tabs.") -> Dataset:
    return Dataset(
        name=name,
        version=version,
        documents=(Document(id="d1", title="One", text=text),),
        cases=(Case(id="q1", query=f"asked of {text}", grades=(Grade(document_id="d1", grade=3),)),),
    )


def seen(shelf: Shelf) -> list[str]:
    return [found.path.name for found in shelf.runs()]


def test_a_run_without_a_row_belongs_to_the_settings_own_tenant(files: Files) -> None:
    made = files.run(files.folder / "runs", "plain")
    assert seen(files.shelf("own")) == [made]
    assert seen(files.shelf("alpha")) == []


def test_a_run_in_the_shared_folder_with_a_row_is_that_tenants_alone(files: Files) -> None:
    made = files.run(files.folder / "runs", "old")
    files.claim("alpha", FileKind.RUN, made)
    assert (seen(files.shelf("own")), seen(files.shelf("alpha")), seen(files.shelf("beta"))) == ([], [made], [])
    assert files.shelf("alpha").find_run("old").path.name == made


def test_runs_of_both_folders_are_in_the_order_of_time(files: Files) -> None:
    """A tenant that runs the server today may have been a guest of it before."""
    guest = files.run(files.shelf("alpha").runs_folder, "as a guest")
    files.clock.advance(seconds=1)
    host = files.run(files.shelf("alpha", own="alpha").runs_folder, "as the host")
    assert seen(files.shelf("alpha", own="alpha")) == [guest, host]
    assert files.shelf("alpha", own="alpha").find_run("latest").path.name == host
    assert seen(files.shelf("alpha", own="own")) == [guest]


def test_a_run_is_found_by_id_and_name_and_never_by_a_path(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    made = files.run(files.shelf("own").runs_folder, "plain")
    files.run(files.folder, "elsewhere")
    monkeypatch.chdir(files.folder / "runs")
    shelf = files.shelf("own")
    assert {shelf.find_run(wanted).path.name for wanted in (made, "plain", "latest")} == {made}
    for wanted in ("", ".", "..", f"../runs/{made}", str(files.folder / "runs" / made), "elsewhere"):
        with pytest.raises(RunNotFound):
            shelf.find_run(wanted)
        with pytest.raises(RunNotFound):
            files.shelf("alpha").find_run(made)


def test_the_texts_of_a_run_come_from_a_dataset_by_name_and_never_from_a_path(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manifest may call its dataset whatever it likes."""
    Registry(files.folder / "elsewhere").add(dataset(), origin="test", clock=files.clock)
    monkeypatch.chdir(files.folder / "elsewhere" / "docs")
    Path("1.0.0").rename("docs")
    files.run(files.shelf("alpha").runs_folder, "plain")
    assert files.shelf("alpha").read_run("plain").queries == {}
    with pytest.raises(RecordNotFound):
        files.shelf("alpha").load_dataset("docs")
    files.shelf("alpha").keep_dataset(dataset(), origin="test")
    assert files.shelf("alpha").read_run("plain").queries == {"q1": "asked of Tabs."}


def test_each_tenant_has_datasets_of_its_own_under_the_same_name(files: Files) -> None:
    for tenant in ("own", "alpha", "beta"):
        files.shelf(tenant).keep_dataset(dataset(text=f"Of {tenant}."), origin="test")
    for tenant in ("own", "alpha", "beta"):
        shelf = files.shelf(tenant)
        assert [card.name for card in shelf.list_imports()] == ["docs"]
        assert shelf.load_dataset("docs").documents[0].text == f"Of {tenant}."
        assert shelf.load_dataset("docs@1.0.0").documents[0].text == f"Of {tenant}."
    with pytest.raises(RecordNotFound, match="'docs'"):
        files.shelf("gamma").load_dataset("docs")
    assert "hotel" in files.shelf("gamma").dataset_names()


def test_a_dataset_in_the_shared_folder_with_a_row_is_not_replaced_by_the_host(files: Files) -> None:
    card, _ = Registry(files.folder / "datasets").add(dataset(text="Of alpha."), origin="test", clock=files.clock)
    files.claim("alpha", FileKind.DATASET, file_key(card.path))
    files.shelf("own").keep_dataset(dataset(text="Of the host."), origin="test", replacing=True)
    assert files.shelf("alpha").load_dataset("docs").documents[0].text == "Of alpha."
    assert files.shelf("own").load_dataset("docs").documents[0].text == "Of the host."


def test_a_dataset_without_a_row_belongs_to_the_settings_own_tenant(files: Files) -> None:
    Registry(files.folder / "datasets").add(dataset(), origin="test", clock=files.clock)
    assert files.shelf("own").load_dataset("docs").name == "docs"
    with pytest.raises(RecordNotFound):
        files.shelf("alpha").load_dataset("docs")


def press(shelf: Shelf, key: str) -> str:
    shelf.claim_labels("docs")
    return shelf.label_session("docs").press(key)


def labels(shelf: Shelf) -> dict[str, list[int | None]]:
    return {who: [label.grade for label in own.values()] for who, own in shelf.labels("docs").items() if own}


def test_labels_are_kept_by_tenant_and_by_principal(files: Files) -> None:
    for tenant in ("own", "alpha"):
        files.shelf(tenant).keep_dataset(dataset(), origin="test")
    first, second = (f"t_{sign * 26}" for sign in "AB")
    press(files.shelf("alpha", principal="token:unnamed", token=first), "3")
    assert press(files.shelf("alpha", principal="token:unnamed", token=second), "u") == "nothing to undo"
    assert press(files.shelf("own", principal="token:unnamed", token=second), "u") == "nothing to undo"
    assert labels(files.shelf("alpha")) == {f"token:unnamed#{first}": [3]}
    assert labels(files.shelf("own")) == {}
    assert {name_of(who) for who in labels(files.shelf("alpha"))} == {"token:unnamed"}
    assert press(files.shelf("alpha", principal="token:unnamed", token=first), "u") == "undone"
    assert labels(files.shelf("alpha")) == {}


def test_labels_that_another_tenant_wrote_as_the_host_are_left_to_it(files: Files) -> None:
    files.shelf("alpha", own="alpha").keep_dataset(dataset(), origin="test")
    press(files.shelf("alpha", own="alpha"), "3")
    assert (files.folder / "labels" / "docs.labels.jsonl").is_file()
    files.shelf("own").keep_dataset(dataset(text="Mine."), origin="test")
    press(files.shelf("own"), "0")
    assert labels(files.shelf("own")) == {"ada": [0]}
    assert labels(files.shelf("alpha")) == {"ada": [3]}
    assert files.shelf("alpha").labels_file("docs") is None
    assert files.shelf("own").labels_file("docs") is not None


def test_labels_of_version_one_stay_with_the_settings_own_tenant(files: Files) -> None:
    place = files.folder / "labels" / "hotel.labels.jsonl"
    place.parent.mkdir(parents=True)
    line = '{"case": "q001", "document": "d", "grade": 3, "annotator": "token:old", "at": "2026-01-05T09:00:00+00:00"}'
    place.write_text(line + "\n", encoding="utf-8")
    assert list(files.shelf("own").labels("hotel")) == ["token:old"]
    assert files.shelf("alpha").labels("hotel") == {}


def test_a_long_path_has_a_name_that_an_index_can_hold(tmp_path: Path) -> None:
    long = tmp_path.joinpath(*["x" * 100] * 6)
    assert file_key(long).startswith("sha256:")
    assert file_key(long) != file_key(long / "y")
    assert file_key(tmp_path) == str(tmp_path.resolve())


def test_an_identity_fits_a_column_that_an_index_holds() -> None:
    scope = Scope(principal="token:" + "n" * 490, principal_id="t_" + "A" * 26)
    assert len(scope.identity) <= 500
    assert Scope(principal="ada").identity == "ada"
    assert name_of("token:ada#t_" + "A" * 26) == "token:ada"
    assert name_of("token:ada#1") == "token:ada#1"
