"""Models and judges as the settings name them; and where a key may go."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.judging.made import case, verdict

from assay.errors import MalformedFile, SettingError
from assay.models.chat import ChatRequest, Message
from assay.records import Scope
from assay.records.judging import RubricKind, VerdictOutcome
from assay.settings import Settings
from assay.storage import Store, open_store
from assay.testing import FixedClock
from assay.testing.fault_server import Handler, replying, sending, serving
from assay.wiring.engines import load_embedder
from assay.wiring.models import JudgeChoice, has_model, open_judge, open_judging, open_model, server_root
from assay.wiring.network import hold_to_host

CANARY = "sk-canary-0f9e8d7c6b5a"
ASKED = ChatRequest(messages=(Message(role="user", content="Well?"),))


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    """What is kept is tested on both back ends elsewhere; here one will do."""
    with open_store(str(tmp_path / "store.db"), clock=clock) as opened:
        yield opened


def settings(url: str = "http://127.0.0.1:9/v1", **more: Any) -> Settings:
    return Settings(model_url=url, model_name="small:1b").change(**more)


def test_without_an_address_there_is_no_model(store: Store, scope: Scope) -> None:
    assert not has_model(Settings())
    with pytest.raises(SettingError, match="no model is set up"):
        open_model(Settings(), store, scope)
    judge = open_judging(Settings(embedder="none"), store, scope, RubricKind.GROUNDEDNESS, JudgeChoice())
    assert judge.fingerprint().judge_kind == "builtin"
    rules = open_judging(Settings(), store, scope, RubricKind.CORRECTNESS, JudgeChoice())
    assert rules.name.startswith("builtin-correctness/")
    floor = open_judging(Settings(), store, scope, RubricKind.CORRECTNESS, JudgeChoice(name="builtin:overlap"))
    assert floor.name.startswith("builtin-overlap/")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"model_name": "small:latest"}, "floating alias"),
        ({"model_budget_usd": 1.0}, "the price of a token is not"),
        ({"model_key_variable": "NO_SUCH_KEY"}, "NO_SUCH_KEY holds no key"),
        ({"model_url": "file:///etc/passwd"}, "not an http or https address"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(store: Store, scope: Scope, more: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        open_model(settings().change(**more), store, scope)


def test_an_address_without_the_name_of_a_model_is_refused(store: Store, scope: Scope) -> None:
    with pytest.raises(SettingError, match=r"model\.name is not"):
        open_model(Settings(model_url="http://127.0.0.1:9/v1"), store, scope)


def test_a_floating_name_is_taken_when_it_is_allowed(store: Store, scope: Scope) -> None:
    named = settings(model_allow_floating="yes")
    assert open_model(named.change(model_name="small:latest"), store, scope).name == "small:latest"


def test_a_judge_of_the_settings_asks_caches_and_keeps_to_its_budget(store: Store, scope: Scope) -> None:
    with serving(replying(json.dumps(verdict(4)), prompt_tokens=3_000, completion_tokens=1_000)) as service:
        spending = settings(service.url, model_budget_usd=0.02, model_price_in=1.0, model_price_out=1.0)
        judge = open_judge(spending, store, scope, rubric="groundedness")
        assert [judge.judge_case(case()).score for _ in range(2)] == [4.0, 4.0]
        asked = [one for one in service.heard if one.method == "POST" and "chat" in one.path]
        assert len(asked) == 1
        assert asked[0].body["model"] == "small:1b"
        spent = [judge.judge_case(case(f"answer {number}")) for number in range(8)]
    assert spent[-1].verdict.outcome is VerdictOutcome.SKIPPED
    assert "USD" in spent[-1].verdict.reason


def test_a_rubric_of_ones_own_is_asked(store: Store, scope: Scope, tmp_path: Path) -> None:
    with pytest.raises(MalformedFile):
        open_judge(settings(), store, scope, rubric=str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://h:1/v1", "http://h:1"),
        ("http://h:1/v1/", "http://h:1"),
        ("https://h/api/v1", "https://h/api"),
        ("https://h/openai", "https://h/openai"),
    ],
)
def test_the_server_is_found_below_its_openai_part(url: str, root: str) -> None:
    assert server_root(url) == root


def test_a_key_goes_to_its_first_host_alone(tmp_path: Path) -> None:
    environment = {"XDG_DATA_HOME": str(tmp_path)}
    hold_to_host("A_KEY", "https://api.example.com/v1", environment)
    hold_to_host("A_KEY", "https://api.example.com/v2", environment)
    hold_to_host("B_KEY", "https://evil.example.com/v1", environment)
    for moved in ("https://evil.example.com/v1", "http://api.example.com/v1", "https://api.example.com:8443/v1"):
        with pytest.raises(SettingError, match=r"belongs to https://api\.example\.com, and the settings now name"):
            hold_to_host("A_KEY", moved, environment)


def test_the_key_of_an_embedder_stays_with_its_host_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", CANARY)
    first = Settings(
        embedder="remote",
        embedder_url="https://vectors.example.com/v1",
        embedder_model="e1",
        embedder_dimension=8,
        embedder_key_variable="A_KEY",
    )
    load_embedder(first)
    with pytest.raises(SettingError, match=r"belongs to https://vectors\.example\.com"):
        load_embedder(first.change(embedder_url="https://evil.example.com/v1"))


def test_the_list_of_hosts_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    hold_to_host("A_KEY", "https://api.example.com/v1", {"XDG_DATA_HOME": str(tmp_path)})
    assert stat.S_IMODE((tmp_path / "assay" / "model-hosts.json").stat().st_mode) == 0o600


def test_a_damaged_list_of_hosts_lets_no_key_out(tmp_path: Path) -> None:
    (tmp_path / "assay").mkdir()
    (tmp_path / "assay" / "model-hosts.json").write_text("[")
    with pytest.raises(SettingError, match="cannot read"):
        hold_to_host("A_KEY", "https://api.example.com/v1", {"XDG_DATA_HOME": str(tmp_path)})


def test_a_canary_key_is_sent_to_its_server_and_found_nowhere_else(
    store: Store, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)

    def echoing(handler: Handler) -> None:
        handler.heard.headers["Authorization"].index(CANARY)
        sending(f"who is {handler.heard.headers['Authorization']}?".encode(), 500)(handler)

    with serving(echoing) as service:
        keyed = settings(service.url, model_key_variable="CANARY_KEY", model_deadline_s=2.0)
        judge = open_judge(keyed, store, scope, rubric="groundedness")
        judged = judge.judge_case(case())
        assert service.heard
    with store.writing(scope) as work:
        work.judging.put_inputs([judged.input])
    seen = [repr(judged), repr(judge.fingerprint()), repr(keyed), caplog.text]
    seen += [one.read_bytes().decode(errors="replace") for one in tmp_path.rglob("*") if one.is_file()]
    assert judged.verdict.outcome is VerdictOutcome.UNAVAILABLE
    assert not any(CANARY in one for one in seen)


def test_an_address_that_redirects_gets_no_second_request(store: Store, scope: Scope) -> None:
    with serving(replying("hello")) as elsewhere:
        redirect = sending(b"", 307, Location=f"{elsewhere.url}/x")
        with serving(redirect) as service:
            judged = open_judge(settings(service.url), store, scope, rubric="groundedness").judge_case(case())
        assert elsewhere.heard == []
    assert judged.verdict.outcome is VerdictOutcome.UNAVAILABLE
