"""Planted defects: whether each dimension of the run-time evaluation falls for the defect it is there for.

    python -m bench.defects [--data DIR] [--cache DIR] [--json] [--most N]
    python -m bench.defects --model [--pairs 60]    # the model that the settings name; see `make local-llm`

Questions, documents and reference answers are those of `hotel` and `vault`, and with `--data` of public collections in
BEIR's layout. Plans are the rule planner's and passages are found by the engine; good answers quote the needed
passages or are the written reference answers. Each case is a good material and the same one with one defect. Exit
code 1 when a dimension that gives scores has an AUROC below .75 for one of its own defects; with `--model` figures
are printed and nothing is required.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from assay.embedding.bundled import load_bundled
from assay.judging.persistence import guard_of
from assay.records import Scope
from assay.settings import Settings, load_settings
from assay.wiring.models import has_model, open_model
from assay.wiring.stores import open_store
from bench.defects.cases import MOST_CASES, DefectCase, build_cases, sample_cases
from bench.defects.figures import compute_cells, judge_dimensions, show_groups, show_overview, show_own, show_verdicts
from bench.defects.overall import OutcomeFigures, measure_outcomes, show_outcomes
from bench.defects.question_sets import (
    BUNDLED,
    REFERENCES,
    QuestionSet,
    ResearchedQuestion,
    load_bundled_set,
    load_collection,
    research,
)
from bench.defects.scoring import ModelScoring, ScoredCase, score_cases, scores_of
from bench.remembered import RememberedEmbedder

STEP = 100
"""Cases between two lines about progress."""
SCOPE = Scope()


def load_sets(data: Path | None) -> list[QuestionSet]:
    """Read the bundled sets, and those public collections that lie in the folder."""
    bundled = [load_bundled_set(name) for name in BUNDLED]
    if data is None:
        return bundled
    return [*bundled, *(load_collection(data, name) for name in REFERENCES if (data / name).is_dir())]


def research_sets(data: Path | None, cache: Path, embedder: RememberedEmbedder) -> dict[str, list[ResearchedQuestion]]:
    """Plan and search the questions of every set."""
    found = {}
    for questions in load_sets(data):
        found[questions.name] = research(questions, cache / "stores", embedder)
        _report(f"{questions.name}: {len(found[questions.name])} questions")
    return found


def run_builtin(cases: Sequence[DefectCase], embedder: RememberedEmbedder) -> list[ScoredCase]:
    """Score all cases without a model."""
    return score_cases(cases, lambda material, _: scores_of(material, embedder), report=_count(len(cases)))


def run_model(cases: Sequence[DefectCase], settings: Settings, folder: Path) -> tuple[list[ScoredCase], ModelScoring]:
    """Score cases by the model that the settings name; its replies are kept in a store of the folder."""
    if not has_model(settings):
        raise SystemExit("No model is set up. Set ASSAY_MODEL_URL and ASSAY_MODEL_NAME; see make local-llm.")
    folder.mkdir(parents=True, exist_ok=True)
    with open_store(settings.change(db=str(folder / "replies.db"))) as store:
        scoring = ModelScoring(
            model=open_model(settings, store, SCOPE),
            guard=guard_of(store, SCOPE),
            deadline_s=settings.model_deadline_s,
            max_tokens=settings.model_max_tokens,
        )
        return score_cases(cases, scoring, report=_count(len(cases), step=1)), scoring


def _count(whole: int, step: int = STEP) -> Callable[[int], None]:
    begun = time.monotonic()

    def tell(number: int) -> None:
        if number % step == 0:
            _report(f"{number} of {whole} cases, {time.monotonic() - begun:.0f} s")

    return tell


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def show(scored: Sequence[ScoredCase], sets: Mapping[str, int], title: str) -> list[str]:
    """All tables, and how many cases they rest on."""
    cells = compute_cells(scored)
    parts = ", ".join(f"{name} {count}" for name, count in sets.items())
    return [
        f"{title}: {len(scored)} pairs ({parts})",
        *show_overview(cells),
        *show_own(cells),
        *show_groups(scored, lambda case: case.set_name),
        *show_groups(scored, lambda case: case.wording),
        *show_verdicts(judge_dimensions(cells)),
    ]


def _count_by_set(cases: Sequence[DefectCase]) -> dict[str, int]:
    names = [case.set_name for case in cases]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _as_json(
    scored: Sequence[ScoredCase],
    sets: Mapping[str, int],
    model: ModelScoring | None,
    outcomes: Sequence[OutcomeFigures],
) -> str:
    cells = compute_cells(scored)
    found = {
        "pairs": len(scored),
        "sets": sets,
        "cells": [asdict(cell) for cell in cells],
        "verdicts": [asdict(verdict) for verdict in judge_dimensions(cells)],
        "outcomes": [asdict(figures) for figures in outcomes],
    }
    if model is not None:
        found["model"] = {
            "name": model.model.name,
            "calls": model.calls,
            "seconds": model.seconds,
            "tokens": model.tokens,
            "outcomes": model.outcomes,
        }
    return json.dumps(found, indent=2)


def write_cases(cases: Sequence[DefectCase], path: Path) -> None:
    """Write the cases for other programs: dimension, defect, question, good and defective material."""
    rows = [(case.defect.dimension, case.defect.name, case.question_id, case.good, case.bad) for case in cases]
    path.write_bytes(pickle.dumps(rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the cases, score them and print."""
    options = _read_options(arguments)
    with tempfile.TemporaryDirectory() as folder:
        cache = options.cache or Path(folder)
        embedder = RememberedEmbedder(load_bundled(), cache / "vectors")
        cases = build_cases(research_sets(options.data, cache, embedder), most=options.most)
        if options.cases is not None:
            write_cases(cases, options.cases)
        model = None
        if options.model:
            cases = sample_cases(cases, options.pairs)
            scored, model = run_model(cases, load_settings().settings, cache / "model")
        else:
            scored = run_builtin(cases, embedder)
        outcomes = [] if options.model else measure_outcomes(cases, embedder)
    sets = _count_by_set(cases)
    if options.json:
        print(_as_json(scored, sets, model, outcomes))
    else:
        lines = show(scored, sets, "built-in" if model is None else model.model.name)
        print("\n".join([*lines, *(show_outcomes(outcomes) if outcomes else [])]))
    if model is not None:
        _report_model(model, to=sys.stderr if options.json else sys.stdout)
        return 0
    return int(not all(verdict.is_met for verdict in judge_dimensions(compute_cells(scored))))


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.defects", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with public collections")
    parser.add_argument("--cache", type=Path, help="folder that keeps stores, vectors and replies for the next run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--most", type=int, default=MOST_CASES, help="pairs of one defect and one set")
    parser.add_argument("--cases", type=Path, help="also write the cases to this file (pickle)")
    parser.add_argument("--model", action="store_true", help="ask the model that the settings name")
    parser.add_argument("--pairs", type=int, default=60, help="pairs that the model sees")
    return parser.parse_args(arguments)


def _report_model(model: ModelScoring, to: TextIO) -> None:
    outcomes = ", ".join(f"{name} {count}" for name, count in model.outcomes.items())
    print(
        f"\n{model.calls} calls, {model.seconds:.0f} s ({model.seconds / max(1, model.calls):.1f} s a call), "
        f"{model.tokens:,} tokens; {outcomes}",
        file=to,
    )


if __name__ == "__main__":
    sys.exit(main())
