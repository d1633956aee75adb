"""Settings: which value wins, where it came from, and what a mistake is told."""

from __future__ import annotations

import secrets
import traceback
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.errors import SettingError
from assay.settings import KNOWN, LoadedSettings, Settings, find_file, fit_to_show, load_settings


def load(folder: Path, **given: str) -> LoadedSettings:
    return load_settings(folder=folder, environment={"HOME": str(folder), **given})


def write(folder: Path, content: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "assay.toml"
    file.write_text(content, encoding="utf-8")
    return file


def test_without_anything_every_value_is_a_default(tmp_path: Path) -> None:
    loaded = load(tmp_path)

    assert {origin.layer for origin in loaded.origins.values()} == {"default"}
    assert loaded.settings.db == str(tmp_path / ".local/share/assay/assay.db")
    assert loaded.file is None


def test_the_data_folder_of_the_user_is_honoured(tmp_path: Path) -> None:
    assert load(tmp_path, XDG_DATA_HOME=str(tmp_path / "data")).settings.db == str(tmp_path / "data/assay/assay.db")


def test_a_relative_data_folder_is_ignored_as_the_standard_says(tmp_path: Path) -> None:
    assert load(tmp_path, XDG_DATA_HOME="data").settings.db == str(tmp_path / ".local/share/assay/assay.db")


def test_options_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    write(tmp_path, 'tenant = "file"\nprincipal = "file"\n[store]\nreaders = 3\n')
    environment = {"HOME": str(tmp_path), "ASSAY_TENANT": "variable", "ASSAY_PRINCIPAL": "variable"}

    loaded = load_settings(folder=tmp_path, environment=environment, options={"tenant": "option", "db": None})

    assert (loaded.settings.tenant, loaded.settings.principal, loaded.settings.readers) == ("option", "variable", 3)
    assert [loaded.origins[key].layer for key in ("tenant", "principal", "store.readers", "db")] == [
        "option",
        "environment",
        "file",
        "default",
    ]


def test_the_origin_names_the_file_the_variable_and_the_option(tmp_path: Path) -> None:
    file = write(tmp_path, 'principal = "me"\n')
    loaded = load_settings(
        folder=tmp_path, environment={"HOME": str(tmp_path), "ASSAY_TENANT": "t"}, options={"db": "x.db"}
    )

    assert loaded.origins["principal"].place == str(file)
    assert loaded.origins["tenant"].place == "ASSAY_TENANT"
    assert loaded.origins["db"].place == "--db"


def test_the_file_is_searched_upwards_then_in_the_users_folder(tmp_path: Path) -> None:
    users = write(tmp_path / "home" / ".config" / "assay", "")
    above = write(tmp_path / "project", "")
    inner = tmp_path / "project" / "a" / "b"
    inner.mkdir(parents=True)
    environment = {"HOME": str(tmp_path / "home")}

    assert find_file(inner, environment) == above
    assert find_file(tmp_path / "home", environment) == users


def test_a_path_in_the_file_is_relative_to_the_file(tmp_path: Path) -> None:
    write(tmp_path, 'db = "data/notes.db"\n[checkpoints]\nfolder = "copies"\n')
    inner = tmp_path / "deep"
    inner.mkdir()

    settings = load(inner, HOME=str(tmp_path)).settings

    assert settings.db == str(tmp_path / "data/notes.db")
    assert settings.checkpoint_folder == tmp_path / "copies"


def test_a_path_in_an_option_is_relative_to_the_working_folder(tmp_path: Path) -> None:
    loaded = load_settings(folder=tmp_path, environment={"HOME": "/"}, options={"db": "notes.db"})
    assert loaded.settings.db == str(tmp_path / "notes.db")


@pytest.mark.parametrize(
    ("content", "near"),
    [
        ('tenannt = "x"\n', "tenant"),
        ("[store]\nlock_timeout = 3\n", "store.lock_timeout_s"),
        ("[log]\ncapacitty = 3\n", "log.capacity"),
    ],
)
def test_an_unknown_key_in_the_file_is_refused_with_the_near_name(tmp_path: Path, content: str, near: str) -> None:
    file = write(tmp_path, content)
    with pytest.raises(SettingError) as problem:
        load(tmp_path)
    assert str(file) in problem.value.message
    assert near in problem.value.remedy


def test_an_unknown_variable_is_refused_with_the_near_name(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="ASSAY_TENNANT") as problem:
        load(tmp_path, ASSAY_TENNANT="x")
    assert "ASSAY_TENANT" in problem.value.remedy


def test_variables_of_flags_are_not_settings_but_are_kept_with_their_origin(tmp_path: Path) -> None:
    loaded = load(tmp_path, ASSAY_FLAG_MMR="off")

    assert loaded.settings.tenant == "default"
    assert loaded.settings.flags == {"mmr": ("off", ("environment", "ASSAY_FLAG_MMR"))}


def test_flags_stand_in_a_table_of_the_file_and_the_environment_wins(tmp_path: Path) -> None:
    file = write(tmp_path, "[flags]\nmmr = true\nsession_boost = 25\n")

    flags = load(tmp_path, ASSAY_FLAG_MMR="off").settings.flags

    assert flags["mmr"] == ("off", ("environment", "ASSAY_FLAG_MMR"))
    assert flags["session_boost"] == ("25", ("file", str(file)))


def test_flags_that_are_not_a_table_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "flags = 3\n")
    with pytest.raises(SettingError, match="not a table"):
        load(tmp_path)


def test_floors_stand_in_a_table_of_the_file_by_metric(tmp_path: Path) -> None:
    assert load(tmp_path).settings.floors == {}
    write(tmp_path, '[floors]\n"recall@5" = 0.8\n"latency p95" = 500\nerror_rate = 0\n')
    assert load(tmp_path).settings.floors == {"recall@5": 0.8, "latency p95": 500.0, "error_rate": 0.0}


@pytest.mark.parametrize("content", ["floors = 3\n", '[floors]\n"mrr" = "high"\n', "[floors]\nmrr = nan\n"])
def test_floors_that_are_no_numbers_in_a_table_are_refused(tmp_path: Path, content: str) -> None:
    write(tmp_path, content)
    with pytest.raises(SettingError, match="floors"):
        load(tmp_path)


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="tenat"):
        load_settings(folder=tmp_path, environment={}, options={"tenat": "x"})


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("ASSAY_STORE_READERS", "many", "'many' is not a number"),
        ("ASSAY_STORE_READERS", "0", "not above zero"),
        ("ASSAY_STORE_READERS", "99999999999999999999", "out of range"),
        ("ASSAY_STORE_LOCK_TIMEOUT_S", "nan", "not finite"),
        ("ASSAY_STORE_LOCK_TIMEOUT_S", "1e999", "not finite"),
        ("ASSAY_TENANT", "../etc", "not an id"),
        ("ASSAY_TENANT", "", "empty"),
        ("ASSAY_DB", "a\x00b", "NUL"),
        ("ASSAY_EMBEDDER_KIND", "minilmm", "not known"),
        ("ASSAY_SEARCH_FUSION", "sum", "not known"),
        ("ASSAY_EMBEDDER_THREADS", "two", "'two' is not a number"),
        ("ASSAY_SIMILARITY_MERGE", "high", "'high' is not a number"),
    ],
)
def test_a_value_of_the_wrong_kind_names_itself_and_its_origin(
    tmp_path: Path, variable: str, value: str, told: str
) -> None:
    with pytest.raises(SettingError) as problem:
        load(tmp_path, **{variable: value})
    assert told in problem.value.message
    assert variable in problem.value.message
    assert problem.value.remedy


@pytest.mark.parametrize("content", [b"tenant = ", b"\xff\xfe", b"db = 3\n", b"[store]\nreaders = true\n"])
def test_an_unreadable_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "assay.toml"
    file.write_bytes(content)
    with pytest.raises(SettingError) as problem:
        load(tmp_path)
    assert str(file) in problem.value.message


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    loaded = load(tmp_path, ASSAY_DB="postgresql://me:hunter2@localhost/x")
    assert "hunter2" not in str(loaded.list_settings())
    assert ":***@localhost" in fit_to_show(loaded.settings.db)


def test_every_setting_has_a_meaning_and_a_variable_of_its_own() -> None:
    assert all(one.meaning.endswith(".") for one in KNOWN)
    assert len({one.variable for one in KNOWN}) == len(KNOWN)


def test_the_embedder_and_the_search_are_set_in_tables_of_their_own(tmp_path: Path) -> None:
    file = write(
        tmp_path, '[embedder]\nkind = "local"\nfolder = "model"\nthreads = 2\n[search]\nfusion = "rrf"\nk = 5\n'
    )
    settings = load(tmp_path, ASSAY_CONFIG=str(file)).settings
    assert (settings.embedder, settings.embedder_folder, settings.embedder_threads) == ("local", tmp_path / "model", 2)
    assert (settings.search_fusion, settings.search_k) == ("rrf", 5)


def test_a_choice_that_is_not_one_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(SettingError) as problem:
        load(tmp_path, ASSAY_SEARCH_FUSION="sum")
    assert "convex, rrf" in problem.value.remedy


def test_a_list_is_written_as_one_or_with_commas(tmp_path: Path) -> None:
    # In the user's own file: one that is merely found has to be approved for this.
    write(tmp_path / ".config" / "assay", '[server]\ntrusted_proxies = ["127.0.0.1", "10.0.0.0/8"]\n')
    assert load(tmp_path).settings.server_trusted_proxies == ("127.0.0.1", "10.0.0.0/8")
    loaded = load(tmp_path, ASSAY_SERVER_TRUSTED_PROXIES="::1, 192.0.2.0/24")
    assert loaded.settings.server_trusted_proxies == ("::1", "192.0.2.0/24")
    assert load(tmp_path, ASSAY_SERVER_TRUSTED_PROXIES="").settings.server_trusted_proxies == ()
    assert fit_to_show(loaded.settings.server_trusted_proxies) == "::1, 192.0.2.0/24"


@pytest.mark.parametrize("content", ["trusted_proxies = 5", "trusted_proxies = [5]", "trusted_proxies = [[]]"])
def test_what_is_not_a_list_of_texts_is_refused(tmp_path: Path, content: str) -> None:
    write(tmp_path / ".config" / "assay", f"[server]\n{content}\n")
    with pytest.raises(SettingError, match="trusted_proxies"):
        load(tmp_path)


@pytest.mark.parametrize("value", ["1", "0", "1.5", "[]", "1979-05-27"])
def test_offline_in_the_file_is_true_or_false_and_nothing_else(tmp_path: Path, value: str) -> None:
    # Whoever writes `offline = 1` means true; it must not be read as false.
    file = write(tmp_path, f"[network]\noffline = {value}\n")
    with pytest.raises(SettingError, match="neither true nor false") as problem:
        load(tmp_path)
    assert str(file) in problem.value.message


def test_a_wrong_value_is_told_although_another_place_wins(tmp_path: Path) -> None:
    file = write(tmp_path, "[store]\nreaders = 0\n")
    with pytest.raises(SettingError, match="not above zero") as problem:
        load(tmp_path, ASSAY_STORE_READERS="4")
    assert str(file) in problem.value.message


def test_settings_that_a_program_makes_read_neither_the_environment_nor_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 'tenant = "file"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_TENANT", "variable")
    monkeypatch.setenv("tenant", "lower")
    assert Settings().tenant == "default"
    assert Settings(search_k=3).change(principal="me") == Settings(search_k=3, principal="me")


@pytest.mark.parametrize(
    ("given", "told", "remedy"),
    [
        ({"readers": 0}, "store.readers 0 is not above zero", "Give store.readers a number above zero."),
        (
            {"readers": True},
            "store.readers True is not a whole number",
            "Give store.readers a whole number, such as 8.",
        ),
        (
            {"embedder": "x"},
            "embedder.kind 'x' is not known",
            "Give one of minilm, granite, static, local, remote, registered, none.",
        ),
        ({"tenannt": "x"}, "Settings are given the name 'tenannt', which is not a setting", "Did you mean tenant?"),
    ],
)
def test_settings_that_a_program_makes_are_checked_alike(given: dict[str, Any], told: str, remedy: str) -> None:
    with pytest.raises(SettingError) as problem:
        Settings(**given)
    assert problem.value.message == told
    assert problem.value.remedy.startswith(remedy)
    with pytest.raises(SettingError, match=told):
        Settings().change(**given)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().tenant = "x"


def test_an_error_does_not_carry_a_password(tmp_path: Path) -> None:
    secret = secrets.token_hex()  # not written here: a traceback repeats the lines of this file
    with pytest.raises(SettingError) as problem:
        load(tmp_path, ASSAY_DB=f"postgresql://me:{secret}@localhost/x", ASSAY_STORE_READERS="0")
    assert secret not in "".join(traceback.format_exception(problem.value))


def test_every_setting_says_what_its_value_is() -> None:
    kinds = {known.key: known.kind for known in KNOWN}
    assert kinds["store.readers"] == kinds["search.rrf_k"] == "a whole number above 0"
    assert kinds["similarity.merge"] == "a number above 0"
    assert kinds["index.folder"] == "a path"
    assert kinds["search.fusion"] == "one of convex, rrf"
    assert kinds["server.trusted_proxies"] == "a list of texts"
    assert kinds["network.offline"] == "true or false"
