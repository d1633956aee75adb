"""Quick completion of values in bash and zsh: datasets, runs, flags, metrics and kinds of systems.

Names of commands and options are completed by typer, which loads the command for that. A value is completed here,
before anything is loaded: a person waits for it. Whatever goes wrong completes nothing and says nothing.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

VARIABLE = "_ASSAY_COMPLETE"
"""Set by the scripts of `assay --show-completion`, with the shell in its value."""
MOST_RUNS = 200
"""Newest runs that are offered."""

# --- Which value is expected where ---

DATASET, RUN, FLAG, METRIC, SYSTEM = "dataset", "run", "flag", "metric", "system"

ARGUMENTS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("run",): (DATASET,),
    ("label",): (DATASET,),
    ("dataset", "check"): (DATASET,),
    ("dataset", "show"): (DATASET,),
    ("dataset", "review"): (DATASET,),
    ("dataset", "export"): (DATASET,),
    ("dataset", "split"): (DATASET,),
    ("experiment", "run"): (DATASET,),
    ("tune", "fusion"): (DATASET,),
    ("simulate", "feedback"): (DATASET,),
    ("judge", "gold"): (DATASET,),
    ("judge", "run"): (RUN,),
    ("judge", "rerun"): (RUN,),
    ("judge", "spot-check"): (RUN,),
    ("compare",): (RUN, RUN, RUN, RUN),
    ("gate",): (RUN,),
    ("report",): (RUN,),
    ("baseline", "bless"): (RUN,),
    ("flag", "show"): (FLAG,),
    ("flag", "set"): (FLAG,),
    ("flag", "on"): (FLAG,),
    ("flag", "off"): (FLAG,),
    ("flag", "review"): (FLAG,),
    ("shadow", "replay"): (FLAG,),
    ("ladder", "offline"): (FLAG, DATASET),
    ("ladder", "show"): (FLAG,),
    ("ladder", "begin"): (FLAG,),
    ("ladder", "collect"): (FLAG,),
    ("ladder", "pause"): (FLAG,),
    ("ladder", "resume"): (FLAG,),
    ("ladder", "graduate"): (FLAG,),
    ("ladder", "rollback"): (FLAG,),
    ("metrics",): (METRIC,),
}
"""What the arguments of a command are, in their order."""
OPTIONS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("run",): {"--system": SYSTEM, "-s": SYSTEM, "--metrics": METRIC, "-m": METRIC, "--against": RUN},
    ("gate",): {"--metric": METRIC, "--baseline": RUN},
    ("experiment", "run"): {"--base": SYSTEM, "--metrics": METRIC, "-m": METRIC, "--metric": METRIC},
    ("tune", "fusion"): {"--system": SYSTEM, "-s": SYSTEM, "--metric": METRIC, "-m": METRIC},
    ("measure",): {"--metrics": METRIC, "-m": METRIC},
    ("report",): {"--dataset": DATASET},
}
"""What the values of options are."""
SWITCHES = frozenset(
    {
        "--json", "--offline", "--quiet", "-q", "--verbose", "-v", "--help", "-h", "--version",
        "--agreement", "--allow-floating", "--built-in", "--encode-ids", "--exclude-unresolved", "--fix", "--fresh",
        "--graduates-itself", "--html", "--no-baseline", "--no-shadow", "--per-query", "--person-graduates",
        "--probe", "--replay-only", "--self-test", "--shadow", "--strict", "--summary", "--unsafe", "--until-sure",
    }
)  # fmt: skip
"""Options that are followed by no value; what follows any other option is its value."""
FLAGS = (
    "adaptive_fusion", "causal_boost", "coactivation", "cross_encoder", "docscore_aggregation", "graph_scoring",
    "learn_from_selection", "mmr", "named_boost", "negative_feedback", "pattern_planning", "query_expansion",
    "reconsolidation", "save_quality_gate", "session_boost", "similar_evaluations", "threshold_tuning", "tier_boost",
    "trust_ranking",
)  # fmt: skip
"""The flags of the program; loading the registry would take longer than anybody waits."""
SYSTEMS = (
    "assay", "chroma:", "dspy:", "elasticsearch:", "faiss:", "haystack:", "http:", "lancedb:", "langchain:",
    "langgraph:", "llamaindex:", "mcp:", "milvus:", "opensearch:", "pgvector:", "pydantic-ai:", "python:", "qdrant:",
    "run:", "traces",
)  # fmt: skip
"""The kinds of systems, with a colon where something has to follow."""


class _Asked(NamedTuple):
    """The words before the cursor, and the beginning of the one at it."""

    words: Sequence[str]
    begun: str


def complete_value(environ: Mapping[str, str], out: Callable[[str], object]) -> bool:
    """Complete a value and return True; False: it is not one of these values, and typer has to complete it."""
    shell = environ.get(VARIABLE, "").removeprefix("complete_")
    if shell not in ("bash", "zsh"):
        return False
    try:
        asked = _read_bash(environ) if shell == "bash" else _read_zsh(environ)
        kind = find_kind(asked.words, asked.begun)
        if kind is None:
            return False
        found = list_values(kind, asked.begun, environ)
    except Exception:  # noqa: BLE001 - a person is typing: nothing that goes wrong here may be printed over it
        found = []
    out(_write(found, shell))
    return True


def find_kind(words: Sequence[str], begun: str) -> str | None:
    """Return which kind of value is expected after these words; None: none of those that are known here."""
    if begun.startswith("-"):
        return None
    path, rest = _split_command(words)
    given, after = 0, ""
    for word in rest:
        if after:
            after = ""
        elif word.startswith("-"):
            after = "" if word in SWITCHES or "=" in word else word
        else:
            given += 1
    if after:
        return OPTIONS.get(path, {}).get(after)
    kinds = ARGUMENTS.get(path, ())
    return kinds[given] if given < len(kinds) else None


def _split_command(words: Sequence[str]) -> tuple[tuple[str, ...], Sequence[str]]:
    """Return the path of the command and what follows it; options of the program may stand before."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 1 if words[place] in SWITCHES or "=" in words[place] else 2
    for length in (2, 1):
        path = tuple(words[place : place + length])
        if path in ARGUMENTS or path in OPTIONS:
            return path, words[place + length :]
    return (), ()


# --- The values ---


def list_values(kind: str, begun: str, environ: Mapping[str, str]) -> list[str]:
    """Return the values of a kind that begin as the word does; of a list with commas, its last part counts."""
    before, comma, last = begun.rpartition(",") if kind == METRIC else ("", "", begun)
    offered: Mapping[str, Callable[[Mapping[str, str]], Iterable[str]]] = {
        DATASET: _datasets,
        RUN: _runs,
        FLAG: lambda _: FLAGS,
        METRIC: _metrics,
        SYSTEM: lambda _: SYSTEMS,
    }
    known = offered[kind](environ)
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]


def _datasets(environ: Mapping[str, str]) -> Iterable[str]:
    bundled = Path(str(files("assay"))) / "datasets"
    own = (place.parent.name for place in bundled.glob("*/golden.json*"))
    scenarios = (place.name.partition(".")[0].replace("_", "-") for place in bundled.glob("save_scenarios*.jsonl*"))
    default = _user_folder(environ, "XDG_DATA_HOME", ".local/share") / "assay" / "datasets"
    imported = (place.parent.name for place in _folder("datasets", environ, default).glob("*/*") if place.is_dir())
    return sorted({name for name in chain(own, scenarios, imported) if not name.startswith(".")})


def _runs(environ: Mapping[str, str]) -> Iterable[str]:
    folder = _folder("runs", environ, Path(".assay/runs"))
    manifests = sorted(folder.glob("*/manifest.json"), reverse=True)[:MOST_RUNS]
    names = (json.loads(path.read_text(encoding="utf-8")).get("name") for path in manifests)
    return dict.fromkeys(["latest", *(name for name in names if name), *(path.parent.name for path in manifests)])


def _metrics(_: Mapping[str, str]) -> Iterable[str]:
    from assay.metrics.catalog import METRICS  # noqa: PLC0415 - only where a metric is expected

    return sorted(METRICS.names())


def _folder(name: str, environ: Mapping[str, str], default: Path) -> Path:
    """Return the folder of runs or datasets: of the environment, of the nearest `assay.toml`, or the default."""
    if value := environ.get(f"ASSAY_{name.upper()}_FOLDER"):
        return Path(value).expanduser()
    named = environ.get("ASSAY_CONFIG")
    here = Path.cwd()
    for file in (Path(named),) if named else (place / "assay.toml" for place in (here, *here.parents)):
        if file.is_file():
            found: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
            value = found.get(name, {}).get("folder")
            return default if value is None else file.parent / Path(value).expanduser()
    return default


def _user_folder(environ: Mapping[str, str], variable: str, otherwise: str) -> Path:
    return Path(environ.get(variable) or Path(environ.get("HOME") or Path.home()) / otherwise)


# --- The protocols of the shells, as the scripts of typer speak them ---


def _read_bash(environ: Mapping[str, str]) -> _Asked:
    words, place = _split(environ["COMP_WORDS"]), int(environ["COMP_CWORD"])
    return _Asked(words[1:place], words[place] if place < len(words) else "")


def _read_zsh(environ: Mapping[str, str]) -> _Asked:
    line = environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _split(line)[1:]
    return _Asked(words[:-1], words[-1]) if words and not line.endswith(" ") else _Asked(words, "")


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        # A quote that is not closed yet.
        return line.split()


def _write(found: Sequence[str], shell: str) -> str:
    if shell == "bash":
        return "\n".join(found) + "\n"
    if not found:
        return "_files\n"
    listed = "\n".join(f'"{_quote(name)}"' for name in found)
    return f"_arguments '*: :(({listed}))'\n"


def _quote(name: str) -> str:
    for letter, quoted in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", r"\\:")):
        name = name.replace(letter, quoted)
    return name


def complete_and_leave() -> None:
    """End the program with the completion of a value, if one is asked for."""
    if VARIABLE in os.environ and complete_value(os.environ, sys.stdout.write):
        sys.stdout.flush()
        sys.exit(0)
