"""How a command ends that somebody interrupted. Imports nothing, so that it is there before anything else is."""

INTERRUPTED = 130
INTERRUPTED_NOTE = "Interrupted. What was acknowledged is kept; nothing else was.\n"
