"""Watch: take in what changes, until told to stop.

Files are compared by size and time of change, so an idle round reads no file. A file that is written while it is read
differs again in the next round and is taken in again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from assay.memory.ingesting.report import IngestReport
from assay.memory.ingesting.run import Ingester, OnFile
from assay.memory.ingesting.walk import changed, suggested_root, walk, walk_again
from assay.records import Scope

Wait = Callable[[], bool]
"""Returns when it is time to look again; true to stop."""


def watch(
    ingester: Ingester,
    scope: Scope,
    paths: Sequence[Path],
    *,
    wait: Wait,
    on_report: Callable[[IngestReport], None],
    root: Path | None = None,
    globs: Sequence[str] = (),
    follow_links: bool = False,
    gate: bool = False,
    prune: bool = False,
    on_file: OnFile | None = None,
) -> None:
    """Take in everything once, then what has changed since, round after round."""
    root = root or suggested_root(paths)  # once: a path that goes away must not move it
    before = walk(paths, root=root, globs=globs, follow_links=follow_links)
    on_report(ingester.take(scope, before, gate=gate, prune=prune, on_file=on_file))
    while not wait():
        after = walk_again(paths, root=root, globs=globs, follow_links=follow_links)
        names = frozenset(changed(before.files, after.files))
        if names:
            there = tuple(one for one in after.files if one.source_id in names)
            gone = sorted(names - {one.source_id for one in there})
            # No folder was walked as far as this report goes: only what changed is looked at.
            fresh = replace(after, files=there, skipped=(), folders=())
            on_report(ingester.take(scope, fresh, gate=gate, prune=prune, gone=gone, on_file=on_file))
        before = after
