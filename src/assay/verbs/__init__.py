"""Everything a user can do, once, for every surface.

- `verb`: what a verb, a caller and a request are.
- `table`: the table of all verbs.
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

The command line imports only the families that a command uses, so that a search does not wait for all the others;
nothing here imports a family, `table` imports all of them.
"""

from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Surface, Verb

__all__ = ["Caller", "Family", "HttpRoute", "McpTool", "Request", "Surface", "Verb"]
