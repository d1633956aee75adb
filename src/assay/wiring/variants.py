"""Variants: other configurations of a memory's search, and other systems, that are compared with what is served.

- What a variant may change, checked when it is defined.
- The search of a memory with a variant's settings and flags.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.flags import find_flag, overrides_from
from assay.memory.searching.variants import VariantSearch
from assay.records import FolderMode, Mode
from assay.settings import Settings
from assay.settings.model import KNOWN
from assay.systems.registry import Configuration, SystemSpec, parse_spec
from assay.wiring.search_options import search_options

if TYPE_CHECKING:
    from assay.memory.engine import Engine

OF_REQUESTS = frozenset({"search.k", "search.min_relevance"})
"""Settings that complete what a caller asks for: both sides of a comparison are asked the same."""
SERVED_SETTINGS = (
    *(known.key for known in KNOWN if known.key.startswith("search.") and known.key not in OF_REQUESTS),
    "rerank.depth",
    "rerank.threshold",
)
"""Settings that a search reads anew each time. All others change what is stored, or nothing that a search gives."""
_FIELDS = {known.key: known.name for known in KNOWN}
_PLACE = ("variant", "")


def check_variant(settings: Settings, name: str, spec: str) -> SystemSpec:
    """Read what a variant searches as; raises `InputError` for what cannot be compared with a memory's own search."""
    written = "Write the settings and flags themselves, such as assay:search.fusion=rrf,flags.mmr=off."
    if spec.startswith("assay:") and spec.strip().endswith(".toml"):
        # Refused before it is read: whoever names it over HTTP must not learn what a file of the server holds.
        raise InputError(f"the variant {name} cannot be the file {spec!r}", remedy=written)
    parsed = parse_spec(spec, Path.cwd())
    if parsed.configuration is None:
        return parsed
    if parsed.configuration.answers:
        raise InputError(f"the variant {name} cannot be {spec!r}", remedy=written)
    other = sorted(set(parsed.configuration.settings) - set(SERVED_SETTINGS))
    if other:
        raise InputError(
            f"the variant {name} sets {other[0]}, which no search reads anew",
            remedy=f"Measure it with `assay run DATASET --system {spec}`. A variant takes flags, mode, channels,"
            f" folder_mode and {', '.join(SERVED_SETTINGS)}.",
        )
    if parsed.configuration == Configuration():
        raise InputError(f"the variant {name} changes nothing", remedy="Such as assay:search.fusion=rrf.")
    for flag in parsed.configuration.flags:
        find_flag(flag)
    _change(settings, parsed.configuration)
    return parsed


def open_variant(settings: Settings, engine: Engine, specs: tuple[str, ...]) -> VariantSearch:
    """Return a memory's search with the settings and flags of some variants; a later one wins over an earlier one."""
    found = [parse_spec(spec, Path.cwd()).configuration or Configuration() for spec in specs]
    for configuration in found:
        settings = _change(settings, configuration)
    flags = {name: (value, _PLACE) for configuration in found for name, value in configuration.flags.items()}
    searcher = engine.searcher.with_options(search_options(settings))
    if flags:
        searcher = searcher.with_flags(engine.flags.override(overrides_from(flags)))
    return VariantSearch(
        searcher=searcher,
        mode=next((made.mode for made in reversed(found) if made.mode is not Mode.AUTO), Mode.AUTO),
        channels=next((made.channels for made in reversed(found) if made.channels is not None), None),
        folder_mode=next(
            (made.folder_mode for made in reversed(found) if made.folder_mode is not FolderMode.OFF), FolderMode.OFF
        ),
    )


def _change(settings: Settings, configuration: Configuration) -> Settings:
    return settings.change(**{_FIELDS[key]: value for key, value in configuration.settings.items()})
