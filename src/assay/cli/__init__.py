"""The command line. Commands parse their options, call a use-case and print the result.

- `entry`: where the program `assay` begins.
- `main`: the program's own options, and how an error ends the program.
- `group`: lists the commands, and imports the file of a command only when it is used, so that `assay --help` is fast.
- `commands`: the commands.
- `options`: the options that every command has.
- `surface`: the settings that the common options lead to, and how a result is shown.
- `colours`: colours of verdicts, on a terminal only.
- `completion`: completes values in bash and zsh without loading a command.
- `progress`: a bar with the time left for commands that take long.
- `interrupts`: how a command ends that the user interrupted.
- `plain`: values of the domain as JSON, for `--json`.
- `keys`: reads single keys and lines from a terminal, a pipe or a file.
- `question_review`: lets a person keep, reword or drop proposed questions.
- `steps`: runs other commands from within a command.
- `hits`: search results as text.
- `dataset_tables`: datasets as text and as JSON.
- `run_table`: runs as a table.
- `runs`: finds finished runs.
- `work`: options of commands that work with processes or a cluster, and what is shown of the workers.
- `certificate_lines`: certificates of judges as text.
- `judge_lines`: results of judges as text.
"""
