"""Single keys and lines: from a terminal as they are pressed, from a pipe or file one character after the other."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

END_OF_INPUT = "\x04"
"""What Ctrl-D sends while a terminal gives single keys."""


def read_line(source: TextIO, prompt: str) -> str:
    """A whole line, typed after a prompt where somebody sits at a terminal; keys may be read before and after it."""
    if not source.isatty():
        return source.readline().strip()
    descriptor = source.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        lines = termios.tcgetattr(descriptor)
        lines[3] |= termios.ICANON | termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSADRAIN, lines)
        sys.stderr.write(prompt)
        sys.stderr.flush()
        return source.readline().strip()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def keys_of(source: TextIO) -> Iterator[Iterator[str]]:
    """The keys, until there are no more; a terminal is afterwards as it was."""
    if not source.isatty():
        yield _characters(source)
        return
    descriptor = source.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield _read_keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _characters(source: TextIO) -> Iterator[str]:
    while character := source.read(1):
        if not character.isspace():
            yield character.lower()


def _read_keys(descriptor: int) -> Iterator[str]:
    while True:
        pressed = os.read(descriptor, 1).decode(errors="replace")
        if not pressed or pressed == END_OF_INPUT:
            return
        yield pressed.lower()
