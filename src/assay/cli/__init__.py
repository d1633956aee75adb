"""The command line: `entry` is where it begins, `main` the list of commands, `commands/` one file per command.

`surface` is what every command shares. Commands parse, call a use-case and render. Nothing heavy is imported before a
command needs it.
"""
