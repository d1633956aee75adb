"""What every transport has to carry: save, search, validate, health, checkpoint, and back again."""

from __future__ import annotations

from tests.mcp.serving import LESSON, refused, told

from mcp import Client


async def journey(client: Client) -> None:
    """One agent at work."""
    saved = await told(client, "memory_save", **LESSON)
    assert saved["decision"] == "store"
    memory_id = saved["memory_id"]
    found = await told(client, "memory_search", query="why tabs in makefiles", session_id="s1", explain=True)
    assert [one["memory_id"] for one in found["hits"]] == [memory_id]
    assert found["hits"][0]["explanation"]["passages"]
    loaded = await told(client, "memory_load", memory_id=memory_id, session_id="s1", limit=10)
    assert loaded["memory"]["body"] == LESSON["body"][:10]
    assert loaded["next_offset"] == 10
    judged = await told(
        client, "memory_validate", memory_id=memory_id, was_useful=True, query_id=found["query_id"], session_id="s1"
    )
    assert judged["confidence"] > judged["confidence_before"]
    health = await told(client, "memory_health")
    assert "contents" in [one["name"] for one in health["parts"]]
    copy = await told(client, "checkpoint_create", name="before")
    assert copy["memories"] == 1
    later = await told(client, "memory_save", title="Coffee", body="The coffee machine on floor two is broken again.")
    restored = await told(client, "checkpoint_restore", checkpoint="before")
    assert restored["restored"]["id"] == copy["id"]
    again = await told(client, "memory_search", query="coffee machine floor")
    assert later["memory_id"] not in [one["memory_id"] for one in again["hits"]]
    assert (await refused(client, "memory_load", memory_id=later["memory_id"]))["code"] == "record_not_found"
    kept = await told(client, "checkpoint_list")
    assert "before" in [one["name"] for one in kept["checkpoints"]]
    assert (await told(client, "checkpoint_delete", checkpoint=copy["id"]))["id"] == copy["id"]
