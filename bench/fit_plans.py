"""Fits the weights of the built-in plan evaluator: `python -m bench.fit_plans [--write]`.

Fitted on the development half of `data/plans.jsonl` and on `data/plans_two_wordings.jsonl`, where each question has a
right and a wrong plan in its own words and a right and a wrong one in other words: so sharing words with the question
is worth nothing by itself. Right and wrong plans weigh the same. Without `--write` it says whether the weights in the
repository are those it finds, with the area under the curve over questions left out of the fit, and exits 1 when they
are not.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.embedding.wrappers import CachedEmbedder
from assay.hashing import bucket
from assay.judging.builtin import plan_signals
from assay.judging.builtin.plan import find_losses
from assay.judging.builtin.plan_signals import PlanProfile, PlanWords, measure_signals, read_weights
from assay.text.questions import read_question
from bench.fit_judge import FOLDS, SAME, WEIGHT, Example, fitted, furthest
from bench.intent import ALIGNED, LabelledPlan, area_under_curve, load_plans, load_two_wordings

PLACE = Path(plan_signals.__file__).parent / plan_signals.FILE
REMEMBERED = 20_000
WORDS = (
    "kept_terms",
    "dropped_term",
    "uneven_parts",
    "lost_negation",
    "lost_present",
    "added_focus",
    "specificity",
    "rules",
)
VECTORS = (*WORDS[1:], "weakest_query", "all_queries")
COVERAGE_WORDS = ("kept_terms", "dropped_term", "uneven_parts", "added_focus", "specificity")
COVERAGE_VECTORS = (*COVERAGE_WORDS[1:], "weakest_query", "all_queries")
SCOPE_WORDS = ("kept_terms", "added_focus", "specificity")
SCOPE_VECTORS = (*SCOPE_WORDS[1:], "weakest_query", "all_queries")
UNCOVERED = frozenset({"missing_part", "missing_side", "lost_constraint", "other_subject", "too_broad", "too_narrow"})
"""Labels of plans that leave some of the question out."""
OUT_OF_SCOPE = frozenset({"too_broad", "too_narrow"})
SIGNALS: Mapping[PlanProfile, tuple[str, ...]] = {
    PlanProfile.INTENT: VECTORS,
    PlanProfile.INTENT_WORDS: WORDS,
    PlanProfile.COVERAGE: COVERAGE_VECTORS,
    PlanProfile.COVERAGE_WORDS: COVERAGE_WORDS,
    PlanProfile.SCOPE: SCOPE_VECTORS,
    PlanProfile.SCOPE_WORDS: SCOPE_WORDS,
}
DEFECTS: Mapping[PlanProfile, frozenset[str] | None] = {
    PlanProfile.INTENT: None,
    PlanProfile.INTENT_WORDS: None,
    PlanProfile.COVERAGE: UNCOVERED,
    PlanProfile.COVERAGE_WORDS: UNCOVERED,
    PlanProfile.SCOPE: OUT_OF_SCOPE,
    PlanProfile.SCOPE_WORDS: OUT_OF_SCOPE,
}
"""Labels of the wrong plans that a profile is fitted on; `None` is all of them."""
WITHOUT_VECTORS = frozenset({PlanProfile.INTENT_WORDS, PlanProfile.COVERAGE_WORDS, PlanProfile.SCOPE_WORDS})


def signals_of(plan: LabelledPlan, embedder: Embedder | None) -> dict[str, float]:
    """The signals of a labelled plan, as the evaluator measures them."""
    asked = read_question(plan.question)
    found = PlanWords(asked, plan.queries, embedder)
    return measure_signals(found, math.prod(loss.factor for loss in find_losses(found)))


def examples_of(plans: Sequence[LabelledPlan], profile: PlanProfile, embedder: Embedder | None) -> list[Example]:
    """What a profile is fitted on."""
    wrong = DEFECTS[profile]
    chosen = [plan for plan in plans if plan.label == ALIGNED or wrong is None or plan.label in wrong]
    right = sum(plan.label == ALIGNED for plan in chosen)
    shares = {True: WEIGHT / 2 / right, False: WEIGHT / 2 / (len(chosen) - right)}
    used = None if profile in WITHOUT_VECTORS else embedder
    return [
        Example(signals_of(plan, used), plan.label == ALIGNED, shares[plan.label == ALIGNED], plan.question)
        for plan in chosen
    ]


def fit_profile(examples: Sequence[Example], profile: PlanProfile) -> dict[str, Any]:
    """One profile, as it is written."""
    return fitted(examples, SIGNALS[profile], ["plans", "plans_two_wordings"])


def area_left_out(examples: Sequence[Example], profile: PlanProfile) -> float:
    """The area under the curve where each fifth of the questions is scored by a fit on the others."""
    right: list[float] = []
    wrong: list[float] = []
    for fold in range(FOLDS):
        rest = [one for one in examples if bucket(one.group, "left out") % FOLDS != fold]
        weights = read_weights(fit_profile(rest, profile))
        for one in examples:
            if bucket(one.group, "left out") % FOLDS == fold:
                (right if one.label else wrong).append(weights.probability(one.features))
    return area_under_curve(right, wrong)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, and write or compare."""
    parser = argparse.ArgumentParser(prog="python -m bench.fit_plans", description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the weights in the repository")
    asked = parser.parse_args(arguments)
    embedder = CachedEmbedder(load_bundled(), REMEMBERED)
    plans = [*load_plans("development"), *load_two_wordings()]
    examples = {profile: examples_of(plans, profile, embedder) for profile in PlanProfile}
    profiles = {profile.value: fit_profile(found, profile) for profile, found in examples.items()}
    for profile, found in examples.items():
        print(f"{profile}: {len(found)} plans, area over questions left out {area_left_out(found, profile):.3f}")
    if asked.write:
        PLACE.write_text(
            json.dumps({"embedder": embedder.model, "profiles": profiles}, indent=1) + "\n", encoding="utf-8"
        )
        print(f"wrote {len(profiles)} profiles")
        return 0
    gap = furthest(profiles, json.loads(PLACE.read_text(encoding="utf-8"))["profiles"])
    print(f"largest difference to the weights in the repository: {gap:.2g}")
    return int(gap > SAME)


if __name__ == "__main__":
    sys.exit(main())
