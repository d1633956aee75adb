"""Tokens that the store keeps open the MCP server too, each as far as it reaches and in its own tenant."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import anyio
from tests.mcp.serving import LESSON, SCOPE, connected, engine_at, serving_http, told

from assay.access import Access, StoredTokens, Tokens
from assay.mcp.tools import TOOLS
from assay.records import Scope

OTHER = Scope(tenant="other", principal="eve")


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
