"""Where tests keep their files: in memory where there is room, because stores wait for the disk at each commit."""

from __future__ import annotations

import os
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
GIGABYTE = 1024**3


def has_room_in_memory(gigabytes: int) -> bool:
    """Whether tests can write and start programs in the file system in memory, and this much of it is free.

    A container may mount it small, or without execution.
    """
    if not os.access(IN_MEMORY, os.W_OK):
        return False
    system = os.statvfs(IN_MEMORY)
    return system.f_bavail * system.f_frsize > gigabytes * GIGABYTE and not system.f_flag & os.ST_NOEXEC
