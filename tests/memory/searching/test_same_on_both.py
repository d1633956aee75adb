"""The same memories and the same question: the same matches in each channel and the same order on both back ends."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import pytest
from tests.memory.searching.shelf import Shelf
from tests.storage.homes import Home

from assay.memory.searching.fusion import replay
from assay.records import Channel, EdgeKind, Scope
from assay.storage import Store, open_store
from assay.testing import FixedClock, note

SUBJECTS = ("sail", "mast", "oven", "bread", "wing", "nest", "code", "token", "cookie", "queue")


def fill(shelf: Shelf) -> None:
    for place in range(40):
        first, second, third = (SUBJECTS[(place * step + step) % 10] for step in (1, 3, 7))
        shelf.put(
            note(
                f"m_{place:02}",
                title=f"About {first}s",
                body=f"The {first} and the {second}.\n\nNo {third} without a {first}; {second} is {place}.",
                triggers=(f"{first} {second}",),
                folder=first,
            )
        )
    for place in range(0, 36, 3):
        shelf.join(f"m_{place:02}", EdgeKind.CAUSED, f"m_{place + 2:02}")


@pytest.mark.parametrize("home", ["postgres"], indirect=True)
def test_both_back_ends_give_the_same_lists_and_the_same_order(
    home: Home, tmp_path: Path, scope: Scope, clock: FixedClock
) -> None:
    stores: list[Store] = [open_store(tmp_path / "notes.db", clock=clock), home.open()]
    shelves = [Shelf(store, scope, clock) for store in stores]
    for shelf in shelves:
        fill(shelf)
    for query in ("sail and mast", '"the oven" bread', "wing nes*", "cookie queue token code", "why is the bread"):
        lines = []
        for shelf in shelves:
            result = shelf.search(query, mode="deep")
            shelf.store.log.flush()
            with shelf.store.reading(scope) as work:
                line = work.queries.get(result.query_id)
            lines.append((result, line))
        (ours, our_line), (theirs, their_line) = lines
        assert ours.ids == theirs.ids
        for one, other in zip(our_line.candidates, their_line.candidates, strict=True):
            assert (one.channel, set(one.ids)) == (other.channel, set(other.ids))
            assert dict(zip(one.ids, one.scores, strict=True)) == pytest.approx(
                dict(zip(other.ids, other.scores, strict=True)), abs=1e-5
            )
        weights = {Channel(name): weight for name, weight in ours.weights.items()}
        fused = [
            [one.number for one in replay(our_line.candidates, ours.fusion, weights)],
            [one.number for one in replay(their_line.candidates, theirs.fusion, weights)],
        ]
        assert fused[0] == fused[1]
        ours_of_all, theirs_of_all = (shelf.search(query, explain=True).cosines for shelf in shelves)
        assert ours_of_all is not None
        assert theirs_of_all is not None
        assert astuple(ours_of_all) == pytest.approx(astuple(theirs_of_all), abs=1e-5)
    stores[0].close()
