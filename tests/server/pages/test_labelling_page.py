"""The labelling page without a browser: bursts of keys, two annotators, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.serving import OWN, bearer, reaching, services_at

from assay.access.auditing import AuditFilter
from assay.records import Scope
from assay.records.access import Access
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.server.pages.labelling import MOST_PRESSED
from assay.server.services import Services

NAME = "pets"
PATH = f"/evaluation/label/{NAME}"
DOCUMENTS = tuple(
    Document(id=f"d{place}", title=f"Note {place}", text=f"Dogs pay {place} euros.") for place in range(6)
)
ADA, BO = (Scope(tenant=OWN.tenant, principal=name) for name in ("ada", "bo"))


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    grades = tuple(Grade(document_id=document.id, grade=1) for document in DOCUMENTS)
    dataset = Dataset(name=NAME, documents=DOCUMENTS, cases=(Case(id="q1", query="What do dogs pay?", grades=grades),))
    with services_at(tmp_path) as services:
        services.shelf(OWN).keep_dataset(dataset, origin="test")
        yield services


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, local=False, pages=True) as client:
        yield client


def presses(keys: str) -> str:
    return json.dumps([("q1", f"d{place}", key) for place, key in enumerate(keys)])


def read_audit(services: Services, target: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The audit lines of a target, oldest first."""
    with services.engine.store.reading(OWN) as work:
        found = work.audit.find(AuditFilter(target=target), limit=20)
    return [(row.entry.action, row.entry.detail) for row in reversed(found)]


def test_a_burst_of_keys_is_kept_in_one_request(client: TestClient, services: Services) -> None:
    headers = bearer(services, Access.WRITE)
    page = client.get(PATH, headers=headers).text
    assert page.count("data-case=") == len(DOCUMENTS), "the next pairs are on the page"
    assert "<mark>Dogs</mark> <mark>pay</mark>" in page
    reply = client.post(PATH, data={"presses": presses("3s10")}, headers=headers)
    assert reply.json() == {"kept": 4, "done": 4, "total": 6}
    again = client.post(PATH, data={"presses": presses("2")}, headers=headers)
    assert again.json()["kept"] == 0, "a pair that was answered stays as it is"
    undone = client.post(PATH, data={"presses": json.dumps([("", "", "u"), ("", "", "u")])}, headers=headers)
    assert undone.json() == {"kept": 2, "done": 2, "total": 6}
    kept, undoing = read_audit(services, NAME)
    assert kept == (
        "label.write",
        {"labels": [["q1", "d0", "3"], ["q1", "d1", "s"], ["q1", "d2", "1"], ["q1", "d3", "0"]]},
    )
    assert undoing == ("label.write", {"labels": [["", "", "u"]] * 2})


def test_keys_that_cannot_be_read_are_refused_whole(client: TestClient, services: Services) -> None:
    headers = bearer(services, Access.WRITE)
    too_many = json.dumps([("q1", "d0", "1")] * (MOST_PRESSED + 1))
    for sent in ("{", "7", "[1]", '[["q1", "d0"]]', presses("39"), too_many, "[" * 99_999):
        assert client.post(PATH, data={"presses": sent}, headers=headers).status_code == 422, sent[:40]
    assert services.shelf(OWN).labels(NAME) == {}
    assert "Call 555" not in client.get(f"{PATH}?said=Call+555&written=Call+555", headers=headers).text


def test_two_annotators_see_their_kappa_and_where_they_differ(client: TestClient, services: Services) -> None:
    for scope, keys in ((ADA, "330011"), (BO, "320010")):
        for place, key in enumerate(keys):
            services.shelf(scope).grade(NAME, "q1", f"d{place}", int(key))
    page = client.get(PATH, headers=bearer(services, Access.READ)).text
    row = re.search(r"<bdi>ada</bdi> and <bdi>bo</bdi></td>(.*?)</tr>", page, re.DOTALL)
    assert row is not None
    both, alike, kappa = re.findall(r'class="num">([^<]+)', row[1])
    assert (both, alike) == ("6", "4")
    assert 0.5 < float(kappa) < 1.0
    assert "2 pairs graded differently" in page
    assert "Your token can read and not label." in page
    assert "can be written by somebody whose token can write" in page


def test_labels_are_written_into_the_next_version(client: TestClient, services: Services) -> None:
    headers = bearer(services, Access.WRITE)
    nothing = client.post(f"{PATH}/apply", data={"name": NAME, "version": "1.0.1"}, headers=headers)
    assert nothing.status_code == 422
    services.shelf(ADA).grade(NAME, "q1", "d0", 3)
    page = client.get(PATH, headers=headers).text
    assert 'name="version" value="1.0.1"' in page
    applied = client.post(f"{PATH}/apply", data={"name": NAME, "version": "1.0.1"}, headers=headers)
    assert f"{NAME} 1.0.1 has 1 case" in client.get(applied.headers["location"], headers=headers).text
    assert services.shelf(OWN).load_dataset(f"{NAME}@1.0.1").cases[0].labels["d0"] == 3
    assert services.shelf(OWN).load_dataset(f"{NAME}@1.0.0").cases[0].labels["d0"] == 1
    refused = client.post(f"{PATH}/apply", data={"name": "../x", "version": "1.0.2"}, headers=headers)
    assert refused.status_code == 422
    assert read_audit(services, NAME) == [("label.apply", {"version": "1.0.1", "from": NAME})]
