"""The labelled saves: enough of them, and none of them loses anything at whatever similarity an embedder gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from assay.embedding.protocol import Embedder, SimilarityProfile
from assay.evaluation.datasets.bundled import FILES, load_scenarios
from assay.memory.saving.neighbours import Pair, compare_texts, decide_pair
from assay.memory.saving.preparing import content_of
from assay.memory.saving.subjects import Labelled
from assay.records import Draft, SaveDecision
from assay.records.saving import APART, SAME, UPDATES, Scenario

DEVELOPMENT = load_scenarios()
EVERY = [scenario for which in FILES for scenario in load_scenarios(which)]


def labelled(draft: Draft) -> Labelled:
    return Labelled(title=draft.title, body=draft.body, triggers=draft.triggers)


def decided(pair: Pair, similarity: float) -> SaveDecision:
    judged = replace(pair, similarity=similarity)
    verdict = str(decide_pair(judged, SimilarityProfile()))
    return SaveDecision(verdict if verdict in set(SaveDecision) else "store")


def test_there_are_at_least_150_of_every_kind_and_none_twice() -> None:
    kinds = Counter(scenario.kind for scenario in EVERY)
    assert len(EVERY) >= 150
    assert set(kinds) == UPDATES | SAME | APART | {"extension"}
    assert min(kinds.values()) >= 9
    assert len({scenario.id for scenario in EVERY}) == len(EVERY)
    pairs = {(content_of(scenario.old), content_of(scenario.new)) for scenario in EVERY}
    assert len(pairs) == len(EVERY)


def test_no_scenario_expects_what_it_forbids() -> None:
    assert not [scenario.id for scenario in EVERY if set(scenario.expected) & scenario.forbidden]


@pytest.mark.parametrize("scenario", DEVELOPMENT, ids=lambda scenario: scenario.id)
def test_nothing_is_lost_whatever_the_similarity(scenario: Scenario) -> None:
    pair = compare_texts(labelled(scenario.old), labelled(scenario.new), 0.0)
    for similarity in (0.76, 0.82, 0.9, 0.95, 1.0):
        assert decided(pair, similarity) not in scenario.forbidden, pair.reasons


@pytest.mark.parametrize(("which", "at_least"), [("development", 0.9), ("held out", 0.9)])
def test_with_the_bundled_embedder_nothing_is_lost_and_most_decisions_are_right(
    bundled: Embedder, which: str, at_least: float
) -> None:
    scenarios = load_scenarios(which)
    old, new = (
        bundled.embed([f"{draft.title}\n\n{draft.body}" for draft in drafts])
        for drafts in ([one.old for one in scenarios], [one.new for one in scenarios])
    )
    similarities = (old * new).sum(axis=1).tolist()
    taken = [
        decided(compare_texts(labelled(one.old), labelled(one.new), 0.0), similarity)
        for one, similarity in zip(scenarios, similarities, strict=True)
    ]
    right = sum(decision in one.expected for one, decision in zip(scenarios, taken, strict=True))

    assert not [one.id for one, decision in zip(scenarios, taken, strict=True) if decision in one.forbidden]
    assert right >= at_least * len(scenarios)
