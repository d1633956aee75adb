"""Programs that try to make the store break its promises: kills, power cuts, failing disks, crowds, retries.

Each scenario is a module with a `run` and a frozen result that judges itself: `kill`, `power_cut`, `faults`,
`writers`, `state_machine`, `backups`, `migration`, `events`. They share `outcome` (what a result is), `crew` (processes
that are always reaped), `ledger` (what was acknowledged), `load` (what is written, and what must then be there), `shim`
(a disk that forgets or fails). `python -m reliability --list` shows them; README.md holds the figures.
"""
