"""TREC test collections: topics (`id TAB text`, or the older `<top>` form) with their qrels; documents stay elsewhere.

Without documents such a dataset measures run files and systems that have an index of their own. Ids with blanks cannot
stand in TREC files: they are refused, or written as `%20` where that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.beir_dataset import labels_of, scale_of, with_grades
from assay.formats.files import write_lines, writing
from assay.formats.grades import Grades, read_grades
from assay.formats.source import blocks
from assay.formats.strict_json import Placed, Refuse, raise_it, read_text
from assay.formats.writing import write_trec_qrels
from assay.records.datasets import Dataset

TOPICS = ("topics.tsv", "topics.txt", "topics", "topics.tsv.gz")
QRELS = ("qrels.txt", "qrels", "qrels.tsv", "qrels.txt.gz")
_TOP = re.compile(r"<(/?)top>", re.IGNORECASE)
_NUM = re.compile(r"<num>\s*+(?:Number:\s*+)?([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*+(?:Topic:)?([^<]*)", re.IGNORECASE)
_TOPIC_LINE = "A line of topics is: id, a tab, the text of the query."


def read_trec(folder: Path, *, name: str | None = None, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of a folder with topics and qrels."""
    return read_topics_and_qrels(
        _one_of(folder, TOPICS), _one_of(folder, QRELS), name=name or folder.resolve().name, refuse=refuse
    )


def read_topics_and_qrels(topics: Path, qrels: Path, *, name: str, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of two files. Topics that nobody judged are cases all the same."""
    grades = read_grades(qrels)
    queries = dict(_topics(topics, refuse))
    missing = sorted(set(grades) - set(queries))
    if missing:
        raise BadValue(
            f"{qrels} judges {len(missing):,} topics that {topics} does not have, such as {missing[0]!r}",
            remedy="Compare the ids of both files.",
        )
    cases = tuple(with_grades(ident, text, grades.get(ident, {})) for ident, text in queries.items())
    return Dataset(name=name, documents=(), cases=cases, **scale_of(grades))


def write_trec(folder: Path, dataset: Dataset, *, encode_ids: bool = False) -> None:
    """`topics.tsv` and `qrels.txt`; documents are not written."""
    spelt = _encode if encode_ids else str
    _refuse_blanks(dataset, encode_ids=encode_ids)
    grades: Grades = {
        spelt(topic): {spelt(ident): grade for ident, grade in row.items()} for topic, row in labels_of(dataset).items()
    }
    write_lines(folder / TOPICS[0], (f"{spelt(one.id)}\t{' '.join(one.query.split())}\n" for one in dataset.cases))
    with writing(folder / QRELS[0]):
        write_trec_qrels(folder / QRELS[0], grades)


def _encode(ident: str) -> str:
    """Reversible: a percent sign is encoded as well. Letters of other scripts stay as they are."""
    return "".join(quote(one) if one in "%#" or one <= " " else one for one in ident)


def _refuse_blanks(dataset: Dataset, *, encode_ids: bool) -> None:
    judged = (ident for row in labels_of(dataset).values() for ident in row)
    wrong = sorted({one for one in (*(case.id for case in dataset.cases), *judged) if _cannot_stand(one)})
    if wrong and not encode_ids:
        raise BadValue(
            f"{len(wrong):,} ids hold blanks or begin with '#', such as {wrong[0]!r}",
            remedy="Export with --encode-ids (blanks become %20), or as BEIR.",
        )


def _cannot_stand(ident: str) -> bool:
    return ident.startswith("#") or any(character <= " " for character in ident)


def _one_of(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder} has no file of {names[0].split('.')[0]}", remedy=f"Name one of: {', '.join(names)}.")


def _topics(path: Path, refuse: Refuse) -> Iterator[tuple[str, str]]:
    seen: dict[str, int] = {}
    source = _read_tagged(path) if _beginning(path).lstrip().lower().startswith("<top>") else _read_tabbed(path)
    for place in source:
        ident, text = place.value
        if not ident or not text:
            refuse(place.refused("has no id or no text", _TOPIC_LINE))
        elif ident in seen:
            refuse(place.refused(f"topic {ident!r} was given on line {seen[ident]:,}", "Make ids unique."))
        else:
            seen[ident] = place.line
            yield ident, text


def _beginning(path: Path) -> str:
    first = next(iter(blocks(path)), None)
    return "" if first is None else first.data[:1000].decode(errors="ignore")


def _read_tabbed(path: Path) -> Iterator[Placed]:
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if text.strip():
            ident, _, query = text.rstrip("\r").partition("\t")
            yield Placed((ident.strip(), query.strip()), path, line)


def _read_tagged(path: Path) -> Iterator[Placed]:
    text, line, counted = read_text(path), 1, 0
    for start, content in _topics_in(text):
        line += text.count("\n", counted, start)
        counted = start
        number, title = _NUM.search(content), _TITLE.search(content)
        if number is None or title is None:
            problem = f"{path}, line {line:,}: a topic has no <num> or no <title>"
            raise MalformedFile(problem, remedy="Each <top> holds a <num> and a <title>.")
        yield Placed((number.group(1), " ".join(title.group(1).split())), path, line)


def _topics_in(text: str) -> Iterator[tuple[int, str]]:
    """Where each topic begins, and what stands between its tags; one that never ends is none."""
    begun: re.Match[str] | None = None
    for tag in _TOP.finditer(text):
        if begun is None and not tag[1]:
            begun = tag
        elif begun is not None and tag[1]:
            yield begun.start(), text[begun.end() : tag.start()]
            begun = None
