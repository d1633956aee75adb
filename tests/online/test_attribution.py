"""What each channel gave to the searches of use: found, alone, and of the results that were used."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.online.conftest import Online

from assay.errors import BadValue
from assay.online.attribution import attribute, rows_of
from assay.records import ChannelCandidates, EventType, FeedbackEvent, LoggedQuery, Origin, SearchRequest, make_draft
from assay.records.attribution import Attribution, ChannelShares


def offers(**lists: tuple[str, ...]) -> tuple[ChannelCandidates, ...]:
    return tuple(
        ChannelCandidates(channel=channel, ids=tuple(f"{memory}#0" for memory in ids), scores=(1.0,) * len(ids))
        for channel, ids in lists.items()
    )


def logged(online: Online, query_id: str, shown: tuple[str, ...], **more: Any) -> LoggedQuery:
    given: dict[str, Any] = {"created_at": online.clock.now(), "tool_name": "search", **more}
    lists: dict[str, tuple[str, ...]] = {offer.channel: offer.ids for offer in given.get("candidates", ())}
    found = {channel: {memory for memory in shown if f"{memory}#0" in ids} for channel, ids in lists.items()}
    given.setdefault(
        "channel_contributions",
        {
            channel: {
                "candidates": len(lists[channel]),
                "found": len(own),
                "alone": len(own.difference(*(other for name, other in found.items() if name != channel))),
            }
            for channel, own in found.items()
        },
    )
    return LoggedQuery(query_id=query_id, query=query_id, result_ids=shown, **given)


def event(online: Online, query_id: str, memory_id: str, kind: EventType, rank: int | None = 1) -> FeedbackEvent:
    return FeedbackEvent(
        event_key=f"{query_id}-{memory_id}-{kind}",
        event_type=kind,
        session_id="s1",
        created_at=online.clock.now(),
        query_id=query_id,
        memory_id=memory_id,
        rank_in_results=rank,
    )


@pytest.fixture
def filled(online: Online) -> Online:
    both = offers(bm25=("m_1", "m_2"), vector=("m_2", "m_3"))
    with online.engine.store.writing(online.scope) as work:
        work.queries.add_many(
            [
                logged(online, "q_1", ("m_1", "m_2", "m_3", "m_4"), candidates=both),
                logged(online, "q_2", ("m_1",), candidates=offers(bm25=("m_1",))),
                logged(online, "q_evaluated", ("m_3",), candidates=offers(vector=("m_3",)), origin=Origin.EVALUATION),
                logged(online, "q_untold", ("m_9",), channel_contributions={"graph": {"candidates": 3}}),
            ]
        )
        work.feedback.record(
            [
                event(online, "q_1", "m_3", EventType.READ_AFTER_SEARCH),
                event(online, "q_1", "m_3", EventType.VALIDATE_USEFUL),
                event(online, "q_1", "m_2", EventType.REFERENCE),
                event(online, "q_1", "m_1", EventType.SCROLL_PAST),
                event(online, "q_2", "m_1", EventType.VALIDATE_NOT_USEFUL),
                event(online, "q_2", "m_7", EventType.VALIDATE_USEFUL, rank=None),
            ]
        )
    online.clock.advance(hours=1)
    return online


def told(online: Online, *, days: float = 1.0) -> Attribution:
    now = online.clock.now()
    return attribute(online.engine.store, online.scope, since=now - timedelta(days=days), until=now)


def test_shares_of_what_was_shown_and_of_what_was_used(filled: Online) -> None:
    found = told(filled)
    assert (found.searches, found.results, found.used) == (3, 6, 2)
    words, meaning = found.channels
    assert words == ChannelShares(
        channel="bm25", searches=2, results=5, found=3, found_share=3 / 5, alone=2, alone_share=2 / 5,
        used=2, used_found=1, used_found_share=0.5, used_alone=0, used_alone_share=0.0,
    )  # fmt: skip
    assert (meaning.channel, meaning.searches, meaning.results) == ("vector", 1, 4)
    assert (meaning.found, meaning.alone) == (2, 1)
    assert (meaning.used, meaning.used_found, meaning.used_alone) == (2, 2, 1)
    assert rows_of(found)[1] == ("bm25", "2", "60.0%", "40.0%", "50.0%", "0.0%")


def test_searches_before_the_period_do_not_count(filled: Online) -> None:
    assert told(filled, days=0.01).searches == 0
    assert told(filled, days=0.01).channels == ()


def test_what_was_never_used_is_not_known_and_not_zero(online: Online) -> None:
    with online.engine.store.writing(online.scope) as work:
        work.queries.add_many([logged(online, "q_1", (), candidates=offers(bm25=()))])
    online.clock.advance(hours=1)
    [words] = told(online).channels
    assert (words.found_share, words.used_found_share) == (None, None)
    assert rows_of(told(online))[1][2:] == ("-", "-", "-", "-")


def test_a_period_that_ends_before_it_begins_is_refused(online: Online) -> None:
    with pytest.raises(BadValue, match="is not before until"):
        told(online, days=-1)


def test_a_search_of_the_engine_is_attributed_as_it_was_shown(online: Online) -> None:
    engine, scope = online.engine, online.scope
    saved = engine.saver.save(scope, make_draft(title="Tea", body="The tea is in the left cupboard."))
    found = engine.searcher.search(scope, SearchRequest(query="where is the tea", session_id="s1"))
    assert saved.memory_id in found.ids
    engine.store.log.flush()
    engine.validate(scope, str(saved.memory_id), True, query_id=found.query_id, session_id="s1")
    online.clock.advance(hours=1)
    shares = {channel.channel: channel for channel in told(online).channels}
    read = next(hit for hit in found.hits if hit.memory_id == saved.memory_id)
    for name, channel in shares.items():
        shown = sum(name in map(str, hit.channels) for hit in found.hits)
        assert (channel.found, channel.used_found, channel.used) == (shown, int(name in map(str, read.channels)), 1)
    assert sum(channel.used_found for channel in shares.values()) == len(read.channels) > 0
