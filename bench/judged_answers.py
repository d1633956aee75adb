"""Answers with a gold answer beside them, right and wrong, as `bench.certify` reads them from public files.

LoCoMo's judged answers (`memory-benchmarks/locomo/judged`): two files are wrong on purpose. Which answers are right
nobody says; the usual model judge is lenient, so one accept of it means little. An answer counts as right here when
all three judgments of both models' answers to its question accept, and an audit names no fault in its key beyond a
wrong citation. The choice favours easy questions, and lets through answers to which the lenient judge was kind six
times: what a strict judge loses of them is not all its fault. Answers of the two models that all three judgments
reject are wrong as they come, neither on purpose nor short.

Right answers there are full sentences and wrong ones are not, so a judge could learn the style. Four restyled groups
show whether it did: wrong answers in full sentences that repeat the question, right answers of other questions, and
the one sentence of a right answer that has most of the gold answer's words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.judging.builtin.answer_parts import compare_parts
from assay.text.claims import sentences

LOCOMO = Path("memory-benchmarks") / "locomo"
MODELS = ("full_context_gpt-4.1-mini-cot", "full_context_gpt-4o-mini-cot")
WRONG = {"specific": "v1_specific_wrong", "vague": "v2_vague_wrong"}
HARMLESS = "WRONG_CITATION"
"""The fault of a key that leaves its answer right."""
RIGHT, SPECIFIC, VAGUE = "right", "specific", "vague"
NATURAL = "wrong as it came"
RESTYLED = ("specific, in a sentence", "vague, in a sentence", "right, of another question", "right, one sentence")
SEED = 0


class JudgedPair(NamedTuple):
    """One answer."""

    chat: str
    question_id: str
    group: str
    question: str
    gold: str
    answer: str
    model: str = ""

    @property
    def right(self) -> bool:
        """Whether a judge should accept it."""
        return self.group in {RIGHT, RESTYLED[3]}


def read_locomo(folder: Path) -> list[JudgedPair]:
    """Every answer of the judged files, with its group."""
    place = folder / LOCOMO
    faulty = wrong_keys(folder)
    told = {name: _by_question(place / "judged" / f"{name}.json") for name in (*MODELS, *WRONG.values())}
    pairs = []
    for question_id in told[MODELS[0]]:
        answers = {model: told[model][question_id] for model in MODELS}
        trusted = all(all(_judgments(line)) for line in answers.values())
        if question_id not in faulty:
            for model, line in answers.items():
                group = RIGHT if trusted else NATURAL if not any(_judgments(line)) else ""
                pairs += [_pair(line, group, model)] if group else []
        pairs += [_pair(told[name][question_id], group) for group, name in WRONG.items()]
    return pairs


def wrong_keys(folder: Path) -> dict[str, dict[str, Any]]:
    """The questions whose gold answer an audit calls wrong or unclear, with what it says."""
    lines = [
        line
        for path in sorted((folder / LOCOMO / "audit").glob("*.json"))
        for line in json.loads(path.read_text("utf-8"))
    ]
    return {line["question_id"]: line for line in lines if line["error_type"] != HARMLESS}


def restyle(pairs: list[JudgedPair]) -> list[JudgedPair]:
    """The same answers in the other style, and right answers of other questions."""
    rng = np.random.default_rng(SEED)
    own = [pair for pair in pairs if pair.group == RIGHT and pair.model == MODELS[0]]
    found = []
    for pair in pairs:
        if pair.group in WRONG:
            told = f'Based on the conversations, the answer to "{pair.question}" is this: {pair.answer.rstrip(".")}.'
            found.append(pair._replace(group=f"{pair.group}, in a sentence", answer=told))
        elif pair.group == RIGHT:
            found.append(pair._replace(group=RESTYLED[3], answer=_best_sentence(pair)))
    for pair in own:
        others = [other for other in own if other.chat == pair.chat and other.question_id != pair.question_id]
        answer = others[int(rng.integers(len(others)))].answer
        found.append(pair._replace(group=RESTYLED[2], answer=answer))
    return found


def read_squad(folder: Path) -> Iterator[JudgedPair]:
    """What another reader marked, and the sentence around it, are right; an answer from the same paragraph is not."""
    paragraphs = _texts(folder / "squad2" / "corpus.jsonl")
    asked = [line for line in _lines(folder / "squad2" / "queries.jsonl") if line["metadata"]["answerable"]]
    by_paragraph: dict[str, list[dict[str, Any]]] = {}
    for line in asked:
        by_paragraph.setdefault(line["metadata"]["paragraph"], []).append(line)
    for line in asked:
        told = line["metadata"]
        gold, start = told["answers"][0], told["starts"][0]
        pair = JudgedPair(told["paragraph"], line["_id"], RIGHT, line["text"], gold, gold)
        other = next((text for text in told["answers"] if text.lower() != gold.lower()), None)
        if other is not None:
            yield pair._replace(group="right, another reader", answer=other)
        around = _sentence_at(paragraphs[told["paragraph"]], start)
        if gold in around:
            yield pair._replace(group="right, its sentence", answer=around)
        neighbour = _unlike(told["answers"], by_paragraph[told["paragraph"]])
        if neighbour is not None:
            yield pair._replace(group="wrong, same paragraph", answer=neighbour)


def read_hotpot(folder: Path) -> Iterator[JudgedPair]:
    """A passage's sentence with the answer is right; the answer to the next question of the same kind is not."""
    place = folder / "hotpotqa100"
    texts = [f"{line['title']}\n{line['text']}" for line in _lines(place / "corpus.jsonl")]
    asked = list(_lines(place / "queries.jsonl"))
    for number, line in enumerate(asked):
        gold = line["metadata"]["answer"]
        pair = JudgedPair(line["_id"], line["_id"], RIGHT, line["text"], gold, gold)
        if gold in {"yes", "no"}:
            yield pair._replace(group="wrong, next question", answer="no" if gold == "yes" else "yes")
            continue
        titles = {title for title, _ in line["metadata"]["supporting_facts"]}
        own = [text for text in texts if any(title in text for title in titles)]
        around = next((sentence for text in own for sentence in sentences(text) if gold in sentence), None)
        if around is not None:
            yield pair._replace(group="right, its sentence", answer=around)
        rest = [other["metadata"]["answer"] for other in (*asked[number + 1 :], *asked[:number])]
        answer = next(text for text in rest if text not in {"yes", "no"} and text != gold)
        yield pair._replace(group="wrong, next question", answer=answer)


def _pair(line: dict[str, Any], group: str, model: str = "") -> JudgedPair:
    chat = line["question_id"].rpartition("_")[0]
    gold, answer = str(line["golden_answer"]), line["generated_answer"]
    return JudgedPair(chat, line["question_id"], group, line["question"], gold, answer, model)


def _judgments(line: dict[str, Any]) -> list[bool]:
    return list(line["llm_judgments"].values())


def _by_question(path: Path) -> dict[str, dict[str, Any]]:
    chats = json.loads(path.read_text(encoding="utf-8"))
    return {line["question_id"]: line for lines in chats.values() for line in lines}


def _best_sentence(pair: JudgedPair) -> str:
    """The sentence with most parts of the gold answer; of equals the shortest."""

    def fit(sentence: str) -> tuple[int, int]:
        return sum(compare_parts(pair.question, pair.gold, sentence).found), -len(sentence)

    return max(sentences(pair.answer) or [pair.answer], key=fit)


def _sentence_at(text: str, start: int) -> str:
    place = 0
    for sentence in sentences(text):
        found = text.find(sentence, place)
        if found >= 0 and found <= start < found + len(sentence):
            return sentence
        place = max(place, found)
    return ""


def _unlike(answers: list[str], neighbours: list[dict[str, Any]]) -> str | None:
    """An answer to another question that shares no word with any of these."""
    known = {word for answer in answers for word in answer.lower().split()}
    for line in neighbours:
        text = line["metadata"]["answers"][0]
        if known.isdisjoint(text.lower().split()):
            return str(text)
    return None


def _texts(path: Path) -> dict[str, str]:
    return {line["_id"]: line["text"] for line in _lines(path)}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
