"""The referee: compare memory systems on the same texts and questions, so that anybody can check the numbers.

- `sets`: readers of public benchmarks and of the bundled one; key overlays.
- `contenders`: the systems, behind one contract.
- `running`: fill, ask, keep every result at once.
- `spread`: the same on workers, user by user, with the same numbers.
- `journal`: the working files of a run, with which it goes on after a stop.
- `records`: everything numbers are computed from.
- `scoring`: from records to numbers; `answer_scoring` for the answers layer.
- `measures`: recall, nDCG and MRR by rank and by token budget.
- `standings`: intervals clustered by chat, verdicts, smallest differences.
- `traps`: what makes a comparison worthless, found by code.
- `watching`: hosts contacted, defaults left on, time and disk.
- `costs`: what filling and asking took.
- `readers`, `judges`: who answers and who decides, in the answers layer.
- `capsule`: one file with everything; `verification` checks it, `importing` makes one of other harnesses' results.
- `joining`: one table of several capsules.
- `tables`: what a person reads.
"""
