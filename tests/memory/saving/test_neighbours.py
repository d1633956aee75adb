"""Which memories a draft is compared with, and what it is told of each of them."""

from __future__ import annotations

from dataclasses import replace

from tests.memory.saving.conftest import draft

from assay.memory.saving import SaveOptions, Saver
from assay.memory.saving.neighbours import Judge, Neighbour
from assay.memory.saving.preparing import Preparer
from assay.records import Draft, Scope
from assay.storage import Store
from assay.testing import FixedClock, HashedEmbedder
from assay.text.chunking import Chunker

WORDS = HashedEmbedder()
BODY = "The API allows 100 requests per minute for every client of the service."


def keep(saver: Saver, scope: Scope, *drafts: Draft) -> list[str]:
    """Stored side by side, whatever they say: what is not gated is compared with nothing."""
    return [str(saver.save(scope, one, gated=False).memory_id) for one in drafts]


def nearest(store: Store, scope: Scope, given: Draft, *, neighbours: int = 3) -> list[Neighbour]:
    """Of everything there is."""
    preparer = Preparer(store=store, embedder=WORDS, chunker=Chunker(WORDS.count_tokens, WORDS.token_limit))
    [prepared] = preparer.prepare(scope, [preparer.check(given, scored=False)])
    judge = Judge(prepared, WORDS.model, WORDS.profile, SaveOptions(neighbours=neighbours))
    with store.reading(scope) as work:
        numbers = work.memories.numbers_of([one.id for one in work.memories.page()])
        return judge.nearest(work, numbers.values())


def test_memories_that_hold_no_longer_are_passed_over_for_those_that_do(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    same, close, far = keep(
        saver, scope, draft(body=BODY), draft(body=BODY + " Now."), draft(body=BODY + " Billing pays for more of them.")
    )
    assert [one.memory.id for one in nearest(store, scope, draft(body=BODY), neighbours=1)] == [same]
    with store.writing(scope) as work:
        for gone in (same, close):
            work.memories.update(replace(work.memories.get(gone), superseded_at=clock.now()))
    for wanted in (1, 2, 3):
        assert [one.memory.id for one in nearest(store, scope, draft(body=BODY), neighbours=wanted)] == [far]


def test_no_more_neighbours_are_looked_at_than_are_asked_for(saver: Saver, store: Store, scope: Scope) -> None:
    keep(saver, scope, *(draft(body=BODY) for _ in range(5)))
    for wanted in (0, 1, 3, 5, 8):
        assert len(nearest(store, scope, draft(body=BODY), neighbours=wanted)) == min(wanted, 5)


def test_each_neighbour_is_compared_under_its_own_headings(saver: Saver, store: Store, scope: Scope) -> None:
    texts = {heading: f"# {heading}\n\n{BODY}" for heading in ("Limits", "Quotas")}
    limits, quotas, plain = keep(
        saver, scope, *(draft(heading, body) for heading, body in texts.items()), draft("Plain", BODY)
    )

    found = nearest(store, scope, draft("Another", texts["Quotas"]))

    shared = {one.memory.id: "the heading 'quotas'" in one.pair.reasons for one in found}
    assert shared == {limits: False, quotas: True, plain: False}
