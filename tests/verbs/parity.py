"""Compares every verb on every surface. Run it by itself to see the numbers:

python -m tests.verbs.parity [--postgres]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reliability.servers import postgres
from tests.verbs.examples import EXAMPLES, Example
from tests.verbs.surfaces import Answer, Given, Place, Tenant, configured_at, place_at, surfaces_of

from assay.verbs import Verb
from assay.verbs.table import VERBS

COUNTED = frozenset({"memory.show"})
"""Verbs that read and are counted: how often a memory was read is part of what it shows."""


@dataclass
class Report:
    """What was compared."""

    verbs: set[str] = field(default_factory=set)
    comparisons: int = 0
    differences: list[str] = field(default_factory=list)


def compare(place: Place, verb: Verb[Any, Any], report: Report, *, few: bool = False) -> None:
    """Call a verb with each example on each of its surfaces, and note every difference.

    With `few`, only with the first example, which succeeds, and the last one.
    """
    report.verbs.add(verb.name)
    requests = list(enumerate(EXAMPLES[verb.name].requests))
    for number, example in {0: requests[0], -1: requests[-1]}.values() if few else requests:
        persons = dict(_answers(place, verb, example, person=True))
        programs = dict(_answers(place, verb, example, person=False)) if example.programs else {}
        # Without an address a program has one surface at most: its answer is compared with those of persons.
        groups = [persons, programs] if verb.http is not None else [{**persons, **programs}]
        for group in filter(None, groups):
            failed = next((answer.error for answer in group.values() if answer.error), "")
            if number == 0 and failed:
                report.differences.append(f"{verb.name} #0: the first example must succeed, and gave {failed}")
            _note(verb, f"{verb.name} #{number}", group, report)


def _answers(place: Place, verb: Verb[Any, Any], example: Example, *, person: bool) -> Iterator[tuple[str, Answer]]:
    for name, call in surfaces_of(verb, person=person).items():
        if name == "command line" and example.argv is None:
            continue
        tenant = place.share_tenant(example.prepare) if only_reads(verb) else place.tenant(example.prepare)
        argv = [_filled(part, tenant) for part in example.argv or ()]
        with configured_at(place.folder):
            answer = call(tenant, verb, _given(example, tenant), argv)
        yield f"{name} ({'person' if person else 'program'})", Answer(tenant.plain(answer.result), answer.error)


def only_reads(verb: Verb[Any, Any]) -> bool:
    """Whether a verb leaves everything as it was, so that its calls can be made in one tenant.

    `tests/server/test_reading_writes_nothing.py` shows that reading routes change no row.
    """
    return verb.http is not None and verb.http.method == "GET" and verb.name not in COUNTED


def _given(example: Example, tenant: Tenant) -> Given:
    return {name: _filled(value, tenant) for name, value in example.given.items()}


def _filled(value: Any, tenant: Tenant) -> Any:
    if isinstance(value, list):
        return [_filled(inner, tenant) for inner in value]
    if isinstance(value, dict):
        return {name: _filled(inner, tenant) for name, inner in value.items()}
    if isinstance(value, str) and value.startswith("<") and value.endswith(">"):
        return tenant.ids[value[1:-1]]
    return value


def _note(verb: Verb[Any, Any], what: str, answers: dict[str, Answer], report: Report) -> None:
    (first, whole), *others = answers.items()
    for name, answer in others:
        report.comparisons += 1
        expected = _masked(verb, whole) if name.startswith("mcp") else whole
        if answer != expected:
            where, said, other = _first_difference("", answer._asdict(), expected._asdict())
            report.differences.append(f"{what}{where}: {name} says {said!r}, {first} says {other!r}")


def _first_difference(where: str, left: Any, right: Any) -> tuple[str, Any, Any]:
    """Return the first place where two answers differ, and what stands there in each."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        pairs = [(f"{where}.{name}", left[name], right[name]) for name in left]
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = [(f"{where}[{place}]", *both) for place, both in enumerate(zip(left, right, strict=True))]
    else:
        return where, left, right
    return next((_first_difference(*pair) for pair in pairs if pair[1] != pair[2]), (where, left, right))


def _masked(verb: Verb[Any, Any], answer: Answer) -> Answer:
    """Return an answer without what an agent is not shown."""
    if verb.tool is None or not isinstance(answer.result, dict):
        return answer
    shown = {name: value for name, value in answer.result.items() if name not in verb.tool.masked}
    return Answer(shown, answer.error)


def main(arguments: Sequence[str]) -> int:
    """Compare everything on a SQLite store, or with `--postgres` on a server started for it, and print the numbers."""
    report = Report()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        db = opened.enter_context(postgres()) if "--postgres" in arguments else str(folder / "notes.db")
        place = opened.enter_context(place_at(folder, db))
        for name in EXAMPLES:
            compare(place, VERBS[name], report)
        backend = place.services.engine.store.backend_name
    sys.stdout.write(
        f"{backend}: {len(report.verbs)} verbs, {report.comparisons} comparisons, "
        f"{len(report.differences)} differences\n"
    )
    sys.stdout.write("".join(f"  {difference}\n" for difference in report.differences))
    return 1 if report.differences else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
