"""The command line: `entry` is where it begins, `group` lists the commands, `commands/` has one file for each.

`main` holds the program's own options and says how an error ends; `options` are those that every command has too, and
`surface` is what a command talks to. Commands parse, call a use-case and render. `group` imports a command's file when
the command is used, so that `assay --help` loads none of them.
"""
