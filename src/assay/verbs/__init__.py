"""The table of verbs: everything a user can do, once, for every surface.

- `verb`: what a verb, a caller and a request are.
- `fields`: field types that requests share.
- `faults`: what is wrong with a request, in plain words.
- `paging`: pages of long lists: cursor, limit, next_cursor.
- `agent_text`: how results read as text for an agent.
- `access`: tenants, tokens, and the sign-ins of browsers.
- `analysis`: what answered questions add up to, and what low scores have in common.
- `auditing`: list the audit log, check that it is whole.
- `datasets`: which datasets there are, and what one holds.
- `documents`: take in files and folders, import and export memories.
- `files`: measure run files of this machine, write the report of a run, compare and apply labels.
- `flags`: list, show, set, review feature flags.
- `health`: how every part of the memory is.
- `judgments`: grades of searches: add, list, collect from use, let a model grade, and which count.
- `ladder`: changes on their way to everybody: test, graduate, roll back, watch.
- `learning`: what was learned from use: status, learn, terms, changes, approve, take back.
- `maintenance`: checkpoints, retention, secrets stored in clear.
- `memory`: save, update, tier, forget, restore, link, why.
- `metrics`: which metrics there are, and what is known of each.
- `prompts`: list, show, write, use, split and compare versions of prompts.
- `reading`: show, list, folders, erase.
- `research`: ask, retry, rate an answer, show and list what was asked.
- `runs`: start a run, list runs, show one, compare two, judge one by the gate.
- `searching`: search, context, match triggers.
- `sessions`: sessions, the log of searches, how tasks begin and end.
- `store_audits`: audit memory stores of other tools, repair a copy, import the good memories.
- `traces`: traces of other systems: import, list, show, sum up, make cases, scores.
- `usage`: validate, record what was read or written.
- `variants`: define, list and remove variants; shadow runs: status, replay.

To add one: write its request, its function and its `Verb` in the module of its family. Routes, tools, schemas, the
client, reference pages and the tests of parity and authority follow from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.verbs import (
    access,
    analysis,
    auditing,
    datasets,
    documents,
    files,
    flags,
    health,
    judgments,
    ladder,
    learning,
    maintenance,
    memory,
    metrics,
    prompts,
    reading,
    research,
    runs,
    searching,
    sessions,
    store_audits,
    traces,
    usage,
    variants,
)
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Surface, Verb

FAMILIES: tuple[Family, ...] = (
    access.FAMILY,
    analysis.FAMILY,
    auditing.FAMILY,
    datasets.FAMILY,
    documents.FAMILY,
    files.FAMILY,
    flags.FAMILY,
    health.FAMILY,
    judgments.FAMILY,
    ladder.FAMILY,
    learning.FAMILY,
    maintenance.FAMILY,
    memory.FAMILY,
    metrics.FAMILY,
    prompts.FAMILY,
    reading.FAMILY,
    research.FAMILY,
    runs.FAMILY,
    searching.FAMILY,
    sessions.FAMILY,
    store_audits.FAMILY,
    traces.FAMILY,
    usage.FAMILY,
    variants.FAMILY,
)
VERBS: Mapping[str, Verb[Any, Any]] = {verb.name: verb for family in FAMILIES for verb in family.verbs}
"""Every verb by its name."""

__all__ = ["FAMILIES", "VERBS", "Caller", "Family", "HttpRoute", "McpTool", "Request", "Surface", "Verb"]
