"""Where the program `assay` begins: an interrupt while its commands are still being loaded ends it without a traceback.

This module imports nothing but the standard library before that is arranged.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from assay.cli.interrupts import INTERRUPTED, INTERRUPTED_NOTE

GARBAGE_AFTER = 200_000
"""New objects between two looks for garbage: more than a short command makes. Python's own number is 700."""


def main() -> NoReturn:
    """Load the commands, run the one that was given, and leave with its exit code."""
    # Loading libraries makes many objects and no garbage: looking for it is a tenth of the time of a short command.
    gc.set_threshold(GARBAGE_AFTER)
    try:
        if "_ASSAY_COMPLETE" in os.environ:
            from assay.cli.completion import complete_and_leave  # noqa: PLC0415 - only where a shell asks

            complete_and_leave()
        from assay.cli.main import main as run  # noqa: PLC0415 - loading takes a while, and may be interrupted
    except KeyboardInterrupt:
        sys.stderr.write(INTERRUPTED_NOTE)
        sys.exit(INTERRUPTED)
    try:
        run()
    finally:
        # What is left goes with the process. Python would look for garbage in all of it: a sixth of a short command.
        gc.freeze()
