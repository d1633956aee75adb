"""What `assay doctor` examines: what works on this machine, and what may leave it.

- A finding.
- Installation: what was seen, what it means, what to do.
- Egress: what this installation may contact, why, and by which setting.
- Cluster: whether the workers of a Dask cluster can do the same work as this installation.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.embedding import bundled
from assay.errors import AssayError, MissingExtra, ModelDamaged, SettingError, StoreNotFound
from assay.extras import EXTRAS, install_command, missing_modules
from assay.network import origin_of, split_addresses
from assay.settings import LoadedSettings, Settings, fit_to_show, is_loopback
from assay.wiring import connect_cluster, list_checkpoints, open_store, scope_of
from assay.wiring.extensions import extension_problems
from assay.work.worker import Build, build

if TYPE_CHECKING:
    from assay.storage import Work
    from assay.storage.audit_chain import ChainCheck


# --- A finding ---


class Finding(NamedTuple):
    """One thing that was looked at.

    The state is `ok`, `note` (works, but worth knowing), or `problem` (something will not work until it is mended).
    """

    subject: str
    state: str
    seen: str
    meaning: str = ""
    remedy: str = ""


# --- Installation: what was seen, what it means, what to do ---
#
# Nothing is changed by looking.

SAFE_SQLITE = (3, 51, 3)
"""From here on SQLite itself survives two processes that write and checkpoint at the same instant."""
LOW_DISK_BYTES = 1_000_000_000
NO_DISK_BYTES = 50_000_000


def examine(settings: Settings) -> list[Finding]:
    """Look at everything; one failing look does not stop the others."""
    return [finding for look in _LOOKS for finding in look(settings)]


def _python(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    yield Finding("Python", "ok", platform.python_version())


def _sqlite(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < SAFE_SQLITE:
        yield Finding(
            "SQLite",
            "note",
            version,
            "Before 3.51.3 two processes that write and checkpoint at once can damage a file. "
            "Assay's own processes take turns; other programs do not know of the turn.",
            "Open the store with other programs read-only.",
        )
    else:
        yield Finding("SQLite", "ok", version)
    with closing(sqlite3.connect(":memory:")) as connection:
        for feature, trial in _FEATURES.items():
            try:
                connection.execute(trial)
            except sqlite3.Error as problem:
                yield Finding(
                    f"SQLite {feature}", "problem", str(problem), "The store needs it.", "Use another build of Python."
                )
            else:
                yield Finding(f"SQLite {feature}", "ok", "works")


_FEATURES = {
    "full text": "CREATE VIRTUAL TABLE words USING fts5(body)",
    "strict tables": "CREATE TABLE strict_one (x INTEGER) STRICT",
    "upsert": "INSERT INTO strict_one VALUES (1) ON CONFLICT DO NOTHING",
}


def _extensions(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    for problem in extension_problems():
        yield Finding(
            "package",
            "note",
            problem,
            "What it adds cannot be used; everything else can.",
            "Repair or uninstall that package.",
        )


def _disk(settings: Settings) -> Iterator[Finding]:
    if "://" in settings.db:
        return
    folder = next(place for place in Path(settings.db).absolute().parents if place.exists())
    free = shutil.disk_usage(folder).free
    seen = f"{free / 1e9:.1f} GB free at {folder}"
    if free < NO_DISK_BYTES:
        yield Finding("Disk", "problem", seen, "Saves will fail.", "Free some space, or move the store with --db.")
    elif free < LOW_DISK_BYTES:
        yield Finding("Disk", "note", seen, "A checkpoint needs as much space as the store.", "Free some space.")
    else:
        yield Finding("Disk", "ok", seen)


def _store(settings: Settings) -> Iterator[Finding]:
    place = fit_to_show(settings.db)
    try:
        with open_store(settings, create=False, migrate=False) as store:
            with store.reading(scope_of(settings)) as work:
                memories = work.memories.count()
                chains = work.audit.check_everywhere()
                shortened = _find_shortened(settings, work)
                index = list(_index(settings, work, store.backend_name))
            damage = store.damage()
            broken = [] if damage else store.problems()
            foreign = [] if damage else store.foreign_code()
            place = store.place
    except StoreNotFound as problem:
        yield Finding("Store", "note", problem.message, "The first save makes it.", problem.remedy)
        return
    except MissingExtra as problem:
        meaning = "There is no memory to keep; runs, comparisons, gates and reports need none."
        yield Finding("Store", "note", problem.message, meaning, problem.remedy)
        return
    except AssayError as problem:
        yield Finding("Store", "problem", problem.message, "It cannot be used like this.", problem.remedy)
        return
    for damaged in damage:
        yield Finding(
            "Store", "problem", damaged, "The file is damaged.", "Restore a checkpoint: assay checkpoint list"
        )
    if not damage:
        counted = f"{memories:,} {'memory' if memories == 1 else 'memories'}"
        yield Finding("Store", "ok", f"{place}: {counted} of tenant {settings.tenant}")
    for broken_entry in broken:
        yield Finding("Store", "problem", broken_entry, "The tables disagree.", "Restore a checkpoint and report this.")
    for code in foreign:
        yield Finding(
            "Store",
            "problem",
            f"{code} was not made by Assay",
            "It runs with every save or read, and can copy or change what is kept.",
            "Find out who made it, and drop it; a checkpoint that holds it is not restored.",
        )
    yield from index
    yield from _audit_log(chains, shortened)
    yield from _permissions(settings)
    yield from _checkpoints(settings)


def _index(settings: Settings, work: Work, backend: str) -> Iterator[Finding]:
    """Where searches are answered, if that is not by files on this machine."""
    if settings.index_kind == "local":
        return
    if backend != "postgres":
        yield Finding(
            "Index",
            "problem",
            "index.kind is database, and the store is a SQLite file",
            "Nothing can be searched or saved.",
            "Set index.kind to local, or name a PostgreSQL database.",
        )
        return
    totals, chunks = work.stems.totals(), work.memories.count_chunks()
    held = 0 if totals is None else totals.passages
    seen = f"PostgreSQL answers searches; it holds {held:,} of {chunks:,} chunks of tenant {settings.tenant}"
    if totals is None or not totals.complete:
        meaning = "The next search or save completes it; until then searches go without it."
        yield Finding("Index", "note", seen, meaning, "Complete it now: assay index compact")
    else:
        yield Finding("Index", "ok", seen)


def _find_shortened(settings: Settings, work: Work) -> list[str]:
    """Tenants whose log no longer has the entry that it ended with when a checkpoint was made, with the checkpoint."""
    try:
        known = list_checkpoints(settings)
    except AssayError:
        # A description that cannot be read is a finding of its own.
        return []
    return [
        f"tenant {tenant}, checkpoint {checkpoint.id}"
        for checkpoint in known
        for tenant in work.audit.missing_heads(checkpoint.audit_heads)
    ]


def _audit_log(chains: Mapping[str, ChainCheck], shortened: Sequence[str]) -> Iterator[Finding]:
    for seen in shortened:
        yield Finding(
            "Audit log",
            "note",
            f"{seen}: the log does not have the entry that it ended with then",
            "Entries were cut off or written anew since, or the checkpoint was restored over a damaged store.",
            "Compare it with the log of that checkpoint.",
        )
    for tenant, check in chains.items():
        if not check.is_whole:
            yield Finding(
                "Audit log",
                "problem",
                f"tenant {tenant}, entry {check.broken_at}: {check.problem}",
                "Somebody changed the log outside of Assay; entries from there on prove nothing.",
                "Compare it with the log of a checkpoint from before.",
            )
    entries = sum(check.entries for check in chains.values())
    if all(check.is_whole for check in chains.values()):
        yield Finding("Audit log", "ok", f"{entries} entries, each fits the one before it")


def _permissions(settings: Settings) -> Iterator[Finding]:
    if "://" in settings.db:
        return
    mode = stat.S_IMODE(Path(settings.db).stat().st_mode)
    if mode & 0o077:
        yield Finding(
            "Permissions",
            "note",
            f"{mode:o}",
            "Other users of this machine can read what is remembered.",
            f"chmod 600 {settings.db}",
        )
    else:
        yield Finding("Permissions", "ok", f"{mode:o}: the owner alone")


def _checkpoints(settings: Settings) -> Iterator[Finding]:
    try:
        count = len(list_checkpoints(settings))
    except AssayError as problem:
        yield Finding("Checkpoints", "problem", problem.message, "One of them cannot be used.", problem.remedy)
        return
    if count:
        yield Finding("Checkpoints", "ok", f"{count}")
    else:
        yield Finding("Checkpoints", "note", "none", "There is nothing to go back to.", "assay checkpoint create NAME")


def _embedder(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    absent = [file.what for file in bundled.FILES if file.find() is None]
    if absent:
        yield Finding(
            "Embedder",
            "note",
            f"not installed: {', '.join(absent)}",
            "Search by meaning is not possible; search by words is.",
            install_command("memory"),
        )
        return
    try:
        places = [file.verify(extra=bundled.EXTRA) for file in bundled.FILES]
    except ModelDamaged as problem:
        yield Finding("Embedder", "problem", problem.message, "It will not be loaded.", problem.remedy)
    else:
        yield Finding("Embedder", "ok", f"{bundled.NAME}, {places[0].stat().st_size / 1e6:.0f} MB")


def _extras(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    for extra in EXTRAS:
        missing = _missing_parts(extra)
        if missing:
            seen = f"not installed: {', '.join(missing)}"
            yield Finding(f"Part {extra}", "note", seen, "Its commands say so.", install_command(extra))
        else:
            yield Finding(f"Part {extra}", "ok", "installed")


def _missing_parts(extra: str) -> list[str]:
    """What an extra lacks: the extras it contains by their names, its own packages by their modules."""
    contained = [f"the part {name}" for name in EXTRAS[extra].includes if missing_modules(name)]
    return [*contained, *(module for module in missing_modules(extra) if module in EXTRAS[extra].modules)]


_LOOKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    _python,
    _sqlite,
    _disk,
    _store,
    _embedder,
    _extras,
    _extensions,
)


# --- Egress: what this installation may contact, why, and which setting says so ---
#
# Nothing is contacted to find out. Beside the configured addresses it tells which switches keep dependencies from
# sending usage data, and whether another program left such data waiting in the user's cache.

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
    """List what may be contacted and what is switched off."""
    environment = os.environ if environment is None else environment
    settings = loaded.settings
    return [
        *_mode(loaded),
        _address(
            loaded, "Model", "model.url", settings.model_url, "ask, judge, research and generated cases send texts"
        ),
        _list_judge(settings),
        _list_embedder(loaded),
        _list_collector(loaded),
        _list_webhook(loaded),
        _list_store(loaded),
        *_list_systems(settings),
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


def _list_judge(settings: Settings) -> Finding:
    if not settings.model_url:
        return Finding("Judge", "ok", "none: judges are built in")
    return Finding(
        "Judge", "ok", f"the model's address, as {settings.judge_model or settings.model_name or 'model.name'}"
    )


def _list_embedder(loaded: LoadedSettings) -> Finding:
    settings = loaded.settings
    if settings.embedder != "remote":
        return Finding("Embedder", "ok", f"none: {settings.embedder} works on this machine")
    return _address(loaded, "Embedder", "embedder.url", settings.embedder_url, "every saved and searched text is sent")


def _list_collector(loaded: LoadedSettings) -> Finding:
    settings = loaded.settings
    if settings.otel_exporter != "otlp":
        return Finding("OTLP collector", "ok", f"none: otel.exporter is {settings.otel_exporter}")
    texts = "spans with texts" if settings.otel_texts == "yes" else "spans without texts"
    return _address(loaded, "OTLP collector", "otel.endpoint", settings.otel_endpoint, f"{texts} are sent")


def _list_webhook(loaded: LoadedSettings) -> Finding:
    webhook = loaded.settings.alerts_webhook
    if not webhook:
        return Finding("Webhook of alerts", "ok", "none: alerts.webhook is not set")
    return _address(loaded, "Webhook of alerts", "alerts.webhook", webhook, "rates of outcomes are sent, no texts")


def _list_store(loaded: LoadedSettings) -> Finding:
    place = fit_to_show(loaded.settings.db)
    if "://" not in place:
        return Finding("Store", "ok", "none: a SQLite file")
    return Finding(
        "Store", "note", f"{place} ({_origin(loaded, 'db')})", "Everything that is remembered is kept there."
    )


def _list_systems(settings: Settings) -> Iterator[Finding]:
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


# --- Cluster: whether the workers of a Dask cluster can do the same work as this installation ---


def examine_cluster(settings: Settings, address: str) -> list[Finding]:
    """Reach a cluster and ask each worker what it runs and which models it has."""
    try:
        crew, close = connect_cluster(settings, address)
    except AssayError as problem:
        return [Finding("Scheduler", "problem", problem.message, "No work can be given to it.", problem.remedy)]
    try:
        there = crew.ask_scheduler()
        told = crew.run_on_workers(describe_worker) if there else {}
    except AssayError as problem:
        return [Finding("Scheduler", "problem", problem.message, "No work can be given to it.", problem.remedy)]
    finally:
        close()
    slots = sum(int(worker["nthreads"]) for worker in there.values())
    seen = f"{address}: {len(there)} workers, {slots} batches at once"
    if not there:
        return [Finding("Scheduler", "problem", seen, "Nobody does the work.", f"dask worker {address}")]
    return [Finding("Scheduler", "ok", seen), *(_worker(name, told.get(name)) for name in sorted(there))]


def describe_worker() -> dict[str, Any]:
    """Return what a worker runs and which files of the bundled model it lacks; called inside the worker."""
    absent = [file.what for file in bundled.FILES if file.find() is None]
    damaged = ""
    try:
        for file in bundled.FILES if not absent else ():
            file.verify(extra=bundled.EXTRA)
    except ModelDamaged as problem:
        damaged = problem.message
    return {"build": tuple(build()), "host": platform.node(), "absent": absent, "damaged": damaged}


def _worker(name: str, told: Any) -> Finding:
    subject = f"Worker {name}"
    if not isinstance(told, Mapping):
        why = "it did not answer" if told is None else f"{type(told).__name__}: {told}"
        remedy = f"Install this Assay there: {install_command('distributed')}"
        return Finding(subject, "problem", why, "It cannot do the work.", remedy)
    theirs = Build(*told["build"])
    differences = theirs.differences(build())
    if differences:
        return Finding(
            subject,
            "problem",
            f"{told['host']}: {', '.join(differences)}",
            "It will be refused: results could differ.",
            "Install the same Assay, Python and NumPy there.",
        )
    seen = f"{told['host']}: Assay {theirs.assay}, Python {theirs.python}, NumPy {theirs.numpy}"
    if told["damaged"]:
        return Finding(subject, "problem", told["damaged"], "It cannot embed.", install_command("memory"))
    if told["absent"]:
        meaning = "It can ask systems, and cannot embed."
        return Finding(
            subject, "note", f"{seen}; not installed: {', '.join(told['absent'])}", meaning, install_command("memory")
        )
    return Finding(subject, "ok", f"{seen}, bundled model")
