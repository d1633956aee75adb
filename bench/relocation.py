"""How many anchors find their way home when notes are moved, renamed and rewritten, and how many go astray.

    python -m bench.relocation
    python -m bench.relocation --data DIR --seeds 5

Notes are tampered with from a seed: half of the files move, half of those under another name; four headings in ten are
worded anew, some beyond recognition; one leaf section in twenty is removed; three sections in ten lose or change a
sentence. `dataset check --fix` then repairs the anchors against the tampered folder. Where every section went is known,
so each anchor that broke is right, wrong, or left for a person. An anchor whose section was removed has no right place.
Anchors are those of the bundled vault and, with --data, of sections drawn from the documentation of two projects.
Three rows each: with the notes as they were (the ordinary case: a dataset keeps its documents), with snippets alone,
and with neither.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from assay.evaluation.datasets import apply_relocations, load_dataset
from assay.evaluation.datasets.anchors import find_unresolved_anchors, notes_of
from assay.formats.anchored import read_notes
from assay.formats.grid import grid
from assay.records.answers import GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document
from assay.text.sections import Section, markdown_sections

MOVED, RENAMED, REWORDED, REMOVED, EDITED = 0.5, 0.5, 0.4, 0.05, 0.3
DRAWN = 300
"""Anchors drawn from a folder of documentation."""
NEEDED = 0.9
SPARE = ("overview", "notes", "in short", "what to know", "the details", "background", "reference", "how it works")

Place = tuple[str, str]
"""File and heading path."""
Truth = Mapping[Place, Place | None]
"""Where every section went; None: it was removed."""


class Tampered(NamedTuple):
    """Notes after somebody reorganised them."""

    notes: dict[str, str]
    truth: Truth


class Count(NamedTuple):
    """What became of the anchors that broke."""

    broken: int
    right: int
    wrong: int
    homeless: int
    """Of those broken, how many have no right place any more."""

    @property
    def share(self) -> float:
        """Of those that have a right place, how many were brought there."""
        return self.right / max(1, self.broken - self.homeless)


def tamper(notes: Mapping[str, str], rng: np.random.Generator) -> Tampered:
    """The notes somewhere else, in other words."""
    made: dict[str, str] = {}
    truth: dict[Place, Place | None] = {}
    for path, text in notes.items():
        rewritten, went = _rewritten(text, rng)
        new = _moved(path, rng)
        new = path if new in made or new in notes else new
        made[new] = rewritten
        truth[path, ""] = (new, "")
        for heading, to in went:
            truth.setdefault((path, heading), None if to is None else (new, to))
    return Tampered(made, truth)


def repaired(dataset: Dataset, tampered: Tampered, folder: Path) -> Count:
    """What `dataset check --fix` does to the anchors of a dataset against tampered notes."""
    for path, text in tampered.notes.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    found = [one for one in find_unresolved_anchors(dataset, notes_of(dataset, folder)) if one.blocks_scoring]
    fixed, applied = apply_relocations(dataset, found, folder)
    supports = {case.id: case.anchors.supports for case in dataset.cases if case.anchors}
    moved = {case.id: case.anchors.supports for case in fixed.cases if case.anchors}
    went = [_expected(supports[one.case_id][one.support], tampered.truth) for one in found]
    right = wrong = 0
    for one, _ in applied:
        now = moved[one.case_id][one.support]
        fits = _expected(supports[one.case_id][one.support], tampered.truth) == (now.rel_path, now.heading_path)
        right, wrong = right + fits, wrong + (not fits)
    return Count(len(found), right, wrong, sum(one is None for one in went))


def _expected(support: GoldSupport, truth: Truth) -> Place | None:
    return truth.get((support.rel_path, support.heading_path))


def _rewritten(text: str, rng: np.random.Generator) -> tuple[str, list[tuple[str, str | None]]]:
    found = markdown_sections(text)
    kept = [not (_leaf(found, at) and rng.random() < REMOVED) for at in range(len(found))]
    parts = [_section(one, rng) for one, stays in zip(found, kept, strict=True) if stays]
    whole = "".join(parts)
    after = markdown_sections(whole)
    if len(after) != len(parts):
        return text, [(one.heading_path, one.heading_path) for one in found]
    paths: Iterator[str] = iter([one.heading_path for one in after])
    return whole, [(one.heading_path, next(paths) if stays else None) for one, stays in zip(found, kept, strict=True)]


def _leaf(found: Sequence[Section], at: int) -> bool:
    here = found[at].heading_path
    deeper = at + 1 < len(found) and found[at + 1].heading_path.startswith(f"{here} > ")
    return bool(here) and not deeper and found[at].text.startswith("#")


def _section(one: Section, rng: np.random.Generator) -> str:
    heading, body = one.text[: one.opening], one.text[one.opening :]
    if heading.startswith("#") and rng.random() < REWORDED:
        heading = _reworded(heading, rng)
    if len(body.split()) > 20 and "```" not in body and rng.random() < EDITED:
        body = _edited(body, rng)
    return heading + body


def _reworded(heading: str, rng: np.random.Generator) -> str:
    marks, _, name = heading.rstrip().partition(" ")
    words = name.rstrip("# ").split()
    spare = str(rng.choice(SPARE))
    ways = (
        [spare.capitalize()],
        [*words, "and", spare],
        words[1:] or [spare],
        [*reversed(words)],
        [spare.capitalize() + ":", *words],
    )
    return f"{marks} {' '.join(ways[int(rng.integers(len(ways)))])}\n"


def _edited(body: str, rng: np.random.Generator) -> str:
    lines = body.split("\n")
    plain = [at for at, line in enumerate(lines) if len(line.split()) > 5 and line[:1].isalpha()]
    if not plain:
        return body
    at = int(rng.choice(plain))
    words = lines[at].split()
    if rng.random() < 0.5:
        lines[at] = " ".join(words[: len(words) // 2])
    else:
        words[int(rng.integers(len(words)))] = "another"
        lines[at] = " ".join(words)
    return "\n".join(lines)


def _moved(path: str, rng: np.random.Generator) -> str:
    if rng.random() >= MOVED:
        return path
    name = PurePosixPath(path).name
    if rng.random() < RENAMED:
        name = f"{rng.choice(SPARE).replace(' ', '-')}-{int(rng.integers(10_000))}.md"
    return f"{rng.choice(['archive', 'areas/new', 'sorted'])}/{name}"


def drawn(name: str, documents: tuple[Document, ...], rng: np.random.Generator) -> Dataset:
    """Anchors to sections of notes, drawn at random; half of them with a snippet."""
    places = [(one.rel_path, each) for one in documents for each in markdown_sections(one.text) if each.heading_path]
    usable = [(path, each) for path, each in places if len(each.text[each.opening :].split()) > 8]
    chosen = rng.choice(len(usable), size=min(DRAWN, len(usable)), replace=False)
    cases = []
    for at in chosen.tolist():
        path, each = usable[at]
        words = each.text[each.opening :].split()
        start = int(rng.integers(max(1, len(words) - 8)))
        snippets = (" ".join(words[start : start + 8]),) if at % 2 else ()
        support = GoldSupport(rel_path=path, heading_path=each.heading_path, snippets=snippets)
        cases.append(Case(id=f"c{at}", query="where is it?", anchors=GoldAnchors(supports=(support,))))
    return Dataset(name=name, documents=documents, cases=tuple(cases), ranked_unit="anchor")


def without(dataset: Dataset, *, snippets: bool) -> Dataset:
    """The same anchors with nothing known of the notes as they were; without snippets, too, if asked."""

    def bare(case: Case) -> Case:
        if case.anchors is None or not snippets:
            return case
        supports = tuple(replace(one, snippets=()) for one in case.anchors.supports)
        return replace(case, anchors=replace(case.anchors, supports=supports))

    return replace(dataset, documents=(), cases=tuple(bare(one) for one in dataset.cases))


def measure(dataset: Dataset, seeds: int) -> Iterator[tuple[str, str, Count]]:
    """Three ways of knowing, each over all seeds."""
    texts = {one.rel_path: one.text for one in dataset.documents}
    ways = {
        "notes as they were": dataset,
        "snippets alone": without(dataset, snippets=False),
        "neither": without(dataset, snippets=True),
    }
    found: dict[str, list[Count]] = {way: [] for way in ways}
    for seed in range(seeds):
        tampered = tamper(texts, np.random.default_rng(seed))
        for way, known in ways.items():
            with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
                found[way].append(repaired(known, tampered, Path(folder)))
    for way, counts in found.items():
        yield dataset.name, way, Count(*map(sum, zip(*counts, strict=True)))


def datasets(data: Path | None) -> Iterator[Dataset]:
    """The bundled vault, and documentation where there is some."""
    yield load_dataset("vault")
    for name in ("docs_rustbook", "docs_kubernetes") if data is not None else ():
        folder = Path(str(data)) / name / "vault"
        yield drawn(name, tuple(read_notes(folder)), np.random.default_rng(0))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.relocation", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the collections")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args(arguments)
    rows = [one for dataset in datasets(asked.data) for one in measure(dataset, asked.seeds)]
    head = ("notes", "known", "broken", "no place left", "right", "of those with a place", "wrong", "left")
    table = [
        (name, way, f"{c.broken}", f"{c.homeless}", f"{c.right}", f"{c.share:.1%}", f"{c.wrong}",
         f"{c.broken - c.right - c.wrong}")
        for name, way, c in rows
    ]  # fmt: skip
    print("\n".join(grid([head, *table])))
    usual = [count for _, way, count in rows if way == "notes as they were"]
    held = all(count.share >= NEEDED and count.wrong == 0 for count in usual)
    print(f"{'holds' if held else 'DOES NOT HOLD'}: at least {NEEDED:.0%} brought home and none astray")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
