"""How commands show what workers do: throughput beside the progress bar, and a line for each worker at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.work.jobs import WorkerFigures

_FEW = 4


def describe_rates(workers: Sequence[WorkerFigures]) -> str:
    """Return the throughput of each worker for a progress bar; empty where there is none."""
    rates = [worker.rate for worker in workers if not worker.problem]
    if not rates:
        return ""
    shown = " + ".join("?" if rate is None else f"{rate:.1f}" for rate in rates[:_FEW])
    more = f" + {len(rates) - _FEW} more" if len(rates) > _FEW else ""
    return f" ({len(rates)} {'worker' if len(rates) == 1 else 'workers'}: {shown}{more} a second)"


def worker_lines(workers: Sequence[WorkerFigures], what: str) -> Iterator[str]:
    """A line for each worker: what it finished, how quickly, what was taken back from it, and why it stopped."""
    for worker in workers:
        rate = "" if worker.rate is None else f", {worker.rate:.1f} a second"
        lost = f"; {worker.lost:,} taken back" if worker.lost else ""
        problem = f"; {worker.problem}" if worker.problem else ""
        yield f"{worker.name}: {worker.done:,} {what}{rate}{lost}{problem}"
