"""Documents that are in a corpus more than once: whoever finds a copy has found the document.

Two documents are copies when their texts are the same but for white space; texts of a few words must have the same
title, too. Where one copy of a document was judged and another was not, both are one unit for that case: a hit on
either counts, and counts once, with the best of their grades. Copies that were all judged keep their own judgments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay.records.datasets import Case, Dataset, Document

COPIES = "one unit"
"""How copies count: a part of the instrument where a dataset has some."""
SHORT = 5
"""Words below which equal texts ("See above.") are copies only under the same title."""


_KEPT: dict[str, dict[str, frozenset[str]]] = {}
_MOST_KEPT = 4


def copies_in(dataset: Dataset) -> dict[str, frozenset[str]]:
    """`find_copies` of a dataset's documents; looked for once in a corpus, which a run asks for several times."""
    if dataset.corpus_hash not in _KEPT:
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[dataset.corpus_hash] = find_copies(dataset.documents)
    return _KEPT[dataset.corpus_hash]


def find_copies(documents: Iterable[Document]) -> dict[str, frozenset[str]]:
    """Every document that has copies, with all of them, itself included."""
    alike: dict[tuple[str, str], list[str]] = {}
    for document in documents:
        words = document.text.split()
        if words:
            title = " ".join(document.title.casefold().split()) if len(words) < SHORT else ""
            alike.setdefault((" ".join(words), title), []).append(document.id)
    groups = (frozenset(ids) for ids in alike.values() if len(ids) > 1)
    return {name: group for group in groups for name in group}


def join_units(declared: Mapping[str, str], copies: Mapping[str, str]) -> dict[str, str]:
    """Both ways of counting documents as one; a unit that shares a member with another is one with it."""
    joined = dict(declared)
    for name, unit in copies.items():
        joined.setdefault(name, unit)
    renamed = {unit: declared[name] for name, unit in copies.items() if name in declared}
    return {name: renamed.get(unit, unit) for name, unit in joined.items()}


def copy_units(case: Case, copies: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Each copy of a judged document that was not judged itself, and its originals, with the id they share."""
    labels = case.labels
    groups = {copies[name] for name in labels if name in copies}
    return {name: min(group) for group in groups if not group <= labels.keys() for name in group}
