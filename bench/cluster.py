"""What a Dask cluster brings: `python -m bench.cluster [--cases N] [--texts N] [--million N] [--only-million]`.

Real `dask scheduler` and `dask worker` processes on loopback. Workers have loaded Assay before the clock starts, and
what they open for a run is in the time. One and two workers take turns, `ROUNDS` times, and the best of each counts.
Each turn has a cluster of its own, which ends with it: a second one, even idle, would take part of a core.

- An HTTP system that takes 20 ms to answer, with one and two workers of one thread, and of 16 threads.
- An ingest that is bound by embedding, into a new store each time.
- The same texts through the model alone, in one process and in two, without Dask, store or caller: the cores share
  memory, so that two processes are not twice as fast either. It is the limit of the line above.
- Many cases of a stub system, one line each written by the driver, with the memory of the driver meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from reliability.crew import wait_until
from reliability.dask_processes import START_S, Cluster
from reliability.runs import dataset
from rich.console import Console
from rich.table import Table

from assay.embedding.bundled import load_bundled
from assay.evaluation.running.files import case_line, seal_line
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running
from assay.evaluation.running.runner import run as run_system
from assay.settings import Settings
from assay.wiring import open_engine, scope_of
from assay.wiring.executors import open_worker_system, spread_embedder
from assay.work.dask_cluster import open_cluster
from assay.work.dispatch import CrewExecutor
from assay.work.jobs import Executor, Job
from bench.stub_cases import StubCases, give_up

ROUNDS = 3
LATENCY_S = 0.020
THREADS = 16
SENTENCE = "the quick survey of harbour winds names every lamp that a keeper lit between dusk and the first ferry"
WORDS = SENTENCE.split()


# --- An HTTP system that takes 20 ms to answer ---


class _Slow(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(LATENCY_S)
        body = b'{"results":[{"id":"d1"},{"id":"d2"}]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def _serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/search"
    finally:
        server.shutdown()
        server.server_close()


def ask_service(folder: Path, cases: int, threads: int) -> dict[int, float]:
    """Seconds for all cases, by number of workers."""
    with _serving() as url:
        text = f'url = "{url}"\nmethod = "POST"\n[request]\nquery = "{{query}}"\n'
        text += '[response]\nresults = "results"\nid = "id"\n'
        (folder / "service.toml").write_text(text, encoding="utf-8")
        opener = partial(open_worker_system, f"http:{folder / 'service.toml'}", str(folder))
        data, warm = dataset(cases), dataset(8 * threads)

        def work(executor: Executor) -> float:
            with closing(opener(data)) as system:
                for asked in (warm, data):  # the first opens connections and threads
                    began = time.perf_counter()
                    run_system(asked, system, RunOptions(), Running(executor=executor, open_remote=opener))
                return time.perf_counter() - began

        return _by_turns(work, threads=threads)


# --- An ingest that is bound by embedding ---


def ingest(folder: Path, texts: int) -> dict[int, float]:
    """Seconds to take in a folder of notes, by number of workers."""
    notes = folder / "notes"
    notes.mkdir()
    for number in range(texts):
        (notes / f"note-{number}.md").write_text(f"# Note {number}\n\n{_body(number)}\n", encoding="utf-8")
    places = iter(range(1000))

    def work(executor: Executor) -> float:
        settings = Settings(db=str(folder / f"store-{next(places)}" / "assay.db"))
        embedder = spread_embedder(settings, executor)
        assert embedder is not None
        embedder.embed([f"warm up {number}" for number in range(256)])  # some for each worker, which loads the model
        with open_engine(settings, embedder=embedder) as engine:
            began = time.perf_counter()
            engine.ingester.ingest(scope_of(settings), [notes])
            return time.perf_counter() - began

    return _by_turns(work, threads=1)


def _body(number: int) -> str:
    return " ".join([*(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 120)), str(number)])


def embed_alone(texts: int) -> dict[int, float]:
    """Seconds to embed as many texts, by number of processes that do nothing else."""
    best: dict[int, float] = {}
    for _ in range(ROUNDS):
        for count in (1, 2):
            best[count] = min(best.get(count, 1e9), _side_by_side(texts, count))
    return best


def _side_by_side(texts: int, count: int) -> float:
    """Seconds of the slowest process, from the moment when all have loaded the model."""
    context = get_context("spawn")
    begin, took = context.Barrier(count), context.SimpleQueue()
    processes = [context.Process(target=_embed, args=(range(own, texts, count), begin, took)) for own in range(count)]
    for process in processes:
        process.start()
    seconds: list[float] = [took.get() for _ in processes]
    for process in processes:
        process.join()
    return max(seconds)


def _embed(numbers: range, begin: Barrier, took: SimpleQueue[float]) -> None:
    embedder = load_bundled(threads=1)
    texts = [f"Note {number}\n\n{_body(number)}" for number in numbers]
    embedder.embed(texts[:32])
    begin.wait()
    began = time.perf_counter()
    embedder.embed(texts)
    took.put(time.perf_counter() - began)


# --- Many cases of a stub system ---


def stream(folder: Path, cases: int) -> dict[str, float]:
    """Seconds, processor time of the driver, and its megabytes after a tenth of the cases and at the end."""
    stub = StubCases()
    job = Job(perform=stub.perform, lost=give_up, remote=lambda: stub, what="cases")
    seen: list[float] = []
    with (
        Cluster(2) as cluster,
        closing(open_cluster(cluster.address)) as executor,
        (folder / "cases.jsonl").open("w", encoding="utf-8") as lines,
    ):
        began, busy = time.perf_counter(), time.process_time()
        for done, result in enumerate(executor.run(iter(range(cases)), job), start=1):
            lines.write(f"{seal_line(case_line(result))}\n")
            if done % (cases // 10) == 0:
                seen.append(_resident_mb())
        took, busy = time.perf_counter() - began, time.process_time() - busy
        done_by = [worker.done for worker in executor.workers()]
    return {
        "cases": cases,
        "seconds": took,
        "cases_a_second": cases / took,
        "driver_processor_us_a_case": busy / cases * 1e6,
        "driver_mb_at_a_tenth": seen[0],
        "driver_mb_at_the_end": seen[-1],
        "driver_mb_at_most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "finished": sum(done_by),
    }


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# --- One and two workers by turns ---


def _by_turns(work: Callable[[Executor], float], *, threads: int) -> dict[int, float]:
    best: dict[int, float] = {}
    for _ in range(ROUNDS):
        for count in (1, 2):
            with Cluster(count, threads=threads) as cluster, closing(open_cluster(cluster.address)) as executor:
                wait_until(partial(_are_there, executor, count), START_S, f"{count} workers")
                best[count] = min(best.get(count, 1e9), work(executor))
    return best


def _are_there(executor: CrewExecutor, count: int) -> bool:
    return len(executor.crew.workers()) == count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--million", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only-million", action="store_true", help="only the cases of a stub system")
    chosen = parser.parse_args()
    found: dict[str, object] = {"load": os.getloadavg()[0]}
    table = Table(title=f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    for column in ("work", "1 worker", "2 workers", "times as fast"):
        table.add_column(column)
    with tempfile.TemporaryDirectory(prefix="assay-cluster-") as name:
        folder = Path(name)
        many = chosen.cases * 8
        kinds = (
            (f"{chosen.cases} cases over HTTP, 1 thread", partial(ask_service, folder, chosen.cases, 1)),
            (f"{many} cases over HTTP, {THREADS} threads", partial(ask_service, folder, many, THREADS)),
            (f"ingest of {chosen.texts} notes", partial(ingest, folder, chosen.texts)),
            ("the model alone, for the limit of this machine", partial(embed_alone, chosen.texts)),
        )
        for what, measure in () if chosen.only_million else kinds:
            seconds = measure()
            found[what] = {**{str(count): value for count, value in seconds.items()}, "ratio": seconds[1] / seconds[2]}
            table.add_row(what, f"{seconds[1]:.2f} s", f"{seconds[2]:.2f} s", f"{seconds[1] / seconds[2]:.2f}")
        if not (chosen.json or chosen.only_million):
            Console().print(table)
        found["stream"] = streamed = stream(folder, chosen.million)
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    for key, value in streamed.items():
        print(f"{key}: {value:,.1f}")


if __name__ == "__main__":
    main()
