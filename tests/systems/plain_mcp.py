"""A memory server that speaks MCP over stdio with the standard library alone: `python plain_mcp.py HOW`.

`good` behaves; `text`, `flood`, `endless`, `dies`, `hangs`, `fails` and `chatty` do to a search what their names say,
once documents have been put in; `mute` never says a word.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

STRING = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "remember",
        "inputSchema": {
            "type": "object",
            "properties": {"notes": {"type": "array"}, "owner": STRING},
            "required": ["notes"],
        },
    },
    {
        "name": "find",
        "inputSchema": {"type": "object", "properties": {"query": STRING, "limit": {"type": "integer"}}},
    },
]
NOTES: list[dict[str, str]] = []


def found(query: str, limit: int) -> list[dict[str, Any]]:
    """What shares most words with the query."""
    words = set(query.lower().split())
    scored = [(len(words & set(one["body"].lower().split())), one) for one in NOTES]
    best = sorted(scored, key=lambda one: -one[0])[:limit]
    return [{"note": {"key": one["key"], "body": one["body"]}, "score": score} for score, one in best if score]


def searched(how: str, arguments: dict[str, Any]) -> dict[str, Any]:
    hits = found(arguments["query"], arguments.get("limit", 10))
    if how == "dies":
        sys.stderr.write("disk is gone\n")
        sys.exit(7)
    if how == "hangs":
        time.sleep(60)
    if how in {"flood", "endless"}:
        flood(forever=how == "endless")
    if how == "fails":
        return {"content": [{"type": "text", "text": "the index is locked"}], "isError": True}
    if how == "text":
        lines = [f"- {one['note']['key']}: {one['note']['body']}" for one in hits]
        return {"content": [{"type": "text", "text": f"Found {len(hits)}\n" + "\n".join(lines)}]}
    return {"content": [{"type": "text", "text": json.dumps({"hits": hits, "lists": {"words": hits}})}]}


def flood(*, forever: bool) -> None:
    """More in one line than anybody may send; bounded, in case nobody ends it."""
    for _ in range(4_000 if forever else 40):
        sys.stdout.write("x" * 65_536)
        sys.stdout.flush()


def answered(how: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1.2"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "remember":
        NOTES.extend(params["arguments"]["notes"])
        return {"content": [{"type": "text", "text": "kept"}]}
    return searched(how, params["arguments"]) if method == "tools/call" else None


def main(how: str) -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if how == "mute" or "id" not in asked:
            continue
        if how == "chatty":
            sys.stdout.write("looking around\n")
        result = answered(how, asked["method"], asked.get("params") or {})
        told = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
