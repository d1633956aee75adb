"""Which weights answer under a name."""

from __future__ import annotations

import json

import pytest
from tests.models.service import endpoint
from tests.storage.waiting import until

from assay.errors import SettingError
from assay.models.chat import digest_of, is_floating, refuse_floating
from assay.testing.fault_server import FAULTS, Act, Handler, sending, serving


def routes(**bodies: object) -> Act:
    """A server that knows some paths, each named by its last word."""

    def act(handler: Handler) -> None:
        found = bodies.get(handler.path.rpartition("/")[2])
        (sending(b"no such page", 404) if found is None else sending(json.dumps(found).encode()))(handler)

    return act


def root(url: str) -> str:
    return url.removesuffix("/v1")


@pytest.mark.parametrize("name", ["latest", "qwen3:latest", "gpt-4o-latest", "acme/model@latest", "LATEST", "x:main"])
def test_names_that_will_mean_another_model_are_refused_unless_allowed(name: str) -> None:
    assert is_floating(name)
    with pytest.raises(SettingError, match="floating alias"):
        refuse_floating(name, allowed=False)
    refuse_floating(name, allowed=True)


@pytest.mark.parametrize("name", ["qwen3:14b", "gpt-4o-2024-08-06", "latest-news-3b", "domain:7b"])
def test_names_with_a_version_are_fine(name: str) -> None:
    refuse_floating(name, allowed=False)


def test_ollama_tells_a_digest() -> None:
    tags = {"models": [{"name": "other:1b", "digest": "aa"}, {"name": "qwen3:latest", "digest": "bb"}]}
    with serving(routes(tags=tags)) as service:
        assert digest_of(endpoint(root(service.url)), "qwen3") == "ollama:bb"
        assert digest_of(endpoint(root(service.url)), "other:1b") == "ollama:aa"
        assert digest_of(endpoint(root(service.url)), "absent") is None


def test_llama_cpp_is_known_by_what_it_loaded_wherever_that_lies() -> None:
    def told(path: str, size: int) -> str | None:
        props = {"model_path": path, "build_info": "b1", "chat_template": "t"}
        models = {"data": [{"id": "q", "meta": {"n_params": 5, "size": size}}]}
        with serving(routes(props=props, models=models)) as service:
            return digest_of(endpoint(root(service.url)), "q")

    here = told("/models/q.gguf", 7)
    assert here is not None
    assert here.startswith("llama.cpp:")
    assert here == told("/elsewhere/q.gguf", 7) != told("/models/q.gguf", 8)


def test_a_server_that_does_not_answer_is_asked_once() -> None:
    with serving(FAULTS["hang"]) as service:
        assert digest_of(endpoint(root(service.url), deadline_s=1.0), "q") is None
        until(lambda: len(service.heard) >= 1)
        assert len(service.heard) == 1


@pytest.mark.parametrize("fault", ["server_error", "garbage_bytes", "empty", "wrong_schema", "redirect"])
def test_a_server_that_does_not_tell_is_no_error(fault: str) -> None:
    with serving(FAULTS[fault]) as service:
        assert digest_of(endpoint(root(service.url)), "q") is None
