"""Whether a model's grades would be admitted: `python -m bench.admission --data DIR`.

`trec_qrels/rag25_human_vs_umbrela.tsv` has pairs of question and passage that people and a model graded. Both are given
to the product's own rule (`judging.admission.admit_models`): all pairs, and samples of 50 pairs, which is what a store
needs at least. Exit code 1 when a model below 80 % agreement is admitted.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from assay.judging.admission import LEAST_AGREEMENT, LEAST_PAIRS, admit_models
from assay.records import Judgment, JudgmentSource

AT = datetime(2026, 1, 1, tzinfo=UTC)
FILE = Path("trec_qrels") / "rag25_human_vs_umbrela.tsv"
SAMPLES = 1_000
SEED = 20
Judged = tuple[str, Judgment]


def read_pairs(path: Path) -> list[tuple[Judged, Judged]]:
    """Read what people and the model gave to each pair; grades above 3 count as 3."""
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    found = []
    for row in rows:
        question, passage, person, model = (row[name] for name in list(row)[:4])
        found.append(
            (
                _judgment(question, passage, person, JudgmentSource.MANUAL),
                _judgment(question, passage, model, JudgmentSource.LLM_JUDGE),
            )
        )
    return found


def _judgment(question: str, passage: str, grade: str, source: JudgmentSource) -> Judged:
    relevance = max(0, min(3, int(float(grade))))
    annotator = "people" if source is JudgmentSource.MANUAL else "umbrela"
    made = Judgment(
        query_id="q", memory_id=_name(passage), relevance=relevance, source=source, annotator=annotator, created_at=AT
    )
    return question, made


def _name(passage: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in passage)[:120]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, decide and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.admission", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the public collections")
    pairs = read_pairs(parser.parse_args(arguments).data / FILE)
    (whole,) = admit_models(judged for pair in pairs for judged in pair).values()
    print(f"{len(pairs)} pairs: {whole.sentence} kappa {whole.kappa:.2f}")
    rng = np.random.default_rng(SEED)
    admitted = 0
    for _ in range(SAMPLES):
        chosen = rng.choice(len(pairs), LEAST_PAIRS, replace=False)
        (sample,) = admit_models(judged for at in chosen for judged in pairs[int(at)]).values()
        admitted += sample.admitted
    print(f"of {SAMPLES:,} samples of {LEAST_PAIRS} pairs, {admitted / SAMPLES:.1%} would be admitted")
    return int(whole.agreement is not None and whole.agreement < LEAST_AGREEMENT and whole.admitted)


if __name__ == "__main__":
    sys.exit(main())
