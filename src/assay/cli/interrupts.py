"""Exit code of an interrupted command. Imports nothing, so that it is available before anything else is loaded."""

INTERRUPTED = 130
INTERRUPTED_NOTE = "Interrupted. What was acknowledged is kept; nothing else was.\n"
