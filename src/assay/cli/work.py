"""How commands show what workers do: throughput beside the progress bar, and a line for each worker at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Annotated

import typer

from assay import wiring
from assay.cli.surface import Surface
from assay.work.jobs import Executor, WorkerFigures

ProcessesOption = Annotated[
    int | None, typer.Option("--processes", metavar="N", help="Work with N processes of this machine.")
]
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Work with a Dask cluster: tcp://host:8786, or local:N."),
]
_FEW = 4


@contextmanager
def open_executor(surface: Surface, processes: int | None, cluster: str | None) -> Iterator[Executor | None]:
    """Who works for a command; None: this process, without loading what others would need."""
    if processes is None and cluster is None:
        yield None
        return
    work = wiring.WorkOptions(processes=processes, cluster=cluster)
    with closing(wiring.open_executor(surface.settings, work)) as executor:
        yield executor


def describe_rates(workers: Sequence[WorkerFigures]) -> str:
    """Return the throughput of each worker for a progress bar; empty where there is none."""
    rates = [worker.rate for worker in workers if not worker.problem]
    if not rates:
        return ""
    shown = " + ".join("?" if rate is None else f"{rate:.1f}" for rate in rates[:_FEW])
    more = f" + {len(rates) - _FEW} more" if len(rates) > _FEW else ""
    return f" ({len(rates)} {'worker' if len(rates) == 1 else 'workers'}: {shown}{more} a second)"


def worker_lines(workers: Sequence[WorkerFigures], what: str) -> Iterator[str]:
    """A line for each worker: what it finished, how quickly, what was taken back, and why it stopped."""
    for worker in workers:
        rate = "" if worker.rate is None else f", {worker.rate:.1f} a second"
        lost = f"; {worker.lost:,} taken back" if worker.lost else ""
        problem = f"; {worker.problem}" if worker.problem else ""
        yield f"{worker.name}: {worker.done:,} {what}{rate}{lost}{problem}"
