"""Plans and repairs: the original stays, the copy is clean, and what cannot be rewritten is exported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store_audit.stores import AS_OF, KINDS, PASSWORD, hash_tree, make_store

from assay.errors import InputError, MalformedFile, NotComparable
from assay.records.store_audits import RepairAction, RepairPlan, StoreKind
from assay.store_audit.auditor import audit_items, read_store
from assay.store_audit.planning import make_plan, read_plan, write_plan
from assay.store_audit.repairing import repair_store


def plan_of(path: Path) -> RepairPlan:
    store = read_store(path)
    return make_plan(audit_items(store, path, as_of=AS_OF), store.items)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_applied_to_a_copy_and_the_original_stays_as_it_is(kind: StoreKind, tmp_path: Path) -> None:
    path = make_store(kind, tmp_path / "made")
    before = hash_tree(path)
    plan = plan_of(path)
    write_plan(plan, tmp_path / "plan.json")
    assert PASSWORD not in (tmp_path / "plan.json").read_text(encoding="utf-8")
    assert read_plan(tmp_path / "plan.json") == plan
    copy = tmp_path / "repaired" / path.name
    done = repair_store(read_plan(tmp_path / "plan.json"), copy)
    assert hash_tree(path) == before
    assert done.is_verified, done
    assert done.left == {"contradiction": 1}
    assert done.rewritten is (kind is not StoreKind.CHROMA)
    assert done.kind is (StoreKind.JSONL if kind is StoreKind.CHROMA else kind)
    texts = {item.text for item in read_store(copy, done.kind).items}
    assert "[outdated: now 500 MB] The upload limit of the portal is 100 MB." in texts
    assert "The upload limit of the portal is now 500 MB." in texts
    assert "ok thanks" not in texts
    assert done.items == plan.counts["keep"] + plan.counts["redact"] + plan.counts["mark-outdated"]
    files = [copy] if copy.is_file() else [file for file in copy.rglob("*") if file.is_file()]
    assert all(PASSWORD.encode() not in file.read_bytes() for file in files)


def test_every_memory_has_a_step_with_a_reason(tmp_path: Path) -> None:
    plan = plan_of(make_store(StoreKind.JSONL, tmp_path))
    steps = {step.key: step for step in plan.steps}
    assert len(steps) == len(plan.steps) == sum(plan.counts.values())
    assert all(step.reason for step in plan.steps)
    assert steps["m00001"].action is RepairAction.REMOVE
    assert steps["m00001"].into == "m00000"
    assert {steps[key].action for key in ("m00002", "m00003")} == {RepairAction.KEEP, RepairAction.MERGE}
    assert steps["m00007"].needs_person
    assert steps["m00010"].action is RepairAction.REDACT


def test_a_plan_is_refused_for_another_content_another_place_and_another_file(tmp_path: Path) -> None:
    path = make_store(StoreKind.JSONL, tmp_path / "made")
    plan = plan_of(path)
    with pytest.raises(InputError, match="exists already"):
        repair_store(plan, path)
    with pytest.raises(InputError, match="does not have"):
        repair_store(replace(plan, steps=(replace(plan.steps[0], key="nobody"),)), tmp_path / "copy.jsonl")
    moved = path.rename(path.with_name("memories.jsonl.moved"))
    moved = moved.rename(path.with_name("memories.jsonl")) if moved.name == path.name else moved.rename(path)
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(NotComparable, match="has changed since"):
        repair_store(plan, tmp_path / "copy.jsonl")
    folder = make_store(StoreKind.LETTA, tmp_path / "made2")
    with pytest.raises(InputError, match="lies inside the store"):
        repair_store(plan_of(folder), folder / "copy")
    for text in ("{", "[]", json.dumps({"record": "assay-repair-plan", "steps": 3})):
        (tmp_path / "bad.json").write_text(text, encoding="utf-8")
        with pytest.raises(MalformedFile):
            read_plan(tmp_path / "bad.json")


def test_a_store_that_moved_is_found_by_name(tmp_path: Path) -> None:
    path = make_store(StoreKind.JSONL, tmp_path / "made")
    plan = plan_of(path)
    moved = tmp_path / path.name
    path.rename(moved)
    assert repair_store(plan, tmp_path / "copy.jsonl", store=moved).is_verified
