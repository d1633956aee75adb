"""The table of acts: everything a caller can request from a server, each with its policy.

HTTP routes, pages and MCP tools name an act from this table, never a policy of their own. So the same act needs the
same access on every surface. An act that concerns the whole store, rows of every tenant, needs an operator.

To add a route or tool, use the act that describes it, or add one here. `tests/security` tries each route and
tool with each role and fails when one has no act. The reference pages under `docs/reference` show this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assay.access.policies import (
    ADD,
    ADD_ONCE,
    CHANGE,
    COPY,
    GOVERN,
    MEASURE,
    OPERATE,
    OVERSEE,
    PUBLIC,
    READ,
    SET,
    SURVEY,
    Policy,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Act:
    """One thing a caller can ask for."""

    name: str
    """A noun and a verb with a dot between them, such as `prompt.change`."""
    policy: Policy
    does: str
    """What it does, in one sentence."""


_known: dict[str, Act] = {}


def _act(name: str, policy: Policy, does: str) -> Act:
    if name in _known:
        raise ValueError(f"the act {name!r} is in the table twice")
    return _known.setdefault(name, Act(name=name, policy=policy, does=does))


# The server itself.
SERVER_PROBE = _act("server.probe", PUBLIC, "Ask whether the server lives and can read its store.")
SERVER_METRICS = _act("server.metrics", READ, "Read the server's own counters.")
SERVER_DESCRIBE = _act("server.describe", READ, "Read the description of the API.")
PAGE_ASSET = _act("page.asset", READ, "Load a style sheet, script or image of the pages.")
LOGIN_OPEN = _act("login.open", PUBLIC, "See the page that asks for a token, and send one.")
LOGIN_CLOSE = _act("login.close", READ, "Sign out.")

# Memories.
MEMORY_SEARCH = _act("memory.search", READ, "Search the memory, or ask what is worth knowing before a task.")
MEMORY_LIST = _act("memory.list", READ, "List memories and folders.")
MEMORY_READ = _act("memory.read", READ, "Read a memory, its neighbours and its history.")
MEMORY_HEALTH = _act("memory.health", READ, "Read how the indexes, the gate and the log are.")
MEMORY_SAVE = _act("memory.save", ADD, "Save a memory.")
MEMORY_LINK = _act("memory.link", ADD_ONCE, "Link two memories.")
MEMORY_CHANGE = _act("memory.change", CHANGE, "Change a memory.")
MEMORY_RETIER = _act("memory.retier", SET, "Change the tier of a memory; it can be changed back.")
MEMORY_FORGET = _act("memory.forget", SET, "Forget a memory; it can be brought back.")
MEMORY_BRING_BACK = _act("memory.bring_back", ADD_ONCE, "Bring a forgotten memory back.")
MEMORY_ERASE = _act("memory.erase", GOVERN, "Erase a memory for good.")
MEMORY_VALIDATE = _act("memory.validate", ADD_ONCE, "Say whether memories helped.")

# Sessions, searches and tasks of agents.
SESSION_READ = _act("session.read", READ, "Read the sessions of agents and what they were given.")
SEARCH_READ = _act("search.read", READ, "Read the log of searches.")
TASK_RECORD = _act("task.record", ADD_ONCE, "Record how a task began or ended.")

# Traces of other systems.
TRACE_READ = _act("trace.read", READ, "Read traces of other systems, and what they come to.")
TRACE_SEND = _act("trace.send", ADD_ONCE, "Send spans of a traced system.")
TRACE_KEEP = _act("trace.keep", ADD_ONCE, "Make traces cases of a dataset.")

# Questions, their answers, and what analysis makes of them.
ANSWER_ASK = _act("answer.ask", MEASURE, "Have a question answered and evaluated.")
ANSWER_READ = _act("answer.read", READ, "Read answered questions, their evaluation and its totals.")
ANSWER_RATE = _act("answer.rate", ADD_ONCE, "Rate an answer.")
PATTERN_READ = _act("pattern.read", READ, "Read which kinds of questions score lower.")
PATTERN_ANALYZE = _act("pattern.analyze", MEASURE, "Have a model look through answered questions.")

# Prompts.
PROMPT_READ = _act("prompt.read", READ, "Read prompts, their versions and what these led to.")
PROMPT_CHANGE = _act("prompt.change", GOVERN, "Write a version of a prompt, switch to one, or split questions.")

# Runs, datasets, labels.
RUN_READ = _act("run.read", READ, "Read runs, their reports and comparisons.")
RUN_START = _act("run.start", MEASURE, "Run a dataset and keep the result.")
RUN_GATE = _act("run.gate", MEASURE, "Hold a run against a baseline and keep the verdict.")
RUN_BLESS = _act("run.bless", GOVERN, "Make a run the baseline of its dataset.")
METRIC_READ = _act("metric.read", READ, "Read which metrics there are, and how each is computed.")
DATASET_READ = _act("dataset.read", READ, "Read which datasets there are and what they hold.")
JUDGMENT_READ = _act("judgment.read", READ, "Read judgments.")
JUDGMENT_WRITE = _act("judgment.write", ADD_ONCE, "Write judgments under one's own name.")
LABEL_READ = _act("label.read", READ, "See what is there to label, and how far one's own labelling is.")
LABEL_WRITE = _act("label.write", ADD, "Label a document, or take back one's own last label.")
LABEL_APPLY = _act("label.apply", ADD, "Write the labels of everybody into a new version of a dataset.")
CASE_ADD = _act("case.add", ADD_ONCE, "Make a logged search a case of a dataset.")

# Learning from use.
LEARNING_READ = _act("learning.read", READ, "Read what was learned from use, and what keeps it from being applied.")
LEARNING_CHANGE = _act("learning.change", GOVERN, "Learn from use now, approve what was learned, or take it back.")

# Flags and the tests of features.
FLAG_READ = _act("flag.read", READ, "Read feature flags and the state of their tests.")
FLAG_CHANGE = _act("flag.change", GOVERN, "Switch a feature flag for everybody in the tenant.")
FEATURE_TEST = _act("feature.test", GOVERN, "Begin, pause, resume, graduate or roll back the test of a feature.")

# Who may come in, and what was done.
TOKEN_READ = _act("token.read", OVERSEE, "List the tokens of the tenant.")
TOKEN_CHANGE = _act("token.change", GOVERN, "Make or revoke a token that reaches no further than one's own.")
AUDIT_READ = _act("audit.read", OVERSEE, "Read the audit log of the tenant.")
SETTINGS_READ = _act("settings.read", READ, "Read how answers are evaluated.")
SETTINGS_READ_ALL = _act("settings.read_all", SURVEY, "Read every setting, with paths and addresses.")

# The whole store, rows of every tenant.
TENANT_READ = _act("tenant.read", SURVEY, "List the tenants of the store, with counts of what each holds.")
CHECKPOINT_READ = _act("checkpoint.read", SURVEY, "List the copies of the whole store.")
CHECKPOINT_CREATE = _act("checkpoint.create", COPY, "Copy the whole store.")
CHECKPOINT_RESTORE = _act("checkpoint.restore", OPERATE, "Bring the whole store back to a copy.")
CHECKPOINT_DELETE = _act("checkpoint.delete", OPERATE, "Delete a copy of the whole store.")
RETENTION_RUN = _act("retention.run", OPERATE, "Archive and remove what is older than the settings allow.")
RETENTION_RESTORE = _act("retention.restore", OPERATE, "Bring the rows of an archive back.")
STORE_RESCAN = _act("store.rescan", OPERATE, "Find secrets that were stored in clear, and mask them.")
STORE_MIGRATE = _act("store.migrate", OPERATE, "Bring the tables of the store to a newer schema.")

# Files of this machine, named by their paths.
MEMORY_TAKE_IN = _act("memory.take_in", OPERATE, "Take in documents or exported memories from files by their paths.")
TRACE_TAKE_IN = _act("trace.take_in", OPERATE, "Take in traces from files by their paths.")
FILE_READ = _act("file.read", OPERATE, "Read files by their paths, and measure what they hold.")
FILE_WRITE = _act("file.write", OPERATE, "Write files where a path says, such as a report.")

ACTS: Mapping[str, Act] = MappingProxyType(_known)
"""Every act by its name."""
COMMAND_LINE_ONLY = (
    RETENTION_RUN,
    RETENTION_RESTORE,
    STORE_RESCAN,
    STORE_MIGRATE,
    MEMORY_TAKE_IN,
    TRACE_TAKE_IN,
    FILE_READ,
    FILE_WRITE,
)
"""Acts that no server offers. They are in the table so that a surface which offers one later needs an operator."""
