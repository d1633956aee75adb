"""Who may do what: every tool names its policy, and a grant decides what a caller sees."""

from __future__ import annotations

import pytest
from tests.mcp.serving import ADMIN, SCOPE

from assay.access import Access, Everybody, Grant, OneToken, Policy, policies
from assay.mcp import server
from assay.mcp.tools import TOOLS, Tool

NAMES = {
    "memory_search": "read",
    "memory_context": "read",
    "memory_match_triggers": "read",
    "memory_load": "read",
    "memory_save": "add",
    "memory_list": "read",
    "memory_update": "change",
    "memory_tier": "set",
    "memory_forget": "set",
    "memory_restore": "add once",
    "memory_validate": "add once",
    "memory_grade": "add once",
    "memory_observe": "add once",
    "memory_health": "read",
    "memory_causal_link": "add once",
    "memory_causal_why": "read",
    "checkpoint_create": "copy",
    "checkpoint_list": "survey",
    "checkpoint_restore": "operate",
    "checkpoint_delete": "operate",
    "task_preflight": "add once",
    "task_postflight": "add once",
    "eval_run": "measure",
    "eval_compare": "read",
}
"""Every tool with its policy. Whoever adds a tool decides here what it may do."""


def test_every_tool_has_its_known_name_and_the_policy_that_was_decided_for_it() -> None:
    assert {tool.name: tool.policy.name for tool in TOOLS} == NAMES


def test_every_policy_in_use_is_one_of_the_known_ones() -> None:
    known = [one for one in vars(policies).values() if isinstance(one, Policy)]
    in_use = [*(tool.policy for tool in TOOLS), *(act.policy for _, act in server.PROMPTS.values())]
    assert all(any(one is policy for policy in known) for one in in_use)


def test_a_tool_cannot_be_made_without_a_policy() -> None:
    tool = TOOLS[0]
    with pytest.raises(TypeError, match="act"):
        Tool(  # type: ignore[call-arg] # that is the point
            name="x",
            title="x",
            description="x",
            arguments=tool.arguments,
            result=tool.result,
            call=tool.call,
        )


@pytest.mark.parametrize(
    ("access", "needed", "allowed"),
    [
        (Access.READ, policies.READ, True),
        (Access.READ, policies.ADD, False),
        (Access.READ, policies.MEASURE, False),
        (Access.WRITE, policies.ADD_ONCE, True),
        (Access.WRITE, policies.GOVERN, False),
        (Access.ADMIN, policies.GOVERN, True),
        (Access.ADMIN, policies.READ, True),
        (Access.ADMIN, policies.SURVEY, False),
        (Access.ADMIN, policies.COPY, False),
        (Access.ADMIN, policies.OPERATE, False),
        (Access.OPERATOR, policies.OPERATE, True),
        (Access.OPERATOR, policies.GOVERN, True),
    ],
)
def test_an_access_includes_the_lower_ones(access: Access, needed: Policy, *, allowed: bool) -> None:
    assert Grant(SCOPE, access).allows(needed) is allowed


def test_only_reading_tools_say_that_they_change_nothing() -> None:
    told = {tool.name: tool.describe().annotations for tool in TOOLS}
    assert {name for name, one in told.items() if one and one.read_only_hint} == {
        name for name, policy in NAMES.items() if policy == "read"
    }
    assert {name for name, one in told.items() if one and one.destructive_hint} == {
        "checkpoint_restore",
        "checkpoint_delete",
        "memory_update",
        "memory_tier",
        "memory_forget",
    }
    assert not any(one.open_world_hint for one in told.values() if one)


@pytest.mark.parametrize(
    "shown", [None, "", "tok", "token-of-sixteen-x", "Token-of-sixteen", "tökén-of-sixteen", "\ud800"]
)
def test_only_the_token_itself_opens(shown: str | None) -> None:
    authoriser = OneToken("token-of-sixteen", ADMIN)
    assert authoriser.grant(shown) is None
    assert authoriser.grant("token-of-sixteen") is ADMIN
    assert Everybody(ADMIN).grant(shown) is (ADMIN if shown is None else None)
