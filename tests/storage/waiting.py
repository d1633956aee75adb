"""Waiting without sleeping: bounded, and over as soon as it can be."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.storage.homes import BOUND_S


def until(condition: Callable[[], bool]) -> None:
    """Return when the condition holds; fail when it never does."""
    deadline = time.monotonic() + BOUND_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        pause.wait(0.001)


def until_nobody_waits_at_a_door() -> None:
    """Return when whoever gave up waiting for a lock has noticed: its thread may get the lock once more, to let go."""
    until(lambda: all(one.name != "assay-lock-waiter" for one in threading.enumerate()))


@contextmanager
def program(source: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program in a process of its own, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", source, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=BOUND_S)


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line it prints. A program that ends gives an empty one, so this cannot wait for ever on a crash."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], line: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
