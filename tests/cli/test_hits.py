"""How results are shown: found words, where they stand, and a score that a reader can make again."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from assay.cli.hits import SNIPPET, best_passage, explain_lines, format_results
from assay.presentation.explanations import explain_served_last, format_sum
from assay.records import (
    Author,
    AuthorKind,
    Boost,
    Channel,
    CosineSpread,
    Explanation,
    FusionMethod,
    HeldBack,
    Hit,
    HitPassage,
    Intent,
    Mode,
    PassageScore,
    Pinned,
    Pressure,
    SearchResult,
    Telemetry,
    Tier,
    Vote,
)
from assay.testing.clock import START
from assay.verbs.searching import MemorySearchRequest

TELEMETRY = Telemetry(
    total_latency_ms=12.3,
    embedding_latency_ms=8.0,
    candidate_latency_ms=2.0,
    fusion_latency_ms=0.1,
    rerank_latency_ms=0.0,
    boost_latency_ms=0.1,
    selected_mode=Mode.FOCUSED,
    mode_override_applied=False,
    pressure_level=Pressure.NONE,
    token_usage_ratio=0.0,
    fallback_triggered=False,
    fallback_reason=None,
    degraded_mode_active=False,
    result_count=1,
    avg_relevance_score=0.5,
    top_result_score=0.5,
    boost_impact_delta=0.0,
    extraction_count_in_session=0,
    quality_proxy_score=0.5,
)


def vote(channel: Channel, scaled: float, weight: float) -> Vote:
    return Vote(channel=channel, rank=1, score=scaled * 10, scaled=scaled, weight=weight)


def explanation(**changed: Any) -> Explanation:
    first = PassageScore(
        position=1, votes=(vote(Channel.VECTOR, 0.8, 0.7), vote(Channel.BM25, 1.0, 0.3)), fused=0.8 * 0.7 + 0.3
    )
    second = PassageScore(position=0, votes=(vote(Channel.VECTOR, 0.5, 0.7),), fused=0.35)
    made = Explanation(
        method=FusionMethod.CONVEX,
        passages=(first, second),
        aggregated=True,
        coefficient=0.3,
        boosts=(Boost(name="recency", factor=0.9, reason="40 days old"),),
        bound=1.5,
        scale=1.0,
        score=0.0,
    )
    made = replace(made, **changed)
    return replace(made, score=made.recompute())


def hit(**changed: Any) -> Hit:
    passages = (
        HitPassage(position=0, text="What came before.", heading_path="Cookies", tokens=3),
        HitPassage(
            position=1, text="The session cookie lives for [b]twelve[/b] hours.", heading_path="Cookies > Age", tokens=9
        ),
    )
    made = Hit(
        memory_id="m_1",
        rank=1,
        score=0.7,
        title="Session cookies",
        passages=passages,
        best_position=1,
        tier=Tier.NORMAL,
        folder="decisions",
        rel_path="decisions/cookies.md",
        tags=(),
        channels=(Channel.VECTOR, Channel.BM25),
        updated_at=START,
        author=Author(name="ada", kind=AuthorKind.PERSON),
        explanation=explanation(),
    )
    return replace(made, **changed)


HELD = HeldBack(memory_id="m_7", title="Login lifetime", score=0.61, tokens=40, given_by="eq_0")


def result(*hits: Hit, **changed: Any) -> SearchResult:
    made = SearchResult(
        query_id="eq_1",
        trace_id="tr_1",
        hits=hits,
        pinned=(),
        mode=Mode.FOCUSED,
        intent=Intent.UNDERSTAND,
        fusion=FusionMethod.CONVEX,
        weights={},
        stages=(),
        telemetry=TELEMETRY,
    )
    return replace(made, **changed)


def printed(found: SearchResult, query: str = "cookie hours", *, terminal: bool = False, **asked: Any) -> str:
    out = StringIO()
    console = Console(file=out, force_terminal=terminal, width=200, highlight=False, markup=False)
    console.print(format_results(found, MemorySearchRequest(query=query, **asked)), soft_wrap=True)
    return out.getvalue()


def test_a_hit_says_its_place_score_title_where_it_stands_and_what_found_it() -> None:
    told = printed(result(hit()))
    assert " 1  0.700  Session cookies  decisions/cookies.md > Cookies > Age" in told
    assert "The session cookie lives for [b]twelve[/b] hours." in told
    assert "m_1  vector, bm25" in told


def test_found_words_are_marked_on_a_terminal_only() -> None:
    assert "\x1b[1;32mcookie\x1b[0m" in printed(result(hit()), terminal=True)
    assert "\x1b" not in printed(result(hit()))


def test_the_passage_that_did_most_is_shown() -> None:
    assert best_passage(hit()).position == 1
    assert best_passage(hit(explanation=None)).position == 0


def test_the_shown_sum_gives_the_score_again() -> None:
    why = explanation()
    *_, line = explain_lines(why)
    made = re.fullmatch(r" *= \((\S+) \+ (\S+) \* (\S+) / sqrt\(2\)\) / (\S+) x (\S+) = (\S+)  \(convex\)", line)
    assert made is not None
    best, coefficient, more, scale, factor, score = (float(one) for one in made.groups())
    assert (best + coefficient * more / 2**0.5) / scale * factor == pytest.approx(score, abs=2e-4)
    assert score == pytest.approx(why.score, abs=5e-5)


def test_a_further_passage_counts_in_the_shown_sum_by_what_is_above_the_floor() -> None:
    why = explanation(floor=0.25)
    made = re.search(r"= \((\S+) \+ (\S+) \* (\S+) / sqrt\(2\)\) / (\S+) x (\S+) = (\S+)  ", format_sum(why))
    assert made is not None
    best, coefficient, more, scale, factor, score = (float(one) for one in made.groups())
    assert more == pytest.approx(0.35 - 0.25)
    assert (best + coefficient * more / 2**0.5) / scale * factor == pytest.approx(score, abs=2e-4)
    assert score == pytest.approx(why.score, abs=5e-5)
    assert "above 0.2500" in format_sum(why)


def test_every_vote_and_boost_is_in_the_explanation() -> None:
    told = "\n".join(explain_lines(explanation(reranked_from=4)))
    assert re.search(r"1 +vector +1 +8 +0\.8000 +0\.700 +0\.5600", told)
    assert re.search(r"0 +vector +1 +5 +0\.5000 +0\.700 +0\.3500", told)
    assert "x 0.900  recency: 40 days old" in told
    assert "reranked from place 4" in told


def test_a_long_passage_is_cut_around_the_found_words() -> None:
    text = "nothing here " * 100 + "the cookie lives twelve hours " + "nor here " * 100
    long = hit(explanation=None, passages=(HitPassage(position=0, text=text, heading_path="", tokens=400),))
    line = printed(result(long)).splitlines()[1].strip()
    assert "cookie lives twelve hours" in line
    assert line.startswith("…")
    assert line.endswith("…")
    assert len(line) == SNIPPET + 2


def test_a_deprecated_hit_says_so_and_why_it_is_last() -> None:
    told = printed(result(hit(tier=Tier.DEPRECATED)))
    assert told.splitlines()[0].endswith("deprecated")
    assert "deprecated" not in printed(result(hit()))
    assert explain_served_last(2) == "served last, from place 2: its tier is deprecated"


def test_pinned_memories_come_first_and_superseded_ones_say_so() -> None:
    pinned = Pinned(memory_id="m_9", title="Never log keys", body="...", tokens=1)
    told = printed(result(hit(superseded_at=START), pinned=(pinned,)))
    assert told.splitlines()[0] == "always  Never log keys  m_9"
    assert f"superseded {START:%Y-%m-%d}" in told


@pytest.mark.parametrize(
    ("changed", "asked", "hint"),
    [
        ({}, {}, "--mode deep"),
        ({}, {"folder": "x"}, "without the filters"),
        ({}, {"channels": (Channel.TRIGGER,)}, "without --channel"),
        ({"held_back": (HELD,)}, {"session_id": "s"}, "was given earlier in this session"),
    ],
)
def test_an_empty_result_says_what_to_try(changed: dict[str, Any], asked: dict[str, Any], hint: str) -> None:
    assert hint in printed(result(**changed), **asked)


def test_what_was_degraded_is_shown() -> None:
    assert "degraded: no embedder" in printed(result(hit(), degraded=("no embedder",)))


def test_a_result_that_was_given_earlier_is_named_with_its_title_and_id() -> None:
    told = printed(result(hit(), held_back=(HELD,), tokens_saved=40), session_id="s")
    assert told.splitlines()[0] == "given earlier in this session  0.610  Login lifetime  m_7"
    assert "1 not repeated, 40 tokens saved; read again: assay show ID" in told


def test_an_explained_search_shows_the_cosines_of_the_store() -> None:
    shown = printed(result(hit(), cosines=CosineSpread(mean=0.1034, deviation=0.0871, passages=1_200)))
    assert "cosines of the query with 1,200 passages: 0.103 on average, standard deviation 0.087" in shown
    single = printed(result(hit(), cosines=CosineSpread(mean=0.5, deviation=0.0, passages=1)))
    assert "with 1 passage:" in single
    assert "cosines" not in printed(result(hit()))
