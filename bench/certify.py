"""How well judges of correctness tell right answers from wrong ones: `python -m bench.certify --data DIR [--model]`.

Prints what each judge accepts of LoCoMo's right, specific wrong and vague wrong answers. The weights and the threshold
of the built-in judge are fitted on the other chats for every chat that is scored, so no chat is scored by what was
fitted on it; its rules are the same for all. Word overlap gets the threshold that keeps as many right answers. Beside
it: the same answers in another style, sets that nothing was fitted on, and gold answers that look wrong against an
audit. `--fit` fits on all chats and says whether the repository has these weights; with `--write` it writes them.
`bench.judged_answers` says which answers count as right, and what is wrong with that choice.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.judging.builtin import correctness
from assay.judging.builtin.answer_features import Comparison, compare
from assay.judging.builtin.correctness import BuiltinCorrectness, overlap_share
from assay.judging.builtin.gold_answers import GoldEvidence, check_gold
from assay.judging.builtin.judges import Weights, read_abstention
from assay.records import Scope
from assay.records.judging import JudgeInput, RubricKind
from assay.settings import load_settings
from assay.statistics.intervals import wilson
from assay.wiring.models import JudgeChoice, open_judging
from assay.wiring.stores import open_store
from bench.fit_judge import SAME, Example, fitted
from bench.judged_answers import (
    LOCOMO,
    RESTYLED,
    RIGHT,
    SPECIFIC,
    VAGUE,
    JudgedPair,
    read_hotpot,
    read_locomo,
    read_squad,
    restyle,
    wrong_keys,
)

KEPT = 0.91
"""The share of right answers that the threshold keeps where it is chosen: a little more than is asked for."""
WEIGHT = 1_000.0
"""Of all right answers together, and of all wrong ones."""
PLACE = Path(correctness.__file__).parent / correctness.FILE
SOURCES = ("LoCoMo, five chats: answers accepted by all judgments, wrong on purpose, and wrong as they came",)


class FittedJudge:
    """Weights with their threshold."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in stored["weights"].items()
        }
        self.weights = Weights(**fields)
        self.threshold = float(stored["threshold"])

    def accepts(self, pair: JudgedPair, found: Comparison) -> bool:
        """Whether it takes an answer for right."""
        return accept_probability(self.weights, pair, found) >= self.threshold


def accept_probability(weights: Weights, pair: JudgedPair, found: Comparison) -> float:
    """The probability that the judge with these weights gives."""
    if found.defect or read_abstention(pair.answer).abstained != read_abstention(pair.gold).abstained:
        return correctness.SURELY_WRONG
    probability = weights.probability(found.features)
    return max(probability, correctness.SURELY_RIGHT) if found.same_text else probability


def fit(pairs: Sequence[JudgedPair], found: Mapping[JudgedPair, Comparison]) -> dict[str, Any]:
    """Weights fitted on these answers, and the threshold that keeps `KEPT` of the right ones."""
    rights = sum(pair.right for pair in pairs)
    weight = {True: WEIGHT / rights, False: WEIGHT / (len(pairs) - rights)}
    examples = [Example(found[pair].features, pair.right, weight[pair.right], pair.question_id) for pair in pairs]
    stored: dict[str, Any] = {"weights": fitted(examples, examples[0].features, SOURCES), "threshold": 0.5}
    weights = FittedJudge(stored).weights
    own = [accept_probability(weights, pair, found[pair]) for pair in pairs if pair.group == RIGHT]
    # Rounded down: rounded up, it would lose every answer that lies on it.
    stored["threshold"] = math.floor(1e6 * float(np.quantile(own, 1 - KEPT))) / 1e6
    return stored


def cross_validate(pairs: Sequence[JudgedPair], found: Mapping[JudgedPair, Comparison]) -> dict[JudgedPair, bool]:
    """Whether each answer is accepted by weights that were fitted on the other chats."""
    accepted: dict[JudgedPair, bool] = {}
    for chat in sorted({pair.chat for pair in pairs}):
        judge = FittedJudge(fit([pair for pair in pairs if pair.chat != chat], found))
        accepted |= {pair: judge.accepts(pair, found[pair]) for pair in pairs if pair.chat == chat}
    return accepted


def accept_by_overlap(pairs: Sequence[JudgedPair], kept: float) -> dict[JudgedPair, bool]:
    """What word overlap accepts, with the threshold that keeps at least this share of the right answers."""
    shares = {pair: overlap_share(pair.gold, pair.answer) or 0.0 for pair in pairs}
    own = sorted((shares[pair] for pair in pairs if pair.group == RIGHT), reverse=True)
    threshold = own[min(len(own), int(np.ceil(kept * len(own)))) - 1]
    return {pair: share >= threshold for pair, share in shares.items()}


def accept_by_model(pairs: Sequence[JudgedPair], limit: int) -> dict[JudgedPair, bool]:
    """What the model of the settings accepts, of the first answers of each group; without a verdict: not at all."""
    settings, groups = load_settings().settings, (RIGHT, SPECIFIC, VAGUE)
    chosen = [pair for group in groups for pair in [one for one in pairs if one.group == group][:limit]]
    with tempfile.TemporaryDirectory() as folder:
        kept = settings.change(db=str(Path(folder) / "bench.db"))
        with open_store(kept) as store:
            judge = open_judging(kept, store, Scope(), RubricKind.CORRECTNESS, JudgeChoice(name="model"))
            scores = {pair: judge.judge_case(_as_input(pair)).score for pair in chosen}
    return {pair: score is not None and score >= correctness.RIGHT_FROM for pair, score in scores.items()}


def _as_input(pair: JudgedPair) -> JudgeInput:
    return JudgeInput(
        kind=RubricKind.CORRECTNESS, question=pair.question, answer=pair.answer, passages=(), reference=pair.gold
    )


def print_table(title: str, judges: Mapping[str, Mapping[JudgedPair, bool]], groups: Sequence[str]) -> None:
    """Accepted answers of each group by each judge, with 95 % intervals."""
    print(f"\n{title}\n\n| judge | {' | '.join(groups)} |\n| --- |{' --- |' * len(groups)}")
    for name, accepted in judges.items():
        cells = []
        for group in groups:
            hits = [hit for pair, hit in accepted.items() if pair.group == group]
            cells.append(_percent(hits))
        print(f"| {name} | {' | '.join(cells)} |")


def _percent(hits: Sequence[bool]) -> str:
    if not hits:
        return "-"
    seen = wilson(sum(hits), len(hits))
    low, high = (seen.low or 0.0), (seen.high or 0.0)
    return f"{seen.estimate * 100:.1f} [{low * 100:.1f}, {high * 100:.1f}] of {len(hits)}"


def report_locomo(folder: Path, *, model: bool, limit: int) -> None:
    """The table of the judged files."""
    pairs = read_locomo(folder)
    pairs += restyle(pairs)
    found = {pair: compare(pair.question, pair.gold, pair.answer) for pair in pairs}
    ours = cross_validate(pairs, found)
    kept = float(np.mean([hit for pair, hit in ours.items() if pair.group == RIGHT]))
    judges = {"built in, by chat": ours, "word overlap": accept_by_overlap(pairs, kept)}
    if model:
        judges["model of the settings"] = accept_by_model(pairs, limit)
    print_table("LoCoMo: answers accepted, %", judges, (RIGHT, SPECIFIC, VAGUE, "wrong as it came"))
    print_table("The same in another style: answers accepted, %", judges, RESTYLED)
    for chat in sorted({pair.chat for pair in pairs}):
        own = {pair: hit for pair, hit in ours.items() if pair.chat == chat}
        print_table(f"Chat {chat}", {"built in, by chat": own}, (RIGHT, SPECIFIC, VAGUE))


def report_others(folder: Path) -> None:
    """The shipped judge on sets that nothing was fitted on."""
    readers: dict[str, Callable[[Path], Any]] = {"squad2": read_squad, "hotpotqa100": read_hotpot}
    judge = BuiltinCorrectness()
    for name, read in readers.items():
        pairs = list(dict.fromkeys(read(folder)))
        verdicts = {pair: judge.weigh(pair.question, pair.gold, pair.answer).verdict.score or 0.0 for pair in pairs}
        ours = {pair: score >= correctness.RIGHT_FROM for pair, score in verdicts.items()}
        floor = {pair: (overlap_share(pair.gold, pair.answer) or 0) >= correctness.OVERLAP_FROM for pair in pairs}
        groups = list(dict.fromkeys(pair.group for pair in pairs))
        print_table(f"{name}: answers accepted, %", {"built in, as shipped": ours, "half of the words": floor}, groups)


def report_gold(folder: Path) -> None:
    """Gold answers that look wrong against their own evidence, held against the audit."""
    chats = json.loads((folder / LOCOMO / "locomo5.json").read_text(encoding="utf-8"))
    faulty = wrong_keys(folder)
    named: list[str] = []
    asked: list[str] = []
    for number, chat in enumerate(chats):
        turns = {
            turn["dia_id"]: GoldEvidence(
                _turn_text(turn), str(chat["conversation"].get(f"{session}_date_time", "")), turn["speaker"]
            )
            for session, value in chat["conversation"].items()
            if isinstance(value, list)
            for turn in value
        }
        for place, line in enumerate(chat["qa"]):
            evidence = [turns[key] for key in line.get("evidence", ()) if key in turns]
            question_id = f"locomo_{number}_qa{place}"
            if "answer" not in line or not evidence:
                continue
            asked.append(question_id)
            reading = check_gold(line["question"], str(line["answer"]), evidence)
            named += [question_id] if reading.problem else []
    known = [question_id for question_id in asked if question_id in faulty]
    right = [question_id for question_id in named if question_id in faulty]
    print(
        f"\nGold answers that look wrong: {len(named)} of {len(asked)} named, {len(right)} of them in the audit "
        f"({len(known)} are): precision {_percent([one in faulty for one in named])}, "
        f"recall {_percent([one in named for one in known])}"
    )


def _turn_text(turn: Mapping[str, Any]) -> str:
    return f"{turn['text']} {turn.get('blip_caption', '')}".strip()


def report_fit(folder: Path, *, write: bool) -> int:
    """Fit on all chats, and write the weights or say how far the repository's are from them."""
    pairs = read_locomo(folder)
    pairs += restyle(pairs)
    stored = fit(pairs, {pair: compare(pair.question, pair.gold, pair.answer) for pair in pairs})
    if write:
        PLACE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {len(stored['weights']['names'])} weights and the threshold {stored['threshold']}")
        return 0
    known = json.loads(PLACE.read_text(encoding="utf-8"))
    if known["weights"]["names"] != stored["weights"]["names"]:
        print("the weights in the repository are of other features")
        return 1
    gaps = np.abs(np.subtract(stored["weights"]["weights"], known["weights"]["weights"]))
    gap = max(float(gaps.max()), abs(stored["threshold"] - known["threshold"]))
    print(f"largest difference to the weights in the repository: {gap:.2g}")
    return int(gap > SAME)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or fit."""
    parser = argparse.ArgumentParser(prog="python -m bench.certify", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the collections")
    parser.add_argument("--fit", action="store_true", help="fit the weights of the built-in judge on all chats")
    parser.add_argument("--write", action="store_true", help="with --fit: replace the weights in the repository")
    parser.add_argument("--model", action="store_true", help="ask the model of the settings too")
    parser.add_argument("--limit", type=int, default=100, help="answers of each group that the model is asked about")
    asked = parser.parse_args(arguments)
    if asked.fit:
        return report_fit(asked.data, write=asked.write)
    report_locomo(asked.data, model=asked.model, limit=asked.limit)
    report_others(asked.data)
    report_gold(asked.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
