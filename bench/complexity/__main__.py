"""`python -m bench.complexity [--every N]`: does the time of whatever reads a user's text grow with it, and no faster?

Every entry point is given every hostile text, doubled from a size to eight times that size; then the texts that took
longest, at the most characters that the entry point takes. Every regular expression is given its own near matches.
Prints the entry points with the highest exponents and the longest times. `--every N` takes every Nth text only.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import NamedTuple

from bench.complexity.entries import ENTRIES, Entry
from bench.complexity.growth import ALLOWED, FLOOR, Growth, confirm, run_once, screen
from bench.complexity.hostile import Hostile, all_hostile, near_matches
from bench.complexity.patterns import BOUNDED, OWN, find_patterns, use_pattern

SIZE = 8_000
SHOWN = 12
LARGEST = 1_000_000
"""Characters that are tried at most: files may be longer, and take as many times longer."""


class Worst(NamedTuple):
    """The text that an entry point grows fastest with, and the one that it takes longest for."""

    entry: Entry
    steepest: tuple[str, Growth]
    slowest: tuple[str, float, int]
    """Name, seconds and characters, at the most that the entry point takes."""


def main() -> None:
    begun = time.process_time()
    parser = argparse.ArgumentParser(description="Measure how the time of every entry point grows.")
    parser.add_argument("--every", type=int, default=1, help="take every Nth hostile text only")
    hostile = all_hostile()[:: parser.parse_args().every]
    found = [_measure(entry, hostile) for entry in ENTRIES]
    patterns, runs, steep = _patterns()
    steepest = sorted(found, key=lambda each: -each.steepest[1].exponent)
    slowest = sorted(found, key=lambda each: -each.slowest[1])
    print(f"{len(ENTRIES)} entry points, {len(hostile)} hostile texts, {len(ENTRIES) * len(hostile):,} combinations")
    print(f"{patterns} regular expressions, {runs:,} near matches; above an exponent of {ALLOWED}: {len(steep)}")
    for line in steep:
        print(f"  {line}")
    print("\nsteepest (exponent, entry point, text)")
    for each in steepest[:SHOWN]:
        name, growth = each.steepest
        print(f"  {growth.exponent:5.2f}  {each.entry.name}  {name}")
    print("\nslowest at the most characters taken (seconds, characters, entry point, text)")
    for each in slowest[:SHOWN]:
        name, seconds, size = each.slowest
        print(f"  {seconds:6.2f}  {size:>9,}  {each.entry.name}  {name}")
    print(f"\n{time.process_time() - begun:.0f} s of processor time")
    if steep or any(each.steepest[1].exponent > ALLOWED for each in found):
        sys.exit(1)


def _measure(entry: Entry, hostile: tuple[Hostile, ...]) -> Worst:
    size = min(SIZE, entry.limit)
    screened = sorted(
        ((screen(entry.work, text.make, size), text) for text in hostile), key=lambda pair: -pair[0].seconds
    )
    steepest = ("", Growth(0.0, 0.0, size))
    for growth, text in screened:
        if entry.bounded or growth.seconds < FLOOR:
            continue
        sure = confirm(entry.work, text.make, size, most=entry.limit) if growth.exponent > ALLOWED else growth
        steepest = max(steepest, (text.name, sure), key=lambda pair: pair[1].exponent)
    largest = min(entry.limit, LARGEST)
    timed = [(text.name, run_once(entry.work, text.make(largest)), largest) for _, text in screened[:1]]
    return Worst(entry, steepest, max(timed, key=lambda each: each[1]))


def _patterns() -> tuple[int, int, list[str]]:
    """How many patterns there are, how many texts they were given, and those that grow too fast."""
    found = [each for each in dict.fromkeys(find_patterns()[0]) if each.place not in {*OWN, *BOUNDED}]
    runs, steep = 0, []
    for each in found:
        use = use_pattern(each)
        for text in near_matches(each.pattern):
            runs += 1
            growth = screen(use, text.make, SIZE // 2)
            if growth.exponent > ALLOWED and (sure := confirm(use, text.make, SIZE // 2)).exponent > ALLOWED:
                steep.append(f"{sure.exponent:.2f}  {each.place}  {text.name}")
    return len(found), runs, steep


if __name__ == "__main__":
    main()
