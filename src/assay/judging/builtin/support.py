"""How well evidence supports one claim, as numbers: `Support` is what the judge's coefficients weigh.

Words first: the sentences that share most of a claim's rare words are the candidates, and only they are compared by
meaning, so that a long context costs little more than a short one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.judging.builtin.consistency import Consistency, consistency, restricted
from assay.judging.builtin.evidence import Evidence, Sentence, content, neighbours, read
from assay.judging.builtin.quoting import unmarked
from assay.text.vocabulary import FUNCTION_WORDS

CANDIDATES = 3
"""Sentences compared by meaning, for each claim."""
TOGETHER = 3
"""Sentences that may support a claim together wherever they stand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """What was found for one claim."""

    best: int | None
    """The place of the best sentence in the evidence; None: there is no evidence."""
    consistency: Consistency
    features: dict[str, float]
    """By name, every one within a small range; a feature that needs vectors is absent without them."""


def support(claim: str, evidence: Evidence) -> Support:
    """Look for the support of a claim."""
    asked = read(claim)
    places = _candidates(asked, evidence)
    cosines = _cosines(claim, places, evidence)
    best = _best(asked, places, cosines, evidence)
    window = [] if best is None else evidence.window(best)
    sentence = None if best is None else evidence.sentences[best]
    checked = consistency(asked, window, sentence, evidence)
    features = _lexical(asked, places, evidence) | _exact(asked, sentence, checked) | _size(asked, evidence)
    if evidence.has_vectors:
        features["meaning"] = max(cosines, default=0.0)
    return Support(best=best, consistency=checked, features=features)


def coverage(wanted: Sequence[str], stems: frozenset[str], evidence: Evidence) -> float:
    """The share of the wanted stems that are there, rare ones counting more; 1 when nothing is wanted."""
    total = math.fsum(map(evidence.weight, wanted))
    return math.fsum(evidence.weight(stem) for stem in wanted if stem in stems) / total if total else 1.0


def _candidates(asked: Sentence, evidence: Evidence) -> list[int]:
    """The places of the sentences that share most of a claim's words, best first."""
    wanted = content(asked.tokens)
    scored = [(coverage(wanted, one.stems, evidence), -place) for place, one in enumerate(evidence.sentences)]
    return [-place for _, place in sorted(scored, reverse=True)[:CANDIDATES]]


def _cosines(claim: str, places: Sequence[int], evidence: Evidence) -> list[float]:
    if not places or not evidence.has_vectors:
        return []
    same = [float(claim in (text, unmarked(text))) for text in (evidence.sentences[place].text for place in places)]
    if any(same):
        # A sentence has a cosine of 1 with itself: quotations, such as the extractive synthesiser's, cost no model.
        return same
    rows = evidence.vectors([claim, *(evidence.sentences[place].text for place in places)])
    return [float(value) for value in rows[1:] @ rows[0]]


def _best(asked: Sentence, places: Sequence[int], cosines: Sequence[float], evidence: Evidence) -> int | None:
    """The sentence that agrees most, by words and meaning together."""
    if not places:
        return None
    wanted = content(asked.tokens)
    shared = [coverage(wanted, evidence.sentences[place].stems, evidence) for place in places]
    meant = cosines or [0.0] * len(places)
    return places[int(np.argmax(np.add(shared, meant)))]


def _lexical(asked: Sentence, places: Sequence[int], evidence: Evidence) -> dict[str, float]:
    wanted, pairs = content(asked.tokens), neighbours(asked.tokens)
    alone = [coverage(wanted, evidence.sentences[place].stems, evidence) for place in places]
    windows = [_union(evidence.window(place)) for place in places]
    together = _together(wanted, places, evidence)
    return {
        "words": coverage(wanted, evidence.stems, evidence),
        "words_sentence": max(alone, default=0.0),
        "words_window": max((coverage(wanted, stems, evidence) for stems in windows), default=0.0),
        "words_plain": sum(stem in evidence.stems for stem in wanted) / len(wanted) if wanted else 1.0,
        "words_together": coverage(wanted, together, evidence),
        "gap": _gap(asked, together),
        "pairs": sum(pair in evidence.pairs for pair in pairs) / len(pairs) if pairs else 0.5,
    }


def _union(sentences: Sequence[Sentence]) -> frozenset[str]:
    return frozenset[str]().union(*(one.stems for one in sentences))


def _together(wanted: Sequence[str], places: Sequence[int], evidence: Evidence) -> frozenset[str]:
    """The stems of the few sentences that cover a claim best together, each chosen for what the others lack."""
    found: frozenset[str] = frozenset()
    for _ in range(TOGETHER):
        missing = [stem for stem in wanted if stem not in found]
        gains = [(coverage(missing, evidence.sentences[place].stems, evidence), -place) for place in places]
        if not missing or not gains or max(gains)[0] == 0:
            break
        found |= evidence.sentences[-max(gains)[1]].stems
    return found


def _gap(asked: Sentence, stems: frozenset[str]) -> float:
    """The longest run of a claim's content that stands in none of these, as a share of the claim."""
    runs = [0]
    order = [token.stem for token in asked.tokens if token.stem not in FUNCTION_WORDS]
    for stem in order:
        runs.append(0 if stem in stems else runs[-1] + 1)
    return max(runs) / max(1, len(order))


def _exact(asked: Sentence, best: Sentence | None, checked: Consistency) -> dict[str, float]:
    return {
        "numbers_missing": len(checked.numbers_missing) / max(1, checked.numbers),
        "numbers_elsewhere": len(checked.numbers_elsewhere) / max(1, checked.numbers),
        "names_missing": len(checked.names_missing) / max(1, checked.names),
        "exact": math.log1p(checked.numbers + checked.names),
        "negation": float(checked.negation_differs),
        "opposites": float(bool(checked.opposites)),
        "direction": float(checked.direction_differs),
        "restricted": float(restricted(asked, best)),
    }


def _size(asked: Sentence, evidence: Evidence) -> dict[str, float]:
    return {"claim_length": math.log1p(len(asked.tokens)), "evidence_length": math.log1p(len(evidence.sentences))}
