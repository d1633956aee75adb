"""What this installation may contact, why, and which setting says so: the findings of `assay doctor --egress`.

Nothing is contacted to find out. Beside the configured addresses it tells which switches keep dependencies from sending
usage data, and whether another program left such data waiting in the user's cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from assay.doctor.finding import Finding
from assay.errors import SettingError
from assay.network import origin_of, split_addresses
from assay.settings import LoadedSettings, Settings, fit_to_show, is_loopback

RUNTIME_QUEUE = Path("Microsoft") / "DeveloperTools" / ".onnxruntime"
"""Below the user's cache folder: where onnxruntime keeps a device id and events that wait to be sent."""


class _Switch(NamedTuple):
    """How a dependency that could send usage data is kept from it."""

    package: str
    how: str


_SWITCHES = (
    _Switch("fastapi", "its own OpenTelemetry export is off, whatever FASTAPI_OTEL_AUTO_CONFIGURE says"),
    _Switch("opentelemetry-sdk", "it is loaded for otel.exporter alone, and sets no global provider"),
    _Switch("tokenizers", "it reads the bundled file, and has no telemetry"),
    _Switch("usearch", "it has no telemetry; its download of a SQLite extension is never called"),
    _Switch("mcp", "it has no telemetry of its own"),
)


def examine_egress(loaded: LoadedSettings, environment: Mapping[str, str] | None = None) -> list[Finding]:
    """Tell what may be contacted and what is switched off."""
    environment = os.environ if environment is None else environment
    settings = loaded.settings
    return [
        *_mode(loaded),
        _address(
            loaded, "Model", "model.url", settings.model_url, "ask, judge, research and generated cases send texts"
        ),
        _judge(settings),
        _embedder(loaded),
        _collector(loaded),
        _store(loaded),
        *_systems(settings),
        *_approval(loaded),
        *_telemetry(environment),
        Finding("Everything else", "ok", "none: Assay contacts no other address, and looks for no updates"),
    ]


def _mode(loaded: LoadedSettings) -> Iterator[Finding]:
    settings = loaded.settings
    if not settings.network_offline:
        yield Finding("Offline", "ok", "off: addresses named on the command line may be contacted too")
        return
    yield Finding("Offline", "ok", f"on ({_origin(loaded, 'network.offline')}): only what is listed here")
    for address in split_addresses(settings.network_allow):
        try:
            yield Finding("Allowed", "ok", f"{origin_of(address)} ({_origin(loaded, 'network.allow')})")
        except SettingError as problem:
            yield Finding(
                "Allowed", "problem", problem.message, "Every command that connects will refuse.", problem.remedy
            )


def _origin(loaded: LoadedSettings, key: str) -> str:
    origin = loaded.origins[key]
    return f"{key}, {origin.layer} {origin.place}".rstrip()


def _address(loaded: LoadedSettings, subject: str, key: str, url: str, meaning: str) -> Finding:
    if not url:
        return Finding(subject, "ok", f"none: {key} is not set")
    try:
        origin = origin_of(url)
    except SettingError as problem:
        return Finding(subject, "problem", f"{problem.message} ({_origin(loaded, key)})", "", problem.remedy)
    where = "on this machine" if is_loopback(url) else "beyond this machine"
    variable = getattr(loaded.settings, f"{key.partition('.')[0]}_key_variable", "")
    keyed = f", with the key in {variable}" if variable else ""
    return Finding(
        subject,
        "ok" if is_loopback(url) else "note",
        f"{origin}{keyed} ({_origin(loaded, key)})",
        f"{where}: {meaning}.",
    )


def _judge(settings: Settings) -> Finding:
    if not settings.model_url:
        return Finding("Judge", "ok", "none: judges are built in")
    return Finding(
        "Judge", "ok", f"the model's address, as {settings.judge_model or settings.model_name or 'model.name'}"
    )


def _embedder(loaded: LoadedSettings) -> Finding:
    settings = loaded.settings
    if settings.embedder != "remote":
        return Finding("Embedder", "ok", f"none: {settings.embedder} works on this machine")
    return _address(loaded, "Embedder", "embedder.url", settings.embedder_url, "every saved and searched text is sent")


def _collector(loaded: LoadedSettings) -> Finding:
    settings = loaded.settings
    if settings.otel_exporter != "otlp":
        return Finding("OTLP collector", "ok", f"none: otel.exporter is {settings.otel_exporter}")
    texts = "spans with texts" if settings.otel_texts == "yes" else "spans without texts"
    return _address(loaded, "OTLP collector", "otel.endpoint", settings.otel_endpoint, f"{texts} are sent")


def _store(loaded: LoadedSettings) -> Finding:
    place = fit_to_show(loaded.settings.db)
    if "://" not in place:
        return Finding("Store", "ok", "none: a SQLite file")
    return Finding(
        "Store", "note", f"{place} ({_origin(loaded, 'db')})", "Everything that is remembered is kept there."
    )


def _systems(settings: Settings) -> Iterator[Finding]:
    if settings.network_offline:
        seen = "http: and mcp: systems over HTTP only at the addresses above; mcp: commands and python: run as they are"
    else:
        seen = "none by itself: `assay run --system http:FILE` and `mcp:FILE` contact what FILE names"
    meaning = "A program that Assay starts for you (an mcp: command, a python: function) is not limited by Assay."
    yield Finding("Systems under test", "ok", seen, meaning)


def _approval(loaded: LoadedSettings) -> Iterator[Finding]:
    if loaded.file is None:
        yield Finding("Settings file", "ok", "none found")
        return
    withheld = loaded.settings.withheld
    if withheld:
        yield Finding(
            "Settings file",
            "note",
            f"{loaded.file}: not approved",
            f"It cannot set {', '.join(withheld)}; commands that would use it refuse.",
            f"assay trust {loaded.file}",
        )
    else:
        state = "approved" if loaded.asked else "names nothing that needs approval"
        yield Finding("Settings file", "ok", f"{loaded.file}: {state}")


def _runtime() -> Iterator[Finding]:
    """Load onnxruntime as Assay does, and see that its switch is set."""
    try:
        from assay.embedding.quiet_runtime import VARIABLE, onnxruntime  # noqa: PLC0415 - the extra "memory"
    except ModuleNotFoundError:
        return
    subject, seen = "Telemetry of onnxruntime", f"{VARIABLE}={os.environ.get(VARIABLE, '')} before it is loaded"
    if os.environ.get(VARIABLE) == "1":
        yield Finding(subject, "ok", f"off ({onnxruntime.__version__}): {seen}")
    else:
        yield Finding(subject, "problem", seen, "It may send usage data to its maker.", f"Set {VARIABLE}=1.")


def _telemetry(environment: Mapping[str, str]) -> Iterator[Finding]:
    yield from _runtime()
    for switch in _SWITCHES:
        try:
            installed = version(switch.package)
        except PackageNotFoundError:
            continue
        yield Finding(f"Telemetry of {switch.package}", "ok", f"off ({installed}): {switch.how}")
    cache = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or Path.home()) / ".cache"
    queue = Path(cache) / RUNTIME_QUEUE
    if queue.exists():
        yield Finding(
            "Waiting telemetry",
            "note",
            str(queue),
            "Another program let onnxruntime keep a device id and events here. Assay does not send them.",
            f"rm -r {queue}",
        )
