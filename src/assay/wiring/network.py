"""Which hosts may be contacted, and which host each key may be sent to.

- The gatekeeper of the settings.
- The host each key was first sent to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from assay.errors import SettingError
from assay.network import Gatekeeper, split_addresses
from assay.private_files import make_private_folder, open_new_private
from assay.settings import Settings, default_db

# --- The gatekeeper of the settings ---


def gatekeeper_of(settings: Settings) -> Gatekeeper:
    """Lets pass what the settings name: model, embedder, collector, webhook of alerts, and network.allow."""
    addresses = [settings.model_url, settings.alerts_webhook, *split_addresses(settings.network_allow)]
    if settings.embedder == "remote":
        addresses.append(settings.embedder_url)
    if settings.otel_exporter == "otlp":
        addresses.append(settings.otel_endpoint)
    return Gatekeeper.of(addresses, offline=settings.network_offline)


# --- The host each key was first sent to ---
#
# The list lies in the user's data folder, outside any project: a settings file cannot change it.

HOSTS_FILE = "model-hosts.json"


def hold_to_host(variable: str, url: str, environment: Mapping[str, str]) -> None:
    """Refuse to send the key in a variable to another host than the first."""
    file = default_db(environment).parent / HOSTS_FILE
    parts = urlsplit(url)
    host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    known = _hosts(file)
    if known.get(variable, host) != host:
        raise SettingError(
            f"the key in {variable} belongs to {known[variable]}, and the settings now name {host}",
            remedy=f"If you moved it yourself, take {variable} out of {file}.",
        )
    if variable not in known:
        make_private_folder(file.parent)
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        with open_new_private(beside) as opened:
            opened.write(json.dumps({**known, variable: host}, indent=1) + "\n")
        beside.replace(file)


def _hosts(file: Path) -> dict[str, str]:
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): str(host) for name, host in found.items()}
    except (OSError, ValueError, AttributeError) as problem:
        raise SettingError(f"cannot read {file}: {problem}", remedy="Repair or delete it.") from problem
