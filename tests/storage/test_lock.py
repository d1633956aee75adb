"""The write lock: one at a time, in order, over threads and processes, never kept by the dead."""

from __future__ import annotations

import os
import signal
import stat
import threading
from pathlib import Path

import pytest
from tests.storage.homes import BOUND_S
from tests.storage.waiting import line_of, program, tell, until, until_nobody_waits_at_a_door

from assay.errors import StoreBusy, StoreUnavailable
from assay.storage.backend import WriteLock
from assay.testing import FixedClock

HASTY_S = 0.02

HOLDER = """
import sys
from pathlib import Path
from assay.clock import SystemClock
from assay.storage.backend import WriteLock

with WriteLock(Path(sys.argv[1]), clock=SystemClock(), timeout_s=60).hold():
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""

ADDER = """
import sys
from pathlib import Path
from assay.clock import SystemClock
from assay.storage.backend import WriteLock

lock, counter = WriteLock(Path(sys.argv[1]), clock=SystemClock(), timeout_s=60), Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(200):
    with lock.hold():
        counter.write_text(str(int(counter.read_text()) + 1))
print("done", flush=True)
"""

SHORT_OF_SPACE = """
import resource, signal, sys
from pathlib import Path
from assay.clock import SystemClock
from assay.storage.backend import WriteLock

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
lock = WriteLock(Path(sys.argv[1]), clock=SystemClock(), timeout_s=0.02)
for _ in range(2):
    with lock.hold():
        print("held", flush=True)
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


def lock_of(database: Path, *, timeout_s: float = BOUND_S) -> WriteLock:
    return WriteLock(database, clock=FixedClock(), timeout_s=timeout_s)


def waiting(lock: WriteLock) -> int:
    return len(lock._turns._waiting)


def test_threads_are_served_in_the_order_they_came(database: Path) -> None:
    lock = lock_of(database)
    served: list[int] = []

    def write(number: int) -> None:
        with lock.hold():
            served.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    with lock.hold():
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda queued=number + 1: waiting(lock) == queued)  # type: ignore[misc]
        assert served == []
    for thread in threads:
        thread.join(BOUND_S)
    assert served == list(range(8))


def test_two_locks_on_one_file_exclude_each_other_within_a_process(database: Path) -> None:
    first, second = lock_of(database), lock_of(database, timeout_s=HASTY_S)
    with first.hold(), pytest.raises(StoreBusy), second.hold():
        pass
    until_nobody_waits_at_a_door()
    with second.hold():
        pass


def test_processes_exclude_each_other(database: Path, tmp_path: Path) -> None:
    """Adding one to a number in a file loses additions as soon as two do it at once."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    arguments = (ADDER, str(database), str(counter))
    with program(*arguments) as first, program(*arguments) as second, program(*arguments) as third:
        started = (first, second, third)
        assert [line_of(process) for process in started] == ["ready"] * 3
        for process in started:
            tell(process)
        assert [line_of(process) for process in started] == ["done"] * 3
    assert counter.read_text() == "600"


def test_giving_up_names_the_process_that_holds_the_lock(database: Path) -> None:
    hasty = lock_of(database, timeout_s=HASTY_S)
    with program(HOLDER, str(database)) as holder:
        assert line_of(holder) == "held"
        with pytest.raises(StoreBusy, match=f"process {holder.pid} for over 0.02 s") as refused:
            hasty.acquire()
        assert str(database) in refused.value.message
        assert "lock_timeout_s" in refused.value.remedy
        tell(holder)
        assert line_of(holder) == "released"
    until_nobody_waits_at_a_door()
    with hasty.hold():
        pass


def test_one_who_gave_up_does_not_keep_the_lock_when_its_turn_comes(database: Path) -> None:
    hasty = lock_of(database, timeout_s=HASTY_S)
    with program(HOLDER, str(database)) as first:
        assert line_of(first) == "held"
        for _ in range(3):
            with pytest.raises(StoreBusy):
                hasty.acquire()
        tell(first)
        assert line_of(first) == "released"
        with program(HOLDER, str(database)) as second:
            assert line_of(second) == "held"


def test_a_thread_that_gives_up_leaves_the_queue(database: Path) -> None:
    lock = lock_of(database, timeout_s=HASTY_S)
    refused: list[StoreBusy] = []

    def hurry() -> None:
        try:
            lock.acquire()
        except StoreBusy as problem:
            refused.append(problem)

    with lock.hold():
        thread = threading.Thread(target=hurry)
        thread.start()
        thread.join(BOUND_S)
        assert waiting(lock) == 0
    assert f"process {os.getpid()}" in refused[0].message
    with lock.hold():
        pass


def test_a_write_inside_a_write_of_the_same_thread_is_refused_at_once(database: Path) -> None:
    lock = lock_of(database, timeout_s=3_600)
    with lock.hold():
        with pytest.raises(StoreBusy, match=f"already writing to {database}") as refused:
            lock.acquire()
        assert "do not nest" in refused.value.remedy
    with lock.hold():
        pass


def test_the_lock_of_a_killed_process_is_free(database: Path) -> None:
    with program(HOLDER, str(database)) as holder:
        assert line_of(holder) == "held"
        holder.send_signal(signal.SIGKILL)
        with lock_of(database).hold():
            assert holder.wait(BOUND_S) == -signal.SIGKILL


def test_one_who_waits_gets_the_lock_when_the_holder_lets_go(database: Path) -> None:
    lock = lock_of(database)
    got = threading.Event()

    def write() -> None:
        with lock.hold():
            got.set()

    with program(HOLDER, str(database)) as holder:
        assert line_of(holder) == "held"
        thread = threading.Thread(target=write)
        thread.start()
        until(lambda: any(one.name == "assay-lock-waiter" for one in threading.enumerate()))
        assert not got.is_set()
        tell(holder)
        assert got.wait(BOUND_S)
        thread.join(BOUND_S)


def test_a_body_that_raises_lets_go(database: Path) -> None:
    lock = lock_of(database, timeout_s=HASTY_S)
    with pytest.raises(ZeroDivisionError), lock.hold():
        raise ZeroDivisionError
    with lock.hold():
        pass


def test_the_lock_files_belong_to_their_owner_alone_and_name_the_holder(database: Path) -> None:
    with lock_of(database).hold():
        door = database.with_name("notes.db.lock")
        assert door.read_text().strip() == str(os.getpid())
        assert stat.S_IMODE(door.stat().st_mode) == 0o600
        assert stat.S_IMODE(database.with_name("notes.db.queue").stat().st_mode) == 0o600


def test_a_disk_without_room_for_the_holders_name_still_gives_the_lock(database: Path) -> None:
    with program(SHORT_OF_SPACE, str(database)) as process:
        assert [line_of(process), line_of(process)] == ["held", "held"]
        assert process.wait(BOUND_S) == 0


def test_a_lock_in_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    lock = lock_of(tmp_path / "gone" / "notes.db")
    with pytest.raises(StoreUnavailable, match="gone") as refused:
        lock.acquire()
    assert refused.value.remedy
    (tmp_path / "gone").mkdir()
    with lock.hold():
        pass
