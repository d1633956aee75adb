"""How systems are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import BadValue, UnknownSystem
from assay.records import Channel, FolderMode, Mode
from assay.systems.registry import Configuration, parse_spec

HERE = Path()


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("python:pkg.module:search", "python", "pkg.module:search"),
        ("http:rag.toml", "http", "rag.toml"),
        ("run:a/b.trec", "run", "a/b.trec"),
        (" assay ", "assay", ""),
    ],
)
def test_a_spec_says_what_kind_and_which(text: str, kind: str, target: str) -> None:
    spec = parse_spec(text, HERE)
    assert (spec.kind, spec.target, spec.text) == (kind, target, text.strip())


def test_a_configuration_is_a_list_of_keys() -> None:
    spec = parse_spec("assay:mode=quick,channels=fts5+bm25,search.fusion=rrf,flags.mmr=off,folder_mode=on", HERE)
    assert spec.configuration == Configuration(
        mode=Mode.QUICK,
        channels=(Channel.FTS5, Channel.BM25),
        folder_mode=FolderMode.ON,
        settings={"search.fusion": "rrf"},
        flags={"mmr": "off"},
    )


def test_a_configuration_simulates_a_context_that_is_filling_up() -> None:
    found = parse_spec("assay:token_budget=2000,tokens_used=1900,context_type=review", HERE).configuration
    assert found == Configuration(token_budget=2_000, tokens_used=1_900, context_type="review")
    assert found.as_json() == {"context_type": "review", "token_budget": 2_000, "tokens_used": 1_900}
    with pytest.raises(UnknownSystem, match="tokens_used=much is not a number"):
        parse_spec("assay:tokens_used=much", HERE)


def test_the_previous_question_of_a_conversation_is_asked_for_by_name() -> None:
    assert parse_spec("assay:previous_query=on", HERE).configuration == Configuration(previous_query=True)
    assert parse_spec("assay:previous_query=off", HERE).configuration == Configuration()
    with pytest.raises(UnknownSystem, match="previous_query=maybe is neither on nor off"):
        parse_spec("assay:previous_query=maybe", HERE)


def test_a_configuration_may_stand_in_a_file(tmp_path: Path) -> None:
    lines = 'mode = "deep"\nchannels = ["vector"]\n[search]\nfusion = "rrf"\n[flags]\nmmr = false\n'
    (tmp_path / "worse.toml").write_text(lines, encoding="utf-8")
    found = parse_spec("assay:worse.toml", tmp_path).configuration
    assert found is not None
    assert found.as_json() == {
        "mode": "deep",
        "channels": ["vector"],
        "settings": {"search.fusion": "rrf"},
        "flags": {"mmr": "false"},
    }


def test_plain_assay_asks_for_nothing() -> None:
    found = parse_spec("assay", HERE).configuration
    assert found == Configuration()
    assert found.as_json() == {}


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("asay", "Did you mean 'assay'"),
        ("pyton:a:b", "Did you mean 'python'"),
        ("service.toml", "http:service.toml or assay:service.toml"),
        ("old.trec", "run:old.trec"),
        ("", "Such as assay"),
        ("python:", "Such as assay"),
        ("run", "Such as assay"),
        ("assay:mode", "channels=fts5"),
        ("assay:nowhere.toml", "assay:FILE.toml"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_could(text: str, remedy: str) -> None:
    with pytest.raises(UnknownSystem) as problem:
        parse_spec(text, HERE)
    assert remedy in problem.value.remedy


@pytest.mark.parametrize("text", ["assay:mode=fast", "assay:channels=fts6", "assay:folder_mode=yes"])
def test_a_value_nobody_knows_is_refused_with_near_ones(text: str) -> None:
    with pytest.raises(BadValue, match="is not known"):
        parse_spec(text, HERE)
