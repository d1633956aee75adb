"""Questions proposed from a corpus: `python -m bench.questions --corpus DIR`.

Prints how many questions the rules propose, the share that passes mechanical checks which are written here and not
taken from the product, and how easily BM25 alone finds each question's passage among all sections of the corpus: a set
that every search answers at rank 1 measures nothing.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.evaluation.question_generation import Generated, GenerateOptions, generate
from assay.formats.grid import grid
from assay.records.datasets import Case, Dataset
from assay.text.sections import document_sections
from assay.text.terms import stems, words

K1, B = 1.2, 0.75
_SHAPE = re.compile(r"(?:How|What|When|Where|Why|Which|Who|Is|Are|Can|May|Must|Should|Will|Could|Do|Does) .{6,160}\?")
_MARKUP = re.compile(r"[`|\\{}]|\*\*|::|https?:|\]\(|<[^>]+>|\s{2}")


class SectionText(NamedTuple):
    """One section of one document."""

    rel_path: str
    heading_path: str
    terms: list[str]


class Bm25:
    """Okapi BM25 over sections, with the stems that Assay's own channels use."""

    def __init__(self, sections: Sequence[SectionText]) -> None:
        self.sections = sections
        self._counts = [Counter(section.terms) for section in sections]
        self._mean = sum(len(section.terms) for section in sections) / max(1, len(sections))
        seen = Counter(term for counts in self._counts for term in counts)
        self._idf = {term: math.log(1 + (len(sections) - n + 0.5) / (n + 0.5)) for term, n in seen.items()}

    def rank(self, query: str, rel_path: str, heading_path: str) -> int | None:
        """The rank of a section for a query; None: no word of the query stands in it."""
        asked = [term for term in stems(query) if term in self._idf]
        scores = [self._score(place, asked) for place in range(len(self.sections))]
        own = [
            score
            for section, score in zip(self.sections, scores, strict=True)
            if (section.rel_path, section.heading_path) == (rel_path, heading_path)
        ]
        best = max(own, default=0.0)
        return None if best <= 0 else 1 + sum(score > best for score in scores)

    def _score(self, place: int, asked: list[str]) -> float:
        counts, length = self._counts[place], len(self.sections[place].terms)
        norm = K1 * (1 - B + B * length / self._mean)
        return sum(
            self._idf[term] * counts[term] * (K1 + 1) / (counts[term] + norm) for term in asked if term in counts
        )


def read_sections(dataset: Dataset) -> list[SectionText]:
    """Every section of every document, with its heading."""
    return [
        SectionText(document.rel_path, section.heading_path, stems(section.text))
        for document in dataset.documents
        for section in document_sections(document.text, rel_path=document.rel_path, format=document.format)
    ]


def find_faults(case: Case, dataset: Dataset, before: set[tuple[str, ...]]) -> list[str]:
    """What is mechanically wrong with a question."""
    faults = []
    support = case.anchors.supports[0] if case.anchors else None
    text = " ".join(dataset.by_id[support.rel_path].text.split()) if support else ""
    if support is None or " ".join(support.snippets[0].split()) not in text:
        faults.append("answer not in the text")
    if set(words(case.reference_answer or "")) <= set(words(case.query)):
        faults.append("answer adds nothing")
    if not _SHAPE.fullmatch(case.query) or case.query.count("(") != case.query.count(")"):
        faults.append("shape")
    if _MARKUP.search(case.query):
        faults.append("markup")
    if not re.search(r"[.!]['\")]*$", case.reference_answer or "") and "rule:described" not in case.tags:
        faults.append("answer not a whole sentence")
    key = tuple(sorted(set(stems(case.query))))
    if key in before:
        faults.append("duplicate")
    before.add(key)
    return faults


def measure(corpus: Path, *, per_document: int, most: int) -> list[tuple[str, str]]:
    """The figures of one corpus, as rows."""
    made = generate(corpus, GenerateOptions(per_document=per_document, most=most))
    index = Bm25(read_sections(made.dataset))
    before: set[tuple[str, ...]] = set()
    faults = [find_faults(case, made.dataset, before) for case in made.dataset.cases]
    ranks = [
        index.rank(case.query, case.anchors.supports[0].rel_path, case.anchors.supports[0].heading_path)
        for case in made.dataset.cases
        if case.anchors is not None
    ]
    return [*_rows(made, faults, len(index.sections)), *_found(ranks)]


def _rows(made: Generated, faults: list[list[str]], sections: int) -> list[tuple[str, str]]:
    cases = made.dataset.cases
    rules = Counter(tag.removeprefix("rule:") for case in cases for tag in case.tags if tag.startswith("rule:"))
    wrong = Counter(fault for of in faults for fault in of)
    clean = sum(not of for of in faults)
    return [
        ("documents, sections, sentences", f"{len(made.dataset.documents):,}, {sections:,}, {made.parts:,}"),
        ("questions proposed", f"{len(cases):,}"),
        ("by rule", ", ".join(f"{rule} {count}" for rule, count in rules.most_common())),
        ("drafts thrown away", ", ".join(f"{reason} {count}" for reason, count in made.reasons.items())),
        ("pass all mechanical checks", f"{clean / len(cases):.1%}"),
        ("faults", ", ".join(f"{fault} {count}" for fault, count in wrong.most_common()) or "none"),
    ]


def _found(ranks: list[int | None]) -> list[tuple[str, str]]:
    at = {k: sum(rank is not None and rank <= k for rank in ranks) / len(ranks) for k in (1, 5, 10)}
    return [(f"BM25 alone finds the section at {k}", f"{share:.1%}") for k, share in at.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of a corpus."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--corpus", type=Path, required=True, help="a folder of documents")
    parser.add_argument("--per-document", type=int, default=8)
    parser.add_argument("--most", type=int, default=200)
    given = parser.parse_args(arguments)
    for line in grid(measure(given.corpus, per_document=given.per_document, most=given.most)):
        print(line)


if __name__ == "__main__":
    main()
