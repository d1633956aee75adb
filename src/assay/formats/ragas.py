"""Ragas samples: JSONL, a JSON list, or CSV with one sample each; what is expected is kept, what a system did is not.

    user_input                  the question; in a multi-turn sample a list of messages, of which the last by the user
                                is the question and those before it are its history
    reference_contexts          the relevant documents, known by `reference_context_ids` or else by a hash of their text
    retrieved_contexts          unjudged documents
    reference                   the reference answer
    rubrics                     demands on the answer, `name: text` each
    synthesizer_name            the category; `persona_name` is a tag

Samples of Ragas 0.1 are read too: `question`, `ground_truth` or `ground_truths`, `contexts` and `answer` are its names
for `user_input`, `reference`, `retrieved_contexts` and `response`. Where a sample has both names, the newer one counts.

`response`, `multi_responses` and tool calls say what some system did and stay where they are. Exports add the keys
`case_id`, `category`, `difficulty`, `tags` and, where it is false, `answerable`: Ragas passes over them.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import BadValue
from assay.formats.case_fields import turns
from assay.formats.files import write_lines
from assay.formats.strict_json import (
    Placed,
    Refuse,
    an_object,
    build_or_refuse,
    kind_of,
    one_line,
    raise_it,
    read_lines,
    read_list,
    read_text,
    texts,
)
from assay.records.datasets import Case, Dataset, Document, Grade, Turn
from assay.records.memory import Format

FILE_NAME = "samples.jsonl"
USER_INPUT = "user_input"
_LISTS = ("retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids", "tags")
_OLD_NAMES = {
    "question": USER_INPUT,
    "ground_truth": "reference",
    "ground_truths": "reference",
    "contexts": "retrieved_contexts",
    "answer": "response",
}
"""What Ragas 0.1 called the fields."""
OLD_TELLING = ("ground_truth", "ground_truths", "contexts")
"""Those of them that no other format has: anchored cases and LongMemEval have questions and answers, too."""
_NAMED = re.compile(r"(\w+): (.*)", re.DOTALL)
_UNNAMED = "demand_"


def read_ragas(path: Path, *, name: str | None = None, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of a file of samples."""
    file = path / FILE_NAME if path.is_dir() else path
    own = path.resolve().name if path.is_dir() else path.name.split(".")[0]
    return samples_dataset(_places(file, refuse), name=name or own, refuse=refuse)


def samples_dataset(places: Iterable[Placed], *, name: str, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of samples, wherever they were read from."""
    documents: dict[str, Document] = {}
    cases: dict[str, Case] = {}
    asked: Counter[str] = Counter()
    for place in places:
        read: tuple[Case, list[Document]] | None = build_or_refuse(place, lambda value: _sample(value, asked), refuse)
        if read is not None:
            case, found = read
            cases[case.id] = case
            for document in found:
                documents.setdefault(document.id, document)
            _refuse_changed(place, found, documents, refuse)
    return Dataset(
        name=name,
        documents=tuple(documents.values()),
        cases=tuple(cases.values()),
        highest_grade=1,
        relevance_level=1,
        ranked_unit="document",
    )


def is_sample(keys: Collection[str]) -> bool:
    """Whether keys or columns are those of samples, of today or of Ragas 0.1."""
    return USER_INPUT in keys or ("question" in keys and any(key in keys for key in OLD_TELLING))


def write_ragas(path: Path, dataset: Dataset) -> None:
    """One sample a line. Documents that no case judges relevant cannot stand in samples."""
    write_lines(path, (one_line(_sample_fields(case, dataset)) for case in dataset.cases))


def _places(path: Path, refuse: Refuse) -> Iterable[Placed]:
    ending = path.name.removesuffix(".gz")
    if ending.endswith(".csv"):
        return _csv_rows(path)
    if ending.endswith(".json"):
        return read_list(path)
    return read_lines(path, refuse)


def _csv_rows(path: Path) -> Iterator[Placed]:
    """Rows as samples; lists and objects stand in cells as JSON or as Python writes them."""
    csv.field_size_limit(1 << 27)
    rows = csv.DictReader(io.StringIO(read_text(path), newline=""))
    for row in rows:
        cells = {key: _cell(value) for key, value in row.items() if key and value}
        yield Placed(cells, path, rows.line_num)


def _cell(value: str) -> Any:
    if value[:1] not in "[{":
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def _sample(value: Any, asked: Counter[str]) -> tuple[Case, list[Document]]:
    sample = _with_new_names({key: inner for key, inner in an_object(value, "the sample").items() if inner is not None})
    if USER_INPUT not in sample:
        there = ", ".join(sorted(sample)) or "none"
        raise BadValue(
            f"the sample has no {USER_INPUT!r} (in Ragas 0.1: 'question')", remedy=f"Add it; its keys are: {there}."
        )
    query, history = _split_turns(sample[USER_INPUT])
    lists = {field: texts(sample.get(field, []), field) for field in _LISTS}
    gold, documents = _contexts(lists["reference_contexts"], lists["reference_context_ids"])
    _, more = _contexts(lists["retrieved_contexts"], lists["retrieved_context_ids"])
    tags = [*lists["tags"], *([f"persona:{sample['persona_name']}"] if "persona_name" in sample else [])]
    return (
        Case(
            id=sample.get("case_id") or _fresh(query, history, asked),
            query=query,
            history=history,
            grades=tuple(Grade(document_id=identifier, grade=1) for identifier in dict.fromkeys(gold)),
            reference_answer=sample.get("reference"),
            answerable=sample.get("answerable", True),
            rubric=_rubric(sample.get("rubrics", {})),
            category=sample.get("category") or sample.get("synthesizer_name", ""),
            difficulty=sample.get("difficulty", ""),
            tags=tuple(tags),
        ),
        [*documents, *more],
    )


def _with_new_names(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample of Ragas 0.1 under the names of today; of several ground truths the first is the reference."""
    if _OLD_NAMES.keys().isdisjoint(sample):
        return dict(sample)
    renamed = {key: value for key, value in sample.items() if key not in _OLD_NAMES}
    for key, name in _OLD_NAMES.items():
        value = sample.get(key)
        if key == "ground_truths" and isinstance(value, list):
            value = value[0] if value else None
        if value is not None:
            renamed.setdefault(name, value)
    return renamed


def _split_turns(value: Any) -> tuple[str, tuple[Turn, ...]]:
    if isinstance(value, str):
        return value, ()
    said = turns(value, USER_INPUT)
    places = [place for place, turn in enumerate(said) if turn.by_user]
    if not places:
        raise BadValue(f"{USER_INPUT} is {kind_of(value)} without a message of the user", remedy="Add the question.")
    return said[places[-1]].text, said[: places[-1]]


def _contexts(contexts: tuple[str, ...], ids: tuple[Any, ...]) -> tuple[list[str], list[Document]]:
    """Ids of contexts and, where their texts are given, documents."""
    if not ids and not contexts:
        return [], []
    if ids and contexts and len(ids) != len(contexts):
        raise BadValue(f"{len(contexts)} contexts have {len(ids)} ids", remedy="Give each context one id.")
    named = [str(identifier) for identifier in ids] or [f"ctx-{_hash_text(context)}" for context in contexts]
    given = zip(named, contexts, strict=True) if contexts else ()
    return named, [Document(id=identifier, text=text, format=Format.TEXT) for identifier, text in given]


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _fresh(query: str, history: tuple[Turn, ...], asked: Counter[str]) -> str:
    """A hash of the text; a repeated question is another case. `asked` counts the repeats."""
    plain = f"c-{_hash_text(query + ''.join(turn.text for turn in history))}"
    asked[plain] += 1
    return f"{plain}-{asked[plain]}" if asked[plain] > 1 else plain


def _rubric(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return texts(value, "rubrics")
    found = an_object(value, "rubrics")
    return tuple(str(text) if name.startswith(_UNNAMED) else f"{name}: {text}" for name, text in found.items())


def _rubric_fields(rubric: tuple[str, ...]) -> dict[str, str]:
    named = [_NAMED.fullmatch(line) for line in rubric]
    pairs = [match.groups() if match else (f"{_UNNAMED}{place}", rubric[place]) for place, match in enumerate(named)]
    plain = {name: text for name, text in pairs if not str(name).startswith(_UNNAMED)}
    if len(plain) == len(rubric):
        return {str(name): str(text) for name, text in plain.items()}
    return {f"{_UNNAMED}{place}": line for place, line in enumerate(rubric)}


def _sample_fields(case: Case, dataset: Dataset) -> dict[str, Any]:
    relevant = [ident for ident, grade in case.labels.items() if grade >= dataset.relevance_level]
    found = [dataset.by_id[ident] for ident in relevant if ident in dataset.by_id]
    optional = {
        "reference_contexts": [document.text for document in found],
        "reference_context_ids": [document.id for document in found],
        "rubrics": _rubric_fields(case.rubric),
        "category": case.category,
        "difficulty": case.difficulty,
        "tags": list(case.tags),
    }
    return {
        "case_id": case.id,
        USER_INPUT: _messages(case) if case.history else case.query,
        **({} if case.reference_answer is None else {"reference": case.reference_answer}),
        **({} if case.answerable else {"answerable": False}),
        **{key: value for key, value in optional.items() if value},
    }


def _messages(case: Case) -> list[dict[str, str]]:
    earlier = [{"type": "human" if turn.by_user else "ai", "content": turn.text} for turn in case.history]
    return [*earlier, {"type": "human", "content": case.query}]


def _refuse_changed(place: Placed, found: list[Document], kept: Mapping[str, Document], refuse: Refuse) -> None:
    for element in found:
        if kept[element.id].text != element.text:
            refuse(place.error(f"context {element.id!r} has another text than before", "Give each text its own id."))
