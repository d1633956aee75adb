"""The command line: `main` is the entry, `surface` what every command shares, `commands/` one file per command.

Commands parse, call a use-case and render. Nothing heavy is imported before a command needs it.
"""
