"""Settings files: where they are, how values are shown, and which need the user's approval.

- Places of settings files and user folders.
- Approval of settings files found in a project.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from assay.errors import SettingError
from assay.hashing import content_hash
from assay.private_files import make_private_folder, open_new_private

# --- Places of settings files and user folders ---
#
# The settings file is the one that `--config` or ASSAY_CONFIG names, else the first `assay.toml` found from the
# working folder upwards (not beyond the home folder), else the one in the user's configuration folder. A file that was
# found and belongs to another user of the machine is refused.

FILE_NAME = "assay.toml"
CONFIG_VARIABLE = "ASSAY_CONFIG"
"""The environment variable that names the settings file to use."""
ROOT_USER = 0
"""Files of this user are taken too: an image or a package may have put them there."""


def default_db(environment: Mapping[str, str]) -> Path:
    """The store when no other is configured."""
    return user_folder(environment, "XDG_DATA_HOME", ".local/share") / "assay" / "assay.db"


def default_cache(environment: Mapping[str, str]) -> Path:
    """What can be made again: corpora taken in for evaluation."""
    return user_folder(environment, "XDG_CACHE_HOME", ".cache") / "assay"


def fit_to_show(value: Any) -> str:
    """A value as text, without the password an address may hold."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    if "://" not in text:
        return text
    try:
        password = urlsplit(text).password
    except ValueError:
        return "(an address that cannot be read)"
    return text.replace(f":{password}@", ":***@") if password else text


def user_folder(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    """Return one of the user's standard folders: from the environment, else below the home folder."""
    given = environment.get(variable)
    # The standard says that a relative path here is to be ignored.
    if given and Path(given).is_absolute():
        return Path(given)
    return Path(environment.get("HOME") or Path.home()) / fallback


def find_named_file(file: Path | None, environment: Mapping[str, str], folder: Path) -> Path | None:
    """The settings file that the user named, by option or environment; it has to be there."""
    text = str(file) if file is not None else environment.get(CONFIG_VARIABLE, "")
    if not text:
        return None
    place = folder / Path(text).expanduser()
    if not place.is_file():
        origin = "--config" if file is not None else CONFIG_VARIABLE
        raise SettingError(f"{origin} names {place}, and there is no such file", remedy="Name an existing file.")
    return place


def find_file(folder: Path, environment: Mapping[str, str], *, user: int | None = None) -> Path | None:
    """The settings file that counts when none is named: upwards from a folder, then the user's own.

    A file that belongs to another user than `user` (None: the one who runs this) is refused.
    """
    for place in _folders_above(folder, environment):
        if (place / FILE_NAME).is_file():
            _refuse_foreign(place / FILE_NAME, user)
            return place / FILE_NAME
    users = users_file(environment)
    return users if users.is_file() else None


def users_file(environment: Mapping[str, str]) -> Path:
    """Where the user's own settings file is, or would be."""
    return user_folder(environment, "XDG_CONFIG_HOME", ".config") / "assay" / FILE_NAME


def _folders_above(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """A folder and those it lies in, not beyond the home folder."""
    home = Path(environment.get("HOME") or Path.home())
    homes = (home, home.resolve())
    for place in (folder, *folder.parents):
        yield place
        if place in homes:
            return


def _refuse_foreign(file: Path, user: int | None) -> None:
    """Refuse a file of another user: users who can write into a shared folder must not control Assay."""
    if os.name != "posix":
        return
    ours = {os.geteuid() if user is None else user, ROOT_USER}
    # A link in a shared folder belongs to whoever made it, whatever it leads to.
    owners = {file.lstat().st_uid, file.stat().st_uid}
    if not owners <= ours:
        raise SettingError(
            f"{file} belongs to another user (number {max(owners - ours)})",
            remedy=f"If you mean this file, name it: --config {file} or {CONFIG_VARIABLE}={file}. "
            "Otherwise work in another folder.",
        )


# --- Approval of settings files found in a project ---
#
# A settings file that lies in or above the working folder may come from somebody else: a cloned repository, an
# unpacked archive, a shared folder. Such a file may not name addresses, environment variables that hold keys, or
# programs until the user approves it with `assay trust`.
#
# `APPROVALS` says it for every setting. `find_requests` lists what a file asks for, `ApprovedFiles` keeps what was
# approved: path and a hash of those requests, so that a file that changes them has to be approved again.

APPROVED_FILE = "approved-settings.json"
LOCAL_NAMES = frozenset({"localhost", "localhost."})


class Approval(StrEnum):
    """When a setting in a project's file needs the user's approval."""

    NEVER = "never"
    """It sends nothing anywhere and runs nothing."""
    BEYOND_LOOPBACK = "unless it is on this machine"
    """It is an address. One on this machine needs no approval, unless a key would be sent there."""
    ADDRESS = "if it is an address"
    """It is a path, which needs none, or the address of a server, which always does."""
    ALWAYS = "always"
    """It names a key, a program, or a model file that native code loads."""


_PLAIN = (
    "tenant",
    "principal",
    "store.lock_timeout_s",
    "store.readers",
    "log.flush_interval_s",
    "log.capacity",
    "checkpoints.folder",
    "archives.folder",
    "retention.query_days",
    "retention.shadow_days",
    "retention.every_hours",
    "postgres.schema",
    "postgres.statement_timeout_s",
    "embedder.kind",
    "embedder.name",
    "embedder.model",
    "embedder.dimension",
    "embedder.threads",
    "similarity.duplicate",
    "similarity.merge",
    "similarity.related",
    "save.copies_per_day",
    "save.alike_per_day",
    "index.kind",
    "index.folder",
    "index.exact_below",
    "search.k",
    "search.min_relevance",
    "search.fusion",
    "search.full_text",
    "search.rrf_k",
    "search.coefficient",
    "search.weights.vector",
    "search.weights.fts5",
    "search.weights.bm25",
    "search.weights.graph",
    "search.weights.trigger",
    "chunking.max_tokens",
    "chunking.overlap_tokens",
    "rerank.depth",
    "rerank.threshold",
    "model.name",
    "model.deadline_s",
    "model.concurrency",
    "model.max_tokens",
    "model.price_in",
    "model.price_out",
    "model.budget_usd",
    "model.budget_tokens",
    "model.budget_period",
    "model.allow_floating",
    "judge.model",
    "judge.second_model",
    "judge.calibration_days",
    "judge.floor",
    "gate.metric",
    "learning.shadow_days",
    "otel.exporter",
    "otel.texts",
    "server.threads",
    "server.own_core",
    "server.requests_per_minute",
    "server.connections",
    "server.connections_per_address",
    "server.head_s",
    "server.body_s",
    "server.idle_s",
    "server.stalled_s",
    "server.request_cpu_s",
    "server.long_request_cpu_s",
    "server.drain_s",
    "server.stop_s",
    "server.log_level",
    "server.access_log",
    "server.log_format",
    "mcp.sessions_per_principal",
    "mcp.min_relevance",
    "shadow.percent",
    "datasets.folder",
    "runs.folder",
    # A file can switch it on for its project. It cannot switch off what the user's own file switched on.
    "network.offline",
)

APPROVALS: Mapping[str, Approval] = {
    **dict.fromkeys(_PLAIN, Approval.NEVER),
    "db": Approval.ADDRESS,
    "postgres.programs": Approval.ALWAYS,
    "embedder.folder": Approval.ALWAYS,
    "rerank.folder": Approval.ALWAYS,
    "embedder.url": Approval.BEYOND_LOOPBACK,
    "embedder.key_variable": Approval.ALWAYS,
    "model.url": Approval.BEYOND_LOOPBACK,
    "model.key_variable": Approval.ALWAYS,
    "otel.endpoint": Approval.BEYOND_LOOPBACK,
    "alerts.webhook": Approval.BEYOND_LOOPBACK,
    # Lines are added to a file that is there already.
    "alerts.file": Approval.ALWAYS,
    "network.allow": Approval.ALWAYS,
    # Whose word about callers is believed, and whose pages may use a server.
    "server.trusted_proxies": Approval.ALWAYS,
    "mcp.allowed_origins": Approval.ALWAYS,
    # How long a browser stays signed in, and whether its cookie may travel without HTTPS.
    "server.session_hours": Approval.ALWAYS,
    "server.session_idle_minutes": Approval.ALWAYS,
    "server.behind_https": Approval.ALWAYS,
}
"""Every setting by its key. A new setting has to be added here: a key that is missing counts as `ALWAYS`."""

KEY_OF = {"model.url": "model.key_variable", "embedder.url": "embedder.key_variable"}
"""The setting that names the key sent to an address."""


def find_requests(flat: Mapping[str, Any], research: Mapping[str, Any]) -> dict[str, str]:
    """List the settings of a file that may need approval, by key: addresses, key variables and programs.

    `flat` are the file's settings by dotted key, `research` is its table `[research]`, whose custom dimensions may name
    Python functions.
    """
    asked = {key: str(value) for key, value in flat.items() if _is_request(key, str(value))}
    custom = research.get("custom")
    for name, dimension in custom.items() if isinstance(custom, dict) else ():
        if isinstance(dimension, dict) and "python" in dimension:
            asked[f"research.custom.{name}.python"] = str(dimension["python"])
    return asked


def _is_request(key: str, value: str) -> bool:
    approval = APPROVALS.get(key, Approval.ALWAYS)
    return "://" in value if approval is Approval.ADDRESS else approval is not Approval.NEVER


def find_withheld(asked: Mapping[str, str], elsewhere: Mapping[str, Any]) -> list[str]:
    """List the keys of an unapproved file that must not take effect.

    `elsewhere` are the settings that the environment and options give: they win over the file, so its own values for
    them do not matter. A key variable given there means that even a loopback address needs approval.
    """
    return [
        key for key, value in asked.items() if key not in elsewhere and not _is_harmless(key, value, asked, elsewhere)
    ]


def _is_harmless(key: str, value: str, asked: Mapping[str, str], elsewhere: Mapping[str, Any]) -> bool:
    if APPROVALS.get(key) is not Approval.BEYOND_LOOPBACK or not is_loopback(value):
        return False
    key_variable = KEY_OF.get(key, "")
    return not elsewhere.get(key_variable, asked.get(key_variable, ""))


def is_loopback(url: str) -> bool:
    """Whether an http or https address names this machine, without a doubt about how it is read."""
    if any(letter in url for letter in "\\@ \t\r\n"):
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme not in ("http", "https"):
        return False
    if host in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Withheld:
    """A setting of an unapproved file; it has no effect, and operations that need it are refused."""

    file: str
    changed: bool = False
    """Whether the file was approved once and has changed since."""


class ApprovedFile(NamedTuple):
    """One settings file the user approved."""

    path: str
    fingerprint: str
    """The hash of the settings that were approved."""
    asked: Mapping[str, str]
    approved_at: str


def fingerprint_of(asked: Mapping[str, str]) -> str:
    """The hash that an approval is tied to."""
    return content_hash(dict(asked))


class ApprovedFiles:
    """The list of approved files, kept in the user's configuration folder, readable by the user alone."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.place = user_folder(environment, "XDG_CONFIG_HOME", ".config") / "assay" / APPROVED_FILE

    def all(self) -> list[ApprovedFile]:
        """Every approved file, by path."""
        if not self.place.is_file():
            return []
        try:
            content = json.loads(self.place.read_text(encoding="utf-8"))
            return [
                ApprovedFile(path, entry["fingerprint"], dict(entry["asked"]), entry["approved_at"])
                for path, entry in sorted(content["files"].items())
            ]
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
            raise SettingError(
                f"cannot read {self.place}: {type(problem).__name__}: {problem}",
                remedy="Repair or delete it; then approve files again with `assay trust`.",
            ) from problem

    def find(self, file: Path) -> ApprovedFile | None:
        """The approval of a file, even if the file has changed since."""
        path = str(file.resolve())
        return next((entry for entry in self.all() if entry.path == path), None)

    def add(self, file: Path, asked: Mapping[str, str], *, now: datetime) -> ApprovedFile:
        """Approve the current settings of a file."""
        # The hash is of everything; what is kept to be read has no passwords.
        shown = {key: fit_to_show(value) for key, value in asked.items()}
        entry = ApprovedFile(str(file.resolve()), fingerprint_of(asked), shown, now.isoformat())
        self._write([*(other for other in self.all() if other.path != entry.path), entry])
        return entry

    def remove(self, file: Path) -> bool:
        """Take an approval back; whether there was one."""
        entries, path = self.all(), str(file.resolve())
        kept = [entry for entry in entries if entry.path != path]
        if len(kept) == len(entries):
            return False
        self._write(kept)
        return True

    def _write(self, entries: Collection[ApprovedFile]) -> None:
        files = {
            entry.path: {
                "fingerprint": entry.fingerprint,
                "asked": dict(entry.asked),
                "approved_at": entry.approved_at,
            }
            for entry in entries
        }
        make_private_folder(self.place.parent)
        beside = self.place.with_name(f".{self.place.name}.{os.getpid()}")
        with open_new_private(beside) as stream:
            stream.write(json.dumps({"version": 1, "files": files}, indent=1) + "\n")
        beside.replace(self.place)
