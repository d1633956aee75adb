"""Statistics of a table: intervals clustered by chat, paired differences with Holm over systems, smallest differences.

Questions of one chat share its texts, so chats are the units. A set of few chats cannot show much, and says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from assay.referee.records import Line
from assay.statistics import UNIT, Comparison, Pairs, bootstrap_mean, compare_all

DIGITS = 6
"""Decimals that results are kept with."""
FEWEST_CHATS = 2


def seeded(seed: int, *names: str) -> np.random.Generator:
    """Return a generator that depends on the seed and on what it is for, not on the order of the work."""
    digest = hashlib.sha256("\x00".join([str(seed), *names]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def rounded(value: float | None) -> float | None:
    """Return a number as results keep it."""
    return None if value is None else round(float(value), DIGITS)


def summarise(values: Mapping[str, float], chats: Mapping[str, str], rng: np.random.Generator) -> Line:
    """Return the mean of per-question values with its interval; without an interval where there is one chat only."""
    if not values:
        return {"mean": None, "low": None, "high": None, "n": 0}
    labels = [chats[question] for question in values]
    found = list(values.values())
    mean = float(np.mean(found))
    if len(set(labels)) < FEWEST_CHATS:
        return {"mean": rounded(mean), "low": None, "high": None, "n": len(found)}
    interval = bootstrap_mean(found, rng=rng, clusters=labels, bounds=UNIT)
    return {"mean": rounded(mean), "low": rounded(interval.low), "high": rounded(interval.high), "n": len(found)}


def compare_systems(
    reference: str,
    values: Mapping[str, Mapping[str, float]],
    chats: Mapping[str, str],
    rng: np.random.Generator,
) -> list[Line]:
    """Compare every system with the reference on the questions that both have; Holm over systems that differ."""
    pairs = {}
    for system, found in values.items():
        shared = [question for question in values[reference] if question in found]
        if system == reference or not shared:
            continue
        pairs[system] = Pairs(
            control=[values[reference][question] for question in shared],
            treatment=[found[question] for question in shared],
            clusters=[chats[question] for question in shared],
            # Systems that found the same are one test, and count once for Holm.
            over=tuple(shared),
        )
    compared = compare_all(pairs, rng=rng) if pairs else {}
    return [
        _comparison_line(system, reference, comparison, _count_chats(values[reference], values[system], chats))
        for system, comparison in compared.items()
    ]


def _count_chats(before: Mapping[str, float], after: Mapping[str, float], chats: Mapping[str, str]) -> tuple[int, int]:
    """Return in how many chats the second mean is above and below the first."""
    sums: dict[str, float] = {}
    for question in before:
        if question in after:
            sums[chats[question]] = sums.get(chats[question], 0.0) + after[question] - before[question]
    return sum(total > 0 for total in sums.values()), sum(total < 0 for total in sums.values())


def _comparison_line(system: str, reference: str, found: Comparison, by_chat: tuple[int, int]) -> Line:
    above, below = by_chat
    return {
        "system": system,
        "reference": reference,
        "verdict": found.verdict,
        "delta": rounded(found.delta),
        "low": rounded(found.interval.low) if found.interval else None,
        "high": rounded(found.interval.high) if found.interval else None,
        "p_adjusted": rounded(found.p_adjusted),
        "questions": found.n,
        "chats": found.units,
        "above": above,
        "below": below,
        "wins": found.score.wins,
        "losses": found.score.losses,
        "smallest": rounded(found.minimum_detectable_effect),
        "needed": found.queries_needed,
    }


def verdict_sentence(line: Line, withheld: str = "") -> str:
    """Say in words what a comparison shows."""
    system, reference = line["system"], line["reference"]
    if withheld:
        return f"{system} against {reference}: withheld. {withheld}"
    if line["delta"] is None:
        return f"{system} against {reference}: not compared."
    size = f"{line['delta']:+.3f}"
    chats = f"above in {line['above']} and below in {line['below']} of {line['chats']} chats"
    if line["verdict"] in ("better", "worse"):
        word = "above" if line["verdict"] == "better" else "below"
        return (
            f"{system} is {word} {reference}: {size} [{line['low']:+.3f}, {line['high']:+.3f}], "
            f"p = {line['p_adjusted']:.3g} after Holm; {chats}."
        )
    if line["verdict"] in ("unresolvable", "too_few"):
        return (
            f"{system} against {reference}: undecided. {size}, {chats}; {line['chats']} chats cannot be significant "
            f"at 0.05 after Holm, it takes at least {line['needed']}."
        )
    smallest = f"; these chats show {line['smallest']:.3f} or more" if line["smallest"] is not None else ""
    return f"{system} against {reference}: no difference seen. {size}, {chats}{smallest}."


def smallest_differences(
    reference: str,
    values: Mapping[str, Mapping[str, float]],
    categories: Mapping[str, Sequence[str]],
    chats: Mapping[str, str],
    rng: np.random.Generator,
) -> list[Line]:
    """Return, by category, the smallest difference to the reference that its questions can show.

    It depends on how much two systems differ from question to question; the largest over the systems is given.
    """
    lines = []
    for category, questions in categories.items():
        inside = {
            system: {question: found[question] for question in questions if question in found}
            for system, found in values.items()
        }
        compared = compare_systems(reference, inside, chats, rng) if inside.get(reference) else []
        sizes = [line["smallest"] for line in compared if line["smallest"] is not None]
        lines.append(
            {
                "category": category,
                "questions": len(inside.get(reference, ())),
                "chats": len({chats[question] for question in inside.get(reference, ())}),
                "smallest": max(sizes) if sizes else None,
            }
        )
    return lines
