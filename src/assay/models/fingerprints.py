"""Which weights answer under a name, as far as the server tells: Ollama by digest, llama.cpp by what it loaded.

A name alone says little: `latest` is another model next month. Such names are refused unless somebody allows them, and
where a digest is known it is part of the judge's fingerprint, so that exchanged weights are another judge.
`alias_reason` says whether a name tells which weights answer; a judge behind one that does not decides no gate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from assay.errors import EndpointUnavailable, ModelError, SettingError
from assay.hashing import HASH_PREFIX, content_hash

if TYPE_CHECKING:
    # Only its type: judges ask here about names of models without ever calling one.
    from assay.models.endpoint import Endpoint

PROBE_S = 3.0
OLLAMA = "ollama:"
"""How digests begin that an Ollama server told."""
_TAG = re.compile(r"[:@][^/:@]+$")
_DIGIT = re.compile(r"\d")
_FLOATING = re.compile(r"(?:^|[:@/_.-])(latest|main|master|current|preview|default)$", re.IGNORECASE)


def is_floating(name: str) -> bool:
    """Whether a name promises to mean another model some day."""
    return _FLOATING.search(name.strip()) is not None


def refuse_floating(name: str, *, allowed: bool) -> None:
    """Refuse a name that does not say which model it means."""
    if is_floating(name) and not allowed:
        raise SettingError(
            f"the model {name!r} is a floating alias: verdicts of two days could be those of two models",
            remedy="Name a version, such as qwen3:14b, or allow it with --allow-floating.",
        )


def alias_reason(name: str, digest: str | None, served: Collection[str] = ()) -> str:
    """Say why a name does not tell which weights answer; empty when it does.

    `served` are the names the server itself put on its replies: a hosted service that answers to `small-model` often
    says there that it was `small-model-2026-03-01`, which is a version.
    """
    if is_floating(name):
        return f"the model name {name!r} is an alias that can mean other weights tomorrow"
    if _TAG.search(name) is not None:
        return ""
    if digest is not None:
        is_ollama = digest.startswith(OLLAMA)
        return f"the model name {name!r} has no tag, so Ollama reads it as {name}:latest" if is_ollama else ""
    if _DIGIT.search(name) or (served and all(other != name and _DIGIT.search(other) for other in served)):
        return ""
    return f"the model name {name!r} has no tag or version, and its server does not tell which weights it loaded"


def digest_of(root: Endpoint, name: str) -> str | None:
    """What tells one set of weights from another; None where the server does not tell.

    `root` is the server without its `/v1`. It is asked little, once, and believed; what goes wrong means it cannot
    tell, and a server that does not answer at all is asked no further.
    """
    probes: tuple[Callable[[Endpoint, str], str | None], ...] = (_ollama, _llama_cpp)
    for probe in probes:
        try:
            found = probe(root, name)
        except EndpointUnavailable as problem:
            if problem.status is None:
                return None
        except ModelError:
            continue
        else:
            if found is not None:
                return found
    return None


def _ask(root: Endpoint, path: str, question: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    found = root.asked(path, question, deadline_s=PROBE_S, attempts=1).value
    return found if isinstance(found, Mapping) else {}


def _ollama(root: Endpoint, name: str) -> str | None:
    models = _ask(root, "/api/tags").get("models")
    known = [one for one in models if isinstance(one, Mapping)] if isinstance(models, list) else []
    wanted = {name, f"{name}:latest"}
    digests = [one.get("digest") for one in known if one.get("name") in wanted or one.get("model") in wanted]
    found = next((one for one in digests if isinstance(one, str) and one), None)
    # The digest names weights, template and parameters together; `show` would only list them again.
    return None if found is None else f"{OLLAMA}{found[:80]}"


def _llama_cpp(root: Endpoint, name: str) -> str | None:
    props = _ask(root, "/props")
    path = props.get("model_path")
    if not isinstance(path, str) or not path:
        return None
    told = [_file_name(path), props.get("build_info"), props.get("chat_template"), _size(root, name)]
    return f"llama.cpp:{content_hash([str(one) for one in told]).removeprefix(HASH_PREFIX)[:32]}"


def _size(root: Endpoint, name: str) -> list[str]:
    """Parameters, bytes and vocabulary of what is loaded: it does not hash its file, and these differ for others."""
    with suppress(ModelError):
        listed = _ask(root, "/v1/models").get("data")
        models = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
        for one in (*(one for one in models if one.get("id") == name), *models):
            meta = one.get("meta")
            if isinstance(meta, Mapping):
                return [f"{key}={meta.get(key)}" for key in ("n_params", "size", "n_vocab", "n_embd")]
    return []


def _file_name(path: str) -> str:
    """Without its folder: the same file elsewhere is the same model, and the path is nobody's business."""
    return PureWindowsPath(PurePosixPath(path).name).name
