"""A network namespace without routes: what runs in it can reach loopback and nothing else, and the kernel counts tries.

The counters are those of packets that had no route. They also see programs that make system calls without the C
library, which the preloaded library cannot.
"""

from __future__ import annotations

import fcntl
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

ENTER = ("unshare", "--map-root-user", "--net")
"""Begins a command that runs in a namespace of its own, without being root outside of it."""
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_REQUEST = "16sh14x"
"""`struct ifreq`: the name of an interface and its flags."""


def missing() -> str | None:
    """Why no namespace can be made here; None when one can."""
    if sys.platform != "linux":
        return "network namespaces need Linux"
    if shutil.which(ENTER[0]) is None:
        return "unshare is not installed (Debian: apt install util-linux)"
    done = subprocess.run([*ENTER, "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"the kernel permits no network namespace: {done.stderr.strip()}"


def raise_loopback() -> None:
    """Switch the loopback interface on; in a new namespace it is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        asked = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack(_REQUEST, b"lo", 0))
        flags = struct.unpack(_REQUEST, asked)[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack(_REQUEST, b"lo", flags | _IFF_UP))


def count_unrouted() -> int:
    """Packets and connections of this namespace so far that had no route, over IPv4 and IPv6."""
    lines = Path("/proc/net/snmp").read_text(encoding="ascii").splitlines()
    names, figures = (line.split() for line in lines if line.startswith("Ip:"))
    count = int(figures[names.index("OutNoRoutes")])
    newer = Path("/proc/net/snmp6")
    for line in newer.read_text(encoding="ascii").splitlines() if newer.is_file() else ():
        name, figure = line.split()
        count += int(figure) if name == "Ip6OutNoRoutes" else 0
    return count
