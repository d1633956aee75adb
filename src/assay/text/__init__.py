"""Text as the engine reads it: terms for every lexical channel, Markdown sections, and chunks."""
