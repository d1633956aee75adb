"""A settings file that was found, not named, sets no address, key variable or program until it is approved."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.errors import SettingError, SettingNotApproved
from assay.settings import (
    APPROVALS,
    KNOWN,
    Approval,
    ApprovedFiles,
    LoadedSettings,
    find_file,
    is_loopback,
    load_settings,
    read_requests,
)

NOW = datetime(2026, 11, 16, tzinfo=UTC)
FOREIGN = '[model]\nurl = "https://attacker.example/v1"\nname = "m1"\nkey_variable = "AWS_SECRET_ACCESS_KEY"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(folder: Path, content: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "assay.toml"
    file.write_text(content, encoding="utf-8")
    return file


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(folder.parent / "home"), **more}


def load(folder: Path, **more: str) -> LoadedSettings:
    return load_settings(folder=folder, environment=environment_of(folder, **more))


def approve(folder: Path) -> None:
    file = folder / "assay.toml"
    ApprovedFiles(environment_of(folder)).add(file, read_requests(file), now=NOW)


def test_a_found_file_cannot_name_an_address_or_a_key_variable(project: Path) -> None:
    file = write(project, FOREIGN)

    loaded = load(project)

    assert (loaded.settings.model_url, loaded.settings.model_key_variable) == ("", "")
    assert loaded.settings.model_name == "m1"
    assert set(loaded.settings.withheld) == {"model.url", "model.key_variable"}
    assert loaded.origins["model.url"] == ("withheld", str(file))
    with pytest.raises(SettingNotApproved) as problem:
        loaded.settings.refuse_withheld("model.url")
    assert str(file) in problem.value.message
    assert "model.url" in problem.value.message
    assert f"assay trust {file}" in problem.value.remedy


def test_what_goes_by_other_settings_is_not_refused(project: Path) -> None:
    write(project, FOREIGN)
    settings = load(project).settings
    settings.refuse_withheld()
    settings.refuse_withheld("embedder.url", "research.")
    with pytest.raises(SettingNotApproved, match=r"model\.url"):
        settings.refuse_withheld("embedder.url", "research.", "model.")


def test_a_file_above_the_working_folder_is_no_better(project: Path) -> None:
    write(project, FOREIGN)
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    settings = load_settings(folder=inner, environment=environment_of(project)).settings
    assert "model.url" in settings.withheld


def test_an_approved_file_counts_until_it_asks_for_something_else(project: Path) -> None:
    write(project, FOREIGN)
    approve(project)
    assert load(project).settings.model_url == "https://attacker.example/v1"

    write(project, FOREIGN + "[search]\nk = 3\n")
    assert load(project).settings.withheld == {}, "what needs no approval may change"

    write(project, FOREIGN.replace("attacker", "other"))
    settings = load(project).settings
    assert settings.model_url == ""
    with pytest.raises(SettingNotApproved, match="has changed since it was approved"):
        settings.refuse_withheld("model.key_variable")


def test_an_approval_belongs_to_one_path(project: Path, tmp_path: Path) -> None:
    write(project, FOREIGN)
    approve(project)
    copy = tmp_path / "copy"
    write(copy, FOREIGN)
    assert "model.url" in load(copy).settings.withheld


def test_a_removed_approval_counts_no_more(project: Path) -> None:
    file = write(project, FOREIGN)
    approve(project)
    approved = ApprovedFiles(environment_of(project))
    assert approved.remove(file)
    assert not approved.remove(file)
    assert "model.url" in load(project).settings.withheld


def test_the_users_own_file_needs_no_approval(project: Path) -> None:
    write(project.parent / "home" / ".config" / "assay", FOREIGN)
    loaded = load(project)
    assert loaded.settings.model_url == "https://attacker.example/v1"
    assert loaded.asked == {}


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_a_file_the_user_names_needs_no_approval(project: Path, by: str) -> None:
    file = write(project / "elsewhere", FOREIGN)
    if by == "argument":
        loaded = load_settings(folder=project, environment=environment_of(project), file=file)
    else:
        loaded = load(project, ASSAY_CONFIG="elsewhere/assay.toml")
    assert (loaded.file, loaded.settings.withheld) == (file, {})
    assert loaded.settings.model_url == "https://attacker.example/v1"


def test_a_named_file_that_is_not_there_is_refused(project: Path) -> None:
    with pytest.raises(SettingError, match=r"ASSAY_CONFIG names .*missing\.toml"):
        load(project, ASSAY_CONFIG="missing.toml")


@pytest.mark.parametrize(
    ("content", "withheld"),
    [
        ('[model]\nurl = "http://127.0.0.1:11434/v1"\nname = "m1"\n', set()),
        ('[embedder]\nkind = "remote"\nurl = "http://localhost:8080/v1"\nmodel = "e1"\n', set()),
        ('[otel]\nexporter = "otlp"\nendpoint = "http://[::1]:4318/v1/traces"\n', set()),
        ('[model]\nurl = "http://127.0.0.1:1/v1"\nkey_variable = "KEY"\n', {"model.url", "model.key_variable"}),
        ('[embedder]\nurl = "http://127.0.0.1.example/v1"\n', {"embedder.url"}),
        ('[otel]\nendpoint = "https://collector.example/v1/traces"\n', {"otel.endpoint"}),
        ('[alerts]\nwebhook = "https://collector.example/hook"\n', {"alerts.webhook"}),
        ('[alerts]\nfile = "alerts.jsonl"\n', {"alerts.file"}),
        ('db = "notes.db"\n', set()),
        ('db = "postgresql://localhost/notes"\n', {"db"}),
        ('[postgres]\nprograms = "bin"\n', {"postgres.programs"}),
        ('[embedder]\nkind = "local"\nfolder = "model"\n', {"embedder.folder"}),
        ('[rerank]\nfolder = "model"\ndepth = 10\nthreshold = 0.5\n', {"rerank.folder"}),
        ('[network]\nallow = "https://attacker.example"\n', {"network.allow"}),
        ('[research.custom.tone]\npython = "evil:run"\n', {"research.custom.tone.python"}),
        ('[research.custom.tone]\nrubric = "tone.toml"\n', set()),
        ('[floors]\n"mrr" = 0.5\n[flags]\nmmr = true\n[runs]\nfolder = "runs"\n', set()),
    ],
)
def test_what_needs_approval(project: Path, content: str, withheld: set[str]) -> None:
    write(project, content)
    assert set(load(project).settings.withheld) == withheld


def test_a_loopback_address_needs_approval_where_the_environment_names_a_key(project: Path) -> None:
    write(project, '[model]\nurl = "http://127.0.0.1:11434/v1"\n')
    assert set(load(project, ASSAY_MODEL_KEY_VARIABLE="KEY").settings.withheld) == {"model.url"}


def test_what_the_environment_sets_does_not_matter_in_the_file(project: Path) -> None:
    write(project, FOREIGN)
    loaded = load(project, ASSAY_MODEL_URL="https://mine.example/v1", ASSAY_MODEL_KEY_VARIABLE="MINE")
    assert loaded.settings.withheld == {}
    assert loaded.settings.model_url == "https://mine.example/v1"


def test_a_function_of_an_unapproved_file_is_taken_out_of_the_research_table(project: Path) -> None:
    write(project, '[research]\nevaluate = "off"\n[research.custom.tone]\npython = "evil:run"\nweight = 0.1\n')
    settings = load(project).settings
    assert settings.research == {"evaluate": "off", "custom": {}}
    with pytest.raises(SettingNotApproved):
        settings.refuse_withheld("research.custom.")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.9.9.9/", True),
        ("http://localhost/", True),
        ("https://[::1]:4318/", True),
        ("http://localhost.example/", False),
        ("http://127.0.0.1@attacker.example/", False),
        ("http://127.0.0.1\\@attacker.example/", False),
        ("http://attacker.example\\@127.0.0.1/", False),
        ("http://0.0.0.0/", False),
        ("http://10.0.0.1/", False),
        ("http://127.0.0.1:port/", False),
        ("ftp://127.0.0.1/", False),
        ("localhost:80", False),
        ("http://2130706433/", False),
    ],
)
def test_only_what_is_surely_this_machine_is_loopback(url: str, local: bool) -> None:
    assert is_loopback(url) is local


def test_every_setting_says_whether_it_needs_approval() -> None:
    assert {one.key for one in KNOWN} == set(APPROVALS)


def test_every_setting_that_names_an_address_a_key_or_a_program_needs_approval() -> None:
    """By its name: a new `*.url` or `*.programs` cannot be classified as harmless by oversight."""
    endings = ("url", "endpoint", "key_variable", "programs", "command", "proxy", "webhook", "allow")
    named = [one.key for one in KNOWN if one.key.endswith(endings)]
    assert len(named) >= 7
    assert [key for key in named if APPROVALS[key] is Approval.NEVER] == []


def test_the_list_is_readable_by_its_owner_alone_and_holds_no_password(project: Path) -> None:
    write(project, 'db = "postgresql://me:hunter2@db.example/notes"\n')
    approve(project)
    place = ApprovedFiles(environment_of(project)).place
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert "hunter2" not in place.read_text(encoding="utf-8")
    assert load(project).settings.db == "postgresql://me:hunter2@db.example/notes"


@pytest.mark.parametrize("content", ["{", "[]", '{"files": {"x": 1}}', '{"files": [1]}'])
def test_a_damaged_list_approves_nothing(project: Path, content: str) -> None:
    write(project, FOREIGN)
    approve(project)
    ApprovedFiles(environment_of(project)).place.write_text(content, encoding="utf-8")
    with pytest.raises(SettingError, match="cannot read"):
        load(project)


def test_the_search_for_a_file_ends_at_the_home_folder(tmp_path: Path) -> None:
    write(tmp_path, "")
    inner = tmp_path / "home" / "project"
    inner.mkdir(parents=True)
    assert find_file(inner, {"HOME": str(tmp_path / "home")}) is None
    own = write(tmp_path / "home", "")
    assert find_file(inner, {"HOME": str(tmp_path / "home")}) == own


@pytest.mark.parametrize("way", ["file", "link"])
def test_a_file_of_another_user_is_refused(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    file = folder / "assay.toml"
    if way == "file":
        file.write_text("", encoding="utf-8")
    else:
        (tmp_path / "mine.toml").write_text("", encoding="utf-8")
        file.symlink_to(tmp_path / "mine.toml")
    given: dict[str, Any] = {}
    if os.geteuid() == 0:
        os.chown(file, 12_345, -1, follow_symlinks=False)
    else:
        given["user"] = os.geteuid() + 1
    with pytest.raises(SettingError, match="belongs to another user") as problem:
        find_file(folder, {"HOME": str(tmp_path / "home")}, **given)
    assert "--config" in problem.value.remedy


def test_offline_of_the_users_own_file_cannot_be_switched_off_by_a_project(project: Path) -> None:
    own = project.parent / "home" / ".config" / "assay"
    write(own, '[network]\noffline = true\nallow = "https://mine.example"\n')
    write(project, '[network]\noffline = false\nallow = "https://attacker.example"\n')
    settings = load(project).settings
    assert (settings.network_offline, settings.network_allow) == (True, "https://mine.example")
    assert not load(project, ASSAY_OFFLINE="0").settings.network_offline


def test_a_project_may_switch_offline_on(project: Path) -> None:
    write(project.parent / "home" / ".config" / "assay", "[network]\noffline = false\n")
    write(project, "[network]\noffline = true\n")
    assert load(project).settings.network_offline


@pytest.mark.parametrize(("text", "on"), [("1", True), ("yes", True), ("TRUE", True), ("0", False), ("no", False)])
def test_offline_is_set_by_a_variable_of_its_own(project: Path, text: str, on: bool) -> None:
    assert load(project, ASSAY_OFFLINE=text).settings.network_offline is on


def test_offline_that_is_neither_true_nor_false_is_refused(project: Path) -> None:
    with pytest.raises(SettingError, match="ASSAY_OFFLINE"):
        load(project, ASSAY_OFFLINE="maybe")
