"""Tokens that the store keeps open the MCP server too, each as far as it reaches and in its own tenant."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from tests.mcp.serving import LESSON, SCOPE, connected, engine_at, serving_http, told

from assay.access import Access, StoredTokens, Tokens
from assay.mcp.tools import TOOLS
from assay.records import Scope

OTHER = Scope(tenant="other", principal="eve")
WHOLE_STORE: tuple[tuple[str, dict[str, str]], ...] = (
    ("checkpoint_create", {}),
    ("checkpoint_list", {}),
    ("checkpoint_restore", {"checkpoint": "kept"}),
    ("checkpoint_delete", {"checkpoint": "kept"}),
)


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE, Access.ADMIN])
def test_what_touches_the_whole_store_is_closed_to_every_token_of_a_tenant(tmp_path: Path, access: Access) -> None:
    with ExitStack() as ending:
        engine = ending.enter_context(engine_at(tmp_path))
        engine.store.checkpoints.create("kept")
        token = Tokens(engine.store, engine.clock).create(OTHER, "eve", access).text
        address = ending.enter_context(serving_http(tmp_path, StoredTokens(engine.store, engine.clock)))

        async def main() -> None:
            async with connected(address, token=token) as client:
                for tool, arguments in WHOLE_STORE:
                    with pytest.raises(MCPError, match=f"no tool '{tool}'"):
                        await client.call_tool(tool, arguments)

        anyio.run(main)
        assert [checkpoint.name for checkpoint in engine.store.checkpoints.list()] == ["kept"]


def test_a_stored_token_reaches_as_far_as_it_says(tmp_path: Path) -> None:
    with ExitStack() as ending:
        engine = ending.enter_context(engine_at(tmp_path))
        tokens = Tokens(engine.store, engine.clock)
        own = {access: tokens.create(SCOPE, access, access).text for access in Access}
        foreign = tokens.create(OTHER, "eve", Access.ADMIN).text
        address = ending.enter_context(serving_http(tmp_path, StoredTokens(engine.store, engine.clock)))

        async def main() -> None:
            for access, token in own.items():
                async with connected(address, token=token) as client:
                    shown = {one.name for one in (await client.list_tools()).tools}
                assert shown == {one.name for one in TOOLS if access.includes(one.policy.access)}
            async with connected(address, token=own[Access.WRITE]) as client:
                assert (await told(client, "memory_save", **LESSON))["decision"] == "store"
                assert (await told(client, "memory_search", query="makefile tabs"))["hits"]
            async with connected(address, token=foreign) as client:
                assert (await told(client, "memory_search", query="makefile tabs"))["hits"] == []

        anyio.run(main)
