"""Serving processes and the cores they keep to."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from tests.server.serving import BOUND_S

from assay.server.serving import cores_for, keep_to

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process cannot keep to a core")


def test_each_process_has_a_core_only_when_there_are_as_many_of_both() -> None:
    assert list(cores_for(2, [4, 7])) == [4, 7]
    assert list(cores_for(2, [4])) == [None, None]
    assert list(cores_for(2, [4, 5, 6])) == [None, None]
    assert list(cores_for(3, [])) == [None, None, None]


def in_a_thread_of_its_own(core: int) -> set[int]:
    """Where a thread may run that was begun by one that keeps to a core."""
    seen: list[set[int]] = []

    def begin() -> None:
        keep_to(core)
        child = threading.Thread(target=lambda: seen.append(set(os.sched_getaffinity(0))), daemon=True)
        child.start()
        child.join(BOUND_S)

    parent = threading.Thread(target=begin, daemon=True)
    parent.start()
    parent.join(BOUND_S)
    return seen[0]


@linux
def test_threads_of_a_process_keep_to_its_core() -> None:
    before = set(os.sched_getaffinity(0))
    core = max(before)
    assert in_a_thread_of_its_own(core) == {core}
    assert set(os.sched_getaffinity(0)) == before


@linux
def test_a_core_that_is_not_there_is_no_reason_not_to_serve() -> None:
    assert in_a_thread_of_its_own(4_095) == set(os.sched_getaffinity(0))
