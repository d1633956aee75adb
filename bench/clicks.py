"""Does taking the place out of clicks say more about relevance? Clicks over expected clicks beside raw click-through.

`--data` names the folder of the collections; `ubi_esci` holds impressions and clicks of simulated shoppers, and grades
of the products for the same queries. An item's showings are its impressions; a click without one counts as one. What is
compared is how well each number tells the exact matches from the others (area under the ROC curve over all graded
pairs, ties by half), with the interval of the difference from resampled pairs. Then the labels that the product would
keep (`online.labels`), at its certainty and at others: how many there are, and how often they agree.

`openbandit` has showings of the same items by a policy that learned and by a random one. Labels come from the first;
whether an item is clicked more than its places explain comes from the second, where every item had the same chance.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.online.labels import SURE
from assay.statistics.intervals import wilson
from assay.statistics.online_tests import Attraction, Showing, attractions

EXACT = 100.0
RESAMPLES = 10_000
CERTAINTIES = tuple(sorted({0.55, 0.6, 0.7, 0.8, 0.95, SURE}))
"""Chances above which a label is made; the product keeps one of them."""
CLICKS = ("click", "add_to_cart", "purchase")

Values = NDArray[np.float64]


class Graded(NamedTuple):
    """An item that was shown for a query and that somebody judged."""

    attraction: Attraction
    exact: bool


def showings(events: Path) -> list[Showing]:
    """What was shown where, and whether it was clicked; one for each item of each search."""
    found: dict[tuple[str, str], Showing] = {}
    said = {
        event["query_id"]: event["user_query"]
        for event in _events(events)
        if event.get("user_query") and event.get("query_id")
    }
    for event in _events(events):
        seen = _seen(event, said)
        if seen is not None:
            key = (event["query_id"], seen.item)
            clicked = seen.clicked or (key in found and found[key].clicked)
            found[key] = found.get(key, seen)._replace(clicked=clicked)
    return list(found.values())


def _seen(event: dict[str, Any], said: dict[str, str]) -> Showing | None:
    about = event.get("event_attributes") or {}
    place, thing, action = about.get("position"), about.get("object"), event.get("action_name")
    if not place or not thing or action not in ("impression", *CLICKS) or event["query_id"] not in said:
        return None
    return Showing(said[event["query_id"]], thing["object_id"], place["ordinal"] + 1, action in CLICKS)


def _events(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            read = json.loads(line)
            if "index" not in read:
                yield read


def grades(path: Path) -> dict[tuple[str, str], float]:
    """The grade of each product for each query."""
    read = json.loads(path.read_text(encoding="utf-8"))["judgmentRatings"]
    return {(one["query"], rating["docId"]): float(rating["rating"]) for one in read for rating in one["ratings"]}


def area(scores: Values, positive: NDArray[np.bool_]) -> float:
    """The chance that a positive one scores above a negative one; ties by half."""
    above, below = scores[positive][:, None], scores[~positive][None, :]
    return float(np.mean((above > below) + 0.5 * (above == below)))


def differences(raw: Values, taken_out: Values, exact: NDArray[np.bool_], rng: np.random.Generator) -> Values:
    """The gain in area over resampled pairs; a sample of one kind only says nothing and is left out."""
    gains = []
    for _ in range(RESAMPLES):
        rows = rng.integers(0, exact.size, exact.size)
        if 0 < exact[rows].sum() < exact.size:
            gains.append(area(taken_out[rows], exact[rows]) - area(raw[rows], exact[rows]))
    return np.asarray(gains)


def read_bandit(path: Path) -> list[Showing]:
    """What a policy showed where, and whether it was clicked; there is one question: what to recommend."""
    with path.open(encoding="utf-8") as lines:
        return [
            Showing("recommend", row["item_id"], int(row["position"]), row["click"] == "1")
            for row in csv.DictReader(lines)
        ]


class Known(NamedTuple):
    """An item with clicks, and whether it is known to be better than others."""

    attraction: Attraction
    better: bool


def label(attraction: Attraction, sure: float) -> bool | None:
    """Return what a certainty makes of an item: used more, used less, or None where that cannot be told."""
    above = attraction.above_average
    return True if above >= sure else False if above <= 1.0 - sure else None


def show_agreement(name: str, pairs: Sequence[Known]) -> list[str]:
    """Say for each certainty how many labels there are and how many agree with what is known."""
    better = sum(pair.better for pair in pairs)
    lines = [f"{name}: {len(pairs)} pairs, {better} of them known to be better; the more frequent answer is right in"]
    lines[0] += f" {max(better, len(pairs) - better) / len(pairs):.0%}"
    for sure in CERTAINTIES:
        made = [(kept, pair.better) for pair in pairs if (kept := label(pair.attraction, sure)) is not None]
        same = sum(kept == known for kept, known in made)
        limits = wilson(same, len(made)) if made else None
        # Without a label there is no agreement, which is not an agreement of 0 %.
        agreement = f"{same / len(made):4.0%} [{limits.low:.0%}, {limits.high:.0%}]" if limits else "not measured"
        more = sum(kept for kept, _ in made)
        kinds = f"{more:2} used more, {len(made) - more:2} used less"
        lines.append(f"  {sure:.2f}  {len(made):2} labels ({kinds})  {same:2} agree  {agreement}{_remark(sure)}")
    return lines


def _remark(sure: float) -> str:
    return "   <- the product's" if sure == SURE else ""


def compare_policies(folder: Path) -> list[Known]:
    """What the learning policy's clicks say of each item, held against the random policy."""
    learned, drawn = (attractions(read_bandit(folder / name / "men" / "men.csv")) for name in ("bts", "random"))
    return [Known(learned[key], drawn[key].ratio > 1.0) for key in sorted(learned.keys() & drawn.keys())]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when the click model is not better."""
    parser = argparse.ArgumentParser(prog="python -m bench.clicks", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    data = parser.parse_args(arguments).data
    folder = data / "ubi_esci" / "raw"
    seen = showings(folder / "ubi_queries_events.ndjson")
    known = grades(folder / "esci_us_judgments.json")
    pairs = [Graded(one, known[key] >= EXACT) for key, one in attractions(seen).items() if key in known]
    exact = np.asarray([pair.exact for pair in pairs])
    raw = np.asarray([pair.attraction.click_through for pair in pairs])
    taken_out = np.asarray([pair.attraction.ratio for pair in pairs])
    gains = differences(raw, taken_out, exact, np.random.default_rng(20))
    low, high = np.quantile(gains, (0.025, 0.975))
    before, after = area(raw, exact), area(taken_out, exact)
    print(f"{len(seen):,} showings, {sum(one.clicked for one in seen)} clicked; {len(pairs)} pairs were graded, of")
    print(f"which {int(exact.sum())} are exact and {sum(pair.attraction.clicks > 0 for pair in pairs)} were clicked.")
    print(f"raw click-through          AUC {before:.3f}")
    print(f"clicks over expected       AUC {after:.3f}   gain {after - before:+.3f} [{low:+.3f}, {high:+.3f}]")
    exact_pairs = [Known(pair.attraction, pair.exact) for pair in pairs]
    policies = compare_policies(data / "openbandit" / "raw")
    for name, known_pairs in (
        ("ubi_esci, against exact matches", exact_pairs),
        ("openbandit, learning policy against random", policies),
    ):
        print("\n".join(show_agreement(name, known_pairs)))
    return int(after <= before)


if __name__ == "__main__":
    sys.exit(main())
