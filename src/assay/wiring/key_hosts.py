"""Which host each key was first sent to; it is sent to no other.

The list lies in the user's data folder, outside any project: a settings file cannot change it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from assay.errors import SettingError
from assay.private_files import make_private_folder, open_new_private
from assay.settings import default_db

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
