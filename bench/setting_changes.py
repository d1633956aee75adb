"""One-setting changes of Assay's default search, found in the registries of settings, flags, modes and channels.

`python -m bench.setting_changes` lists them. A change is what somebody tries before a release: another mode, a channel
left out, another way to fuse or to weigh, another length of chunks, a flag switched, another embedder. Numbers are
halved and doubled (weights also quartered and taken four times). A setting that has an effect only beside another one,
such as the constant of RRF, is changed there, with the other one in the baseline too. Left out is what is not about
results: addresses, folders, limits of time and memory, and what needs a model or a program that does not come with
Assay.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

from assay.flags import FLAGS
from assay.memory.searching.options import BASE_WEIGHTS, SearchOptions
from assay.records import Channel, FolderMode, Mode
from assay.settings.model import KNOWN, KnownSetting

NEED_MORE = frozenset({"local", "remote", "registered"})
"""Embedders that need an address, a folder or a package."""
NEED_A_MODEL = frozenset({"cross_encoder"})
"""Flags that are refused without a model which does not come with Assay."""
RELEVANCE = ("0.07", "0.2")
"""Probabilities below which results are left out: that of searches over MCP, and a strict one."""
OVERLAPS = ("32", "64")
PREFIXES = ("search.", "chunking.", "rerank.depth", "embedder.kind")
NOT_OF_A_RUN = frozenset({"search.k", "search.min_relevance"})
"""Settings that a run replaces by values of its own."""
BESIDE = {
    "search.rrf_k": "search.fusion=rrf",
    "search.coefficient": "flags.docscore_aggregation=on",
    "rerank.depth": "mode=deep",
    "flags.mmr": "mode=deep",
    "flags.query_expansion": "mode=deep",
}
"""What has an effect only beside something else, with that."""
CHUNK_TOKENS = 254
"""What the bundled embedder reads: the length of chunks where no other is set."""


class SettingChange(NamedTuple):
    """One setting changed: the systems as `assay run` takes them."""

    baseline: str
    changed: str


def find_changes() -> list[SettingChange]:
    """Every change, in the order of the registries."""
    found = [SettingChange("assay", f"assay:mode={mode.value}") for mode in Mode if mode is not Mode.AUTO]
    for left_out in Channel:
        others = "+".join(channel.value for channel in Channel if channel is not left_out)
        found.append(SettingChange("assay", f"assay:channels={others}"))
    found += [_change("folder_mode", mode.value) for mode in FolderMode if mode is not FolderMode.OFF]
    found += [_change("min_relevance", least) for least in RELEVANCE]
    for known in KNOWN:
        if known.key.startswith(PREFIXES) and known.key not in NOT_OF_A_RUN:
            found += [_change(known.key, value) for value in _other_values(known)]
    for flag in FLAGS.values():
        if flag.owner == "searching" and flag.name not in NEED_A_MODEL:
            found.append(_change(f"flags.{flag.name}", "off" if flag.default else "on"))
    return found


def _change(key: str, value: str) -> SettingChange:
    beside = BESIDE.get(key)
    if beside is None:
        return SettingChange("assay", f"assay:{key}={value}")
    return SettingChange(f"assay:{beside}", f"assay:{beside},{key}={value}")


def _other_values(known: KnownSetting) -> Iterator[str]:
    if known.choices:
        yield from (choice for choice in known.choices if choice != known.default and choice not in NEED_MORE)
    elif known.key == "chunking.overlap_tokens":
        yield from OVERLAPS
    elif known.key.startswith("search.weights."):
        weight = BASE_WEIGHTS[Channel(known.key.rpartition(".")[2])]
        yield from (f"{weight * factor:g}" for factor in (0.25, 0.5, 2.0, 4.0))
    else:
        defaults = SearchOptions()
        number = {
            "search.rrf_k": defaults.rrf_k,
            "search.coefficient": defaults.coefficient,
            "rerank.depth": defaults.rerank_depth,
            "chunking.max_tokens": CHUNK_TOKENS,
        }[known.key]
        yield from (
            f"{number * factor:g}" for factor in (0.5, 2.0) if (known.key, factor) != ("chunking.max_tokens", 2.0)
        )


if __name__ == "__main__":
    sys.stdout.writelines(f"{change.baseline} -> {change.changed}\n" for change in find_changes())
