"""Every verb gives the same result, or the same error, on every surface that its policy allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.verbs.examples import EXAMPLES
from tests.verbs.parity import Report, compare
from tests.verbs.surfaces import Place, place_at

from assay.storage import is_postgres
from assay.verbs.table import VERBS

ON_POSTGRES = frozenset({"memory.save", "memory.search", "run.start"})
"""Verbs that are compared on PostgreSQL as well; the long form compares all. Both back ends have one contract, which
`tests/storage` holds, so what could differ here is how a surface carries a value that one of them gives."""


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("parity")
    db = str(folder / "notes.db")
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        name = f"parity_{uuid4().hex[:8]}"
        server.run(f'CREATE DATABASE "{name}"')
        db = server.address_of(name)
    with place_at(Path(folder), db) as made:
        yield made


def test_every_verb_has_examples_of_success_and_refusal() -> None:
    assert EXAMPLES.keys() == VERBS.keys()


@pytest.mark.parametrize(
    ("place", "name"),
    [*(("sqlite", name) for name in sorted(VERBS)), *(("postgres", name) for name in sorted(ON_POSTGRES))],
    indirect=["place"],
)
def test_a_verb_is_the_same_on_every_surface(place: Place, name: str) -> None:
    report = Report()
    compare(place, VERBS[name], report, few=is_postgres(place.settings.db))
    assert report.comparisons > 0
    assert report.differences == []


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_verb_is_the_same_with_every_example_on_both_back_ends(place: Place, name: str) -> None:
    report = Report()
    compare(place, VERBS[name], report)
    assert report.differences == []
