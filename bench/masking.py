"""How much the masker misses and masks wrongly on lists it was not made from: `python -m bench.masking [--json]`.

The lists were written by somebody who had not read the patterns: made-up secrets of 228 kinds in notes, logs, commands,
settings and code, and 1,206 lines that only look alike (hashes, public keys, ids, placeholders, prose about passwords).
They lie in `data/unseen_*.txt`, one line of Base64 each, so that scanners for secrets do not take them for real ones.

A secret counts as masked when no run of 12 of its characters is left (all of it, where it is shorter); a line counts as
wrongly masked when anything in it was changed. Fails below 95 % or above 1 %.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.text.secrets import mask_text

DATA = Path(__file__).parent / "data"
LEAST_MASKED = 0.95
MOST_WRONG = 0.01
LEFT = 12
"""Characters in a row of a secret that may not be left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MaskingFigures:
    """What the masker did with both lists."""

    secrets: int
    kinds: int
    masked: float
    gone: float
    """The share of secrets that are no longer there as a whole; never below `masked`."""
    lookalikes: int
    wrong: float
    missed_kinds: dict[str, int]
    wrong_kinds: dict[str, int]

    @property
    def holds(self) -> bool:
        """Whether both shares are within what is promised."""
        return self.masked >= LEAST_MASKED and self.wrong <= MOST_WRONG


def read_list(name: str) -> Iterator[dict[str, str]]:
    """The lines of a list."""
    for line in (DATA / f"unseen_{name}.txt").read_text("ascii").splitlines():
        yield json.loads(base64.b64decode(line))


def measure(mask: Callable[[str], str]) -> MaskingFigures:
    """Mask every line of both lists."""
    rows = list(read_list("secrets"))
    missed = Counter(row["kind"] for row in rows if is_left(row["secret"], mask(row["text"])))
    whole = sum(row["secret"] in mask(row["text"]) for row in rows)
    others = list(read_list("lookalikes"))
    wrong = Counter(row["kind"] for row in others if mask(row["text"]) != row["text"])
    return MaskingFigures(
        secrets=len(rows),
        kinds=len({row["kind"] for row in rows}),
        masked=1 - missed.total() / len(rows),
        gone=1 - whole / len(rows),
        lookalikes=len(others),
        wrong=wrong.total() / len(others),
        missed_kinds=dict(sorted(missed.items())),
        wrong_kinds=dict(sorted(wrong.items())),
    )


def is_left(secret: str, text: str) -> bool:
    """Whether a telling part of a secret is still in a text."""
    size = min(LEFT, len(secret))
    return any(secret[start : start + size] in text for start in range(len(secret) - size + 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where one is outside what is promised."""
    parser = argparse.ArgumentParser(prog="python -m bench.masking")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    found = measure(lambda text: mask_text(text, "body", []))
    if given.json:
        sys.stdout.write(json.dumps(asdict(found), indent=1) + "\n")
    else:
        sys.stdout.write(
            f"{found.secrets:,} secrets of {found.kinds} kinds: {found.masked:.2%} masked"
            f" ({found.gone:.2%} no longer there as a whole)\n"
            f"{found.lookalikes:,} look-alikes: {found.wrong:.2%} masked wrongly\n"
            f"missed: {', '.join(f'{kind} {count}' for kind, count in found.missed_kinds.items()) or 'none'}\n"
            f"wrongly masked: {', '.join(f'{kind} {count}' for kind, count in found.wrong_kinds.items()) or 'none'}\n"
        )
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main())
