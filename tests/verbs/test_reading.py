"""Results are read back from JSON, also when they hold what this program does not know."""

from __future__ import annotations

from pathlib import Path

import assay
from assay.verbs import searching


def test_a_client_reads_a_channel_that_only_the_server_has(tmp_path: Path) -> None:
    with assay.Memory(tmp_path / "notes.db", embedder="none") as memory:
        memory.save(title="Oven", body="The oven is polled every five seconds.")
        found = memory.search("polled oven", explain=True)
    told = searching.SEARCH.to_json(found)
    told["hits"][0]["channels"].append("only_there")
    told["hits"][0]["explanation"]["passages"][0]["votes"][0]["channel"] = "also_there"
    read = searching.SEARCH.read(told)
    assert read.hits[0].channels[-1] == "only_there"
    assert read.hits[0].explanation is not None
    assert read.hits[0].explanation.passages[0].votes[0].channel == "also_there"
    assert searching.SEARCH.to_json(read) == told
