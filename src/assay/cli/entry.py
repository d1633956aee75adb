"""Where the program `assay` begins: an interrupt while its commands are still being loaded ends it without a traceback.

This module imports nothing but the standard library before that is arranged.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from assay.cli.interrupts import INTERRUPTED, INTERRUPTED_NOTE


def main() -> NoReturn:
    """Load the commands, run the one that was given, and leave with its exit code."""
    try:
        if "_ASSAY_COMPLETE" in os.environ:
            from assay.cli.completion import complete_and_leave  # noqa: PLC0415 - only where a shell asks

            complete_and_leave()
        from assay.cli.main import main as run  # noqa: PLC0415 - loading takes a while, and may be interrupted
    except KeyboardInterrupt:
        sys.stderr.write(INTERRUPTED_NOTE)
        sys.exit(INTERRUPTED)
    run()
